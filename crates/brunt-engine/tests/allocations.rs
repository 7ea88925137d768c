//! Threads that do I/O allocate nothing once they run.
#![allow(unsafe_code, clippy::unwrap_used, clippy::panic)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::CStr;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::mpsc::channel;
use std::time::Instant;

use brunt_engine::{Engine, EngineOptions};
use brunt_plan::work::{
    Area, Arrivals, Backend, Conduct, Control, Generator, Seek, SimSpec, Target, WorkerEvent, WorkerShare, Xfer,
};

/// Counts what threads of runs do while it is told to.
struct Counting;

static ARMED: AtomicBool = AtomicBool::new(false);
static COUNTED: AtomicU64 = AtomicU64::new(0);

/// What the engine calls its threads that do I/O or release it.
const NAMES: [&[u8]; 6] = [b"io-", b"pacer", b"null-", b"sim-", b"aio-", b"uring-"];

fn count() {
    if !ARMED.load(SeqCst) {
        return;
    }
    let mut name = [0u8; 16];
    // SAFETY: the call writes at most 16 bytes, with a zero at the end.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    let name = CStr::from_bytes_until_nul(&name).map_or(&[][..], CStr::to_bytes);
    if NAMES.iter().any(|n| name.starts_with(n)) {
        COUNTED.fetch_add(1, SeqCst);
    }
}

// SAFETY: it only counts, and hands everything to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as the caller promised.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        count();
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(ptr, layout) };
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as the caller promised.
        unsafe { System.realloc(ptr, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn target(sd: u32, backend: Backend, lun: &str) -> Target {
    let spec = SimSpec {
        size: 1 << 20,
        hit_area: 1 << 20,
        hit_ns: 20_000,
        miss_ns: 20_000,
        jitter_ns: 1_000,
        error_rate: 0.0,
        freeze: None,
        virtual_clock: false,
        raw: false,
    };
    Target {
        sd,
        name: format!("sd{sd}"),
        lun: lun.into(),
        size: 1 << 20,
        threads: 4,
        flags: Vec::new(),
        write: true,
        create: false,
        raw: false,
        sim: (backend == Backend::Sim).then_some(spec),
        backend,
    }
}

fn generator(target: u32, seek: Seek) -> Generator {
    Generator {
        workload: 0,
        target,
        stream: u64::from(target),
        rate: 20_000.0,
        priority: None,
        read_pct: 70.0,
        read_hit_pct: 0.0,
        write_hit_pct: 0.0,
        xfer: Xfer::Fixed(4096),
        seek,
        miss: Area { low: 0, high: 1 << 20, wrap: None },
        hit: None,
        align: None,
        stride: None,
        hotband: None,
        streams: Vec::new(),
    }
}

/// Runs until each target has done thousands, and counts from the end of the second interval on.
fn allocations(backend: Backend, lun: &str, control: Control) -> (u64, u64) {
    let share = WorkerShare {
        worker: "localhost-0".into(),
        run: "rd1".into(),
        run_id: 0,
        interval_ns: 50_000_000,
        intervals: None,
        lockstep: false,
        warmup_intervals: 1,
        conduct: Conduct::default(),
        seed: 1,
        control,
        arrivals: Arrivals::Exponential,
        targets: (0..2).map(|sd| target(sd, backend, lun)).collect(),
        generators: vec![generator(0, Seek::Percent(100.0)), generator(1, Seek::Percent(0.0))],
    };
    let (tx, rx) = channel();
    let events = Box::new(move |event| tx.send(event).unwrap());
    let running = Engine::prepare(share, EngineOptions::default(), events).unwrap().start(Instant::now());
    COUNTED.store(0, SeqCst);
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
    (COUNTED.load(SeqCst), done)
}

/// The counter counts: what a thread of such a name allocates, and no other.
fn counts(name: &str) -> u64 {
    COUNTED.store(0, SeqCst);
    let work = || {
        ARMED.store(true, SeqCst);
        drop(std::hint::black_box(Box::new(1)));
        ARMED.store(false, SeqCst);
    };
    std::thread::Builder::new().name(name.into()).spawn(work).unwrap().join().unwrap();
    COUNTED.load(SeqCst)
}

#[test]
fn nothing_is_allocated_while_io_is_done() {
    assert_eq!((counts("io-sd1-0"), counts("other")), (2, 0));
    let file = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    file.as_file().set_len(1 << 20).unwrap();
    let lun = file.path().to_str().unwrap();
    let support = brunt_engine::support::support();
    let mut backends = vec![Backend::Null, Backend::Sim, Backend::Sync];
    backends.extend(support.no_aio.is_none().then_some(Backend::Aio));
    backends.extend(support.no_uring.is_none().then_some(Backend::Uring));
    for backend in backends {
        for control in [Control::Uncontrolled, Control::Paced] {
            let (counted, done) = allocations(backend, lun, control.clone());
            assert!(done > 5_000);
            assert_eq!(counted, 0, "{backend} {control:?}");
        }
    }
}
