//! Whether what the master said is what was done.

use std::sync::Arc;
use std::time::Duration;

use brunt_event::{AbortCause, Event, Interval, RunEnd, RunEnded};
use tokio::time::Instant;

use super::course::End;
use super::ledger::{Done, Ledger};
use super::world::World;

/// In which a connection shows that it is broken.
const KEEPALIVE: Duration = Duration::from_secs(20);
/// What was said on a connection that was given up may be on its way so long.
const ON_ITS_WAY: Duration = Duration::from_secs(2);
/// In which an end comes about that is asked for, or heard of.
const SOON: Duration = Duration::from_secs(10);

/// What was heard of a run so far.
#[derive(Default)]
struct Heard {
    /// The last interval.
    interval: u32,
    /// Workers that are lost, of the execution.
    lost: Vec<u32>,
    /// Whether messages are known to be lost.
    gaps: bool,
}

/// Writes down all that is wrong.
pub fn judge(world: &Arc<World>, end: &mut End, events: &[(Duration, Event)]) {
    let mut wrong = Vec::new();
    {
        let ledger = world.ledger.lock().unwrap();
        let mut heard = Heard::default();
        for (at, event) in events {
            match event {
                Event::RunStarted(_) => heard.interval = 0,
                Event::WorkerLost { worker, text } => {
                    heard.lost.push(*worker);
                    check_loss(&ledger, world, (*worker as usize, text), *at, &mut wrong);
                }
                Event::Notice { code, .. } if code == "messages-lost" => heard.gaps = true,
                Event::Notice { code, text, .. } if code == "host-away" => {
                    let lease = world.scenario.lease().as_secs();
                    if !text.ends_with(&format!("for {lease} seconds at most")) {
                        wrong.push(format!("its lease is {lease} s: {text}"));
                    }
                }
                Event::Interval(interval) => check_interval(&ledger, world, interval, &mut heard, &mut wrong),
                Event::RunEnded(ended) => check_end(&ledger, world, ended, &heard, &mut wrong),
                _ => {}
            }
        }
    }
    if let End::Master(outcome) = end {
        check_outcome(world, outcome, events, &mut wrong);
    }
    world.ledger.lock().unwrap().wrong.extend(wrong);
}

/// Nobody works on whom the master has given up.
fn check_loss(ledger: &Ledger, world: &World, lost: (usize, &str), at: Duration, wrong: &mut Vec<String>) {
    let (host, text) = lost;
    // What stands still hears nothing, and does nothing either.
    if world.scenario.freezes(host) {
        return;
    }
    // Without a lease an end hears of a silent cut by its keepalive.
    let lease = world.scenario.lease().max(KEEPALIVE);
    let more = if text.contains("away longer than its lease") { ON_ITS_WAY } else { lease + SOON };
    let last = ledger.last.get(&host).map(|last| *last - world.began);
    if last.is_some_and(|last| last > at + more) {
        wrong.push(format!("host {host} worked at {last:?}, and was lost at {at:?}: {text}"));
    }
}

fn check_interval(ledger: &Ledger, world: &World, interval: &Interval, heard: &mut Heard, wrong: &mut Vec<String>) {
    let (run, n) = (interval.run, interval.interval);
    if n != heard.interval + 1 {
        wrong.push(format!("run {run}: interval {n} comes behind {}", heard.interval));
    }
    heard.interval = n;
    let (mut missing, mut sum) = (0, 0);
    for host in 0..world.scenario.hosts {
        let cell = interval.hosts[host].cell;
        let said = Done { reads: cell.read.ops, writes: cell.write.ops };
        sum += said.reads + said.writes;
        let done = ledger.done.get(&(run, host, n)).copied();
        if said == Done::default() && done != Some(said) {
            missing += 1;
        } else if done != Some(said) {
            wrong.push(format!("run {run}, interval {n}, host {host}: {said:?} was reported, {done:?} was done"));
        }
    }
    let total = interval.total.both().ops;
    if total != sum {
        wrong.push(format!("run {run}, interval {n}: the total is {total}, its parts are {sum}"));
    }
    if missing != interval.missing_workers {
        wrong.push(format!("run {run}, interval {n}: {missing} lack, {} are said to", interval.missing_workers));
    }
    if missing > 0 && heard.lost.is_empty() && !heard.gaps {
        wrong.push(format!("run {run}, interval {n}: {missing} lack, and nobody was lost"));
    }
}

fn check_end(ledger: &Ledger, world: &World, ended: &RunEnded, heard: &Heard, wrong: &mut Vec<String>) {
    let run = ended.run;
    let spec = world.scenario.runs.get(run as usize);
    let planned = ended.end == RunEnd::Elapsed;
    if !(planned || ended.end == RunEnd::MaxData) || !ended.complete {
        return;
    }
    let spec = spec.filter(|_| planned);
    if planned && spec.is_none_or(|spec| spec.seconds != u64::from(ended.intervals)) {
        wrong.push(format!("run {run} ended as planned with {} intervals", ended.intervals));
    }
    if !heard.lost.is_empty() || heard.gaps {
        return;
    }
    let mut done = Done::default();
    (0..world.scenario.hosts).for_each(|host| done.add(ledger.total(run, host)));
    let said = ended.totals.iter().map(|sd| Done { reads: sd.reads, writes: sd.writes });
    let said = said.fold(Done::default(), |mut sum, one| {
        sum.add(one);
        sum
    });
    if said != done {
        wrong.push(format!("run {run}: all in all {said:?} was reported, {done:?} was done"));
    }
}

fn check_outcome(
    world: &World,
    outcome: &brunt_master::Outcome,
    events: &[(Duration, Event)],
    wrong: &mut Vec<String>,
) {
    let ends = [outcome.complete, outcome.abort.is_some(), outcome.interrupted.is_some()];
    if ends.iter().filter(|end| **end).count() != 1 {
        wrong.push(format!("that is no end: {outcome:?}"));
    }
    // One that is lost when it has nothing to do matters to nobody.
    let in_run = |event: &Event| matches!(event, Event::WorkerLost { text, .. } if text.contains("(rd="));
    let lost = events.iter().any(|(_, event)| in_run(event));
    if outcome.complete && (lost || outcome.runs as usize != world.scenario.runs.len()) {
        wrong.push(format!("{} runs of {} are said to be complete", outcome.runs, world.scenario.runs.len()));
    }
    if outcome.abort == Some(AbortCause::Stuck) {
        wrong.push("something hung for the drain's limit".into());
    }
    // A first greeting has no session yet to go on with.
    let greeted = events.iter().find(|(_, event)| matches!(event, Event::WorkersConnected)).map(|(at, _)| *at);
    let struck: Option<Instant> = *world.struck.lock().unwrap();
    let later = match (greeted, struck) {
        (Some(greeted), Some(struck)) => struck > world.began + greeted,
        (greeted, _) => greeted.is_some(),
    };
    if world.scenario.is_mild() && later && !outcome.complete {
        let last: Vec<String> = events.iter().rev().take(6).map(|(at, event)| format!("{at:?} {event:?}")).collect();
        wrong.push(format!("nothing had to be lost, but {outcome:?}: {last:#?}"));
    }
}
