//! CPU times of the host per interval, from the first line of `/proc/stat`.

use brunt_stats::CpuTicks;

/// Times since the last interval, for the samples of one worker.
#[derive(Debug, Default)]
pub struct CpuMeter {
    worker: Option<u32>,
    virtual_clock: bool,
    before: Option<CpuTicks>,
    under_way: bool,
}

impl CpuMeter {
    /// A new run, whose samples of `worker` carry the times. On a virtual clock the processors of the host have no
    /// meaning: no tick passes there.
    pub fn prepare(&mut self, worker: Option<u32>, virtual_clock: bool) {
        *self = Self { worker, virtual_clock, before: read(), under_way: false };
    }

    /// The run begins. An interval that was quicker than this call has begun with the preparation.
    pub fn start(&mut self) {
        if !self.under_way {
            self.before = read();
        }
    }

    /// Times since the start or the interval before. `None` for all other workers, and without `/proc/stat`.
    pub fn interval(&mut self, worker: u32) -> Option<CpuTicks> {
        if self.worker != Some(worker) {
            return None;
        }
        self.under_way = true;
        let before = self.before.take()?;
        self.before = read();
        if self.virtual_clock {
            return Some(CpuTicks::default());
        }
        Some(difference(&self.before?, &before))
    }
}

fn read() -> Option<CpuTicks> {
    parse(&std::fs::read_to_string("/proc/stat").ok()?)
}

/// Reads `cpu user nice system idle iowait irq softirq steal …`; old kernels stop earlier.
fn parse(stat: &str) -> Option<CpuTicks> {
    let mut words = stat.lines().next()?.split_ascii_whitespace();
    if words.next()? != "cpu" {
        return None;
    }
    let mut ticks = [0u64; 8];
    for (slot, word) in ticks.iter_mut().zip(words) {
        *slot = word.parse().ok()?;
    }
    let [user, nice, system, idle, iowait, irq, softirq, steal] = ticks;
    Some(CpuTicks { user, nice, system: system + irq + softirq, idle, iowait, steal })
}

/// The kernel lets `iowait` and `idle` go back at times; that is no time.
fn difference(now: &CpuTicks, before: &CpuTicks) -> CpuTicks {
    CpuTicks {
        user: now.user.saturating_sub(before.user),
        nice: now.nice.saturating_sub(before.nice),
        system: now.system.saturating_sub(before.system),
        idle: now.idle.saturating_sub(before.idle),
        iowait: now.iowait.saturating_sub(before.iowait),
        steal: now.steal.saturating_sub(before.steal),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn system_holds_the_interrupts() {
        let ticks = parse("cpu  10 2 30 400 5 6 7 8 90 0\ncpu0 1 1 1 1\n").unwrap();
        assert_eq!(ticks, CpuTicks { user: 10, nice: 2, system: 43, idle: 400, iowait: 5, steal: 8 });
    }

    #[test]
    fn old_kernels_have_fewer_columns() {
        assert_eq!(
            parse("cpu 1 2 3 4\n").unwrap(),
            CpuTicks { user: 1, nice: 2, system: 3, idle: 4, ..Default::default() }
        );
        assert_eq!(parse("intr 5\n"), None);
    }

    #[test]
    fn time_never_runs_back() {
        let before = CpuTicks { user: 5, iowait: 9, ..Default::default() };
        let now = CpuTicks { user: 7, iowait: 8, ..Default::default() };
        assert_eq!(difference(&now, &before), CpuTicks { user: 2, ..Default::default() });
    }

    #[test]
    fn only_the_chosen_worker_carries_them() {
        let mut meter = CpuMeter::default();
        assert_eq!(meter.interval(1), None, "nothing was prepared");
        meter.prepare(Some(1), false);
        meter.before = Some(CpuTicks::default());
        assert_eq!(meter.interval(0), None);
        assert!(meter.interval(1).unwrap().idle > 0);
    }

    #[test]
    fn a_late_start_does_not_lose_the_first_interval() {
        let mut meter = CpuMeter::default();
        meter.prepare(Some(0), false);
        assert!(meter.interval(0).is_some());
        let before = meter.before;
        meter.start();
        assert_eq!(meter.before, before, "the second interval begins where the first ended");
    }

    #[test]
    fn no_tick_passes_on_a_virtual_clock() {
        let mut meter = CpuMeter::default();
        meter.prepare(Some(0), true);
        meter.before = Some(CpuTicks::default());
        assert_eq!(meter.interval(0), Some(CpuTicks::default()));
    }
}
