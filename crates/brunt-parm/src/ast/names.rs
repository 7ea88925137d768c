//! Lists of names (`docs/vdbench/raw.md` §1.5).

use std::borrow::Cow;
use std::fmt;

/// An item of a list of names. A range stays one: thousands of workloads may each name thousands of SDs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum NameItem {
    /// A name, or the beginning of names with a `*` behind it.
    One(String),
    /// `(sd01-sd12)`.
    Range {
        /// The first name, as it was written.
        first: String,
        /// What stands before the numbers.
        prefix: String,
        /// The first number.
        from: u64,
        /// The last number, above the first.
        to: u64,
    },
}

impl NameItem {
    /// How many names there are.
    pub fn count(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Range { from, to, .. } => to.saturating_sub(*from) as usize + 1,
        }
    }

    /// The names in order; those behind the first have no zeros before their numbers.
    pub fn names(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let (first, rest) = match self {
            Self::One(name) => (name, None),
            Self::Range { first, prefix, from, to } => (first, Some((prefix, from + 1..=*to))),
        };
        let rest = rest
            .into_iter()
            .flat_map(|(prefix, numbers)| numbers.map(move |n| Cow::Owned([prefix.as_str(), &n.to_string()].concat())));
        std::iter::once(Cow::Borrowed(first.as_str())).chain(rest)
    }

    /// The first name.
    pub fn first(&self) -> &str {
        match self {
            Self::One(name) => name,
            Self::Range { first, .. } => first,
        }
    }

    /// The last name.
    pub fn last(&self) -> Cow<'_, str> {
        match self {
            Self::One(name) => Cow::Borrowed(name),
            Self::Range { prefix, to, .. } => Cow::Owned(format!("{prefix}{to}")),
        }
    }
}

impl fmt::Display for NameItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(name) => f.write_str(name),
            Self::Range { first, prefix, to, .. } => write!(f, "{first}-{prefix}{to}"),
        }
    }
}
