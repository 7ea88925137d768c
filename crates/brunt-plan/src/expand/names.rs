//! Finding definitions by name and by wildcard.

use std::collections::HashMap;

use brunt_parm::ast::NameItem;
use brunt_parm::{Span, Spanned};

/// The names of one kind of definition, in order.
#[derive(Debug, Default)]
pub(crate) struct Names {
    list: Vec<String>,
    index: HashMap<String, usize>,
}

/// What a list of names and wildcards selects.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    /// Indices in the order of the list.
    pub(crate) found: Vec<usize>,
    /// Names that match nothing; of a range only the first such.
    pub(crate) missing: Vec<Spanned<String>>,
    /// Places that reach a name a second time, with its index.
    pub(crate) twice: Vec<(Span, usize)>,
}

impl Names {
    /// Adds a name and gives its index; `Err` with the index of the first when it is taken.
    pub(crate) fn add(&mut self, name: &str) -> Result<usize, usize> {
        if let Some(first) = self.index.get(name) {
            return Err(*first);
        }
        let at = self.list.len();
        self.index.insert(name.to_owned(), at);
        self.list.push(name.to_owned());
        Ok(at)
    }

    /// The names in order.
    pub(crate) fn list(&self) -> &[String] {
        &self.list
    }

    /// All indices that a name or wildcard matches, in order. Only one `*` at the end is special
    /// (`docs/vdbench/raw.md` §1.5).
    pub(crate) fn matching(&self, pattern: &str) -> Vec<usize> {
        match pattern.strip_suffix('*') {
            Some("") => (0..self.list.len()).collect(),
            Some(prefix) => {
                self.list.iter().enumerate().filter(|(_, n)| n.starts_with(prefix)).map(|(i, _)| i).collect()
            }
            None => self.index.get(pattern).copied().into_iter().collect(),
        }
    }

    /// Resolves a whole list.
    pub(crate) fn select(&self, items: &[Spanned<NameItem>]) -> Selection {
        let mut selection = Selection::default();
        let mut seen = vec![false; self.list.len()];
        let mut take = |at: usize, span: Span, selection: &mut Selection| {
            if std::mem::replace(&mut seen[at], true) {
                selection.twice.push((span, at));
            } else {
                selection.found.push(at);
            }
        };
        for item in items {
            let is_wildcard = matches!(&item.value, NameItem::One(name) if name.ends_with('*'));
            let mut missing = None;
            if is_wildcard {
                let matches = self.matching(item.value.first());
                missing = matches.is_empty().then(|| item.value.first().to_owned());
                matches.into_iter().for_each(|at| take(at, item.span, &mut selection));
            } else {
                for name in item.value.names() {
                    match self.index.get(name.as_ref()) {
                        Some(at) => take(*at, item.span, &mut selection),
                        None => missing = missing.or(Some(name.into_owned())),
                    }
                }
            }
            selection.missing.extend(missing.map(|name| Spanned::new(name, item.span)));
        }
        selection
    }

    /// The name most like another one, if any is like it at all.
    pub(crate) fn nearest(&self, name: &str) -> Option<&str> {
        nearest(name, self.list.iter().map(String::as_str))
    }
}

/// Whether a name or a wildcard matches a name.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |prefix| name.starts_with(prefix))
}

/// The candidate most like `name`: with the fewest edits, case aside, at most a third of its length. What stands before
/// a wildcard is compared with the beginning of the candidates.
pub(crate) fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let lower = name.to_lowercase();
    let (name, wild) = lower.strip_suffix('*').map_or((lower.as_str(), false), |prefix| (prefix, true));
    let length = name.chars().count();
    let limit = (length / 3).max(1);
    let likeness = |candidate: &str| {
        let letters = if wild { length } else { usize::MAX };
        edits(name, &candidate.to_lowercase().chars().take(letters).collect::<String>())
    };
    candidates
        .map(|candidate| (likeness(candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The number of insertions, deletions and replacements that make one word of the other.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> Names {
        let mut names = Names::default();
        for name in list {
            names.add(name).unwrap();
        }
        names
    }

    #[test]
    fn only_a_star_at_the_end_is_special() {
        let names = names(&["sd1", "sd2", "x1"]);
        assert_eq!(names.matching("sd*"), [0, 1]);
        assert_eq!(names.matching("*"), [0, 1, 2]);
        assert_eq!(names.matching("sd2"), [1]);
        assert!(names.matching("*1").is_empty());
        assert!(names.matching("SD*").is_empty());
    }

    #[test]
    fn a_second_definition_of_a_name_is_told() {
        let mut names = names(&["a", "b"]);
        assert_eq!(names.add("b"), Err(1));
        assert_eq!(names.add("c"), Ok(2));
    }

    #[test]
    fn the_nearest_name_forgives_case_and_one_slip() {
        let names = names(&["hotwd_uniform", "wd1", "sd10"]);
        assert_eq!(names.nearest("HOTwd_uniform"), Some("hotwd_uniform"));
        assert_eq!(names.nearest("HOTwd*"), Some("hotwd_uniform"));
        assert_eq!(names.nearest("wd7"), Some("wd1"));
        assert_eq!(names.nearest("banana"), None);
    }
}
