//! The words behind `brunt calibrate`.

use std::ffi::OsString;
use std::path::PathBuf;

/// Another tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rival {
    /// Vdbench, installed in a directory.
    Vdbench(PathBuf),
    /// fio, with one of its engines when that was said.
    Fio(Option<String>),
}

/// A call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// What to read.
    pub lun: Option<String>,
    /// Tools to compare with.
    pub against: Vec<Rival>,
    /// Whether to make a device of a known time.
    pub device: bool,
    /// Size of a read, bytes.
    pub size: u64,
    /// Outstanding reads, one comparison each; empty: as the LUN suggests.
    pub threads: Vec<u32>,
    /// Seconds of a round.
    pub seconds: u32,
    /// Rounds.
    pub rounds: u32,
}

impl Default for Call {
    fn default() -> Self {
        let (lun, against, device, threads) = (None, Vec::new(), false, Vec::new());
        Self { lun, against, device, size: 8192, threads, seconds: 4, rounds: 5 }
    }
}

const USAGE: &str = "usage: brunt calibrate [LUN] | --device | --against vdbench=DIR,fio[=ENGINE] LUN [--size 8k] [--threads 1,32] \
     [--seconds 4] [--rounds 5]";

/// Reads them.
///
/// # Errors
/// A sentence about the first word that cannot be understood.
pub fn read(words: &[OsString]) -> Result<Call, String> {
    let mut call = Call::default();
    let mut words = words.iter().map(|word| word.to_string_lossy().into_owned());
    while let Some(word) = words.next() {
        let (name, glued) = match word.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name.to_owned(), Some(value.to_owned())),
            _ => (word.clone(), None),
        };
        let mut value = || glued.clone().or_else(|| words.next()).ok_or(format!("{name} needs a value; {USAGE}"));
        match name.as_str() {
            "--device" => call.device = true,
            "--against" => call.against = rivals(&value()?)?,
            "--size" => call.size = size(&value()?)?,
            "--threads" => call.threads = threads(&value()?)?,
            "--seconds" => call.seconds = number(&name, &value()?, 2, 3600)?,
            "--rounds" => call.rounds = number(&name, &value()?, 1, 1000)?,
            _ if name.starts_with('-') => return Err(format!("unknown option `{name}`; {USAGE}")),
            _ if call.lun.is_some() => return Err(format!("one LUN only, and here is another: {word}; {USAGE}")),
            _ => call.lun = Some(word),
        }
    }
    match (&call.lun, call.against.is_empty(), call.device) {
        (Some(_), _, true) => Err("--device makes its own LUN: leave yours away".to_owned()),
        (_, false, true) => Err("--device and --against are two calls".to_owned()),
        (None, false, false) => Err(format!("--against compares tools on a LUN: which one? {USAGE}")),
        _ => Ok(call),
    }
}

fn rivals(text: &str) -> Result<Vec<Rival>, String> {
    let rival = |word: &str| match word.split_once('=') {
        Some(("vdbench", dir)) if !dir.is_empty() => Ok(Rival::Vdbench(dir.into())),
        Some(("fio", engine)) if !engine.is_empty() => Ok(Rival::Fio(Some(engine.to_owned()))),
        None if word == "fio" => Ok(Rival::Fio(None)),
        _ => Err(format!("--against: `{word}` is neither vdbench=DIR nor fio nor fio=ENGINE")),
    };
    text.split(',').map(rival).collect()
}

/// Bytes, with `k` or `m` behind them.
fn size(text: &str) -> Result<u64, String> {
    let lower = text.to_ascii_lowercase();
    let (digits, unit) = match lower.strip_suffix(['k', 'm']) {
        Some(digits) if lower.ends_with('k') => (digits, 1 << 10),
        Some(digits) => (digits, 1 << 20),
        None => (lower.as_str(), 1),
    };
    let bytes = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(unit));
    let fits = |bytes: &u64| *bytes > 0 && bytes.is_multiple_of(512) && *bytes <= 64 << 20;
    bytes.filter(fits).ok_or(format!("--size: `{text}` is not a multiple of 512 up to 64m"))
}

fn threads(text: &str) -> Result<Vec<u32>, String> {
    text.split(',').map(|word| number("--threads", word, 1, 4096)).collect()
}

fn number(name: &str, text: &str, least: u32, most: u32) -> Result<u32, String> {
    let number = text.parse::<u32>().ok().filter(|n| (least..=most).contains(n));
    number.ok_or(format!("{name}: `{text}` is not a number from {least} to {most}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn call(line: &str) -> Result<Call, String> {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        read(&words)
    }

    #[test]
    fn words_come_in_any_order() {
        let plain = call("").unwrap();
        assert_eq!(plain, Call::default());
        let call =
            call("/dev/sdb --threads 1,8 --against=vdbench=/opt/vd,fio,fio=libaio --size 4k --rounds=3").unwrap();
        let fio = |engine: Option<&str>| Rival::Fio(engine.map(str::to_owned));
        assert_eq!(call.against, [Rival::Vdbench("/opt/vd".into()), fio(None), fio(Some("libaio"))]);
        assert_eq!((call.lun.as_deref(), call.size, call.rounds), (Some("/dev/sdb"), 4096, 3));
        assert_eq!(call.threads, [1, 8]);
    }

    #[test]
    fn mistakes_are_named() {
        let begins = |line: &str, start: &str| {
            let error = call(line).unwrap_err();
            assert!(error.starts_with(start), "{line}: {error}");
        };
        begins("--devise", "unknown option `--devise`; usage: brunt calibrate");
        begins("--against fio", "--against compares tools on a LUN");
        begins("--against vdbench /dev/sdb", "--against: `vdbench` is neither");
        begins("--device /dev/sdb", "--device makes its own LUN");
        begins("/a /b", "one LUN only, and here is another: /b");
        begins("/a --size 1000", "--size: `1000` is not a multiple of 512");
        begins("/a --size 99999999999999999999k", "--size: ");
        begins("/a --rounds 0", "--rounds: `0` is not a number from 1 to 1000");
        begins("/a --threads", "--threads needs a value");
        begins("/a --threads 1,x", "--threads: `x` is not");
    }
}
