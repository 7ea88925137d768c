//! The threads of a process that do no I/O: they carry messages, and must do so while lanes take every core.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::runtime::{Builder, Runtime};

/// The calling thread runs as soon as it wakes, where that is permitted.
pub use brunt_engine::priority::come_first;

/// Threads of a runtime: one may be busy with a large message while another answers.
const THREADS: usize = 2;

/// A runtime whose own threads come first. Those that it makes for blocking work are ordinary.
///
/// # Errors
/// What the system says about threads.
pub fn runtime() -> io::Result<Runtime> {
    let begun = AtomicUsize::new(0);
    let ours = move || {
        // The runtime's own threads are the first that it starts.
        if begun.fetch_add(1, Ordering::Relaxed) < THREADS {
            come_first();
        }
    };
    Builder::new_multi_thread()
        .worker_threads(THREADS)
        .thread_name("control")
        .on_thread_start(ours)
        .enable_all()
        .build()
}
