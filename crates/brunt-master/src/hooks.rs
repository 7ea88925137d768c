//! Hooks: commands of `startcmd=`, `endcmd=` and `data_errors=`.
//!
//! A hook is never run before its time: it may fail over an array.

use brunt_event::{AbortCause, Event, HookDestination};
use brunt_parm::ast::{Hook, HookOutput, HookTarget};

use crate::link::{HookResult, HostLink, LinkError};
use crate::session::{Halt, Session};

/// Where hooks without a target run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HookLevel {
    /// General: on the machine of the master.
    Execution,
    /// Of a run: on each host.
    Run,
}

impl<L: HostLink> Session<'_, L> {
    /// Runs hooks in order, each after the one before. What one prints goes out as an event.
    ///
    /// # Errors
    /// A hook that failed, unless that shall only warn; an interrupt.
    pub(crate) async fn run_hooks(&mut self, what: &str, hooks: &[Hook], level: HookLevel) -> Result<(), Halt> {
        for hook in hooks {
            let on_master = hook.target.map_or(level == HookLevel::Execution, |t| t == HookTarget::Master);
            for command in &hook.commands {
                let command = self.rules.filled(command);
                let to = destination(hook.output);
                if on_master {
                    self.run_here(what, &command, to).await?;
                } else {
                    self.run_on_hosts(what, &command, to).await?;
                }
            }
        }
        Ok(())
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
        let results = self.call(vec![(0, shell(command.to_owned()))]).await?;
        let result = results.into_iter().next().map_or(Err(LinkError::Broken("not run".into())), |(_, r)| r);
        self.hook_done(what, command, "master", to, result)
    }

    async fn run_on_hosts(&mut self, what: &str, command: &str, to: HookDestination) -> Result<(), Halt> {
        let fleet = self.fleet;
        let hosts = fleet.hosts.iter().enumerate().filter(|(h, _)| !self.is_host_lost(*h));
        let calls = hosts.map(|(h, host)| (h, host.link.run_hook(command.to_owned()))).collect();
        let results = self.call(calls).await?;
        let mut first = Ok(());
        for (h, result) in results {
            let place = self.layout.host_label(h).to_owned();
            let done = self.hook_done(what, command, &place, to, result).map(|_| ());
            first = first.and(done);
        }
        first
    }

    fn hook_done(
        &mut self,
        what: &str,
        command: &str,
        place: &str,
        to: HookDestination,
        result: Result<HookResult, LinkError>,
    ) -> Result<HookResult, Halt> {
        let (result, reason) = match result {
            Ok(r) => {
                let reason = match r.status {
                    Some(0) => None,
                    Some(n) => Some(format!("exit status {n}")),
                    None => Some("killed by a signal".to_owned()),
                };
                (r, reason)
            }
            Err(e) => (HookResult { status: None, lines: Vec::new() }, Some(e.to_string())),
        };
        let (command_text, place_text) = (command.to_owned(), place.to_owned());
        let HookResult { status, lines } = result.clone();
        self.emit(Event::Hook { command: command_text, place: place_text, status, lines, to });
        let Some(reason) = reason else { return Ok(result) };
        let text = format!("{what} failed on {place}: {reason}: {command}");
        if self.rules.hook_failure_warns {
            self.notice(true, "hook-failed", text);
            return Ok(result);
        }
        Err(Halt::abort(AbortCause::Hook, text))
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
async fn shell(command: String) -> Result<HookResult, LinkError> {
    let reply = brunt_proto::shell::run(&command)
        .await
        .map_err(|e| LinkError::Refused(format!("/bin/sh cannot be started: {e}")))?;
    Ok(HookResult { status: reply.status, lines: reply.lines })
}
