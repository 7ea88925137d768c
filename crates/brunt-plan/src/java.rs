//! The documented generator of `java.util.Random`: 48 bits, linear congruential. Where Vdbench draws with a fixed seed
//! the same numbers must come out.

/// The generator.
#[derive(Debug, Clone)]
pub(crate) struct JavaRandom(u64);

impl JavaRandom {
    const MULTIPLIER: u64 = 0x5_DEEC_E66D;
    const MASK: u64 = (1 << 48) - 1;

    /// `new Random(seed)`.
    pub(crate) fn new(seed: u64) -> Self {
        Self((seed ^ Self::MULTIPLIER) & Self::MASK)
    }

    /// The next bits, at most 31.
    fn next(&mut self, bits: u32) -> u32 {
        self.0 = self.0.wrapping_mul(Self::MULTIPLIER).wrapping_add(0xB) & Self::MASK;
        (self.0 >> (48 - bits)) as u32
    }

    /// `nextInt(bound)`: a number from 0 to `bound` − 1; `bound` is from 1 to 2³¹ − 1.
    pub(crate) fn next_int(&mut self, bound: u32) -> u32 {
        if bound.is_power_of_two() {
            return ((u64::from(bound) * u64::from(self.next(31))) >> 31) as u32;
        }
        loop {
            let bits = self.next(31);
            let value = bits % bound;
            // The last, incomplete stretch of the 31 bits would favour small numbers.
            if u64::from(bits) + u64::from(bound - 1) - u64::from(value) < 1 << 31 {
                return value;
            }
        }
    }

    /// `nextDouble()`: from 0 to below 1.
    pub(crate) fn next_double(&mut self) -> f64 {
        let high = u64::from(self.next(26)) << 27;
        (high + u64::from(self.next(27))) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_that_of_java() {
        // new Random(0).nextInt(100), well known: 60 48 29 47 15; nextDouble(): 0.7309677…, 0.2405364….
        let mut random = JavaRandom::new(0);
        let drawn: Vec<u32> = (0..8).map(|_| random.next_int(100)).collect();
        assert_eq!(drawn, [60, 48, 29, 47, 15, 53, 91, 61]);
        let mut random = JavaRandom::new(0);
        assert!((random.next_double() - 0.730_967_787_376_657).abs() < 1e-15);
        assert!((random.next_double() - 0.240_536_415_671_485_87).abs() < 1e-15);
    }
}
