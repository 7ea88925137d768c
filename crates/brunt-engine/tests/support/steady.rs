//! Runs of all back ends, watched while nothing but I/O is done.

use std::ffi::CStr;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::channel;
use std::time::Instant;

use brunt_engine::{Engine, EngineOptions};
use brunt_plan::work::{Backend, Control, Generator, SimSpec, Target, WorkerEvent, WorkerShare};

use crate::shares::{M, file, share, sim, spec};

/// Whether a run is steady now.
pub static ARMED: AtomicBool = AtomicBool::new(false);

/// What the engine calls its threads that do I/O or release it.
const NAMES: [&[u8]; 6] = [b"io-", b"pacer", b"null-", b"sim-", b"aio-", b"uring-"];

/// Whether the calling thread does I/O, or releases it, in a steady run.
pub fn is_watched() -> bool {
    if !ARMED.load(SeqCst) {
        return false;
    }
    let mut name = [0u8; 16];
    // SAFETY: the call writes at most 16 bytes, with a zero at the end.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    let name = CStr::from_bytes_until_nul(&name).map_or(&[][..], CStr::to_bytes);
    NAMES.iter().any(|n| name.starts_with(n))
}

/// Does some work in a thread of that name, as if it were one of a steady run.
pub fn as_thread(name: &str, work: impl FnOnce() + Send + 'static) {
    let work = || {
        ARMED.store(true, SeqCst);
        work();
        ARMED.store(false, SeqCst);
    };
    std::thread::Builder::new().name(name.into()).spawn(work).unwrap().join().unwrap();
}

/// The back ends that work here.
pub fn backends() -> Vec<Backend> {
    let support = brunt_engine::support::support();
    let mut all = vec![Backend::Null, Backend::Sim, Backend::Sync];
    all.extend(support.no_aio.is_none().then_some(Backend::Aio));
    all.extend(support.no_uring.is_none().then_some(Backend::Uring));
    all
}

fn target(sd: u32, backend: Backend, lun: &str) -> Target {
    if backend == Backend::Sim {
        let (hit_ns, miss_ns, jitter_ns) = (20_000, 20_000, 1_000);
        return sim(sd, 4, SimSpec { hit_ns, miss_ns, jitter_ns, virtual_clock: false, ..spec() });
    }
    Target { backend, write: true, ..file(sd, 4, lun, M) }
}

/// A share of two targets with four lanes each.
pub fn two_targets(backend: Backend, lun: &str, control: Control, generators: [Generator; 2]) -> WorkerShare {
    let generators = generators.map(|g| Generator { rate: 20_000.0, ..g }).to_vec();
    let mut share = share(None, (0..2).map(|sd| target(sd, backend, lun)).collect(), generators);
    (share.interval_ns, share.control) = (50_000_000, control);
    share
}

/// Runs until thousands were done from the end of the second interval on, and is armed for so long.
pub fn run(share: WorkerShare) {
    let (tx, rx) = channel();
    let events = Box::new(move |event| tx.send(event).unwrap());
    let running = Engine::prepare(share, EngineOptions::default(), events).unwrap().start(Instant::now());
    let mut done = 0;
    for event in rx {
        match event {
            WorkerEvent::Interval(sample) if sample.interval == 2 => ARMED.store(true, SeqCst),
            WorkerEvent::Interval(sample) if ARMED.load(SeqCst) => {
                done += sample.pairs.iter().map(|p| p.cell.both().ops).sum::<u64>();
                if done > 5_000 {
                    ARMED.store(false, SeqCst);
                    running.stop(None);
                }
            }
            WorkerEvent::Drained => break,
            _ => {}
        }
    }
    running.join();
    assert!(done > 5_000);
}
