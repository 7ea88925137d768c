//! The rules as a table.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

fn lun(kind: LunKind, nowait: Option<bool>, allocated: Option<bool>) -> LunFacts {
    LunFacts { size: 1 << 30, readable: true, writable: true, nowait, allocated, ..LunFacts::silent(0, kind) }
}

fn support(no_uring: Option<&str>, no_aio: Option<&str>) -> EngineSupport {
    EngineSupport { no_uring: no_uring.map(str::to_owned), no_aio: no_aio.map(str::to_owned) }
}

const DIRECT: Need = Need { direct: true, lanes: 8, paced: false, made: false };

fn told(facts: &LunFacts, need: Need, support: &EngineSupport, asked: Asked) -> String {
    match choose(facts, need, support, asked) {
        Ok(Choice { backend, why }) => format!("{backend}: {why}"),
        Err(unavailable) => format!("error: {unavailable}"),
    }
}

#[test]
fn every_rule() {
    use LunKind::{Block, Character, File, Missing};
    let whole = support(None, None);
    let (yes, no) = (Some(true), Some(false));
    let auto = |facts: LunFacts, need| told(&facts, need, &whole, Asked::Auto);
    let one = Need { lanes: 1, ..DIRECT };
    let cached = Need { direct: false, ..DIRECT };
    let made = Need { made: true, ..DIRECT };
    let table = [
        auto(lun(Block, yes, None), DIRECT),
        auto(lun(Block, None, None), DIRECT),
        auto(lun(Block, no, None), DIRECT),
        auto(lun(Block, yes, None), one),
        auto(lun(Block, yes, None), Need { paced: true, ..one }),
        auto(lun(Block, yes, None), cached),
        auto(lun(Character, yes, None), DIRECT),
        auto(lun(File, yes, yes), DIRECT),
        auto(lun(File, yes, yes), one),
        auto(lun(File, yes, yes), cached),
        auto(lun(File, yes, yes), made),
        auto(lun(File, no, yes), DIRECT),
        auto(lun(File, None, yes), DIRECT),
        auto(lun(File, yes, no), DIRECT),
        auto(lun(File, yes, None), DIRECT),
        auto(lun(Missing, None, None), DIRECT),
    ];
    insta::assert_snapshot!(table.join("\n"), @r"
    uring: a block device, several I/Os outstanding
    uring: a block device, several I/Os outstanding
    sync: an I/O completes inside the system call, or blocks in it
    sync: never more than one I/O outstanding in a worker
    uring: a block device, one I/O outstanding at its due time
    sync: page cache: an I/O completes in the system call
    sync: a character device
    uring: a whole file with direct I/O, several I/Os outstanding
    sync: never more than one I/O outstanding in a worker
    sync: page cache: an I/O completes in the system call
    sync: the file is made first, which blocks
    sync: an I/O completes inside the system call, or blocks in it
    sync: a file, and the kernel does not tell whether an I/O to it blocks
    sync: the file has holes: a write to one blocks
    sync: a file of which it is not known whether it has holes
    sync: the file is made first, which blocks
    ");
}

#[test]
fn a_device_is_polled_where_its_driver_can_and_a_ring_serves_it() {
    let disk = LunFacts { io_poll: true, ..lun(LunKind::Block, Some(true), None) };
    let file = LunFacts { io_poll: true, ..lun(LunKind::File, Some(true), Some(true)) };
    let polled = |facts: &LunFacts, need, no_uring, asked| {
        choose(facts, need, &support(no_uring, None), asked).unwrap().polled()
    };
    assert!(polled(&disk, DIRECT, None, Asked::Auto));
    assert!(!polled(&LunFacts { io_poll: false, ..disk.clone() }, DIRECT, None, Asked::Auto));
    assert!(!polled(&disk, DIRECT, Some("no"), Asked::Auto), "aio has no polling");
    assert!(!polled(&disk, Need { direct: false, ..DIRECT }, None, Asked::Auto), "the page cache has none");
    assert!(!polled(&file, DIRECT, None, Asked::Auto), "a file may lie anywhere");
    assert!(!polled(&disk, DIRECT, None, Asked::Uring), "who names the engine gets it as it is");
    insta::assert_snapshot!(told(&disk, DIRECT, &support(None, None), Asked::Auto), @"uring: a block device, several I/Os outstanding; polled for completions, which its driver has queues for (queue/io_poll)");
}

#[test]
fn the_best_that_the_host_has() {
    let disk = lun(LunKind::Block, None, None);
    let with = |no_uring, no_aio| told(&disk, DIRECT, &support(no_uring, no_aio), Asked::Auto);
    let table = [
        with(None, Some("limit 0")),
        with(Some("seccomp forbids io_uring_setup"), None),
        with(Some("this kernel has no io_uring"), Some("aio-max-nr is 0")),
    ];
    insta::assert_snapshot!(table.join("\n"), @r"
    uring: a block device, several I/Os outstanding
    aio: a block device, several I/Os outstanding; not uring: seccomp forbids io_uring_setup
    sync: a block device, several I/Os outstanding; not uring: this kernel has no io_uring; not aio: aio-max-nr is 0
    ");
}

#[test]
fn what_is_asked_for_is_taken_or_refused() {
    let tmpfs = lun(LunKind::File, Some(false), Some(true));
    let cached = Need { direct: false, lanes: 1, paced: false, made: true };
    let poor = support(Some("this kernel has no io_uring"), Some("aio-max-nr is 0"));
    let asked = [Asked::Sync, Asked::Aio, Asked::Uring, Asked::Null];
    let taken = asked.map(|asked| told(&tmpfs, cached, &support(None, None), asked));
    let refused = asked.map(|asked| told(&tmpfs, cached, &poor, asked));
    insta::assert_snapshot!([taken, refused].concat().join("\n"), @r"
    sync: engine=sync
    aio: engine=aio
    uring: engine=uring
    null: engine=null: no device is touched
    sync: engine=sync
    error: engine=aio does not work there: aio-max-nr is 0; use engine=auto, which takes what works
    error: engine=uring does not work there: this kernel has no io_uring; use engine=auto, which takes what works
    null: engine=null: no device is touched
    ");
}

#[test]
fn names_are_read_as_written() {
    let read: Vec<Asked> = Asked::NAMES.iter().map(|name| name.parse().unwrap()).collect();
    assert_eq!(read, [Asked::Auto, Asked::Sync, Asked::Aio, Asked::Uring, Asked::Null]);
    assert_eq!(read.iter().map(|asked| asked.name()).collect::<Vec<_>>(), Asked::NAMES);
    assert!(["", "sim", "AIO"].iter().all(|name| name.parse::<Asked>().is_err()));
}

proptest! {
    /// More lanes never bring a thread that blocks, and what blocks stays so whatever the host has.
    #[test]
    fn choices_are_steady(
        file: bool,
        nowait: Option<bool>,
        allocated: Option<bool>,
        direct: bool,
        made: bool,
        paced: bool,
        lanes in 1u32..4,
        no_uring: bool,
        no_aio: bool,
    ) {
        let facts = lun(if file { LunKind::File } else { LunKind::Block }, nowait, allocated);
        let support = support(no_uring.then_some("x"), no_aio.then_some("y"));
        let need = Need { direct, lanes, paced, made };
        let chosen = |need, support: &EngineSupport| choose(&facts, need, support, Asked::Auto).unwrap().backend;
        let here = chosen(need, &support);
        let more = chosen(Need { lanes: lanes + 1, ..need }, &support);
        prop_assert!(here == Backend::Sync || here == more);
        prop_assert!(here != Backend::Uring || !no_uring);
        prop_assert!(here != Backend::Aio || !no_aio);
        let best = chosen(need, &EngineSupport::default());
        prop_assert!(best != Backend::Sync || here == Backend::Sync);
    }
}
