//! The thread that drives the dispatcher in real time.

use std::hint::spin_loop;
use std::sync::Arc;

use brunt_plan::work::{Control, WorkerShare};

use crate::clock::now_ns;
use crate::dispatch::Dispatcher;
use crate::options::Wait;
use crate::shared::{Bell, Shared};

/// Arrivals released before sleeping lanes are told.
const BATCH: usize = 64;
/// The hybrid wait watches the clock for so long before the due time.
const WATCH_NS: u64 = 60_000;
/// Below this rate a finer timer costs little and saves 50 µs of lateness.
const FINE_TIMER_RATE: f64 = 5000.0;

/// Drives a dispatcher.
#[derive(Debug)]
pub struct Pacer {
    dispatcher: Dispatcher,
    bell: Arc<Bell>,
    shared: Arc<Shared>,
    wait: Wait,
    fine_timer: bool,
}

impl Pacer {
    /// For a share.
    pub fn new(dispatcher: Dispatcher, bell: Arc<Bell>, shared: Arc<Shared>, wait: Wait, share: &WorkerShare) -> Self {
        let highest = match &share.control {
            Control::Stepped { steps, .. } => steps.iter().map(|(rate, _)| *rate).fold(0.0, f64::max),
            Control::Uncontrolled | Control::Paced => 1.0,
        };
        let rate = highest * share.generators.iter().map(|g| g.rate).sum::<f64>();
        Self { dispatcher, bell, shared, wait, fine_timer: rate < FINE_TIMER_RATE }
    }

    /// Waits for the start, then releases I/Os until the run is over.
    pub fn run(&mut self) {
        let Some(start_ns) = self.shared.gate.wait() else { return };
        if self.fine_timer {
            // Best effort: the default slack is 50 µs.
            // SAFETY: sets a number of the calling thread, touches no memory.
            unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) };
        }
        self.dispatcher.start(start_ns);
        if !self.shared.gate.wait_for_start() {
            return;
        }
        while !self.shared.stopping() {
            let seen = self.bell.now();
            let more = self.dispatcher.pump(now_ns(), BATCH);
            self.dispatcher.wake_lanes();
            if !more && !self.shared.stopping() {
                self.wait_for(self.dispatcher.next_due(), seen);
            }
        }
    }

    fn wait_for(&self, due: Option<u64>, seen: u32) {
        let Some(due) = due else {
            self.bell.wait(seen, None);
            return;
        };
        match self.wait {
            Wait::Sleep => self.bell.wait(seen, Some(due)),
            Wait::Hybrid | Wait::Spin => {
                let watch_from = due.saturating_sub(WATCH_NS);
                if self.wait == Wait::Hybrid && now_ns() < watch_from {
                    self.bell.wait(seen, Some(watch_from));
                }
                while now_ns() < due && self.bell.now() == seen {
                    spin_loop();
                }
            }
        }
    }
}
