//! What must hold for every input. The fuzz targets use it, and an ordinary test on changed seeds.
//!
//! An input is up to three texts with NUL between them: the parameter file, a file `b` that it may include, and the value of the
//! variable `x`.

#![allow(dead_code, reason = "each target uses a part of it")]

use brunt_parm::source::{ReadError, Reader};
use brunt_parm::{Input, Parsed, Severity, fmt, json, render};

/// The texts of an input.
struct Texts {
    main: String,
    included: String,
}

impl Reader for Texts {
    fn read(&self, path: &str) -> Result<String, ReadError> {
        match path {
            "p" => Ok(self.main.clone()),
            "b" => Ok(self.included.clone()),
            _ => Err(ReadError::NotFound),
        }
    }

    fn absolute(&self, path: &str) -> String {
        format!("/{path}")
    }
}

fn texts(data: &[u8]) -> (Texts, Option<String>) {
    let mut parts = data.splitn(3, |b| *b == 0).map(|part| String::from_utf8_lossy(part).into_owned());
    let main = parts.next().unwrap_or_default();
    let included = parts.next().unwrap_or_default();
    (Texts { main, included }, parts.next())
}

/// Parsing ends, places exist, problems can be shown, and what was read can be expanded.
pub fn parse(data: &[u8]) {
    let (files, value) = texts(data);
    let substitutions = value.map(|v| ("x".to_owned(), v)).into_iter().collect();
    let input = Input { files: vec!["p".to_owned()], substitutions, ..Input::default() };
    let mut parsed = brunt_parm::parse(&input, &files);
    shown(&parsed);
    let failed = parsed.diags.iter().any(|d| d.severity == Severity::Error);
    parsed.diags.clear();
    // The plan of a small file may be as large as it likes; what is tested is that it is right.
    let small = parsed.file.sds.iter().all(|sd| sd.count.is_none_or(|c| c.value.1 < 100));
    if small && !failed {
        let _ = brunt_plan::expand(&parsed.file, &brunt_plan::Options::default(), &mut parsed.diags);
        shown(&parsed);
    }
}

fn shown(parsed: &Parsed) {
    for diag in &parsed.diags {
        let related = diag.related.iter().map(|(span, _)| span);
        for span in diag.span.iter().chain(related).chain(diag.fix.iter().map(|(span, _)| span)) {
            let Some(source) = parsed.sources.get(span.file) else { panic!("no such source: {diag:?}") };
            assert!(source.text.get(span.start as usize..span.end as usize).is_some(), "no such place: {diag:?}");
        }
        assert!(render::render(diag, &parsed.sources, false).contains(diag.code), "{diag:?}");
        assert!(json::render(diag, &parsed.sources).starts_with('{'), "{diag:?}");
    }
}

/// A file that can be formatted means the same and is its own canonical form then.
pub fn format(data: &[u8]) {
    let (files, _) = texts(data);
    let formatted = match fmt::checked("p", &files.main, &files) {
        Ok(formatted) => formatted,
        Err(error) => {
            let ours = error.diags.iter().any(|d| d.code == "not-stable");
            return assert!(!ours, "twice changes something:\n{}", files.main);
        }
    };
    let text = &formatted.text;
    match fmt::checked("p", text, &files) {
        Ok(again) => assert_eq!(&again.text, text, "twice changes something"),
        Err(error) => panic!("the canonical form is refused: {:?}\n{text}", error.diags),
    }
}
