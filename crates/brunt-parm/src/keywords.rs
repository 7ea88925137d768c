//! The keyword table: every parameter, section by section, as data.
//!
//! The parser looks keywords up here, and the compatibility page is printed from it, so that they
//! cannot disagree. Within a section the order is that of matching: the first keyword that begins
//! with what was typed wins, and ambiguity is never an error (`docs/vdbench/raw.md` §1.10).

mod fsd;
mod fwd;
mod general;
mod hd;
mod rd;
mod rg;
mod sd;
mod wd;

use std::collections::HashMap;
use std::sync::LazyLock;

/// A section of a parameter file, in the order in which sections stand (`docs/vdbench/raw.md` §1.9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Section {
    /// General parameters.
    General,
    /// Hosts.
    Hd,
    /// Replay groups.
    Rg,
    /// File system storage.
    Fsd,
    /// Storage.
    Sd,
    /// Workloads.
    Wd,
    /// File system workloads.
    Fwd,
    /// Runs.
    Rd,
}

impl Section {
    /// All of them, in order.
    pub const ALL: [Self; 8] = [Self::General, Self::Hd, Self::Rg, Self::Fsd, Self::Sd, Self::Wd, Self::Fwd, Self::Rd];

    /// What a definition of this section is called.
    pub fn noun(self) -> &'static str {
        match self {
            Self::General => "general parameter",
            Self::Hd => "host definition",
            Self::Rg => "replay group",
            Self::Fsd => "file system definition",
            Self::Sd => "storage definition",
            Self::Wd => "workload definition",
            Self::Fwd => "file system workload definition",
            Self::Rd => "run definition",
        }
    }

    /// The keyword that starts a definition; empty for the general section.
    pub fn starter(self) -> &'static str {
        match self {
            Self::General => "",
            Self::Hd => "hd",
            Self::Rg => "rg",
            Self::Fsd => "fsd",
            Self::Sd => "sd",
            Self::Wd => "wd",
            Self::Fwd => "fwd",
            Self::Rd => "rd",
        }
    }

    /// Which definition `key` starts when it is met in this section; `None`: it is a parameter.
    pub fn started_by(self, key: &str) -> Option<Self> {
        let next = match key {
            "hd" | "host" => Self::Hd,
            "rg" => Self::Rg,
            "fsd" => Self::Fsd,
            "sd" => Self::Sd,
            "wd" => Self::Wd,
            "fwd" => Self::Fwd,
            "rd" => Self::Rd,
            _ => return None,
        };
        (self <= next).then_some(next)
    }
}

/// How a keyword may be shortened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spelling {
    /// Only the whole word.
    Exact,
    /// Any beginning of at least two characters that no earlier keyword of the section claims.
    Prefix,
    /// Everything that begins with these letters.
    Family(&'static str),
}

/// What a keyword takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The name of what is defined.
    Name,
    /// Names: a list, ranges `(sd1-sd5)`, a `*` at the end.
    Names,
    /// Host labels: a list, a `*` at the end; `-` is an ordinary character.
    Hosts,
    /// One word or text.
    Text,
    /// Words.
    Texts,
    /// A file or directory.
    Path,
    /// Commands, and where they run and print.
    Command,
    /// `yes` or `no`.
    YesNo,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// Bytes.
    Bytes,
    /// Percent.
    Percent,
    /// Seconds; `m` is minutes, `h` hours.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// Two numbers, low and high.
    Pair,
    /// Numbers: a list, ranges `(1-10,1)` and doublings `(1-64,d)`.
    Numbers,
    /// Numbers that are each a run.
    Loop,
    /// Its own syntax.
    Special(&'static str),
}

impl Form {
    /// How it is written, for people.
    pub fn syntax(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Names => "name | (name,…) | (sd1-sd5) | sd*",
            Self::Hosts => "host | (host,…) | host*",
            Self::Text => "text",
            Self::Texts => "word | (word,…)",
            Self::Path => "path",
            Self::Command => "\"command\" | (\"command\",target)",
            Self::YesNo => "yes | no",
            Self::Integer => "n",
            Self::Number => "number",
            Self::Bytes => "bytes, with k, m, g or t",
            Self::Percent => "percent",
            Self::Seconds => "seconds, with m or h",
            Self::Milliseconds => "milliseconds",
            Self::Pair => "(low,high)",
            Self::Numbers => "n | (n,…) | (n-m,step) | (n-m,d)",
            Self::Loop => "n | (n,…) | (n-m,step) | (n-m,d), each a run",
            Self::Special(text) => text,
        }
    }
}

/// What becomes of a keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It does what Vdbench's does.
    Honoured,
    /// It is checked and has no effect: why.
    Accepted(&'static str),
    /// It is an error: why.
    Refused(&'static str),
}

/// Which runs a keyword concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All.
    Any,
    /// Those of SDs.
    Storage,
    /// Those of file systems.
    Files,
}

/// One row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keyword {
    /// Where it belongs.
    pub section: Section,
    /// Its full name.
    pub name: &'static str,
    /// Other names with the same rule of shortening.
    pub aliases: &'static [&'static str],
    /// How it may be shortened.
    pub spelling: Spelling,
    /// What it takes.
    pub form: Form,
    /// Its default, as written in a file.
    pub default: Option<&'static str>,
    /// What it does, in one line.
    pub doc: &'static str,
    /// What becomes of it.
    pub status: Status,
    /// Whether it is accepted and a real run refuses it, since the engine cannot do it yet.
    pub later: bool,
    /// Which runs it concerns; in others it is checked and has no effect.
    pub scope: Scope,
}

impl Keyword {
    const fn new(section: Section, name: &'static str, form: Form, doc: &'static str) -> Self {
        Self {
            section,
            name,
            aliases: &[],
            spelling: Spelling::Prefix,
            form,
            default: None,
            doc,
            status: Status::Honoured,
            later: false,
            scope: Scope::Any,
        }
    }

    const fn exact(mut self) -> Self {
        self.spelling = Spelling::Exact;
        self
    }

    const fn family(mut self, letters: &'static str) -> Self {
        self.spelling = Spelling::Family(letters);
        self
    }

    const fn or(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    const fn default(mut self, value: &'static str) -> Self {
        self.default = Some(value);
        self
    }

    const fn accepted(mut self, why: &'static str) -> Self {
        self.status = Status::Accepted(why);
        self
    }

    /// Accepted, and refused at the start of a real run.
    const fn later(mut self, why: &'static str) -> Self {
        self.later = true;
        self.accepted(why)
    }

    /// For runs of file systems.
    const fn files(mut self) -> Self {
        self.scope = Scope::Files;
        self
    }

    /// For runs of SDs.
    const fn storage(mut self) -> Self {
        self.scope = Scope::Storage;
        self
    }

    const fn refused(mut self, why: &'static str) -> Self {
        self.status = Status::Refused(why);
        self
    }

    /// Its full name and its aliases.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }

    /// The shortest form that means this keyword.
    pub fn shortest(&self) -> &'static str {
        if let Spelling::Family(letters) = self.spelling {
            return letters;
        }
        (2..=self.name.len())
            .filter_map(|n| self.name.get(..n))
            .find(|short| lookup(self.section, short).is_some_and(|found| found.name == self.name))
            .unwrap_or(self.name)
    }
}

/// The whole table, section by section, in the order of matching.
pub fn table() -> impl Iterator<Item = &'static Keyword> {
    Section::ALL.into_iter().flat_map(section)
}

/// The keywords of a section, in the order of matching.
pub fn section(section: Section) -> &'static [Keyword] {
    match section {
        Section::General => general::TABLE,
        Section::Hd => hd::TABLE,
        Section::Sd => sd::TABLE,
        Section::Wd => wd::TABLE,
        Section::Rg => rg::TABLE,
        Section::Fsd => fsd::TABLE,
        Section::Fwd => fwd::TABLE,
        Section::Rd => rd::TABLE,
    }
}

type Index = HashMap<(Section, &'static str), &'static Keyword>;

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let mut index = Index::new();
    for keyword in table() {
        for name in keyword.names() {
            let shortest = if keyword.spelling == Spelling::Prefix { 2 } else { name.len() };
            for short in (shortest..=name.len()).filter_map(|n| name.get(..n)) {
                index.entry((keyword.section, short)).or_insert(keyword);
            }
        }
    }
    index
});

/// The keyword that `typed` (lower case) means in a section.
pub fn lookup(section: Section, typed: &str) -> Option<&'static Keyword> {
    if let Some(keyword) = INDEX.get(&(section, typed)) {
        return Some(keyword);
    }
    self::section(section).iter().find(|k| match k.spelling {
        Spelling::Family(letters) => typed.starts_with(letters),
        _ => false,
    })
}

/// Whether `typed` is the full name of a keyword of this section.
pub(crate) fn is_full_name(section: Section, typed: &str) -> bool {
    lookup(section, typed).is_some_and(|k| matches!(k.spelling, Spelling::Family(_)) || k.names().any(|n| n == typed))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(section: Section, typed: &str) -> &'static str {
        lookup(section, typed).map_or("-", |k| k.name)
    }

    #[test]
    fn first_match_wins() {
        use Section::*;
        for (section, typed, name) in [
            (General, "co", "compratio"),
            (General, "compression", "compression"),
            (General, "compre", "compressionseed"),
            (General, "fo", "formatxfersize"),
            (General, "formats", "formatsds"),
            (General, "repo", "report"),
            (General, "report_", "report_run_totals"),
            (General, "dedupwhatever", "dedup"),
            (General, "dedupunit", "dedupunit"),
            (General, "concatenate", "concatenatesds"),
            (General, "data_error", "data_errors"),
            (General, "startc", "-"),
            (General, "ti", "timeout"),
            (Hd, "ma", "master"),
            (Sd, "re", "replay"),
            (Sd, "ra", "range"),
            (Sd, "ho", "host"),
            (Sd, "hi", "hitarea"),
            (Sd, "hd", "host"),
            (Sd, "of", "offset"),
            (Sd, "op", "openflags"),
            (Sd, "st", "streams"),
            (Wd, "st", "stride"),
            (Wd, "str", "stride"),
            (Wd, "stre", "streams"),
            (Wd, "se", "seekpct"),
            (Wd, "wr", "writepct"),
            (Wd, "re", "rdpct"),
            (Wd, "rdp", "rdpct"),
            (Rd, "fo", "forxfersize"),
            (Rd, "for", "forxfersize"),
            (Rd, "fort", "forthreads"),
            (Rd, "form", "format"),
            (Rd, "st", "stopcurve"),
            (Rd, "sta", "startcmd"),
            (Rd, "in", "interval"),
            (Rd, "el", "elapsed"),
            (Rd, "io", "iorate"),
            (Rd, "wa", "warmup"),
            (Rd, "pa", "pause"),
            (Rd, "th", "threads"),
            (Rd, "xf", "xfersize"),
            (Rd, "di", "distribution"),
            (Rd, "op", "operations"),
            (Rd, "ope", "operations"),
            (Rd, "open", "openflags"),
            (Rd, "maxdata_read", "-"),
            (Rd, "skew", "-"),
        ] {
            assert_eq!(found(section, typed), name, "{typed} in {section:?}");
        }
    }

    #[test]
    fn every_row_can_be_reached_by_its_full_name() {
        for keyword in table() {
            for name in keyword.names() {
                assert_eq!(lookup(keyword.section, name).map(|k| k.name), Some(keyword.name));
            }
            assert!(!keyword.doc.is_empty() && !keyword.doc.ends_with('.'), "{}", keyword.name);
            let short = keyword.shortest();
            assert_eq!(lookup(keyword.section, short).map(|k| k.name), Some(keyword.name), "{short}");
        }
    }
}
