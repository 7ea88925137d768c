//! From words on the command line to [`Arguments`].

use std::ffi::OsString;

use brunt_plan::engine::Asked;

use crate::diagnostics::MessageFormat;
use crate::options::{Id, Row, TABLE, Takes};

/// Layout of the report files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Layout {
    /// 5.04.07.
    #[default]
    Current,
    /// 5.04.06 and before.
    Old,
}

/// What `-l` asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoopFor {
    /// No end.
    Ever,
    /// Until that many seconds have passed at the end of a pass.
    Seconds(u64),
}

/// `-t…`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Demo {
    /// `-t1`: o_sync.
    pub sync: bool,
    /// `-t2`: writes only, at maximum rate.
    pub write_max: bool,
    /// `-tf`: file systems.
    pub file_system: bool,
    /// `-td`: delete the demonstration file first.
    pub delete: bool,
}

/// The execution options as typed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Arguments {
    /// Every option as one word, for `input argument scanned:`.
    pub scanned: Vec<String>,
    /// `-f`.
    pub files: Vec<String>,
    /// `-o`.
    pub output: Option<String>,
    /// `-e`, seconds.
    pub elapsed: Option<u32>,
    /// `-i`, seconds.
    pub interval: Option<u32>,
    /// `-w`, seconds.
    pub warmup: Option<u32>,
    /// `-m`.
    pub workers: Option<u32>,
    /// `-mb`.
    pub decimal_mb: bool,
    /// `-s`.
    pub simulate: bool,
    /// `-r`.
    pub restart: Option<String>,
    /// `-l`.
    pub repeat: Option<LoopFor>,
    /// `-t`.
    pub demo: Option<Demo>,
    /// `-v` and its letters.
    pub validate: Option<String>,
    /// `-j` and its letters.
    pub journal: Option<String>,
    /// `-c` and its letters.
    pub clean: Option<String>,
    /// `-d`.
    pub debug: Vec<u32>,
    /// `-p`.
    pub port: Option<u16>,
    /// `--compat`, when given.
    pub compat: Option<Layout>,
    /// `--engine`.
    pub engine: Option<Asked>,
    /// `--seed`.
    pub seed: Option<u64>,
    /// `--strict`.
    pub strict: bool,
    /// `--message-format`.
    pub message_format: MessageFormat,
    /// `--detach`.
    pub detach: bool,
    /// `--help`.
    pub help: bool,
    /// `--version`.
    pub version: bool,
    /// `key=value`.
    pub substitutions: Vec<(String, String)>,
    /// The text after `+`.
    pub rd_extra: Option<String>,
}

/// A command line that cannot be understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentError {
    /// No such option.
    #[error("unknown option `{word}`{}", hint.as_deref().map(|h| format!("; {h}")).unwrap_or_default())]
    Unknown {
        /// As typed.
        word: String,
        /// What may have been meant.
        hint: Option<String>,
    },
    /// The value is missing.
    #[error("option `{option}` needs a value: {option} {value}")]
    Missing {
        /// The option.
        option: &'static str,
        /// Its value's name.
        value: &'static str,
    },
    /// The value is not what it should be.
    #[error("option `{option}`: `{value}` is not {expected}")]
    Bad {
        /// The option.
        option: &'static str,
        /// As typed.
        value: String,
        /// What was expected.
        expected: &'static str,
    },
    /// A bare word.
    #[error("`{0}` is neither an option nor key=value; parameter files follow -f")]
    Bare(String),
    /// Not Unicode.
    #[error("argument {0} is not valid Unicode")]
    Encoding(usize),
    /// A removed utility or an internal start of Vdbench.
    #[error("`{0}` is not part of this version")]
    Utility(String),
}

const UTILITIES: &[&str] = &[
    "compare",
    "csim",
    "dsim",
    "edit",
    "jstack",
    "jmap",
    "parse",
    "parseflat",
    "print",
    "printjournal",
    "rsh",
    "sds",
    "showlba",
    "SlaveJvm",
];

/// Reads the words behind the program's name.
///
/// # Errors
/// The first word that cannot be understood.
pub fn read(words: impl IntoIterator<Item = OsString>) -> Result<Arguments, ArgumentError> {
    let words = words
        .into_iter()
        .enumerate()
        .map(|(i, w)| w.into_string().map_err(|_| ArgumentError::Encoding(i + 1)))
        .collect::<Result<Vec<_>, _>>()?;
    if let Some(first) = words.first().filter(|w| UTILITIES.contains(&w.as_str())) {
        return Err(ArgumentError::Utility(first.clone()));
    }
    let mut reading = Reading { words, at: 0, out: Arguments::default(), files_follow: false };
    while let Some(word) = reading.next() {
        reading.word(word)?;
    }
    Ok(reading.out)
}

struct Reading {
    words: Vec<String>,
    at: usize,
    out: Arguments,
    /// Whether a bare word is another parameter file: directly after one, or after `key=value`.
    files_follow: bool,
}

impl Reading {
    fn next(&mut self) -> Option<String> {
        let word = self.words.get(self.at).cloned();
        self.at += 1;
        word
    }

    fn peek(&self) -> Option<&str> {
        self.words.get(self.at).map(String::as_str)
    }

    fn word(&mut self, word: String) -> Result<(), ArgumentError> {
        if let Some(extra) = word.strip_prefix('+') {
            // Everything behind the plus is one text (`docs/vdbench/raw.md` §1.7).
            let mut text = extra.to_owned();
            while let Some(more) = self.next() {
                text.push_str(&more);
            }
            self.out.scanned.push(format!("+{text}"));
            self.out.rd_extra = Some(text);
            return Ok(());
        }
        if !word.starts_with('-') {
            return self.bare(word);
        }
        let Some((row, name, glued)) = find(&word) else {
            return Err(ArgumentError::Unknown { hint: hint(&word), word });
        };
        self.files_follow = false;
        self.option(row, name, glued)
    }

    fn bare(&mut self, word: String) -> Result<(), ArgumentError> {
        if let Some((key, value)) = word.split_once('=') {
            self.out.substitutions.push((key.to_owned(), value.to_owned()));
            self.out.scanned.push(word);
            self.files_follow = true;
            return Ok(());
        }
        if self.files_follow {
            self.out.scanned.push(format!("-f{word}"));
            self.out.files.push(word);
            return Ok(());
        }
        Err(ArgumentError::Bare(word))
    }

    fn option(&mut self, row: &'static Row, name: &'static str, glued: &str) -> Result<(), ArgumentError> {
        let value = match row.takes {
            Takes::Nothing => None,
            Takes::Letters(_) => Some(glued.to_owned()),
            Takes::Number(_) if !glued.is_empty() => Some(glued.to_owned()),
            Takes::Number(_) => match self.peek() {
                Some(w) if w.starts_with(|c: char| c.is_ascii_digit()) => self.next(),
                _ => Some(String::new()),
            },
            Takes::Value(_) | Takes::Values(_) if !glued.is_empty() => Some(glued.to_owned()),
            // `-r` without a name is ignored, as in Vdbench.
            Takes::Value(what) | Takes::Values(what) => match self.peek() {
                Some(w) if !w.starts_with('-') && !w.starts_with('+') => self.next(),
                Some("-") => self.next(),
                _ if row.id == Id::Restart => Some(String::new()),
                _ => return Err(ArgumentError::Missing { option: name, value: what }),
            },
        };
        let value = value.unwrap_or_default();
        let separator = if name.starts_with("--") && !value.is_empty() { " " } else { "" };
        self.out.scanned.push(format!("{name}{separator}{value}"));
        self.files_follow = matches!(row.takes, Takes::Values(_));
        self.apply(row.id, name, value)
    }

    fn apply(&mut self, id: Id, name: &'static str, value: String) -> Result<(), ArgumentError> {
        let out = &mut self.out;
        match id {
            Id::File => out.files.push(value),
            Id::Output => out.output = Some(value),
            // Zero means no override.
            Id::Elapsed => out.elapsed = Some(time(name, &value)?).filter(|n| *n > 0),
            Id::Interval => out.interval = Some(time(name, &value)?).filter(|n| *n > 0),
            Id::Warmup => out.warmup = Some(time(name, &value)?).filter(|n| *n > 0),
            Id::Workers => out.workers = Some(number(name, &value)?),
            Id::DecimalMb => out.decimal_mb = true,
            Id::Simulate => out.simulate = true,
            Id::Restart => out.restart = Some(value).filter(|v| !v.is_empty()),
            Id::Loop if value.is_empty() => out.repeat = Some(LoopFor::Ever),
            Id::Loop => out.repeat = Some(LoopFor::Seconds(u64::from(time(name, &value)?))),
            Id::Test => out.demo = Some(demo(name, &value, out.demo.unwrap_or_default())?),
            Id::Validate => out.validate = Some(letters(name, value, "rwt2q")?),
            Id::Journal => out.journal = Some(letters(name, value, "rnmo2tis")?),
            Id::Clean => out.clean = Some(letters(name, value, "oyn")?),
            Id::Debug => out.debug.push(number(name, &value)?),
            Id::Kstat => {}
            Id::Port => out.port = Some(port(name, value)?),
            Id::Compat => out.compat = Some(layout(name, value)?),
            Id::Engine => out.engine = Some(engine(name, value)?),
            Id::Seed => out.seed = Some(number(name, &value)?),
            Id::Strict => out.strict = true,
            Id::MessageFormat => out.message_format = message_format(name, value)?,
            Id::Detach => out.detach = true,
            Id::Help => out.help = true,
            Id::Version => out.version = true,
        }
        Ok(())
    }
}

/// The row whose name begins the word, and what is glued to it.
fn find(word: &str) -> Option<(&'static Row, &'static str, &str)> {
    for row in TABLE {
        for name in row.names {
            let Some(glued) = word.strip_prefix(name) else { continue };
            let fits = match row.takes {
                Takes::Nothing => glued.is_empty(),
                _ if name.starts_with("--") => glued.is_empty() || glued.starts_with('='),
                // A value that contains `=` is never glued (`docs/vdbench/raw.md` §2).
                _ => !glued.contains('='),
            };
            if fits {
                return Some((row, name, glued.strip_prefix('=').unwrap_or(glued)));
            }
        }
    }
    None
}

fn hint(word: &str) -> Option<String> {
    if word == "-I" {
        return Some("the interval is set by -i".to_owned());
    }
    let letter = word.get(..2)?;
    let known = TABLE.iter().find(|r| r.names.contains(&letter) && r.takes == Takes::Nothing)?;
    Some(format!("`{}` takes no value, and options cannot be combined", known.names.first()?))
}

fn number<T: std::str::FromStr>(option: &'static str, value: &str) -> Result<T, ArgumentError> {
    value.parse().map_err(|_| ArgumentError::Bad { option, value: value.to_owned(), expected: "a whole number" })
}

fn time(option: &'static str, value: &str) -> Result<u32, ArgumentError> {
    let (digits, factor) = match value.char_indices().last() {
        Some((i, 's')) => (&value[..i], 1),
        Some((i, 'm')) => (&value[..i], 60),
        Some((i, 'h')) => (&value[..i], 3600),
        _ => (value, 1),
    };
    digits.parse::<u32>().ok().and_then(|n| n.checked_mul(factor)).ok_or_else(|| ArgumentError::Bad {
        option,
        value: value.to_owned(),
        expected: "a time in whole seconds, or with s, m or h",
    })
}

fn letters(option: &'static str, value: String, known: &str) -> Result<String, ArgumentError> {
    if value.chars().all(|c| known.contains(c)) {
        return Ok(value);
    }
    Err(ArgumentError::Bad { option, value, expected: "made of the letters this option knows" })
}

fn demo(option: &'static str, value: &str, mut demo: Demo) -> Result<Demo, ArgumentError> {
    for letter in value.chars() {
        match letter {
            '1' => demo.sync = true,
            '2' => demo.write_max = true,
            'f' => demo.file_system = true,
            'd' => demo.delete = true,
            _ => {
                let expected = "one of 1, 2, f, d";
                return Err(ArgumentError::Bad { option, value: value.to_owned(), expected });
            }
        }
    }
    Ok(demo)
}

fn layout(option: &'static str, value: String) -> Result<Layout, ArgumentError> {
    match value.as_str() {
        "5.04.07" => Ok(Layout::Current),
        "5.04.05" | "5.04.06" => Ok(Layout::Old),
        _ => Err(ArgumentError::Bad { option, value, expected: "5.04.07 or 5.04.06" }),
    }
}

fn port(option: &'static str, value: String) -> Result<u16, ArgumentError> {
    let expected = "a port from 1 to 65535";
    value.parse().ok().filter(|port| *port > 0).ok_or(ArgumentError::Bad { option, value, expected })
}

fn engine(option: &'static str, value: String) -> Result<Asked, ArgumentError> {
    value.parse().map_err(|()| ArgumentError::Bad { option, value, expected: "auto, sync, aio, uring or null" })
}

fn message_format(option: &'static str, value: String) -> Result<MessageFormat, ArgumentError> {
    MessageFormat::named(&value).ok_or(ArgumentError::Bad { option, value, expected: "human or json" })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn ok(line: &str) -> Arguments {
        read(line.split(' ').map(OsString::from)).unwrap()
    }

    fn err(line: &str) -> String {
        read(line.split(' ').map(OsString::from)).unwrap_err().to_string()
    }

    #[test]
    fn values_may_be_glued_or_apart() {
        assert_eq!(
            ok("-f p -o out -e 10 -w2m"),
            Arguments {
                scanned: vec!["-fp".into(), "-oout".into(), "-e10".into(), "-w2m".into()],
                ..ok("-fp -oout -e10 -w 2m")
            }
        );
        assert_eq!(ok("-e10").elapsed, Some(10));
        assert_eq!(ok("-w2m").warmup, Some(120));
    }

    #[test]
    fn files_follow_a_file_or_a_substitution() {
        let a = ok("-f a b x=1 c -s");
        assert_eq!(a.files, ["a", "b", "c"]);
        assert_eq!(a.substitutions, [("x".to_owned(), "1".to_owned())]);
        assert!(a.simulate);
        assert_eq!(err("-s a"), "`a` is neither an option nor key=value; parameter files follow -f");
    }

    #[test]
    fn a_substitution_is_split_at_the_first_equals_sign() {
        assert_eq!(ok("x=elapsed=4").substitutions, [("x".to_owned(), "elapsed=4".to_owned())]);
    }

    #[test]
    fn megabytes_are_not_workers() {
        assert!(ok("-mb").decimal_mb);
        assert_eq!(ok("-m4").workers, Some(4));
    }

    #[test]
    fn loops() {
        assert_eq!(ok("-l -s").repeat, Some(LoopFor::Ever));
        assert_eq!(ok("-l 5m").repeat, Some(LoopFor::Seconds(300)));
        assert_eq!(ok("-l2h").repeat, Some(LoopFor::Seconds(7200)));
    }

    #[test]
    fn restart_without_a_name_is_ignored() {
        assert_eq!(ok("-r").restart, None);
        assert_eq!(ok("-r rd2_(50%)").restart.as_deref(), Some("rd2_(50%)"));
    }

    #[test]
    fn the_rest_behind_a_plus_is_glued() {
        assert_eq!(ok("-fp +elapsed=4, interval=2").rd_extra.as_deref(), Some("elapsed=4,interval=2"));
    }

    #[test]
    fn mistakes_say_what_to_do() {
        assert_eq!(err("-I 5"), "unknown option `-I`; the interval is set by -i");
        assert_eq!(err("-so dir"), "unknown option `-so`; `-s` takes no value, and options cannot be combined");
        assert_eq!(err("-e"), "option `-e` needs a value: -e TIME");
        assert_eq!(err("-e x"), "option `-e`: `x` is not a time in whole seconds, or with s, m or h");
        assert_eq!(err("--compat 5.04.03"), "option `--compat`: `5.04.03` is not 5.04.07 or 5.04.06");
        assert_eq!(err("--message-format xml"), "option `--message-format`: `xml` is not human or json");
        assert_eq!(err("--engine dma"), "option `--engine`: `dma` is not auto, sync, aio, uring or null");
        assert_eq!(err("-p 0"), "option `-p`: `0` is not a port from 1 to 65535");
        assert_eq!(err("-vc"), "option `-v`: `c` is not made of the letters this option knows");
        assert_eq!(err("SlaveJvm -m x"), "`SlaveJvm` is not part of this version");
    }

    #[test]
    fn long_options_take_an_equals_sign_too() {
        assert_eq!(ok("--compat=5.04.06").compat, Some(Layout::Old));
        assert_eq!(ok("--seed 7").seed, Some(7));
        assert_eq!((ok("--engine aio").engine, ok("-s").engine), (Some(Asked::Aio), None));
        assert_eq!(ok("--message-format=json").message_format, MessageFormat::Json);
    }
}
