//! Whatever the text, the parser ends, says places that exist, and can show them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/files.rs"]
mod files;

use brunt_parm::render::render;
use brunt_parm::{Parsed, keywords};
use files::{messages, parse_with};
use proptest::prelude::*;

fn check(parsed: &Parsed) {
    for diag in &parsed.diags {
        if let Some(span) = diag.span {
            let name = &parsed.sources.get(span.file).expect("a source that was read").name;
            let at = parsed.sources.line_column(span);
            let place = format!(" --> {name}:{}:{}", at.line, at.column);
            let text = render(diag, &parsed.sources, false);
            assert!(text.lines().any(|line| line.ends_with(&place)), "{place} is not in\n{text}");
        }
        let spans = diag.span.iter().chain(diag.related.iter().map(|(s, _)| s)).chain(diag.fix.iter().map(|(s, _)| s));
        for span in spans {
            let source = parsed.sources.get(span.file).expect("a source that was read");
            assert!(span.start <= span.end && span.end as usize <= source.text.len(), "{diag:?}");
            assert!(source.text.get(span.start as usize..span.end as usize).is_some(), "{diag:?}");
        }
    }
    let _ = messages(parsed);
}

/// Something that a parameter file might hold.
fn token() -> impl Strategy<Value = String> {
    let names: Vec<String> = keywords::table().map(|k| format!("{}=", k.name)).collect();
    let bits = [
        "sd=",
        "wd=",
        "rd=",
        "hd=",
        "fsd=",
        "default",
        ",",
        ",",
        ",",
        "\n",
        "\n",
        " ",
        "\t",
        "(",
        ")",
        "\"",
        "-",
        "=",
        "*",
        "#",
        "$x",
        "!x",
        "$host",
        "#host",
        "#hosts",
        "include=b",
        "include=",
        "eof",
        "max",
        "curve",
        "d",
        "1",
        "4k",
        "50%",
        "-1",
        "1-5",
        "sd1-sd3",
        "é",
        "\r",
        "poisson",
        "eof",
        "10s",
        "1e999",
        "99999999999999999999",
        "x",
        "/",
        "misc=(a=b)",
    ];
    prop_oneof![proptest::sample::select(names), proptest::sample::select(bits.to_vec()).prop_map(str::to_owned),]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn arbitrary_text_is_survived(text in any::<String>(), other in ".*") {
        check(&parse_with("a x=1 +q=2", &[("a", &text), ("b", &other)]));
    }

    #[test]
    fn near_misses_are_survived(tokens in proptest::collection::vec(token(), 0..60), value in token()) {
        let text = tokens.concat();
        check(&parse_with(&format!("a x={} +{}", value.replace(' ', ""), value.replace(' ', "")), &[("a", &text), ("b", "sd=s1,lun=/a\ninclude=a")]));
    }

    #[test]
    fn a_broken_line_does_not_hide_the_next(tokens in proptest::collection::vec("[a-z0-9(\"=-]{0,6}", 0..8)) {
        // A line that does not end with a comma ends there, whatever is on it.
        let line = format!("z{}z", tokens.join(","));
        let parsed = parse_with("a", &[("a", &format!("{line}\nsd=good,lun=/a\nrd=r,sd=good,iorate=1\n"))]);
        check(&parsed);
        let found = parsed.sources.get(brunt_parm::FileId(1)).is_some()
            && (parsed.file.sds.iter().any(|s| s.name.as_ref().is_some_and(|n| n.value == "good"))
                || parsed.diags.iter().any(|d| d.code == "wrong-order")
                || ["sd=", "wd=", "rd=", "fsd=", "fwd=", "rg="].iter().any(|k| line.contains(k)));
        prop_assert!(found, "{}", messages(&parsed));
    }
}
