//! CPU times per interval from `/proc/stat` (proc_stat(5)): of the host, and of the cores that do I/O.

use brunt_stats::CpuTicks;

/// Times since the start of a run, then since the interval before.
#[derive(Debug, Default)]
struct Since {
    before: Option<CpuTicks>,
    under_way: bool,
}

impl Since {
    fn prepared(now: Option<CpuTicks>) -> Self {
        Self { before: now, under_way: false }
    }

    /// The run begins. An interval that was quicker than this call has begun with the preparation.
    fn start(&mut self, now: impl FnOnce() -> Option<CpuTicks>) {
        if !self.under_way {
            self.before = now();
        }
    }

    fn interval(&mut self, now: Option<CpuTicks>) -> Option<CpuTicks> {
        self.under_way = true;
        let before = std::mem::replace(&mut self.before, now)?;
        Some(difference(&now?, &before))
    }
}

/// Times of the whole host, for the samples of one worker.
#[derive(Debug, Default)]
pub struct CpuMeter {
    worker: Option<u32>,
    virtual_clock: bool,
    since: Since,
}

impl CpuMeter {
    /// A new run, whose samples of `worker` carry the times. On a virtual clock the processors of the host have no
    /// meaning: no tick passes there.
    pub fn prepare(&mut self, worker: Option<u32>, virtual_clock: bool) {
        *self = Self { worker, virtual_clock, since: Since::prepared(host()) };
    }

    /// The run begins.
    pub fn start(&mut self) {
        self.since.start(host);
    }

    /// Times since the start or the interval before. `None` for all other workers, and without `/proc/stat`.
    pub fn interval(&mut self, worker: u32) -> Option<CpuTicks> {
        if self.worker != Some(worker) {
            return None;
        }
        let ticks = self.since.interval(host());
        if self.virtual_clock { ticks.map(|_| CpuTicks::default()) } else { ticks }
    }
}

/// Times of the cores that the I/O threads of this process's own worker may use.
#[derive(Debug, Default)]
pub struct IoMeter {
    cores: Vec<usize>,
    virtual_clock: bool,
    since: Since,
}

impl IoMeter {
    /// They may use these cores from the next run on.
    pub fn place(&mut self, cores: &[usize]) {
        cores.clone_into(&mut self.cores);
    }

    /// A new run.
    pub fn prepare(&mut self, virtual_clock: bool) {
        self.virtual_clock = virtual_clock;
        self.since = Since::prepared(self.now());
    }

    /// The run begins.
    pub fn start(&mut self) {
        let Self { cores, since, .. } = self;
        since.start(|| stat().and_then(|stat| sum_of(&stat, cores)));
    }

    /// Times since the start or the interval before. `None` on a virtual clock, and without `/proc/stat`.
    pub fn interval(&mut self) -> Option<CpuTicks> {
        if self.virtual_clock {
            return None;
        }
        let now = self.now();
        self.since.interval(now)
    }

    fn now(&self) -> Option<CpuTicks> {
        sum_of(&stat()?, &self.cores)
    }
}

fn stat() -> Option<String> {
    std::fs::read_to_string("/proc/stat").ok()
}

fn host() -> Option<CpuTicks> {
    parse(stat()?.lines().next()?, "cpu")
}

/// The times of some cores; those that are switched off have none. `None` when none is there.
fn sum_of(stat: &str, cores: &[usize]) -> Option<CpuTicks> {
    // The lines of the cores stand behind that of the host, before all others.
    let lines = stat.lines().skip(1).take_while(|line| line.starts_with("cpu"));
    let wanted = |line: &str| {
        let name = line.split_ascii_whitespace().next()?;
        let core: usize = name.strip_prefix("cpu")?.parse().ok()?;
        cores.contains(&core).then(|| parse(line, name)).flatten()
    };
    lines.filter_map(wanted).reduce(|mut sum, ticks| {
        sum.merge(&ticks);
        sum
    })
}

/// Reads `cpu user nice system idle iowait irq softirq steal …`; old kernels stop earlier.
fn parse(line: &str, name: &str) -> Option<CpuTicks> {
    let mut words = line.split_ascii_whitespace();
    if words.next()? != name {
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
        let ticks = parse("cpu  10 2 30 400 5 6 7 8 90 0", "cpu").unwrap();
        assert_eq!(ticks, CpuTicks { user: 10, nice: 2, system: 43, idle: 400, iowait: 5, steal: 8 });
    }

    #[test]
    fn old_kernels_have_fewer_columns() {
        assert_eq!(
            parse("cpu 1 2 3 4", "cpu").unwrap(),
            CpuTicks { user: 1, nice: 2, system: 3, idle: 4, ..Default::default() }
        );
        assert_eq!(parse("intr 5", "cpu"), None);
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
        meter.since.before = Some(CpuTicks::default());
        assert_eq!(meter.interval(0), None);
        assert!(meter.interval(1).unwrap().idle > 0);
    }

    #[test]
    fn a_late_start_does_not_lose_the_first_interval() {
        let mut meter = CpuMeter::default();
        meter.prepare(Some(0), false);
        assert!(meter.interval(0).is_some());
        let before = meter.since.before;
        meter.start();
        assert_eq!(meter.since.before, before, "the second interval begins where the first ended");
    }

    #[test]
    fn no_tick_passes_on_a_virtual_clock() {
        let mut meter = CpuMeter::default();
        meter.prepare(Some(0), true);
        meter.since.before = Some(CpuTicks::default());
        assert_eq!(meter.interval(0), Some(CpuTicks::default()));
    }

    #[test]
    fn the_cores_of_the_io_threads_are_summed() {
        let stat = "cpu  9 9 9 9\ncpu0 1 0 2 3 4 5 6 7\ncpu2 10 0 20 30 40 50 60 70\nintr 5\ncpu1 100 0 0 0\n";
        let one = CpuTicks { user: 10, nice: 0, system: 130, idle: 30, iowait: 40, steal: 70 };
        assert_eq!(sum_of(stat, &[2]), Some(one));
        assert_eq!(sum_of(stat, &[0, 1, 2]).unwrap().user, 11, "core 1 is switched off");
        assert_eq!([sum_of(stat, &[]), sum_of(stat, &[7]), sum_of("", &[0])], [None; 3]);
    }

    #[test]
    fn io_cores_have_times_but_not_on_a_virtual_clock() {
        let mut meter = IoMeter::default();
        meter.prepare(false);
        assert_eq!(meter.interval(), None, "no cores are known");
        let all: Vec<usize> = (0..4096).collect();
        meter.place(&all);
        meter.prepare(false);
        meter.since.before = Some(CpuTicks::default());
        assert!(meter.interval().unwrap().idle > 0);
        meter.prepare(true);
        assert_eq!(meter.interval(), None);
    }
}
