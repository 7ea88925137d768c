//! What an agent decides on this machine.
#![allow(clippy::unwrap_used, clippy::panic)]

use brunt_plan::work::{Backend, Conduct};

use super::super::needs::tests as made;
use super::*;

fn host(latency_file: PathBuf) -> Host {
    let label = "hosta".to_owned();
    Host { label, chosen: Vec::new(), roots: Roots::default(), latency_file, state: Mutex::default() }
}

fn share(threads: u32, cpu_latency_us: Option<u32>) -> Option<WorkerShare> {
    let mut share = made::share("hosta-0", vec![made::target(Backend::Sync, threads)], 100.0, 8192);
    share.conduct = Conduct { cpu_latency_us, ..Conduct::default() };
    Some(share)
}

#[test]
fn a_share_gets_its_cores_and_a_line_once() {
    let host = host("/nonexistent".into());
    let first = host.admit(&[None, share(2, None)]).unwrap();
    let [(1, WorkerEvent::Log(line))] = first.events.as_slice() else { panic!("{first:?}") };
    assert!(line.starts_with("core"), "{line}");
    assert!(first.places.iter().all(|place| !place.cpus.is_empty()));
    let second = host.admit(&[None, share(2, None)]).unwrap();
    assert_eq!(second, Admission { events: vec![], ..first });
}

#[test]
fn the_latency_is_asked_for_once_and_held() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("latency");
    std::fs::write(&file, "").unwrap();
    let host = host(file.clone());
    host.admit(&[share(1, Some(20))]).unwrap();
    assert_eq!(std::fs::read(&file).unwrap(), 20i32.to_ne_bytes());
    host.admit(&[share(1, Some(20))]).unwrap();
    assert_eq!(std::fs::read(&file).unwrap().len(), 4, "written once");
}

#[test]
fn a_latency_that_cannot_be_had_is_a_warning_once() {
    let host = host("/nonexistent/latency".into());
    let warnings = || {
        let events = host.admit(&[share(1, Some(20))]).unwrap().events;
        events.into_iter().filter(|(_, event)| matches!(event, WorkerEvent::Warning(_))).count()
    };
    assert_eq!((warnings(), warnings()), (1, 0));
}

#[test]
fn a_million_million_threads_are_refused_before_anything_is_made() {
    let text = host("/nonexistent".into()).admit(&[share(u32::MAX, None)]).unwrap_err();
    assert!(text.contains("4294967304 threads") || text.contains("4294967295 threads"), "{text}");
}
