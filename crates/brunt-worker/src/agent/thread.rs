//! Work that blocks, on a thread of its own.

use std::io;
use std::thread;

use tokio::sync::oneshot;

/// Runs `work` on a new thread. Unlike the runtime's own blocking threads it is not waited for at the end: a
/// device that never answers must not keep the process.
///
/// # Errors
/// No thread could be made, or it panicked.
pub async fn off_thread<T: Send + 'static>(name: &str, work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    #[cfg(test)]
    if simulated::STAYS.get() {
        return Ok(work());
    }
    let (done, result) = oneshot::channel();
    thread::Builder::new().name(name.to_owned()).spawn(move || {
        // Nobody waits any more: the call was given up.
        let _ = done.send(work());
    })?;
    result.await.map_err(|_| io::Error::other("a thread ended without its result"))
}

#[cfg(test)]
pub mod simulated {
    //! A simulation has one thread, and nothing in it blocks.

    use std::cell::Cell;

    thread_local! {
        /// Whether the work of this thread stays on it.
        pub static STAYS: Cell<bool> = const { Cell::new(false) };
    }
}
