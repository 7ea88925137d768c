//! What a keyword means: the facts of the keyword table with an example and the differences from Vdbench.
//!
//! `brunt explain` prints it and `docs/compatibility.md` is made of it.

mod differences;
mod examples;

use std::borrow::Cow;
use std::fmt::Write;

use crate::keywords::{self, Form, Keyword, Scope, Section, Spelling, Status};
use crate::suggest;

/// What is found under a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// The keywords that the word means, in the order of the sections.
    Keywords(Vec<&'static Keyword>),
    /// None; the nearest name, if one is near.
    Nothing(Option<&'static str>),
}

/// The keywords that `word` means, in every section or in one.
///
/// Full names come before short forms: when the word is the full name of a keyword in any section, it is taken as one
/// in all of them.
pub fn find(word: &str, section: Option<Section>) -> Found {
    let word = word.trim_end_matches('=').to_ascii_lowercase();
    let sections = || Section::ALL.into_iter().filter(|s| section.is_none_or(|only| only == *s));
    let mut found: Vec<_> = sections().filter_map(|s| keywords::lookup(s, &word)).collect();
    if found.iter().any(|k| k.names().any(|n| n == word)) {
        found.retain(|k| k.names().any(|n| n == word));
    }
    if !found.is_empty() {
        return Found::Keywords(found);
    }
    let names = sections().flat_map(|s| keywords::section(s).iter().flat_map(Keyword::names));
    Found::Nothing(suggest::nearest(&word, names))
}

/// The section that a user names: `rd`, `RD`, or `general`.
pub fn section_named(name: &str) -> Option<Section> {
    let name = name.to_ascii_lowercase();
    Section::ALL.into_iter().find(|s| section_name(*s) == name)
}

/// What users call a section: its starter, or `general`.
pub fn section_name(section: Section) -> &'static str {
    if section == Section::General { "general" } else { section.starter() }
}

/// Where Brunt knowingly differs from Vdbench in what this keyword does, in a sentence or more.
pub fn difference(keyword: &Keyword) -> Option<&'static str> {
    differences::of(keyword.section, keyword.name)
}

/// Lines of a parameter file that use the keyword; `None` when it is refused.
pub fn example(keyword: &Keyword) -> Option<Cow<'static, str>> {
    if matches!(keyword.status, Status::Refused(_)) {
        return None;
    }
    if let Some(text) = examples::of(keyword.section, keyword.name) {
        return Some(Cow::Borrowed(text));
    }
    let value = form_example(keyword.form);
    let starter = keyword.section.starter();
    Some(Cow::Owned(match keyword.section {
        Section::General => format!("{}={value}", keyword.name),
        _ if keyword.name == starter => format!("{starter}={starter}1"),
        _ => format!("{starter}={starter}1,{}={value}", keyword.name),
    }))
}

/// A value of this form.
fn form_example(form: Form) -> &'static str {
    match form {
        Form::Name | Form::Text | Form::Texts | Form::Special(_) => "x",
        Form::Names => "(sd1-sd3)",
        Form::Hosts => "host1",
        Form::Path => "/tmp/x",
        Form::Command => "\"date\"",
        Form::YesNo => "yes",
        Form::Integer | Form::Number => "2",
        Form::Bytes => "64k",
        Form::Percent => "50",
        Form::Seconds => "60",
        Form::Milliseconds => "5",
        Form::Pair => "(10,50)",
        Form::Numbers => "(1,2)",
        Form::Loop => "(1,2)",
    }
}

/// How a keyword may be typed: `iorate (io…)`.
pub fn spelling(keyword: &Keyword) -> String {
    let shortest = keyword.shortest();
    match keyword.spelling {
        Spelling::Family(letters) => format!("anything that begins with {letters}"),
        Spelling::Exact => "in full only".to_owned(),
        Spelling::Prefix if shortest == keyword.name => "in full only; shorter forms mean another keyword".to_owned(),
        Spelling::Prefix => format!("{shortest} is enough"),
    }
}

/// What becomes of a keyword here, in words.
pub fn state(keyword: &Keyword) -> Cow<'static, str> {
    match keyword.status {
        Status::Honoured => Cow::Borrowed("works"),
        Status::Accepted(why) if keyword.later => Cow::Owned(format!("checked; a real run is refused: {why}")),
        Status::Accepted(why) => Cow::Owned(format!("checked, no effect: {why}")),
        Status::Refused(why) => Cow::Owned(format!("refused: {why}")),
    }
}

/// The runs that a keyword concerns when it does not concern all; in others it has no effect.
pub fn scope(keyword: &Keyword) -> Option<&'static str> {
    match keyword.scope {
        Scope::Any => None,
        Scope::Storage => Some("runs of SDs only"),
        Scope::Files => Some("runs of file systems only"),
    }
}

/// Everything about one keyword as text for a terminal; ends with a newline.
pub fn text(keyword: &Keyword) -> String {
    let mut out = format!("{}=  ({})\n    {}\n\n", keyword.name, keyword.section.noun(), keyword.doc);
    let mut row = |title: &str, value: &str| {
        let _ = writeln!(out, "{}", wrapped(&format!("    {title:<10}"), value));
    };
    row("values", keyword.form.syntax());
    row("default", keyword.default.unwrap_or("none"));
    if !keyword.aliases.is_empty() {
        row("also", &keyword.aliases.join(", "));
    }
    row("spelling", &spelling(keyword));
    row("state", &state(keyword));
    if let Some(scope) = scope(keyword) {
        row("for", scope);
    }
    if let Some(difference) = difference(keyword) {
        row("differs", difference);
    }
    if let Some(example) = example(keyword) {
        for (n, line) in example.lines().enumerate() {
            row(if n == 0 { "example" } else { "" }, line);
        }
    }
    out
}

/// All keywords, section by section, one a line; ends with a newline.
pub fn list(section: Option<Section>) -> String {
    let mut out = String::new();
    for section in Section::ALL.into_iter().filter(|s| section.is_none_or(|only| only == *s)) {
        let keywords = keywords::section(section);
        if keywords.is_empty() {
            continue;
        }
        let _ = writeln!(out, "{} ({}s)", section_name(section), section.noun());
        for keyword in keywords {
            let mark = match keyword.status {
                Status::Honoured => ' ',
                Status::Accepted(_) if keyword.later => 'l',
                Status::Accepted(_) => '-',
                Status::Refused(_) => 'x',
            };
            let _ = writeln!(out, "  {mark} {:<19} {}", keyword.name, keyword.doc);
        }
        out.push('\n');
    }
    out.push_str(
        "l comes with a later version   - has no effect here   x is refused   brunt explain KEYWORD says more\n",
    );
    out
}

/// Words behind a title, broken before column 100, later lines indented.
fn wrapped(title: &str, text: &str) -> String {
    const WIDTH: usize = 100;
    let indent = title.chars().count();
    let mut out = title.to_owned();
    let mut column = indent;
    for word in text.split(' ') {
        let length = word.chars().count();
        if column > indent && column + 1 + length > WIDTH {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            column = indent;
        }
        if column > indent {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn found(word: &str, section: Option<Section>) -> Vec<(&'static str, &'static str)> {
        match find(word, section) {
            Found::Keywords(list) => list.iter().map(|k| (section_name(k.section), k.name)).collect(),
            Found::Nothing(_) => Vec::new(),
        }
    }

    #[test]
    fn a_word_is_looked_up_in_every_section_or_in_one() {
        assert_eq!(found("hitarea", Some(Section::Sd)), [("sd", "hitarea")]);
        assert!(found("hitarea", None).contains(&("rd", "hitarea")));
        assert_eq!(found("Elapsed=", None), [("rd", "elapsed")]);
        assert_eq!(found("el", None), [("rd", "elapsed")]);
        assert!(!found("range", None).contains(&("sd", "ra")));
    }

    #[test]
    fn a_full_name_is_not_a_short_form_of_another_keyword() {
        let list = found("sd", None);
        assert!(list.iter().all(|(_, name)| *name == "sd"), "{list:?}");
    }

    #[test]
    fn the_nearest_name_is_offered() {
        assert_eq!(find("xfersise", None), Found::Nothing(Some("xfersize")));
        assert_eq!(find("banana", None), Found::Nothing(None));
        assert_eq!(find("elapsd", Some(Section::Rd)), Found::Nothing(Some("elapsed")));
    }

    #[test]
    fn sections_are_named_by_their_starters() {
        assert_eq!(section_named("RD"), Some(Section::Rd));
        assert_eq!(section_named("general"), Some(Section::General));
        assert_eq!(section_named("xx"), None);
    }

    #[test]
    fn every_difference_belongs_to_a_keyword() {
        for (section, name, text) in differences::all() {
            assert!(text.ends_with('.'), "{name}");
            // Sections whose table is still empty have nothing to be looked up.
            if !keywords::section(section).is_empty() {
                assert_eq!(keywords::lookup(section, name).map(|k| k.name), Some(name), "{section:?}");
            }
        }
    }

    #[test]
    fn a_text_has_all_parts() {
        let keyword = keywords::lookup(Section::Rd, "iorate").unwrap();
        insta::assert_snapshot!(text(keyword));
        let keyword = keywords::lookup(Section::General, "swat").unwrap();
        insta::assert_snapshot!(text(keyword));
    }
}
