//! `sd=single`, `sd=range` and `sd=setsofN` of an RD: one run for each of several sets of SDs.

use std::sync::Arc;

use super::sds::Sds;
use crate::java::JavaRandom;

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
        [only] => format!("_{0}-{0}", name(*only)),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_sds_in_sets_of_two_come_as_in_the_specification() {
        let order: Vec<usize> = shuffled((1..=5).collect());
        assert_eq!(order, [5, 4, 1, 3, 2]);
    }
}
