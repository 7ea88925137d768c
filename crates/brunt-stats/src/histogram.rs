//! The log-linear histogram of the I/O path: single writer, fixed buckets, no allocation after it is
//! made.
//!
//! Steps of 8 ns below 1 µs, 256 steps an octave from 1 µs to 1 ms (128 ns at 39 µs), 64 an octave
//! above, up to 2⁴⁰ ns (18 minutes). What lies beyond is counted in the last bucket, and exactly as
//! `over`. Merging is addition.

use serde::{Deserialize, Serialize};

const LINEAR: usize = 128;
const FINE_OCTAVES: usize = 10;
const FINE: usize = 256;
const COARSE_OCTAVES: usize = 20;
const COARSE: usize = 64;
/// Number of buckets.
pub const BUCKETS: usize = LINEAR + FINE_OCTAVES * FINE + COARSE_OCTAVES * COARSE;
const LIMIT_NS: u64 = 1 << 40;

/// Bucket of a time.
#[inline]
pub fn bucket_of(ns: u64) -> usize {
    if ns < 1024 {
        return (ns >> 3) as usize;
    }
    if ns >= LIMIT_NS {
        return BUCKETS - 1;
    }
    let octave = 63 - ns.leading_zeros() as usize; // 10..=39
    if octave < 20 {
        let within = ((ns >> (octave - 8)) & 0xff) as usize;
        LINEAR + (octave - 10) * FINE + within
    } else {
        let within = ((ns >> (octave - 6)) & 0x3f) as usize;
        LINEAR + FINE_OCTAVES * FINE + (octave - 20) * COARSE + within
    }
}

/// Smallest time of a bucket, in ns. `bucket_low(b + 1)` is its exclusive end.
pub fn bucket_low(bucket: usize) -> u64 {
    if bucket < LINEAR {
        return (bucket as u64) << 3;
    }
    let b = bucket - LINEAR;
    if b < FINE_OCTAVES * FINE {
        let octave = 10 + b / FINE;
        return (1 << octave) + (((b % FINE) as u64) << (octave - 8));
    }
    let b = b - FINE_OCTAVES * FINE;
    let octave = 20 + b / COARSE;
    (1 << octave) + (((b % COARSE) as u64) << (octave - 6))
}

/// All buckets, for recording and merging.
#[derive(Clone, PartialEq, Eq)]
pub struct Histogram {
    counts: Box<[u64]>,
    over: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0; BUCKETS].into_boxed_slice(), over: 0 }
    }
}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Histogram").field("sparse", &self.to_sparse()).finish()
    }
}

impl Histogram {
    /// Counts one time.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        if ns >= LIMIT_NS {
            self.over += 1;
        }
        // `bucket_of` is below BUCKETS for every input.
        if let Some(c) = self.counts.get_mut(bucket_of(ns)) {
            *c += 1;
        }
    }

    /// Number of times counted.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Adds a sparse one.
    pub fn merge_sparse(&mut self, other: &SparseHistogram) {
        self.over += other.over;
        for (b, n) in &other.buckets {
            if let Some(c) = self.counts.get_mut(*b as usize) {
                *c += n;
            }
        }
    }

    /// Adds another.
    pub fn merge(&mut self, other: &Histogram) {
        self.over += other.over;
        for (c, n) in self.counts.iter_mut().zip(other.counts.iter()) {
            *c += n;
        }
    }

    /// Adds all counts to another and leaves zeros. All times counted lie in `min_ns..=max_ns`: what
    /// is outside is not looked at, so that memory never used is never touched.
    pub fn drain_into(&mut self, other: &mut Histogram, min_ns: u64, max_ns: u64) {
        other.over += std::mem::take(&mut self.over);
        let (first, last) = (bucket_of(min_ns), bucket_of(max_ns));
        let used = |counts| <[u64]>::get_mut(counts, first..=last).unwrap_or_default();
        for (mine, c) in used(&mut self.counts).iter_mut().zip(used(&mut other.counts)) {
            if *mine != 0 {
                *c += *mine;
                *mine = 0;
            }
        }
    }

    /// The used buckets only.
    pub fn to_sparse(&self) -> SparseHistogram {
        let used = self.counts.iter().enumerate().filter(|(_, n)| **n > 0);
        SparseHistogram { buckets: used.map(|(b, n)| (b as u16, *n)).collect(), over: self.over }
    }

    /// Takes the counts out as sparse and leaves zeros.
    pub fn take_sparse(&mut self) -> SparseHistogram {
        let sparse = self.to_sparse();
        for (b, _) in &sparse.buckets {
            if let Some(c) = self.counts.get_mut(*b as usize) {
                *c = 0;
            }
        }
        self.over = 0;
        sparse
    }
}

/// The used buckets of a [`Histogram`], rising.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SparseHistogram {
    /// Bucket and count.
    #[serde(with = "crate::flat")]
    pub buckets: Vec<(u16, u64)>,
    /// How many of the last bucket lie beyond the range.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub over: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl SparseHistogram {
    /// Number of times counted.
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|(_, n)| n).sum()
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }

    /// Adds another.
    pub fn merge(&mut self, other: &SparseHistogram) {
        let mut merged = Vec::with_capacity(self.buckets.len() + other.buckets.len());
        let (mut a, mut b) = (self.buckets.iter().peekable(), other.buckets.iter().peekable());
        loop {
            match (a.peek(), b.peek()) {
                (Some((x, n)), Some((y, m))) if x == y => {
                    merged.push((*x, n + m));
                    a.next();
                    b.next();
                }
                (Some((x, n)), Some((y, _))) if x < y => {
                    merged.push((*x, *n));
                    a.next();
                }
                (_, Some((y, m))) => {
                    merged.push((*y, *m));
                    b.next();
                }
                (Some((x, n)), None) => {
                    merged.push((*x, *n));
                    a.next();
                }
                (None, None) => break,
            }
        }
        self.buckets = merged;
        self.over += other.over;
    }

    /// The time below which `quantile` (0 to 1) of the counts lie: the largest time of the bucket
    /// that holds it, held within `min..=max`, which the caller knows exactly; the largest of all for what lies beyond
    /// the range. `None` when empty.
    pub fn quantile(&self, quantile: f64, min_ns: u64, max_ns: u64) -> Option<u64> {
        let total = self.count();
        if total == 0 {
            return None;
        }
        let rank = ((quantile.clamp(0.0, 1.0) * total as f64).ceil() as u64).clamp(1, total);
        let mut seen = 0;
        for (b, n) in &self.buckets {
            seen += n;
            if seen >= rank {
                // Behind all that are within the range come those beyond it, which end with the largest.
                if rank > total.saturating_sub(self.over) {
                    return Some(max_ns);
                }
                let top = bucket_low(*b as usize + 1).saturating_sub(1);
                return Some(top.clamp(min_ns.min(max_ns), max_ns));
            }
        }
        Some(max_ns)
    }

    /// Counts per class of `bounds_ns` (rising upper bounds, exclusive), and one class above all. A
    /// bucket that straddles a bound counts where its middle lies.
    pub fn classes(&self, bounds_ns: &[u64]) -> Vec<u64> {
        let mut out = vec![0; bounds_ns.len() + 1];
        for (b, n) in &self.buckets {
            let (low, high) = (bucket_low(*b as usize), bucket_low(*b as usize + 1));
            let middle = low + (high - low) / 2;
            let class = bounds_ns.partition_point(|bound| *bound <= middle);
            if let Some(c) = out.get_mut(class) {
                *c += n;
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn buckets_join_without_gaps() {
        for b in 0..BUCKETS {
            assert_eq!(bucket_of(bucket_low(b)), b, "bucket {b}");
            assert!(bucket_low(b) < bucket_low(b + 1), "bucket {b}");
            if b + 1 < BUCKETS {
                assert_eq!(bucket_of(bucket_low(b + 1) - 1), b, "bucket {b}");
            }
        }
    }

    #[test]
    fn steps_are_as_documented() {
        let width = |ns| bucket_low(bucket_of(ns) + 1) - bucket_low(bucket_of(ns));
        assert_eq!(width(500), 8);
        assert_eq!(width(1_000), 8);
        assert_eq!(width(39_000), 128);
        assert_eq!(width(2_000_000), 1 << 14);
    }

    #[test]
    fn one_value_has_its_exact_quantiles() {
        let mut h = Histogram::default();
        for _ in 0..1000 {
            h.record(39_000);
        }
        let s = h.to_sparse();
        for q in [0.0, 0.5, 0.99, 1.0] {
            assert_eq!(s.quantile(q, 39_000, 39_000), Some(39_000));
        }
    }

    /// B22: a histogram of a fixed range shows its end for whatever took longer.
    #[test]
    fn percentiles_have_no_ceiling() {
        let mut h = Histogram::default();
        let hour = 3_600_000_000_000;
        (0..98).for_each(|_| h.record(39_000));
        [LIMIT_NS - 1, hour].into_iter().for_each(|ns| h.record(ns));
        let s = h.to_sparse();
        assert_eq!((s.over, s.count()), (1, 100));
        assert_eq!(
            [0.98, 0.99, 0.999, 1.0].map(|q| s.quantile(q, 39_000, hour)),
            [Some(39_039), Some(LIMIT_NS - 1), Some(hour), Some(hour)]
        );
    }

    #[test]
    fn beyond_the_range_is_counted() {
        let mut h = Histogram::default();
        h.record(u64::MAX);
        let s = h.take_sparse();
        assert_eq!((s.over, s.count()), (1, 1));
        assert_eq!(h.count(), 0);
    }

    proptest! {
        #[test]
        fn merging_is_recording_together(a in prop::collection::vec(0u64..1<<42, 0..200),
                                         b in prop::collection::vec(0u64..1<<42, 0..200)) {
            let fill = |v: &[u64]| { let mut h = Histogram::default(); v.iter().for_each(|x| h.record(*x)); h };
            let together = fill(&[a.clone(), b.clone()].concat());
            let mut sparse = fill(&a).to_sparse();
            sparse.merge(&fill(&b).to_sparse());
            prop_assert_eq!(&sparse, &together.to_sparse());
            let mut dense = fill(&a);
            dense.merge_sparse(&fill(&b).to_sparse());
            prop_assert_eq!(&dense, &together);
            let (mut from, mut into) = (fill(&b), fill(&a));
            let (min, max) = (b.iter().min(), b.iter().max());
            from.drain_into(&mut into, min.copied().unwrap_or(0), max.copied().unwrap_or(0));
            prop_assert_eq!((into, from), (together, Histogram::default()));
        }

        #[test]
        fn quantiles_rise(v in prop::collection::vec(0u64..1<<36, 1..200), qs in prop::collection::vec(0.0f64..1.0, 2..6)) {
            let mut h = Histogram::default();
            v.iter().for_each(|x| h.record(*x));
            let s = h.to_sparse();
            let (min, max) = (*v.iter().min().unwrap_or(&0), *v.iter().max().unwrap_or(&0));
            let mut qs = qs; qs.sort_by(f64::total_cmp);
            let found: Vec<u64> = qs.iter().filter_map(|q| s.quantile(*q, min, max)).collect();
            prop_assert!(found.windows(2).all(|w| w[0] <= w[1]));
            prop_assert!(found.iter().all(|x| (min..=max).contains(x)));
        }

        #[test]
        fn classes_lose_nothing(v in prop::collection::vec(0u64..1<<36, 0..200)) {
            let mut h = Histogram::default();
            v.iter().for_each(|x| h.record(*x));
            let total: u64 = h.to_sparse().classes(&[20_000, 40_000, 1_000_000]).iter().sum();
            prop_assert_eq!(total, v.len() as u64);
        }
    }
}
