//! Rings that poll for completions. No device of a usual test machine can be polled, so what is tested is the choice and
//! the way back: what the kernel refuses is served by an ordinary ring, and told.

use brunt_plan::work::{Backend, Target};

use crate::harness::*;
use crate::media::Medium;

#[test]
fn a_device_that_cannot_be_polled_is_served_all_the_same_and_that_is_told() {
    if let Some(why) = brunt_engine::support::support().no_uring {
        return assert!(crate::confined::is_confined(), "{why}");
    }
    let Some(medium) = Medium::looped(M) else { return };
    let lun = medium.path.to_str().unwrap();
    let uring = |sd, polled| Target { backend: Backend::Uring, polled, ..direct(file(sd, 4, lun, M)) };
    let told = run(share(Some(1), vec![uring(0, true), uring(1, false)], vec![generator(0), generator(1)]));
    assert_eq!(told.failures, []);
    // The other one is in a ring of its own, of which nobody speaks.
    let [line] = &told.logs[..] else { panic!("{:?}", told.logs) };
    assert!(line.starts_with("sd sd1: completions are not polled for: no io_uring: no polling: "), "{line}");
    assert!([0, 1].iter().all(|sd| told.cell(|p| p.sd == *sd).read.ops > 0));
}

#[test]
fn without_direct_io_nothing_is_polled() {
    if brunt_engine::support::support().no_uring.is_some() {
        return assert!(crate::confined::is_confined());
    }
    let Some(medium) = Medium::disk(M) else { return };
    let target = Target { backend: Backend::Uring, polled: true, ..file(0, 4, medium.path.to_str().unwrap(), M) };
    let told = run(share(Some(1), vec![target], vec![generator(0)]));
    assert_eq!((told.logs.len(), told.failures.len()), (0, 0));
    assert!(told.cell(|_| true).read.ops > 0);
}
