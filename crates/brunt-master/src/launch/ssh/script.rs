//! What the shell of a host is told: `bootstrap.sh` behind its settings.

use std::fmt::Write as _;

use crate::launch::payload::Offer;

/// The script itself.
pub(super) const BOOTSTRAP: &str = include_str!("bootstrap.sh");

/// The settings of the script.
#[derive(Debug)]
pub(super) struct Script<'a> {
    /// What every answer carries.
    pub(super) marker: &'a str,
    /// Folder with a program to use, if it has one.
    pub(super) folder: Option<&'a str>,
    /// Programs that can be sent.
    pub(super) offers: &'a [Offer],
    /// What goes before the agent's command.
    pub(super) privileges: &'a [String],
    /// Of the agent.
    pub(super) arguments: &'a [String],
    /// Where the folders of the system are looked for: empty, but in tests.
    pub(super) top: &'a str,
}

impl Script<'_> {
    /// All that is sent.
    pub(super) fn text(&self) -> String {
        let offer = |o: &Offer| format!("{}:{}:{}", o.machine, o.sha256, o.bytes);
        let offers: Vec<String> = self.offers.iter().map(offer).collect();
        let mut text = String::with_capacity(BOOTSTRAP.len() + 1024);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "marker={}", quoted(self.marker));
        let _ = writeln!(text, "folder={}", quoted(self.folder.unwrap_or_default()));
        let _ = writeln!(text, "offers={}", quoted(&offers.join(" ")));
        let _ = writeln!(text, "top={}", quoted(self.top));
        let _ = writeln!(text, "run() {{ exec {} \"$@\"; }}", all(self.privileges));
        let _ = writeln!(text, "set -- {}", all(self.arguments));
        text.push_str(BOOTSTRAP);
        text
    }
}

fn all(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// A word that a shell takes as it is.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn no_word_is_taken_for_more_than_a_word() {
        for word in ["plain", "two words", "it's", "$(id)", "`id`; \"x\" \\ \n!", "", "-n", "*"] {
            let program = format!("printf %s {}", quoted(word));
            let done = std::process::Command::new("/bin/sh").args(["-c", &program]).output().unwrap();
            assert_eq!(String::from_utf8(done.stdout).unwrap(), word);
        }
    }

    /// Comments are for us; a slow link need not carry much more.
    #[test]
    fn it_is_short() {
        assert!(BOOTSTRAP.len() < 8 << 10, "{} bytes", BOOTSTRAP.len());
    }
}
