//! Hooks: commands of `startcmd=`, `endcmd=` and `data_errors=`.
//!
//! A hook is never run before its time: it may fail over an array.

mod presence;

use std::time::Duration;

use brunt_event::{AbortCause, Event, HookDestination};
use brunt_parm::ast::{Hook, HookOutput, HookTarget};

use crate::link::{HookResult, HostLink, LinkError};
use crate::session::{Halt, Session};
use crate::slow::within;

/// A hook that takes longer is named, with its hosts.
const SLOW: Duration = Duration::from_secs(60);
/// What an agent has for a hook beyond its limit, until the master takes it for lost.
const GRACE: Duration = Duration::from_secs(30);

/// Where hooks without a target run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HookLevel {
    /// General: on the machine of the master.
    Execution,
    /// Of a run: on each host.
    Run,
}

impl HookLevel {
    /// Whether a hook runs on the machine of the master.
    fn is_here(self, hook: &Hook) -> bool {
        hook.target.map_or(self == HookLevel::Execution, |target| target == HookTarget::Master)
    }
}

/// What a command came to at a place.
struct Done {
    /// `master` or the label of a host.
    place: String,
    result: Result<HookResult, LinkError>,
}

impl<L: HostLink> Session<'_, L> {
    /// Runs hooks in order, each after the one before, on all hosts at the same time. What one prints goes out as an
    /// event for each host.
    ///
    /// # Errors
    /// A hook that failed, unless that shall only warn; an interrupt.
    pub(crate) async fn run_hooks(&mut self, what: &str, hooks: &[Hook], level: HookLevel) -> Result<(), Halt> {
        for hook in hooks {
            for command in &hook.commands {
                let command = self.rules.filled(command);
                let to = destination(hook.output);
                if level.is_here(hook) {
                    if !self.was_run(&command, "master") {
                        self.run_here(what, &command, to).await?;
                    }
                } else {
                    self.run_on_hosts(what, &command, to).await?;
                }
            }
        }
        Ok(())
    }

    /// Whether the master before has run a command there; asked once for each time.
    fn was_run(&mut self, command: &str, place: &str) -> bool {
        let run = self.hooks_run.iter().position(|(c, p)| c == command && p == place);
        run.map(|at| self.hooks_run.swap_remove(at)).is_some()
    }

    /// Runs a command on the machine of the master.
    ///
    /// # Errors
    /// As [`Session::run_hooks`].
    pub(crate) async fn run_here(
        &mut self,
        what: &str,
        command: &str,
        to: HookDestination,
    ) -> Result<HookResult, Halt> {
        let limit = self.rules.hook_limit;
        let name_slow = |session: &mut Self, _: &[usize]| session.name_slow_here(what, command, SLOW, limit);
        let call = vec![(0, shell(command.to_owned(), limit))];
        let results = self.call_naming(call, SLOW, name_slow).await?;
        let result = results.into_iter().next().map_or(Err(LinkError::Broken("not run".into())), |(_, r)| r);
        let told = result.clone().unwrap_or_default();
        self.hook_done(what, command, to, vec![Done { place: "master".to_owned(), result }])?;
        Ok(told)
    }

    async fn run_on_hosts(&mut self, what: &str, command: &str, to: HookDestination) -> Result<(), Halt> {
        let (fleet, limit) = (self.fleet, self.rules.hook_limit);
        let living: Vec<usize> = (0..fleet.hosts.len()).filter(|h| !self.is_host_lost(*h)).collect();
        let here = |h: &usize| self.layout.host_label(*h).to_owned();
        let labels: Vec<_> = living.into_iter().map(|h| (h, here(&h))).collect();
        let due: Vec<usize> = labels.into_iter().filter(|(_, l)| !self.was_run(command, l)).map(|(h, _)| h).collect();
        let hosts = fleet.hosts.iter().enumerate().filter(|(h, _)| due.contains(h));
        let patience = limit.map_or(Duration::MAX, |limit| limit + GRACE);
        let calls: Vec<_> =
            hosts.map(|(h, host)| (h, within(patience, host.link.run_hook(command.to_owned(), limit)))).collect();
        let name_slow = |session: &mut Self, slow: &[usize]| session.name_slow(what, slow, SLOW, limit);
        let results = self.call_naming(calls, SLOW, name_slow).await?;
        let done = results
            .into_iter()
            .map(|(h, result)| Done { place: self.layout.host_label(h).to_owned(), result })
            .collect();
        self.hook_done(what, command, to, done)
    }

    /// Tells what came of a command, and of all places together where it failed.
    fn hook_done(&mut self, what: &str, command: &str, to: HookDestination, done: Vec<Done>) -> Result<(), Halt> {
        let mut failed = Vec::new();
        for Done { place, result } in done {
            if let Some(reason) = failure(&result, self.rules.hook_limit) {
                failed.push(format!("on {place}: {reason}"));
            }
            let HookResult { status, lines } = result.unwrap_or_default();
            self.emit(Event::Hook { command: command.to_owned(), place, status, lines, to });
        }
        if failed.is_empty() {
            return Ok(());
        }
        let text = format!("{what} failed {}: {command}", failed.join("; "));
        if self.rules.hook_failure_warns {
            self.notice(true, "hook-failed", text.clone());
            self.rules.failed_hook.get_or_insert(text);
            return Ok(());
        }
        Err(Halt::abort(AbortCause::Hook, text))
    }

    /// Says at a run that a hook before it failed, and so that its numbers may mean something else than was thought.
    pub(crate) fn remind_of_failed_hook(&mut self, run: &str) {
        if let Some(failed) = self.rules.failed_hook.clone() {
            self.notice(true, "after-failed-hook", format!("rd={run} comes after a command that failed: {failed}"));
        }
    }
}

/// Why a command did not do what it should.
fn failure(result: &Result<HookResult, LinkError>, limit: Option<Duration>) -> Option<String> {
    match result {
        Ok(HookResult { status: Some(0), .. }) => None,
        Ok(HookResult { status: Some(n), .. }) => Some(format!("exit status {n}")),
        Ok(HookResult { status: None, .. }) => Some(match limit {
            None => "killed by a signal".to_owned(),
            Some(limit) => format!("killed by a signal, or after {} seconds (hook_limit)", limit.as_secs()),
        }),
        Err(error) => Some(error.to_string()),
    }
}

fn destination(output: HookOutput) -> HookDestination {
    match output {
        HookOutput::Console => HookDestination::Console,
        HookOutput::Summary => HookDestination::Summary,
        HookOutput::Log => HookDestination::Log,
    }
}

/// Runs a command with `/bin/sh -c` here, as agents do: it ends with us, what it leaves in the background does not.
async fn shell(command: String, limit: Option<Duration>) -> Result<HookResult, LinkError> {
    let reply = brunt_proto::shell::run_within(&command, limit)
        .await
        .map_err(|e| LinkError::Refused(format!("/bin/sh cannot be started: {e}")))?;
    Ok(HookResult { status: reply.status, lines: reply.lines })
}
