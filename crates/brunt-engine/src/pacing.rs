//! When I/Os are due: absolute times from the start of the run, never "so long after the last one".
//! Hence what is late is caught up with, without limit (`docs/vdbench/raw.md` §7.3, §8.1).

use brunt_plan::work::{Arrivals, Control, Generator};

use crate::random::{Draws, Purpose};

const SECOND_NS: f64 = 1e9;
/// The longest exponential gap.
const LONGEST_GAP_NS: f64 = 180.0 * SECOND_NS;
/// Deterministic generators are shifted against each other by this.
const SHIFT_NS: u64 = 100_000;
/// A due time that never comes.
pub const NEVER: u64 = u64::MAX;

/// The due times of one generator, rising, in nanoseconds from the start of the run.
#[derive(Debug, Clone)]
pub struct DueTimes {
    arrivals: Arrivals,
    draws: Draws,
    course: Course,
    shift_ns: u64,
    count: u64,
}

#[derive(Debug, Clone)]
enum Course {
    Never,
    Constant { gap_ns: f64, at_ns: f64 },
    Stepped(Steps),
}

impl DueTimes {
    /// The due times of a generator, the `index`-th of its worker.
    pub fn new(generator: &Generator, index: usize, control: &Control, arrivals: Arrivals, seed: u64) -> Self {
        let course = match control {
            Control::Stepped { steps, spike } => Steps::new(steps, generator.rate, *spike).map(Course::Stepped),
            Control::Uncontrolled | Control::Paced => Some(SECOND_NS / generator.rate)
                .filter(|gap| gap.is_finite() && *gap > 0.0)
                .map(|gap_ns| Course::Constant { gap_ns, at_ns: 0.0 }),
        };
        let shift_ns = if arrivals == Arrivals::Deterministic { SHIFT_NS * index as u64 } else { 0 };
        let draws = Draws::new(seed, generator.stream, Purpose::Pacing);
        Self { arrivals, draws, course: course.unwrap_or(Course::Never), shift_ns, count: 0 }
    }

    /// The next one; the first comes after one gap. [`NEVER`] when there is none.
    pub fn next_ns(&mut self) -> u64 {
        self.count += 1;
        let gaps = match self.arrivals {
            Arrivals::Exponential => self.draws.exponential(),
            Arrivals::Uniform => 2.0 * self.draws.unit(),
            Arrivals::Deterministic => 1.0,
        };
        let at_ns = match &mut self.course {
            Course::Never => return NEVER,
            // By the count, so that no rounding adds up.
            Course::Constant { gap_ns, .. } if self.arrivals == Arrivals::Deterministic => {
                (self.count as f64 * *gap_ns).round()
            }
            Course::Constant { gap_ns, at_ns } => {
                *at_ns += (gaps * *gap_ns).min(LONGEST_GAP_NS);
                at_ns.round()
            }
            Course::Stepped(steps) => steps.advance(gaps),
        };
        (at_ns as u64).saturating_add(self.shift_ns)
    }
}

/// A rate that changes in steps, repeated.
#[derive(Debug, Clone)]
struct Steps {
    /// I/Os per ns, and ns.
    steps: Vec<(f64, f64)>,
    now: usize,
    /// When the present step began, and how far it is.
    began_ns: f64,
    within_ns: f64,
    spike: bool,
}

impl Steps {
    fn new(steps: &[(f64, u32)], fraction: f64, spike: bool) -> Option<Self> {
        let step = |(rate, seconds): &(f64, u32)| (rate * fraction / SECOND_NS, f64::from(*seconds) * SECOND_NS);
        let steps: Vec<_> = steps.iter().map(step).collect();
        let some = steps.iter().any(|(rate, ns)| rate * ns > 0.0);
        let sane = steps.iter().all(|(rate, _)| rate.is_finite() && *rate >= 0.0);
        (some && sane).then_some(Self { steps, now: 0, began_ns: 0.0, within_ns: 0.0, spike })
    }

    /// Goes on until `gaps` mean gaps have passed at the rates in force.
    fn advance(&mut self, mut gaps: f64) -> f64 {
        while let Some((rate, ns)) = self.steps.get(self.now) {
            let left = (ns - self.within_ns) * rate;
            // What falls on the end of a step, but for rounding, begins the next.
            if gaps < left - 1e-9 {
                self.within_ns += gaps / rate;
                break;
            }
            gaps = (gaps - left).max(0.0);
            self.began_ns += ns;
            self.within_ns = 0.0;
            self.now = (self.now + 1) % self.steps.len();
            if gaps == 0.0 {
                break;
            }
        }
        let at_ns = (self.began_ns + self.within_ns).round();
        if self.spike { (at_ns / SECOND_NS).floor() * SECOND_NS } else { at_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_plan::work::{Area, Seek, Xfer};
    use proptest::prelude::*;

    fn due(rate: f64, index: usize, control: &Control, arrivals: Arrivals, seed: u64) -> DueTimes {
        let area = Area { low: 0, high: 1 << 20, wrap: None };
        let generator = Generator {
            workload: 0,
            target: 0,
            stream: 3,
            rate,
            priority: None,
            read_pct: 100.0,
            read_hit_pct: 0.0,
            write_hit_pct: 0.0,
            xfer: Xfer::Fixed(4096),
            seek: Seek::Percent(100.0),
            miss: area,
            hit: None,
            align: None,
            stride: None,
            hotband: None,
            streams: Vec::new(),
        };
        DueTimes::new(&generator, index, control, arrivals, seed)
    }

    fn take(mut d: DueTimes, n: usize) -> Vec<u64> {
        (0..n).map(|_| d.next_ns()).collect()
    }

    /// Arrivals per second, of the first seconds.
    fn per_second(mut d: DueTimes, seconds: usize) -> Vec<u32> {
        let mut out = vec![0; seconds];
        while let Some(n) = out.get_mut((d.next_ns() / 1_000_000_000) as usize) {
            *n += 1;
        }
        out
    }

    #[test]
    fn deterministic_is_exact_and_shifted_by_place() {
        let d = take(due(3.0, 2, &Control::Paced, Arrivals::Deterministic, 1), 3_000_000);
        assert_eq!(&d[..3], [333_533_333, 666_866_667, 1_000_200_000]);
        assert_eq!(d[2_999_999], 1_000_000_000_000_000 + 200_000);
    }

    #[test]
    fn means_and_shapes_are_right() {
        let n = 100_000;
        for arrivals in [Arrivals::Exponential, Arrivals::Uniform] {
            let d = take(due(1000.0, 0, &Control::Paced, arrivals, 5), n);
            let mean = d[n - 1] as f64 / n as f64;
            assert!((mean / 1e6 - 1.0).abs() < 0.01, "{arrivals:?} {mean}");
            let longest = d.windows(2).map(|w| w[1] - w[0]).max().unwrap_or(0);
            match arrivals {
                Arrivals::Uniform => assert!((1_990_000..=2_000_000).contains(&longest)),
                _ => assert!((8_000_000..30_000_000).contains(&longest), "{longest}"),
            }
        }
    }

    #[test]
    fn exponential_gaps_end_at_180_seconds() {
        let d = take(due(0.001, 0, &Control::Paced, Arrivals::Exponential, 5), 100);
        let gaps: Vec<u64> = d.windows(2).map(|w| w[1] - w[0]).collect();
        assert!(gaps.iter().all(|g| *g <= 180_000_000_001));
        assert!(gaps.iter().filter(|g| **g >= 180_000_000_000).count() > 50);
    }

    #[test]
    fn variable_rates_follow_their_steps() {
        let control = Control::Stepped { steps: vec![(50.0, 2), (10.0, 1)], spike: false };
        let d = due(1.0, 0, &control, Arrivals::Deterministic, 1);
        // The first second lacks the I/O that is due at its end, which begins the second one.
        assert_eq!(per_second(d, 6), [49, 50, 10, 50, 50, 10]);
        let half = due(0.5, 0, &control, Arrivals::Deterministic, 1);
        assert_eq!(per_second(half, 6), [24, 25, 5, 25, 25, 5]);
    }

    #[test]
    fn spikes_release_at_the_beginning_of_the_second() {
        let control = Control::Stepped { steps: vec![(50.0, 2), (0.0, 1)], spike: true };
        let d = take(due(1.0, 0, &control, Arrivals::Exponential, 1), 400);
        assert!(d.iter().all(|t| t % 1_000_000_000 == 0 && (t / 1_000_000_000) % 3 != 2));
    }

    #[test]
    fn without_a_rate_nothing_is_due() {
        let all_zero = Control::Stepped { steps: vec![(0.0, 5)], spike: false };
        for (rate, control) in [(0.0, Control::Paced), (f64::NAN, Control::Paced), (1.0, all_zero)] {
            assert_eq!(take(due(rate, 0, &control, Arrivals::Uniform, 1), 2), [NEVER, NEVER]);
        }
    }

    proptest! {
        #[test]
        fn due_times_rise_and_repeat(
            rate in 0.01f64..1e7, seed: u64, kind in 0..3u8,
            steps in prop::option::of(prop::collection::vec((0.0f64..1000.0, 1u32..5), 1..5)), spike: bool,
        ) {
            let arrivals = [Arrivals::Exponential, Arrivals::Uniform, Arrivals::Deterministic][usize::from(kind)];
            let control = steps.map_or(Control::Paced, |steps| Control::Stepped { steps, spike });
            let rate = if control == Control::Paced { rate } else { rate / 1e7 };
            let times = take(due(rate, 1, &control, arrivals, seed), 500);
            prop_assert!(times.windows(2).all(|w| w[0] <= w[1]));
            prop_assert_eq!(times, take(due(rate, 1, &control, arrivals, seed), 500));
        }
    }
}
