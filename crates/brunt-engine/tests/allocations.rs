//! Threads that do I/O allocate nothing once they run.
#![allow(unsafe_code, clippy::unwrap_used, clippy::panic)]

#[path = "support/shares.rs"]
mod shares;
#[path = "support/steady.rs"]
mod steady;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;

use brunt_plan::work::{Control, Generator, Seek};
use shares::{M, generator};

/// Counts what threads of runs do while it is told to.
struct Counting;

static COUNTED: AtomicU64 = AtomicU64::new(0);

fn count() {
    if steady::is_watched() {
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

/// The counter counts: what a thread of such a name allocates, and no other.
fn counts(name: &str) -> u64 {
    COUNTED.store(0, SeqCst);
    steady::as_thread(name, || drop(std::hint::black_box(Box::new(1))));
    COUNTED.load(SeqCst)
}

#[test]
fn nothing_is_allocated_while_io_is_done() {
    assert_eq!((counts("io-sd1-0"), counts("other")), (2, 0));
    let file = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    file.as_file().set_len(M).unwrap();
    let lun = file.path().to_str().unwrap();
    let generators = || {
        let mixed = |target, seek| Generator { read_pct: 70.0, seek: Seek::Percent(seek), ..generator(target) };
        [mixed(0, 100.0), mixed(1, 0.0)]
    };
    for backend in steady::backends() {
        for control in [Control::Uncontrolled, Control::Paced] {
            COUNTED.store(0, SeqCst);
            steady::run(steady::two_targets(backend, lun, control.clone(), generators()));
            assert_eq!(COUNTED.load(SeqCst), 0, "{backend} {control:?}");
        }
    }
}
