//! Threads that do I/O meet no lock once they run.
//!
//! What this proves: while a run of any back end is steady, its I/O threads make not one futex system call, neither to
//! wait for each other nor to wake another. Nothing in the hot path was ever waited for. All of the standard library's
//! locks and channels, and the engine's own bells, call the kernel through the C library's `syscall`, of which this
//! program has its own. What it does not prove: that there is no lock which nobody happened to hold. Hence a guard
//! over the sources (`no_lock_is_on_the_way_of_an_io` in `crates/brunt/tests/tidy.rs`) lets none be named but in listed places. Locks within the C library
//! itself are not seen; allocating, the one way to them, is counted in `allocations.rs`.
#![cfg(target_arch = "x86_64")]
#![allow(unsafe_code, clippy::unwrap_used, clippy::panic)]

#[path = "support/shares.rs"]
mod shares;
#[path = "support/steady.rs"]
mod steady;

use std::arch::asm;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;

use brunt_plan::work::{Backend, Control, Generator, Seek};
use shares::{M, generator};

static FUTEXES: AtomicU64 = AtomicU64::new(0);
/// Tests take turns: they count the same.
static TURN: Mutex<()> = Mutex::new(());

/// `syscall(2)`, in place of that of the C library. It counts, and calls the kernel.
#[unsafe(no_mangle)]
extern "C" fn syscall(number: i64, a: i64, b: i64, c: i64, d: i64, e: i64, f: i64) -> i64 {
    if number == libc::SYS_futex && steady::is_watched() {
        FUTEXES.fetch_add(1, SeqCst);
    }
    let answer: i64;
    // SAFETY: the caller answers for the arguments; the kernel changes no register but these three.
    unsafe {
        asm!("syscall", inlateout("rax") number => answer, in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d,
             in("r8") e, in("r9") f, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    if (-4095..0).contains(&answer) {
        // SAFETY: the error number of this thread.
        unsafe { *libc::__errno_location() = -answer as i32 };
        return -1;
    }
    answer
}

/// The counter counts: what a thread of such a name does, and no other.
fn counts(name: &str) -> u64 {
    FUTEXES.store(0, SeqCst);
    steady::as_thread(name, || std::thread::park_timeout(std::time::Duration::from_millis(1)));
    FUTEXES.load(SeqCst)
}

/// Random and sequential reads and writes whose n-th I/O is known by its number.
fn known_by_number() -> [Generator; 2] {
    let sequential = Generator { read_pct: 0.0, seek: Seek::Percent(0.0), ..generator(1) };
    [Generator { read_pct: 70.0, ..generator(0) }, sequential]
}

/// A sequential stream of reads and writes, whose order blocking lanes keep by a lock.
fn mixed_stream() -> [Generator; 2] {
    [0, 1].map(|target| Generator { read_pct: 70.0, seek: Seek::Percent(0.0), ..generator(target) })
}

#[test]
fn nobody_waits_for_anybody_while_io_is_done() {
    let _turn = TURN.lock().unwrap();
    assert_eq!((counts("io-sd1-0"), counts("other")), (1, 0));
    let file = tempfile::NamedTempFile::new_in("/dev/shm").unwrap();
    file.as_file().set_len(M).unwrap();
    let lun = file.path().to_str().unwrap();
    for backend in steady::backends() {
        let mut runs = vec![(Control::Uncontrolled, known_by_number())];
        // Blocking lanes of a paced run sleep on a futex until something is due, and those of a mixed stream keep its
        // order by a lock: the two exceptions. Reactors have neither.
        if backend != Backend::Sync {
            runs.extend([(Control::Uncontrolled, mixed_stream()), (Control::Paced, known_by_number())]);
        }
        for (control, generators) in runs {
            FUTEXES.store(0, SeqCst);
            let what = format!("{backend} {control:?} {generators:?}");
            steady::run(steady::two_targets(backend, lun, control, generators));
            assert_eq!(FUTEXES.load(SeqCst), 0, "{what}");
        }
    }
}

/// More arrivals than the device serves: queues are full, hold their dispatcher back, and let it go on.
#[test]
fn a_full_queue_wakes_nobody_who_is_awake() {
    let _turn = TURN.lock().unwrap();
    FUTEXES.store(0, SeqCst);
    let mut share = steady::two_targets(Backend::Sim, "sim:a", Control::Paced, known_by_number());
    // Eight lanes of 20 µs do 400,000 I/Os per second.
    share.generators.iter_mut().for_each(|g| g.rate = 1_000_000.0);
    steady::run(share);
    assert_eq!(FUTEXES.load(SeqCst), 0);
}
