//! A device in memory with known service times, hit and miss areas and faults.
//!
//! It serves any number of I/Os at once, each in its own time. The same answers come on both clocks:
//! on the virtual one the event loop asks for them, in real time a port gives them when they are due.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use brunt_plan::work::SimSpec;

use crate::address::Access;
use crate::random::{Purpose, mix, unit_of};

/// What the device answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// When, from the start of the run.
    pub at_ns: u64,
    /// Bytes moved or an error number.
    pub result: Result<u64, i32>,
}

/// The simulated device.
#[derive(Debug)]
pub struct SimDevice {
    spec: SimSpec,
    seed: u64,
    served: AtomicU64,
    start_ns: AtomicU64,
}

impl SimDevice {
    /// A device; the same seed gives the same jitter and errors to its n-th I/O.
    pub fn new(spec: SimSpec, seed: u64, sd: u32) -> Self {
        let seed = mix(mix(seed) ^ u64::from(sd)) ^ mix(Purpose::Device.number());
        Self { spec, seed, served: AtomicU64::new(0), start_ns: AtomicU64::new(0) }
    }

    /// The run starts at `start_ns` of the monotonic clock.
    pub fn started(&self, start_ns: u64) {
        self.start_ns.store(start_ns, Relaxed);
    }

    /// As [`SimDevice::answer`], by the monotonic clock.
    pub fn answer_at(&self, access: &Access, now_ns: u64) -> Answer {
        let start_ns = self.start_ns.load(Relaxed);
        let answer = self.answer(access, now_ns.saturating_sub(start_ns));
        Answer { at_ns: start_ns.saturating_add(answer.at_ns), ..answer }
    }

    /// The answer to an I/O issued at `issued_ns` from the start of the run.
    pub fn answer(&self, access: &Access, issued_ns: u64) -> Answer {
        let n = self.served.fetch_add(1, Relaxed);
        let base = if access.lba < self.spec.hit_area { self.spec.hit_ns } else { self.spec.miss_ns };
        let service = base.saturating_add_signed(self.jitter(n)).max(1);
        Answer { at_ns: self.thawed(issued_ns.saturating_add(service)), result: self.result(access, n) }
    }

    fn draw(&self, n: u64, what: u64) -> f64 {
        unit_of(mix(self.seed.wrapping_add(n.wrapping_mul(2).wrapping_add(what))))
    }

    fn jitter(&self, n: u64) -> i64 {
        match self.spec.jitter_ns {
            0 => 0,
            j => ((self.draw(n, 0) * 2.0 - 1.0) * j as f64).round() as i64,
        }
    }

    fn result(&self, access: &Access, n: u64) -> Result<u64, i32> {
        if self.spec.error_rate > 0.0 && self.draw(n, 1) < self.spec.error_rate {
            return Err(libc::EIO);
        }
        let left = self.spec.size.saturating_sub(access.lba);
        match access.read {
            false if left == 0 => Err(libc::ENOSPC),
            _ => Ok(access.len.min(left)),
        }
    }

    /// An answer that would come within a freeze comes at its end. The first freeze begins one
    /// distance after the start.
    fn thawed(&self, at_ns: u64) -> u64 {
        match self.spec.freeze {
            Some((every, length)) if every > 0 && at_ns >= every => {
                let began = at_ns / every * every;
                at_ns.max(began.saturating_add(length.min(every)))
            }
            _ => at_ns,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn spec() -> SimSpec {
        SimSpec {
            size: 1 << 20,
            hit_area: 1 << 16,
            hit_ns: 39_000,
            miss_ns: 200_000,
            jitter_ns: 0,
            error_rate: 0.0,
            freeze: None,
            virtual_clock: true,
            raw: false,
        }
    }

    fn read(lba: u64) -> Access {
        Access { read: true, hit: false, lba, len: 4096 }
    }

    #[test]
    fn hits_and_misses_take_their_time() {
        let d = SimDevice::new(spec(), 1, 0);
        assert_eq!(d.answer(&read(0), 5), Answer { at_ns: 39_005, result: Ok(4096) });
        assert_eq!(d.answer(&read(1 << 16), 5).at_ns, 200_005);
    }

    #[test]
    fn the_end_is_the_end() {
        let d = SimDevice::new(spec(), 1, 0);
        assert_eq!(d.answer(&read((1 << 20) - 512), 0).result, Ok(512));
        assert_eq!(d.answer(&read(1 << 20), 0).result, Ok(0));
        let write = Access { read: false, ..read(1 << 20) };
        assert_eq!(d.answer(&write, 0).result, Err(libc::ENOSPC));
    }

    #[test]
    fn freezes_hold_answers_back() {
        let d = SimDevice::new(SimSpec { freeze: Some((1_000_000, 300_000)), ..spec() }, 1, 0);
        assert_eq!(d.answer(&read(0), 0).at_ns, 39_000);
        assert_eq!(d.answer(&read(0), 970_000).at_ns, 1_300_000);
        assert_eq!(d.answer(&read(0), 1_000_000).at_ns, 1_300_000);
        assert_eq!(d.answer(&read(0), 1_290_000).at_ns, 1_329_000);
        assert_eq!(d.answer(&read(0), 1_961_000).at_ns, 2_300_000);
    }

    #[test]
    fn jitter_and_errors_keep_their_measure_and_repeat() {
        let noisy = SimSpec { jitter_ns: 1_000, error_rate: 0.25, ..spec() };
        let run = || {
            let d = SimDevice::new(noisy, 9, 3);
            (0..10_000).map(|_| d.answer(&read(0), 0)).collect::<Vec<_>>()
        };
        let answers = run();
        assert_eq!(answers, run());
        assert!(answers.iter().all(|a| (38_000..=40_000).contains(&a.at_ns)));
        let mean = answers.iter().map(|a| a.at_ns).sum::<u64>() as f64 / 10_000.0;
        assert!((mean - 39_000.0).abs() < 20.0, "{mean}");
        let failed = answers.iter().filter(|a| a.result == Err(libc::EIO)).count();
        assert!((2_300..2_700).contains(&failed), "{failed}");
    }
}
