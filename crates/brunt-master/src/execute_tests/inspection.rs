//! Everything that is wrong on any host is told before anything is done on one.

use std::sync::Arc;

use brunt_event::AbortCause;
use brunt_plan::SetupKind;
use brunt_plan::plan::{Plan, Rate};
use brunt_plan::work::{LunFacts, LunKind};
use tokio::time::Instant;

use crate::link::LinkError;
use crate::testing::{Stage, facts, plan, run, sd, whole, workloads_of};

/// Three hosts that all use one SD.
fn three_hosts() -> Plan {
    let mut three = plan(vec![run("rd1", Rate::Max, 2)]);
    for label in ["w2", "w3"] {
        let mut host = three.hosts[0].clone();
        host.label = label.into();
        three.hosts.push(host);
    }
    three.hosts[0].label = "w1".into();
    three.sds[0] = sd("s", "/dev/TGT0");
    three.sds[0].lun = vec![Some("/dev/TGT0".into()); 3];
    workloads_of(&mut three.runs[0])[0].hosts = [0, 1, 2].into();
    three
}

fn texts(played: &crate::testing::Played) -> Vec<&str> {
    played.outcome.problems.iter().map(|p| p.text.as_str()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_lun_missing_on_one_host_and_too_small_on_another_are_told_together() {
    let mut three = three_hosts();
    three.sds[0].range = Some((0.0, 4_294_967_296.0));
    let mut stage = Stage::new(three, vec![vec![whole(2, 1)], vec![whole(2, 1)], vec![whole(2, 1)]]);
    stage.answer = Arc::new(|host, query| match host {
        0 => LunFacts { kind: LunKind::Block, size: 8 << 30, identity: Some("wwid:1".into()), ..facts(query.sd) },
        1 => LunFacts { kind: LunKind::Missing, size: 0, identity: None, ..facts(query.sd) },
        _ => LunFacts { kind: LunKind::Block, size: 1 << 30, identity: Some("wwid:1".into()), ..facts(query.sd) },
    });
    let played = stage.play().await;
    let told = texts(&played);
    assert!(told[0].contains("lun=/dev/TGT0 does not exist on host=w2"), "{told:?}");
    assert!(told[1].contains("lun=/dev/TGT0 on host=w3") && told[1].contains("1073741824"), "{told:?}");
    assert!(told[2].contains("range=(0,4294967296)") && told[2].contains("host=w3"), "{told:?}");
    assert_eq!((told.len(), played.outcome.abort), (3, Some(AbortCause::Setup)));
    let calls = ["hello", "inspect", "shutdown"].map(|call| [0, 1, 2].map(|host| format!("{host} {call}"))).concat();
    assert_eq!(played.calls, calls, "nothing is prepared anywhere");
}

#[tokio::test(start_paused = true)]
async fn a_host_that_keeps_silent_is_named_while_the_others_are_done() {
    let mut stage = Stage::new(three_hosts(), vec![vec![], vec![], vec![]]);
    stage.mute = vec![1];
    stage.answer = Arc::new(|host, query| match host {
        0 => LunFacts { kind: LunKind::Block, identity: Some("wwid:1".into()), ..facts(query.sd) },
        _ => LunFacts { kind: LunKind::Directory, ..facts(query.sd) },
    });
    let began = Instant::now();
    let named = Arc::new(std::sync::Mutex::new(None));
    let seen = Arc::clone(&named);
    stage.watch = Box::new(move |event| {
        if matches!(event, brunt_event::Event::Notice { code, .. } if code == "slow-host") {
            *seen.lock().unwrap() = Some(began.elapsed().as_secs());
        }
    });
    let played = stage.play().await;
    let note = "slow-host: inspect: no answer from host=w2 within 10 seconds; waiting for up to 60 seconds";
    assert!(played.order().contains(&note.to_owned()), "{:?}", played.order());
    assert_eq!(*named.lock().unwrap(), Some(10));
    assert_eq!(began.elapsed().as_secs(), 60, "its limit");
    let told = texts(&played);
    assert_eq!(told[0], "host=w2: inspect: no answer from the agent: nothing came within 60 seconds");
    assert!(told[1].starts_with("sd=s: lun=/dev/TGT0 is a directory on host=w3"), "{told:?}");
    assert_eq!(told.len(), 2);
    assert!(!played.calls.iter().any(|call| call.contains("prepare")), "{:?}", played.calls);
}

#[tokio::test(start_paused = true)]
async fn two_paths_over_hosts_are_a_matter_of_safety() {
    let mut three = three_hosts();
    three.sds.push(sd("t", "/dev/TGT1"));
    three.sds[0].lun = vec![Some("/dev/TGT0".into()), None, None];
    three.sds[1].lun = vec![None, Some("/dev/TGT1".into()), None];
    workloads_of(&mut three.runs[0])[0].sds = [0, 1].into();
    let mut stage = Stage::new(three, vec![vec![], vec![], vec![]]);
    stage.answer =
        Arc::new(|_, query| LunFacts { kind: LunKind::Block, identity: Some("wwid:naa.6".into()), ..facts(query.sd) });
    let played = stage.play().await;
    let expected = "sd=s (lun=/dev/TGT0 on host=w1) and sd=t (lun=/dev/TGT1 on host=w2) are one device, wwid:naa.6, perhaps \
                    two paths to it; misc=(identity=warn) allows it";
    assert_eq!(texts(&played), [expected]);
    assert_eq!(played.outcome.problems[0].kind, SetupKind::Safety);
    assert_eq!(played.outcome.abort, Some(AbortCause::Safety));
}

#[tokio::test(start_paused = true)]
async fn a_host_that_cannot_be_greeted_keeps_the_others_from_nothing() {
    let mut stage = Stage::new(three_hosts(), vec![vec![], vec![], vec![]]);
    stage.hellos.insert(0, Err(LinkError::Refused("the agent cannot be started: no way there".into())));
    stage.mute = vec![1];
    stage.answer = Arc::new(|_, query| LunFacts { kind: LunKind::Directory, ..facts(query.sd) });
    let played = stage.play().await;
    let told = texts(&played);
    assert_eq!(told[0], "host=w1: the agent cannot be started: no way there");
    assert_eq!(told[1], "host=w2: inspect: no answer from the agent: nothing came within 60 seconds");
    assert!(told[2].starts_with("sd=s: lun=/dev/TGT0 is a directory on host=w3"), "{told:?}");
    assert_eq!((told.len(), played.outcome.abort), (3, Some(AbortCause::Setup)));
    assert!(!played.order().contains(&"connected".to_owned()), "{:?}", played.order());
    assert!(!played.calls.contains(&"0 inspect".to_owned()), "{:?}", played.calls);
}

#[tokio::test(start_paused = true)]
async fn without_any_host_nothing_is_asked() {
    let mut stage = Stage::new(three_hosts(), vec![vec![], vec![], vec![]]);
    stage.hellos = (0..3).map(|host| (host, Err(LinkError::Broken("it is away".into())))).collect();
    let played = stage.play().await;
    let why = "no answer from the agent: it is away";
    assert_eq!(texts(&played), [format!("host=w1: {why}"), format!("host=w2: {why}"), format!("host=w3: {why}")]);
    assert!(!played.order().contains(&"query".to_owned()), "{:?}", played.order());
}

#[tokio::test(start_paused = true)]
async fn hosts_with_another_build_are_named_together() {
    let mut stage = Stage::new(three_hosts(), vec![vec![whole(2, 1)], vec![whole(2, 1)], vec![whole(2, 1)]]);
    stage.hellos = [(0, Ok(Some("abc".into()))), (2, Ok(Some("abc".into())))].into();
    let played = stage.play().await;
    let here = env!("CARGO_PKG_VERSION");
    let text = format!(
        "other-build: host=w1, host=w3: another build of brunt 0 (SHA-256 abc) than the {here} here: what they measure may \
         differ; `brunt build` tells which a program is"
    );
    assert_eq!(played.order().iter().filter(|event| event.starts_with("other-build")).collect::<Vec<_>>(), [&text]);
    assert_eq!(played.outcome.abort, None, "{:?}", played.order());
}

#[tokio::test(start_paused = true)]
async fn hosts_that_are_late_are_named_in_one_line_and_waited_for() {
    let mut stage = Stage::new(three_hosts(), vec![vec![whole(2, 1)], vec![whole(2, 1)], vec![whole(2, 1)]]);
    stage.late = vec![1, 2];
    let played = stage.play().await;
    let order = played.order();
    let late: Vec<_> = order.iter().filter(|event| event.starts_with("host-late")).collect();
    assert_eq!(late, ["host-late: not there after 10 seconds: host=w2, host=w3; Ctrl-C ends the wait"]);
    assert_eq!(played.outcome.abort, None, "{order:?}");
}
