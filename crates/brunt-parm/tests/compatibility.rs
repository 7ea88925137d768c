//! `docs/compatibility.md` says what the keyword table says. `BRUNT_BLESS=1` writes its tables anew.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use brunt_parm::explain;
use brunt_parm::keywords::{self, Keyword, Section, Spelling, Status};

const BEGIN: &str =
    "<!-- keywords: made from the keyword table; BRUNT_BLESS=1 cargo test -p brunt-parm makes it anew -->\n";
const END: &str = "<!-- end of keywords -->\n";

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/compatibility.md")
}

/// Text for a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn code(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("`{}`", cell(text)) }
}

fn names(keyword: &Keyword) -> String {
    let names: Vec<String> = keyword.names().map(code).collect();
    names.join(", ")
}

fn shortest(keyword: &Keyword) -> String {
    match keyword.spelling {
        Spelling::Family(letters) => format!("`{letters}…`"),
        _ => code(keyword.shortest()),
    }
}

fn state(keyword: &Keyword) -> &'static str {
    match keyword.status {
        Status::Honoured => "works",
        Status::Accepted(_) if keyword.later => "later",
        Status::Accepted(_) => "no effect",
        Status::Refused(_) => "refused",
    }
}

fn note(keyword: &Keyword) -> String {
    let why = match keyword.status {
        Status::Honoured => None,
        Status::Accepted(why) | Status::Refused(why) => Some(format!("{why}.")),
    };
    let scope = explain::scope(keyword).map(|s| format!("For {s}."));
    let difference = explain::difference(keyword).map(str::to_owned);
    let parts: Vec<String> = why.into_iter().chain(scope).chain(difference).collect();
    cell(&parts.join(" "))
}

fn tables() -> String {
    let mut out = String::new();
    for section in Section::ALL {
        let keywords = keywords::section(section);
        let title = if section == Section::General { "General".to_owned() } else { section.starter().to_uppercase() };
        let _ = writeln!(out, "\n### {title}: {}s\n", section.noun());
        if keywords.is_empty() {
            out.push_str("Not in this version: definitions are named as such and passed over.\n");
            continue;
        }
        out.push_str(
            "| keyword | shortest | values | default | what it does | state | note |\n|---|---|---|---|---|---|---|\n",
        );
        for k in keywords {
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {} | {} | {} |",
                names(k),
                shortest(k),
                code(k.form.syntax()),
                code(k.default.unwrap_or("")),
                cell(k.doc),
                state(k),
                note(k)
            );
        }
    }
    out.push('\n');
    out
}

#[test]
fn the_page_is_as_the_table() {
    let text = fs::read_to_string(page()).unwrap();
    let (before, rest) = text.split_once(BEGIN).expect("the page has the begin mark of its tables");
    let (_, after) = rest.split_once(END).expect("the page has the end mark of its tables");
    let wanted = format!("{before}{BEGIN}{}{END}{after}", tables());
    if std::env::var_os("BRUNT_BLESS").is_some() {
        fs::write(page(), &wanted).unwrap();
        return;
    }
    let stale = text.lines().zip(wanted.lines()).find(|(is, should)| is != should);
    assert!(text == wanted, "docs/compatibility.md is stale; BRUNT_BLESS=1 makes it anew. First difference: {stale:?}");
}

#[test]
fn no_row_is_empty() {
    let tables = tables();
    for keyword in keywords::table() {
        assert!(tables.contains(&format!("| {} |", names(keyword))), "{}", keyword.name);
        if keyword.status != Status::Honoured {
            assert!(!note(keyword).is_empty(), "{} says no reason", keyword.name);
        }
    }
}
