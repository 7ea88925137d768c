//! What is said of a run when it is over.

use brunt_event::{Difference, Event, Limit, Witnessed, WitnessedDevice};
use brunt_plan::plan::{Plan, Rate};
use brunt_plan::work::{CommandCounts, DeviceCounts, SdTotals, WorkerEvent};
use brunt_stats::CpuTicks;

use crate::link::LinkEvent;
use crate::testing::{Played, Script, Stage, drained, from, plan, run, sample, sd, seconds, workloads_of};

/// What a kernel counted of reads of 4 KiB.
fn counted(sd: u32, commands: u64, kib: u64) -> DeviceCounts {
    DeviceCounts {
        name: format!("sd{sd}"),
        sds: vec![sd],
        direct: true,
        counting: true,
        read: CommandCounts { commands, merges: 0, sectors: kib * 2 },
        ..DeviceCounts::default()
    }
}

fn witnessed(played: &Played) -> Vec<WitnessedDevice> {
    let found = played.events.iter().filter_map(|event| match event {
        Event::Witnessed(Witnessed { devices, .. }) => Some(devices.clone()),
        _ => None,
    });
    found.flatten().collect()
}

fn limits(played: &Played) -> Vec<Limit> {
    let found = played.events.iter().filter_map(|event| match event {
        Event::Limited { run: 0, limits } => Some(limits.clone()),
        _ => None,
    });
    found.flatten().collect()
}

async fn play(plan: Plan, start: Vec<LinkEvent>) -> Played {
    Stage::new(plan, vec![vec![Script { start, ..Script::default() }]]).play().await
}

#[tokio::test(start_paused = true)]
async fn devices_are_compared_with_what_the_workers_told_at_their_end() {
    let totals = SdTotals { sd: 0, reads: 3_500, read_bytes: 3_500 * 4096, ..SdTotals::default() };
    let script = |devices| {
        let end = [LinkEvent::Devices { run: None, devices }, drained(0)];
        let totals = from(0, WorkerEvent::Totals(vec![totals]));
        [seconds(0, 1..=3, 1_000), vec![totals], end.to_vec()].concat()
    };
    let one = || plan(vec![run("rd1", Rate::Max, 3)]);
    let equal = play(one(), script(vec![counted(0, 3_502, 14_008)])).await;
    let device = witnessed(&equal).remove(0);
    assert_eq!((device.host, device.device.as_str(), device.sds.as_slice()), (0, "sd0", [0].as_slice()));
    assert_eq!((device.read.ios, device.read.kernel_commands, device.read.difference), (3_500, 3_502, None));
    let order = equal.order();
    assert!(order[order.len() - 2].starts_with("end Elapsed") && order[order.len() - 1].starts_with("Witnessed"));
    let split = play(one(), script(vec![counted(0, 28_000, 14_000)])).await;
    assert_eq!(witnessed(&split)[0].read.difference, Some(Difference::Split));
    let none = play(one(), script(vec![])).await;
    assert_eq!(witnessed(&none), []);
}

#[tokio::test(start_paused = true)]
async fn workers_of_a_host_count_together_and_sds_keep_the_numbers_of_the_reports() {
    let mut two = plan(vec![run("rd1", Rate::Max, 2)]);
    two.hosts[0].workers = 2;
    two.sds.insert(0, sd("unused", "/f0"));
    workloads_of(&mut two.runs[0])[0].sds = [1].into();
    let totals = |worker, reads| {
        let sd = SdTotals { sd: 1, reads, read_bytes: reads * 4096, ..SdTotals::default() };
        from(worker, WorkerEvent::Totals(vec![sd]))
    };
    let interval = |worker, n| sample(worker, n, 1000, &[(0, 1, 500)]);
    let start = vec![
        interval(0, 1),
        interval(1, 1),
        interval(0, 2),
        totals(0, 1_000),
        drained(0),
        interval(1, 2),
        totals(1, 1_500),
        LinkEvent::Devices { run: None, devices: vec![counted(1, 2_500, 10_000)] },
        drained(1),
    ];
    let device = witnessed(&play(two, start).await).remove(0);
    assert_eq!((device.sds, device.read.ios, device.read.difference), (vec![0], 2_500, None));
}

/// Samples whose cores were so busy, percent.
fn with_cpu(mut events: Vec<LinkEvent>, busy: u64) -> Vec<LinkEvent> {
    for event in &mut events {
        if let LinkEvent::Worker { event: WorkerEvent::Interval(sample), .. } = event {
            sample.io_cpu = Some(CpuTicks { user: busy, idle: 100 - busy, ..CpuTicks::default() });
        }
    }
    events.push(drained(0));
    events
}

#[tokio::test(start_paused = true)]
async fn a_paced_run_that_is_short_with_idle_lanes_is_marked() {
    let fixed = || plan(vec![run("rd1", Rate::Fixed(1_000.0), 5)]);
    let short = play(fixed(), with_cpu(seconds(0, 1..=5, 800), 30)).await;
    let expected = Limit::GeneratorShort { asked: 1_000.0, reached: 800.0, lanes: 8, busy_lanes: 0.0 };
    assert_eq!(limits(&short), [expected]);
    // The warm-up does not count.
    let late_start = [seconds(0, 1..=1, 100), seconds(0, 2..=5, 1_000)].concat();
    assert_eq!(limits(&play(fixed(), with_cpu(late_start, 100)).await), []);
}

#[tokio::test(start_paused = true)]
async fn busy_processors_limit_an_uncontrolled_run() {
    let max = || plan(vec![run("rd1", Rate::Max, 3)]);
    let busy = play(max(), with_cpu(seconds(0, 1..=3, 800), 99)).await;
    assert_eq!(limits(&busy), [Limit::HostCpu { host: 0, busy_percent: 99.0, steal_percent: 0.0 }]);
    assert_eq!(limits(&play(max(), with_cpu(seconds(0, 1..=3, 800), 60)).await), []);
    let short = play(plan(vec![run("rd1", Rate::Max, 1)]), with_cpu(seconds(0, 1..=1, 800), 99)).await;
    assert_eq!(limits(&short), [], "nothing counts in a run that is all warm-up");
}
