//! Pacing knows I/Os, not bytes: a mix of sizes comes at the rate that was asked for.

use brunt_plan::work::{Arrivals, Generator, Xfer};
use brunt_stats::Cell;

use crate::harness::*;

const RATE: f64 = 400.0;
const SECONDS: u32 = 600;
const SIZES: [(u64, f64); 3] = [(4 * K, 50.0), (16 * K, 30.0), (64 * K, 20.0)];

/// Ten minutes of 90 % reads of mixed sizes on the virtual clock.
fn mixed(arrivals: Arrivals) -> (Told, Cell) {
    let generator = Generator { rate: RATE, read_pct: 90.0, xfer: Xfer::Weighted(SIZES.to_vec()), ..generator(0) };
    let told = run(paced(share(Some(SECONDS), vec![sim(0, 16, spec())], vec![generator]), arrivals));
    let cell = told.cell(|_| true);
    (told, cell)
}

#[test]
fn the_rate_does_not_depend_on_the_sizes() {
    for arrivals in [Arrivals::Exponential, Arrivals::Uniform, Arrivals::Deterministic] {
        let (_, cell) = mixed(arrivals);
        let all = cell.both();
        let rate = all.ops as f64 / f64::from(SECONDS);
        assert!((rate / RATE - 1.0).abs() < 0.01, "{arrivals:?}: {rate}");
        // Five standard deviations of the choice between reading and writing.
        let n = all.ops as f64;
        let bound = 5.0 * (0.9 * 0.1 / n).sqrt();
        let reads = cell.read.ops as f64 / n;
        assert!((reads - 0.9).abs() < bound, "{arrivals:?}: {reads}");
        // Of the choice of a size: its mean is 19,660.8 bytes, its deviation 23,100.
        let (mean, deviation) = (SIZES.iter().map(|(size, share)| *size as f64 * share / 100.0).sum::<f64>(), 23_100.0);
        let bytes = all.bytes as f64 / n;
        assert!((bytes - mean).abs() < 5.0 * deviation / n.sqrt(), "{arrivals:?}: {bytes} {mean}");
    }
}

#[test]
fn equal_gaps_give_each_second_its_share() {
    let (told, _) = mixed(Arrivals::Deterministic);
    let each = told.samples.iter().map(|sample| sample.pairs.iter().map(|pair| pair.cell.both().ops).sum::<u64>());
    // What is due at the end of the first second is done in the second.
    assert!(each.clone().skip(1).all(|ops| ops == RATE as u64), "{:?}", each.collect::<Vec<_>>());
}
