//! Seeds and draws. One xoshiro256++ per purpose and stream, so that what one stream draws never
//! depends on another, on lanes or on threads.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// What a random stream is for. Addresses stay the same whatever the pacing draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Operations, sizes and addresses of a generator.
    Address,
    /// The same for its n-th stream (`streams=`).
    Stream(u32),
    /// The same for its n-th batch of I/Os, where their order is of no account.
    Batch(u64),
    /// Gaps between arrivals.
    Pacing,
    /// Jitter and errors of a simulated device.
    Device,
    /// Data written.
    Data,
}

impl Purpose {
    /// A number of its own for mixing into seeds.
    pub fn number(self) -> u64 {
        match self {
            Purpose::Address => 1,
            Purpose::Pacing => 2,
            Purpose::Device => 3,
            Purpose::Data => 4,
            Purpose::Stream(n) => 16 + u64::from(n),
            Purpose::Batch(n) => (1 << 40) + n,
        }
    }
}

/// One step of splitmix64: a bijection that spreads every bit.
#[inline]
pub fn mix(x: u64) -> u64 {
    let mut z = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A source of draws.
#[derive(Debug, Clone)]
pub struct Draws(Xoshiro256PlusPlus);

impl Draws {
    /// The source of stream `stream` in an execution with seed `seed`.
    pub fn new(seed: u64, stream: u64, purpose: Purpose) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(mix(mix(mix(seed) ^ stream) ^ purpose.number())))
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in `0..1`.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        unit_of(self.bits())
    }

    /// Uniform in `0..n`; 0 when `n` is 0.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// True in `percent` of all cases. Draws nothing when there is nothing to decide.
    #[inline]
    pub fn percent(&mut self, percent: f64) -> bool {
        if percent >= 100.0 {
            return true;
        }
        percent > 0.0 && self.unit() * 100.0 < percent
    }

    /// Exponential with mean 1, never infinite.
    #[inline]
    pub fn exponential(&mut self) -> f64 {
        -(1.0 - self.unit()).ln()
    }
}

/// The 53 highest bits as a number in `0..1`.
#[inline]
pub fn unit_of(bits: u64) -> f64 {
    (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_and_purposes_differ_and_repeat() {
        let first = |seed, stream, purpose| Draws::new(seed, stream, purpose).bits();
        assert_eq!(first(1, 2, Purpose::Address), first(1, 2, Purpose::Address));
        assert_ne!(first(1, 2, Purpose::Address), first(1, 2, Purpose::Pacing));
        assert_ne!(first(1, 2, Purpose::Address), first(1, 3, Purpose::Address));
        assert_ne!(first(1, 2, Purpose::Address), first(2, 1, Purpose::Address));
    }

    #[test]
    fn draws_keep_their_bounds_and_means() {
        let mut d = Draws::new(7, 0, Purpose::Address);
        let n = 100_000;
        assert!((0..n).all(|_| d.below(3) < 3));
        assert_eq!(d.below(0), 0);
        let mean = (0..n).map(|_| d.exponential()).sum::<f64>() / f64::from(n);
        assert!((mean - 1.0).abs() < 0.02, "{mean}");
        let hits = (0..n).filter(|_| d.percent(30.0)).count();
        assert!((29_000..31_000).contains(&hits), "{hits}");
        assert!((0..n).all(|_| d.percent(100.0) && !d.percent(0.0)));
    }
}
