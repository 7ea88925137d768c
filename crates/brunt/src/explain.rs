//! `brunt explain`: what a keyword of a parameter file means.

use std::ffi::OsString;
use std::io::{self, Write};

use brunt_parm::explain::{self, Found};
use brunt_parm::keywords::Section;

use crate::exit;

/// Explains the keywords that are named, or lists all.
pub fn run(words: &[OsString]) -> i32 {
    match read(words).and_then(|(keywords, section)| text(&keywords, section)) {
        Ok(text) => {
            // A reader that went away (`brunt explain | head -1`) has seen what it wanted.
            let _ = io::stdout().write_all(text.as_bytes());
            exit::DONE
        }
        Err(text) => {
            let _ = writeln!(io::stderr(), "error: {text}");
            exit::USAGE
        }
    }
}

/// The keywords and the section of the call.
fn read(words: &[OsString]) -> Result<(Vec<String>, Option<Section>), String> {
    let mut words = words.iter().map(|w| w.to_string_lossy().into_owned());
    let (mut keywords, mut section) = (Vec::new(), None);
    while let Some(word) = words.next() {
        let name = match word.strip_prefix("--section") {
            Some("") => words.next().unwrap_or_default(),
            Some(glued) if glued.starts_with('=') => glued[1..].to_owned(),
            _ if word.starts_with('-') => {
                return Err(format!("unknown option `{word}`; usage: brunt explain [KEYWORD…] [--section S]"));
            }
            _ => {
                keywords.push(word);
                continue;
            }
        };
        section = Some(explain::section_named(&name).ok_or_else(|| {
            let all: Vec<&str> = Section::ALL.into_iter().map(explain::section_name).collect();
            format!("`{name}` is not a section; there are {}", all.join(", "))
        })?);
    }
    Ok((keywords, section))
}

fn text(keywords: &[String], section: Option<Section>) -> Result<String, String> {
    if keywords.is_empty() {
        return Ok(explain::list(section));
    }
    let mut texts = Vec::new();
    for word in keywords {
        match explain::find(word, section) {
            Found::Keywords(found) => texts.extend(found.into_iter().map(explain::text)),
            Found::Nothing(near) => return Err(unknown(word, section, near)),
        }
    }
    Ok(texts.join("\n"))
}

fn unknown(word: &str, section: Option<Section>, near: Option<&str>) -> String {
    let place = section.map_or_else(String::new, |s| format!(" of a {}", s.noun()));
    let cure = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`brunt explain` lists all".to_owned(),
    };
    format!("there is no keyword `{word}`{place}; {cure}")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn said(line: &str) -> Result<String, String> {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        read(&words).and_then(|(keywords, section)| text(&keywords, section))
    }

    #[test]
    fn keywords_are_explained_in_every_section_that_has_them() {
        let text = said("hitarea").unwrap();
        assert!(
            text.contains("hitarea=  (storage definition)") && text.contains("hitarea=  (run definition)"),
            "{text}"
        );
        let text = said("hitarea --section sd").unwrap();
        assert!(!text.contains("run definition"), "{text}");
        assert!(said("elapsed interval").unwrap().contains("interval="));
    }

    #[test]
    fn without_a_keyword_all_are_listed() {
        let (all, runs) = (said("").unwrap(), said("--section=rd").unwrap());
        assert!([" seekpct ", " jvms ", " validate "].iter().all(|k| all.contains(k)));
        assert!(runs.contains(" iorate ") && !runs.contains(" jvms "));
    }

    #[test]
    fn what_is_unknown_is_said_with_the_nearest() {
        assert_eq!(said("xfersise").unwrap_err(), "there is no keyword `xfersise`; did you mean `xfersize`?");
        assert_eq!(said("banana").unwrap_err(), "there is no keyword `banana`; `brunt explain` lists all");
        assert!(said("skew --section xx").unwrap_err().starts_with("`xx` is not a section; there are general, hd,"));
        assert!(said("--banana").unwrap_err().starts_with("unknown option `--banana`"));
    }
}
