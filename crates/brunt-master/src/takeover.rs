//! An execution whose master was killed, gone on with by another one.
//!
//! The plan is made again from the same texts and what the hosts said of themselves, so that it is the same. Runs that
//! have ended are passed over; the one that goes on is taken up: agents report again all that the last master had not
//! confirmed, which is that run from its beginning as long as they have room for it, and what was told of it is not told
//! twice. Where they have no room any more, the intervals that were told give the sums.

use std::time::Duration;

use brunt_event::Event;
use brunt_plan::Resolved;
use brunt_plan::plan::Plan;
use brunt_plan::work::HostTraits;
use tokio::sync::mpsc;

use crate::execute::{Execution, finish, refuse};
use crate::fleet::{Control, Fleet, Layout};
use crate::link::{HostFacts, HostLink, LinkEvent};
use crate::outcome::Outcome;
use crate::past::Past;
use crate::planned::Numbers;
use crate::rules::{Options, Rules};
use crate::session::{Halt, Session, now_ms};
use crate::setup::problems_halt;

/// Goes on with an execution. `facts` are what the hosts said in it, in the order of the plan; for the rest see
/// [`execute`](crate::execute()).
pub async fn take_over<L: HostLink>(
    plan: Plan,
    fleet: Fleet<L>,
    options: Options,
    (past, facts): (Past, Vec<HostFacts>),
    events: mpsc::Receiver<(usize, LinkEvent)>,
    control: mpsc::Receiver<Control>,
    sink: &mut dyn FnMut(Event),
) -> Outcome {
    let rules = match Rules::new(&options, &plan.settings) {
        Ok(rules) => rules,
        Err(text) => return refuse(text, sink),
    };
    let Past { runs, hooks, lost, begun_ms, mut told, .. } = past;
    let untold = &mut |event: Event| {
        if !told.recall(&event) {
            sink(event);
        }
    };
    let (layout, numbers) = (Layout::new(&plan), Numbers::new(&plan));
    let mut session = Session::new(&fleet, layout, numbers, rules, events, control, untold);
    session.hooks_run = hooks;
    for worker in lost {
        if let Some(lost) = session.lost.get_mut(worker as usize) {
            *lost = true;
        }
    }
    let since = begun_ms.map_or(0, |begun| u64::try_from(now_ms() - begun).unwrap_or(0));
    let mut execution = Execution::after(runs, Duration::from_millis(since));
    let (halt, problems) = match session.set_up_again(plan, facts).await {
        Ok(resolved) => {
            let (halt, problems) = execution.all(&mut session, &resolved).await;
            (halt.or_else(|| session.losses()), problems)
        }
        Err(halt) => (Some(halt), Vec::new()),
    };
    finish(&mut session, halt, problems, execution.runs()).await
}

/// Hosts that take longer to be joined again are named; their lease is the limit.
const SLOW: Duration = Duration::from_secs(10);

impl<L: HostLink> Session<'_, L> {
    /// What [`Session::set_up`] came to, and the agents that are there.
    async fn set_up_again(&mut self, plan: Plan, facts: Vec<HostFacts>) -> Result<Resolved, Halt> {
        self.rules.wait_for_devices(facts.iter().flat_map(|host| &host.luns));
        let traits: Vec<HostTraits> = facts
            .iter()
            .map(|host| HostTraits { engines: host.engines.clone(), machine: host.machine.clone(), silent: false })
            .collect();
        let luns: Vec<_> = facts.into_iter().map(|host| host.luns).collect();
        let resolved =
            plan.resolve(&luns, &traits).map_err(|problems| problems_halt(&problems, self.rules.as_vdbench))?;
        self.plan_notices(&resolved.notices);
        let fleet = self.fleet;
        let gone = |h: &usize| self.is_host_lost(*h);
        let hosts: Vec<usize> = (0..fleet.hosts.len()).filter(|h| !gone(h)).collect();
        let joins = hosts.into_iter().filter_map(|h| Some((h, fleet.hosts.get(h)?.link.rejoin()))).collect();
        let name_slow = |session: &mut Self, slow: &[usize]| session.name_slow("going on", slow, SLOW, None);
        for (host, answer) in self.call_naming(joins, SLOW, name_slow).await? {
            if let Err(error) = answer {
                let text = error.to_string();
                self.layout.of_host(host).for_each(|worker| self.lose(worker, &text));
            }
        }
        Ok(resolved)
    }
}
