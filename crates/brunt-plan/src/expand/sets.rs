//! `sd=single`, `sd=range` and `sd=setsofN` of an RD: one run for each of several sets of SDs.

use std::sync::Arc;

use super::sds::Sds;

/// A set of SDs and what it adds to the run's name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SdSet {
    /// Behind the RD's name.
    pub(crate) suffix: String,
    /// The SDs.
    pub(crate) sds: Arc<[usize]>,
}

/// The sets of a key word, made of all defined SDs; `None` when it is a name (`docs/vdbench/raw.md` §7).
pub(crate) fn of_word(word: &str, sds: &Sds) -> Option<Vec<SdSet>> {
    let all: Vec<usize> = (0..sds.list.len()).collect();
    match word {
        "single" => Some(all.chunks(1).map(|set| joined(set, sds)).collect()),
        "range" => Some((1..=all.len()).map(|n| ranged(&all[..n], sds)).collect()),
        _ => {
            let size: usize = word.strip_prefix("setsof")?.parse().ok().filter(|n| *n > 0)?;
            let order = if size == 1 { all } else { shuffled(all) };
            Some(order.chunks(size).map(|set| joined(set, sds)).collect())
        }
    }
}

fn joined(set: &[usize], sds: &Sds) -> SdSet {
    let suffix = set.iter().map(|at| format!("_{}", sds.list[*at].name)).collect();
    SdSet { suffix, sds: set.into() }
}

fn ranged(set: &[usize], sds: &Sds) -> SdSet {
    let name = |at: usize| sds.list[at].name.as_str();
    let suffix = match set {
        [] => String::new(),
        [only] => format!("_{}", name(*only)),
        [first, .., last] => format!("_{}-{}", name(*first), name(*last)),
    };
    SdSet { suffix, sds: set.into() }
}

/// Exchanges two random places, eight times for each item.
fn shuffled(mut list: Vec<usize>) -> Vec<usize> {
    let Some(bound) = u32::try_from(list.len()).ok().filter(|n| (1..1 << 31).contains(n)) else { return list };
    let mut random = JavaRandom::new(0);
    for _ in 0..list.len() * 8 {
        let i = random.next_int(bound);
        let j = random.next_int(bound);
        list.swap(i as usize, j as usize);
    }
    list
}

/// The documented generator of `java.util.Random`: 48 bits, linear congruential.
struct JavaRandom(u64);

impl JavaRandom {
    const MULTIPLIER: u64 = 0x5_DEEC_E66D;
    const MASK: u64 = (1 << 48) - 1;

    fn new(seed: u64) -> Self {
        Self((seed ^ Self::MULTIPLIER) & Self::MASK)
    }

    /// The next 31 bits.
    fn next_31(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(Self::MULTIPLIER).wrapping_add(0xB) & Self::MASK;
        (self.0 >> 17) as u32
    }

    /// A number from 0 to `bound` − 1; `bound` is from 1 to 2³¹ − 1.
    fn next_int(&mut self, bound: u32) -> u32 {
        if bound.is_power_of_two() {
            return ((u64::from(bound) * u64::from(self.next_31())) >> 31) as u32;
        }
        loop {
            let bits = self.next_31();
            let value = bits % bound;
            // The last, incomplete stretch of the 31 bits would favour small numbers.
            if u64::from(bits) + u64::from(bound - 1) - u64::from(value) < 1 << 31 {
                return value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_that_of_java() {
        // new Random(0).nextInt(100), well known: 60 48 29 47 15.
        let mut random = JavaRandom::new(0);
        let drawn: Vec<u32> = (0..5).map(|_| random.next_int(100)).collect();
        assert_eq!(drawn, [60, 48, 29, 47, 15]);
    }

    #[test]
    fn five_sds_in_sets_of_two_come_as_in_the_specification() {
        let order: Vec<usize> = shuffled((1..=5).collect());
        assert_eq!(order, [5, 4, 1, 3, 2]);
    }
}
