//! The thread that drives the dispatcher of blocking lanes in real time.

use std::hint::spin_loop;
use std::sync::Arc;

use crate::clock::now_ns;
use crate::dispatch::Dispatcher;
use crate::shared::{Bell, Shared};
use crate::watch::{Step, Watch};

/// Arrivals released before sleeping lanes are told.
const BATCH: usize = 64;

/// Drives a dispatcher.
#[derive(Debug)]
pub struct Pacer {
    dispatcher: Dispatcher,
    bell: Arc<Bell>,
    shared: Arc<Shared>,
    watch: Watch,
}

impl Pacer {
    /// For a dispatcher and its bell.
    pub fn new(dispatcher: Dispatcher, bell: Arc<Bell>, shared: Arc<Shared>, watch: Watch) -> Self {
        Self { dispatcher, bell, shared, watch }
    }

    /// Waits for the start, then releases I/Os until the run is over.
    pub fn run(&mut self) {
        let Some(start_ns) = self.shared.gate.wait() else { return };
        self.dispatcher.start(start_ns);
        if !self.shared.gate.wait_for_start() {
            return;
        }
        while !self.shared.stopping() {
            let seen = self.bell.now();
            let now = now_ns();
            let more = self.dispatcher.pump(now, BATCH, |_, queue| queue.idle_since());
            self.dispatcher.wake_lanes();
            if !more && !self.shared.stopping() {
                self.wait_for(self.dispatcher.next_due(now), seen);
            }
        }
    }

    fn wait_for(&mut self, due_ns: Option<u64>, seen: u32) {
        let Some(due_ns) = due_ns else {
            self.bell.wait(seen, None);
            return;
        };
        match self.watch.step(now_ns(), due_ns) {
            Step::Sleep(until_ns) => {
                self.bell.wait(seen, Some(until_ns));
                let now = now_ns();
                if now >= until_ns {
                    self.watch.slept(until_ns, now);
                }
            }
            Step::Watch => {
                while now_ns() < due_ns && self.bell.now() == seen {
                    spin_loop();
                }
            }
        }
    }
}
