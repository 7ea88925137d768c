//! Why there is no connection, in a sentence with its cure, and whether it may come later.

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod catalogue;
mod openssh;

use std::fmt::Display;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use brunt_proto::stdio::ended;

use super::SshHost;
use super::talk::{Heard, Phase};
use crate::dial::DialError;
use crate::launch::payload::Payload;

/// The exit status of ssh for its own errors; that of the remote command otherwise.
const SSH_FAILED: i32 = 255;

/// The cure for what ends without a reason.
const LIMITS: &str = "look for limits of the login shell (ulimit -a) and for lack of memory";

/// How a talk ended that should have gone on.
#[derive(Debug)]
pub(super) enum Stop {
    /// The stream ended.
    Ended,
    /// Nothing came for so long, or nothing was taken.
    Silent(Duration),
    /// The script gave up: a word, and why.
    Failed {
        /// What it could not do.
        word: String,
        /// Why.
        text: String,
    },
    /// An answer that the script does not give.
    Garbled(String),
    /// The program on this machine cannot be read any more.
    Program(PathBuf, String),
}

/// ssh cannot be started.
pub(super) fn cannot_run(name: &str, program: &str, error: &io::Error) -> DialError {
    DialError::Never(format!(
        "{name}: `{program}` cannot be run: {error}; install OpenSSH's client, or say in BRUNT_SSH how ssh is called"
    ))
}

/// What comes behind the marker is not the protocol.
pub(super) fn no_protocol(name: &str, error: &dyn Display) -> DialError {
    DialError::NotNow(format!(
        "{name}: what comes behind the marker is not the protocol ({error}); nothing that misc=(become=…) names may write \
         to the output of the agent"
    ))
}

fn garbled(answer: &str) -> String {
    format!(
        "the host gave an answer that cannot be understood: {answer}; is `/bin/sh` there a shell, and does nothing write in \
         between?"
    )
}

/// Everything that is known of a connection that failed.
#[derive(Debug)]
pub(super) struct Trouble<'a> {
    /// How the way is called.
    pub(super) name: String,
    pub(super) host: &'a SshHost,
    pub(super) payload: &'a Payload,
    /// Whether it was to go on with a session: that it worked before speaks for another try.
    pub(super) attach: bool,
    pub(super) stop: Stop,
    /// How ssh ended; `None`: it was ended.
    pub(super) how: Option<ExitStatus>,
    /// Standard error.
    pub(super) said: Vec<String>,
    pub(super) heard: Heard,
}

/// Whether another try may help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hope {
    /// No.
    None,
    /// No at a beginning; a host that was there before may be mended meanwhile.
    Later,
    /// Yes.
    Now,
}

impl Trouble<'_> {
    /// The error.
    pub(super) fn explain(&self) -> DialError {
        let (hope, text) = match &self.stop {
            Stop::Ended => self.ended(),
            Stop::Silent(limit) => (Hope::Now, self.silent(*limit)),
            Stop::Failed { word, text } => self.failed(word, text),
            Stop::Garbled(answer) => (Hope::Later, garbled(answer)),
            Stop::Program(path, error) => {
                (Hope::Later, format!("{} cannot be read any more, so it cannot be copied: {error}", path.display()))
            }
        };
        let text = format!("{}: {text}", self.name);
        match hope {
            Hope::None => DialError::Never(text),
            Hope::Later if !self.attach => DialError::Never(text),
            Hope::Later | Hope::Now => DialError::NotNow(text),
        }
    }

    /// The stream ended without a reason given by the script.
    fn ended(&self) -> (Hope, String) {
        if let Some(signal) = self.how.and_then(|how| how.signal()) {
            let text = format!(
                "ssh was killed by signal {signal} on this machine; look who did that, and whether memory was short (dmesg)"
            );
            return (Hope::Now, text);
        }
        let code = self.how.and_then(|how| how.code());
        if code == Some(SSH_FAILED) {
            return openssh::explain(&self.said, &self.host.system, self.heard.phase);
        }
        match self.heard.phase {
            Phase::Login => {
                let text = format!(
                    "no shell there ({}): {}; the account needs a login shell that runs /bin/sh",
                    self.end(),
                    self.last_words()
                );
                (Hope::Later, text)
            }
            Phase::Script | Phase::Copy => {
                let text = format!("the shell there ended too early ({}): {}; {LIMITS}", self.end(), self.last_words());
                (Hope::Now, text)
            }
            Phase::Agent => self.agent(),
        }
    }

    /// The command that should have become the agent has ended.
    fn agent(&self) -> (Hope, String) {
        let own = |line: &&String| line.starts_with("error: ");
        if let Some(own) = self.said.iter().rev().find(own) {
            let own = own.trim_start_matches("error: ");
            return match self.attach {
                // Whoever asked says that the session cannot go on.
                true => (Hope::None, own.to_owned()),
                false => (Hope::Later, format!("the agent ended before it was ready: {own}")),
            };
        }
        if self.host.privileges.is_empty() {
            let text = format!("the agent ended before it was ready ({}): {}; {LIMITS}", self.end(), self.last_words());
            return (Hope::Later, text);
        }
        let asked = self.host.privileges.join(" ");
        let text = format!(
            "`{asked}` was refused there: {}; allow it without a password (NOPASSWD in sudoers), or leave misc=(become=…) out",
            self.last_words()
        );
        (Hope::Later, text)
    }

    fn silent(&self, limit: Duration) -> String {
        let limit = limit.as_secs();
        let what = match self.heard.phase {
            Phase::Login => "no shell has answered",
            Phase::Script => "the shell there has not answered",
            Phase::Copy => "the copy of the program has not gone on",
            Phase::Agent => "the agent has not answered",
        };
        let said = self.said.last().or(self.heard.chatter.last()).map(|line| format!("; the last that came: {line}"));
        format!("{what} for {limit} s{}", said.unwrap_or_default())
    }

    /// What the script could not do.
    fn failed(&self, word: &str, text: &str) -> (Hope, String) {
        match word {
            "machine" => {
                let (system, machine) = self.heard.system.split_once(' ').unwrap_or((&self.heard.system, "?"));
                let text = match system {
                    "Linux" => format!("it is a {machine} machine; {}", self.payload.cure(machine)),
                    _ => format!("it runs {system} ({machine}); Brunt runs on Linux only"),
                };
                (Hope::None, text)
            }
            "folders" => {
                let text = format!(
                    "no folder there takes and runs a copy of the program ({text}); make room in one of them, or install it \
                     there and name its folder with vdbench="
                );
                (Hope::Later, text)
            }
            "run" => {
                let (status, said) = text.split_once(' ').unwrap_or((text, ""));
                (Hope::Later, self.does_not_run(status.parse().unwrap_or(0), said))
            }
            "cut" => (Hope::Now, format!("the copy of the program broke off: {text}")),
            _ => (Hope::Later, garbled(&format!("fail {word} {text}"))),
        }
    }

    /// Why a program on the host does not run, by the status that its shell gave and what was said.
    fn does_not_run(&self, status: i32, said: &str) -> String {
        let lower = said.to_ascii_lowercase();
        let reason = match status {
            129..=192 => format!("it was killed by signal {}", status - 128),
            _ if said.is_empty() => format!("exit status {status}"),
            _ => said.to_owned(),
        };
        let cure = if lower.contains("glibc") || lower.contains("shared librar") || status == 127 {
            "it needs libraries that the host has not got; put a static build beside this one (README, \"Remote hosts\")"
        } else if lower.contains("exec format") || lower.contains("syntax error") {
            "it is for another machine"
        } else if (129..=192).contains(&status) || lower.contains("memory") {
            LIMITS
        } else {
            "try it there by hand"
        };
        format!("the program does not run there: {reason}; {cure}")
    }

    /// How ssh ended, in words.
    fn end(&self) -> String {
        self.how.map_or_else(|| "it was ended".to_owned(), |how| ended(Ok(how)))
    }

    /// The last lines that may tell something.
    fn last_words(&self) -> String {
        const SHOWN: usize = 3;
        let lines: Vec<&str> = self
            .heard
            .chatter
            .iter()
            .chain(&self.said)
            .map(|line| line.trim())
            .filter(|line| !line.is_empty())
            .collect();
        match lines.get(lines.len().saturating_sub(SHOWN)..) {
            Some([]) | None => "it said nothing".to_owned(),
            Some(last) => last.join(" / "),
        }
    }
}
