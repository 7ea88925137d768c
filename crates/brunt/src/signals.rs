//! The signals that end an execution in order. They are watched by a thread of their own for as long as the process lives,
//! so that nothing the rest waits for keeps an answer from coming.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

use brunt_master::Control;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// Interrupt and termination.
const SIGNALS: [SignalKind; 2] = [SignalKind::interrupt(), SignalKind::terminate()];

/// Whether a signal has come.
#[derive(Debug, Clone, Default)]
pub struct Interrupted(Arc<AtomicBool>);

impl Interrupted {
    /// Whether one has come.
    pub fn is_set(&self) -> bool {
        self.0.load(Relaxed)
    }
}

/// Watches for signals from now on and hands each to `control`. Where the system gives no thread for that, signals end the
/// process at once, as ever.
pub fn watch(control: mpsc::Sender<Control>) -> Interrupted {
    let interrupted = Interrupted::default();
    let seen = interrupted.clone();
    let _ = thread::Builder::new().name("signals".to_owned()).spawn(move || {
        if let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() {
            runtime.block_on(listen(control, seen));
        }
    });
    interrupted
}

async fn listen(control: mpsc::Sender<Control>, seen: Interrupted) {
    let mut listeners = JoinSet::new();
    for kind in SIGNALS {
        let Ok(mut arrivals) = signal(kind) else { continue };
        let (control, seen) = (control.clone(), seen.clone());
        listeners.spawn(async move {
            while arrivals.recv().await.is_some() {
                seen.0.store(true, Relaxed);
                // Behind the end of the execution nobody asks for it, and the flag is enough.
                let _ = control.send(Control::Interrupt(kind.as_raw_value())).await;
            }
        });
    }
    // The end of the terminal is not the end of the run: `brunt attach` shows it again.
    let _hangup = signal(SignalKind::hangup());
    // A report beyond `ulimit -f`: the write fails, which is told, in place of the process.
    let _too_large = signal(SignalKind::from_raw(nix::sys::signal::Signal::SIGXFSZ as i32));
    while listeners.join_next().await.is_some() {}
}
