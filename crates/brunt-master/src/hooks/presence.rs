//! Before the first run: whether the commands of hooks are there. They are looked for and not run.

use std::collections::BTreeSet;
use std::time::Duration;

use brunt_parm::ast::Hook;
use brunt_plan::plan::Plan;

use super::HookLevel;
use crate::link::{HookResult, HostLink};
use crate::session::{Halt, Session};
use crate::slow::within;

/// Time a host has to look for commands.
const LIMIT: Duration = Duration::from_secs(30);
/// A host that takes longer is named.
const SLOW: Duration = Duration::from_secs(10);

/// Characters of a word that means itself to a shell.
const PLAIN: &str = "/._-+";

/// The programs that hooks begin with.
#[derive(Debug, Default, PartialEq, Eq)]
struct Programs {
    /// On the machine of the master.
    here: BTreeSet<String>,
    /// On each host.
    on_hosts: BTreeSet<String>,
}

impl<L: HostLink> Session<'_, L> {
    /// Warns of programs that are not there: hours later it would be too late to know. An earlier command may still
    /// bring them, so that it is no error.
    ///
    /// # Errors
    /// An interrupt.
    pub(crate) async fn look_for_hooks(&mut self, plan: &Plan) -> Result<(), Halt> {
        let Programs { here, on_hosts } = self.programs(plan);
        if !here.is_empty() {
            let missing = self.call(vec![(0, super::shell(search(&here), None))]).await?;
            for (_, result) in missing {
                self.tell_missing("this machine", &here, result.ok());
            }
        }
        if !on_hosts.is_empty() {
            let fleet = self.fleet;
            let hosts = fleet.hosts.iter().enumerate();
            let calls =
                hosts.map(|(h, host)| (h, within(LIMIT * 2, host.link.run_hook(search(&on_hosts), Some(LIMIT)))));
            let name_slow = |session: &mut Self, slow: &[usize]| {
                session.name_slow("looking for the commands of startcmd= and endcmd=", slow, SLOW, Some(LIMIT * 2));
            };
            for (h, result) in self.call_naming(calls.collect(), SLOW, name_slow).await? {
                let place = format!("host={}", self.layout.host_label(h));
                self.tell_missing(&place, &on_hosts, result.ok());
            }
        }
        Ok(())
    }

    fn programs(&self, plan: &Plan) -> Programs {
        let mut programs = Programs::default();
        let mut add = |hooks: &[Hook], level: HookLevel| {
            for hook in hooks {
                let words = hook.commands.iter().filter_map(|command| program(&self.rules.filled(command)));
                if level.is_here(hook) {
                    programs.here.extend(words);
                } else {
                    programs.on_hosts.extend(words);
                }
            }
        };
        add(&plan.settings.startcmd, HookLevel::Execution);
        add(&plan.settings.endcmd, HookLevel::Execution);
        for run in &plan.runs {
            add(&run.startcmd, HookLevel::Run);
            add(&run.endcmd, HookLevel::Run);
        }
        programs
    }

    /// A search that did not work says nothing: the hook itself will.
    fn tell_missing(&mut self, place: &str, asked: &BTreeSet<String>, result: Option<HookResult>) {
        let lines = result.map(|result| result.lines).unwrap_or_default();
        for word in lines.iter().filter(|line| asked.contains(*line)) {
            let text = format!("startcmd=, endcmd=: on {place} there is no `{word}` that may be executed, yet");
            self.notice(true, "hook-missing", text);
        }
    }
}

/// The program that a command begins with, where a shell takes it as it is written.
fn program(command: &str) -> Option<String> {
    let word = command.split_whitespace().next()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || PLAIN.contains(c);
    (word.chars().all(plain) && !word.starts_with('-')).then(|| word.to_owned())
}

/// A script that prints those that are not there. `command -v` knows what is built into the shell, and executes nothing.
fn search(programs: &BTreeSet<String>) -> String {
    let words = programs.iter().map(String::as_str).collect::<Vec<_>>().join(" ");
    format!(
        "for p in {words}; do case $p in */*) [ -f $p ] && [ -x $p ] ;; *) command -v $p >/dev/null 2>&1 ;; esac || \
         echo $p; done"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_a_word_that_means_itself() {
        assert_eq!(program("/opt/flush.sh -x $lun").as_deref(), Some("/opt/flush.sh"));
        assert_eq!(program("  sync").as_deref(), Some("sync"));
        for other in ["", "$HOME/x", "A=b c", "(true)", "`x`", "'a b'", "echo;ls", "~/x", "-x"] {
            assert_eq!(program(other), None, "{other}");
        }
    }

    #[tokio::test]
    async fn only_what_is_not_there_is_printed_and_nothing_is_run() {
        let names = ["echo", "if", "sh", "/bin/sh", "/etc/passwd", "/bin", "/nonexistent/x", "no-such-program"];
        let asked = names.map(str::to_owned).into();
        let found = super::super::shell(search(&asked), Some(LIMIT)).await.map(|result| result.lines);
        let missing = ["/bin", "/etc/passwd", "/nonexistent/x", "no-such-program"].map(str::to_owned);
        assert_eq!(found, Ok(missing.to_vec()));
    }
}
