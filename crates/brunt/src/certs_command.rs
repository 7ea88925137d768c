//! `brunt certs`: the certificates of agents that listen (`docs/fleet.md`).

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use brunt_master::certs::{self, CA_DAYS, CertsError, Facts, Issued, LEAF_DAYS, Listed, Validity, Whom, date};

use crate::exit;

const USAGE: &str = "usage: brunt certs init [DIR] [--days N]; \
    brunt certs issue (--agent NAME|ADDRESS… | --master) [--dir DIR] [--days N] [--replace]; brunt certs show [DIR]";

/// What to do.
#[derive(Debug, PartialEq, Eq)]
enum Deed {
    Init,
    Issue { whom: Whom, replace: bool },
    Show,
}

#[derive(Debug, PartialEq, Eq)]
struct Call {
    deed: Deed,
    folder: Option<PathBuf>,
    days: Option<u32>,
}

/// Makes or shows certificates.
pub fn run(words: &[OsString]) -> i32 {
    let call = match read(words) {
        Ok(call) => call,
        Err(text) => return complain(&text, exit::USAGE),
    };
    let Some(folder) = call.folder.clone().or_else(|| certs::default_folder(|name| std::env::var_os(name))) else {
        return complain("which folder? there is no home folder, so name it, or set BRUNT_CERTS", exit::USAGE);
    };
    match act(&call, &folder) {
        Ok(text) => {
            // A reader that went away has seen what it wanted.
            let _ = io::stdout().write_all(text.as_bytes());
            exit::DONE
        }
        Err(error) => complain(&error.to_string(), exit::SETUP),
    }
}

fn complain(text: &str, status: i32) -> i32 {
    let _ = writeln!(io::stderr(), "error: {text}");
    status
}

fn read(words: &[OsString]) -> Result<Call, String> {
    let mut words = words.iter().map(|w| w.to_string_lossy().into_owned());
    let deed = words.next().unwrap_or_default();
    let (mut folder, mut days, mut bare) = (None, None, Vec::new());
    let (mut agent, mut master, mut replace) = (false, false, false);
    while let Some(word) = words.next() {
        let (name, glued) = match word.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
            _ => (word.as_str(), None),
        };
        let mut value = || glued.clone().or_else(|| words.next()).ok_or(format!("`{name}` needs a value; {USAGE}"));
        match name {
            "--dir" => folder = Some(PathBuf::from(value()?)),
            "--days" => days = Some(number(&value()?)?),
            "--agent" if deed == "issue" => {
                agent = true;
                bare.extend(glued.clone());
            }
            "--master" if deed == "issue" => master = true,
            "--replace" if deed == "issue" => replace = true,
            _ if name.starts_with('-') => return Err(format!("unknown option `{name}`; {USAGE}")),
            _ => bare.push(word),
        }
    }
    let deed = match (deed.as_str(), agent, master) {
        ("init", ..) => Deed::Init,
        ("show", ..) if days.is_none() => Deed::Show,
        ("issue", true, false) if bare.is_empty() => return Err(format!("which agent? {USAGE}")),
        ("issue", true, false) => Deed::Issue { whom: Whom::Agent(std::mem::take(&mut bare)), replace },
        ("issue", false, true) => Deed::Issue { whom: Whom::Master, replace },
        ("issue", ..) => return Err(format!("for whom? {USAGE}")),
        _ => return Err(format!("what to do? {USAGE}")),
    };
    match (bare.len(), &folder) {
        (0, _) => {}
        (1, None) => folder = bare.pop().map(PathBuf::from),
        _ => return Err(format!("one folder, please; {USAGE}")),
    }
    Ok(Call { deed, folder, days })
}

/// A lifetime: a hundred years at most, since some libraries have no later dates.
fn number(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(days @ 1..=36_500) => Ok(days),
        _ => Err(format!("`--days`: `{text}` is not a number of days from 1 to 36500")),
    }
}

fn act(call: &Call, folder: &Path) -> Result<String, CertsError> {
    let days = |otherwise| Validity::days(SystemTime::now(), call.days.unwrap_or(otherwise));
    Ok(match &call.deed {
        Deed::Init => {
            let made = certs::init(folder, days(CA_DAYS))?;
            format!(
                "{}whoever has {} can make masters and agents: it never leaves this machine\n",
                wrote(&made),
                made.files.key.display()
            )
        }
        Deed::Issue { whom, replace } => {
            let made = certs::issue(folder, whom, days(LEAF_DAYS), *replace)?;
            match whom {
                Whom::Master => wrote(&made),
                Whom::Agent(_) => format!("{}{}", wrote(&made), to_the_host(&made)),
            }
        }
        Deed::Show => show(folder, &certs::list(folder)?),
    })
}

fn wrote(made: &Issued) -> String {
    let (certificate, key) = (made.files.certificate.display(), made.files.key.display());
    format!("wrote {certificate} and {key}: {}\n", told(&made.facts))
}

fn to_the_host(made: &Issued) -> String {
    let base = |path: &Path| path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let (certificate, key) = (base(&made.files.certificate), base(&made.files.key));
    format!(
        "take both and {} to the host, and start there: brunt agent --listen 0.0.0.0:5570 --cert {certificate} --key {key} \
         --ca ca.pem\n",
        made.files.ca.display()
    )
}

/// A certificate in a line.
fn told(facts: &Facts) -> String {
    let mut text = facts.subject.clone();
    if !facts.names.is_empty() {
        let _ = write!(text, " for {}", facts.names.join(", "));
    }
    let role = match facts.roles.as_slice() {
        _ if facts.ca => "a CA",
        [role] => role.with_article(),
        [] => "no role: of no use here",
        _ => "several roles: of no use here",
    };
    let _ = write!(text, " ({role}), valid from {} to {}", date(facts.not_before), date(facts.not_after));
    if !facts.ca {
        let _ = write!(text, ", by {}", facts.issuer);
    }
    text
}

fn show(folder: &Path, listed: &[Listed]) -> String {
    if listed.is_empty() {
        return format!("no certificates in {}; brunt certs init makes a CA\n", folder.display());
    }
    let now = Validity::days(SystemTime::now(), 0).not_after;
    let mut out = String::new();
    for Listed { path, facts } in listed {
        let text = match facts {
            Some(facts) if facts.not_after < now => format!("{} EXPIRED", told(facts)),
            Some(facts) => told(facts),
            None => "no certificate".to_owned(),
        };
        let _ = writeln!(out, "{}: {text}", path.display());
    }
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn call(line: &str) -> Result<Call, String> {
        read(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn calls_are_read() {
        let made = |deed, folder: Option<&str>, days| Ok(Call { deed, folder: folder.map(PathBuf::from), days });
        let agent = |names: &[&str], replace| Deed::Issue {
            whom: Whom::Agent(names.iter().map(|n| (*n).to_owned()).collect()),
            replace,
        };
        assert_eq!(call("init"), made(Deed::Init, None, None));
        assert_eq!(call("init /d --days 10"), made(Deed::Init, Some("/d"), Some(10)));
        assert_eq!(call("show --dir=/d"), made(Deed::Show, Some("/d"), None));
        let master = Deed::Issue { whom: Whom::Master, replace: true };
        assert_eq!(call("issue --master /d --replace"), made(master, Some("/d"), None));
        assert_eq!(call("issue --agent a 10.0.0.1 --dir /d"), made(agent(&["a", "10.0.0.1"], false), Some("/d"), None));
        assert_eq!(call("issue --agent=a --days=1"), made(agent(&["a"], false), None, Some(1)));
    }

    #[test]
    fn a_folder_that_is_not_there_has_no_certificates() {
        let call = call("show /no/such/folder").unwrap();
        let told = act(&call, Path::new("/no/such/folder")).unwrap();
        assert_eq!(told, "no certificates in /no/such/folder; brunt certs init makes a CA\n");
    }

    #[test]
    fn mistakes_are_told() {
        for (line, told) in [
            ("", "what to do? "),
            ("list", "what to do? "),
            ("init --master", "unknown option `--master`; "),
            ("init a b", "one folder, please; "),
            ("issue", "for whom? "),
            ("issue --agent", "which agent? "),
            ("issue --agent a --master", "for whom? "),
            ("issue --master --days", "`--days` needs a value; "),
        ] {
            assert_eq!(call(line), Err(format!("{told}{USAGE}")), "{line}");
        }
        let text = "`--days`: `0` is not a number of days from 1 to 36500";
        assert_eq!(call("init --days 0"), Err(text.to_owned()));
    }
}
