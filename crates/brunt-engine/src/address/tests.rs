//! The worked expectations of `docs/vdbench/raw.md` §8 and §11, and the invariants of every stream.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use brunt_plan::work::{Area, Generator, Seek, Wrap, Xfer};
use proptest::prelude::*;

use super::{Access, AddressStream, BATCH};

const K: u64 = 1024;
const M: u64 = 1024 * K;

fn area(low: u64, high: u64) -> Area {
    Area { low, high, wrap: None }
}

fn generator(xfer: Xfer, seek: Seek, miss: Area) -> Generator {
    Generator {
        workload: 0,
        target: 0,
        stream: 1,
        rate: 0.0,
        priority: None,
        read_pct: 100.0,
        read_hit_pct: 0.0,
        write_hit_pct: 0.0,
        xfer,
        seek,
        miss,
        hit: None,
        align: None,
        stride: None,
        hotband: None,
        streams: Vec::new(),
    }
}

fn stream(g: &Generator) -> AddressStream {
    AddressStream::new(g, 4711)
}

fn lbas(g: &Generator, n: usize) -> Vec<u64> {
    stream(g).take(n).map(|a| a.lba).collect()
}

#[test]
fn eof_over_10m_with_64k_gives_160_reads_and_ends() {
    let g = generator(Xfer::Fixed(64 * K), Seek::Eof, area(0, 10 * M));
    let mut s = stream(&g);
    let all: Vec<Access> = s.by_ref().collect();
    assert_eq!(all.len(), 160);
    assert_eq!((all[0].lba, all[159].lba), (0, 10_420_224));
    assert!(all.windows(2).all(|w| w[1].lba == w[0].lba + 64 * K));
    assert!(s.ended() && s.next().is_none());
}

#[test]
fn format_of_10m_and_100k() {
    let mut g = generator(Xfer::Fixed(128 * K), Seek::Eof, area(0, 10 * M));
    g.read_pct = 0.0;
    assert_eq!(stream(&g).filter(|a| !a.read && a.len == 131_072).count(), 80);
    let g = generator(Xfer::Fixed(512), Seek::Eof, area(0, 100 * K));
    assert_eq!(stream(&g).count(), 200);
}

#[test]
fn the_last_block_is_shortened_then_it_wraps() {
    let g = generator(Xfer::Fixed(64 * K), Seek::Percent(0.0), area(4 * K, 140 * K));
    let got: Vec<_> = stream(&g).take(4).map(|a| (a.lba, a.len)).collect();
    assert_eq!(got, [(4 * K, 64 * K), (68 * K, 64 * K), (132 * K, 8 * K), (4 * K, 64 * K)]);
}

#[test]
fn hits_of_4k_stay_in_the_first_mebibyte() {
    let mut g = generator(Xfer::Fixed(4 * K), Seek::Percent(100.0), area(M, 10 * M));
    g.hit = Some(area(0, M));
    g.read_hit_pct = 100.0;
    let mut got = lbas(&g, 20_000);
    got.sort_unstable();
    got.dedup();
    assert_eq!((got[0], *got.last().unwrap(), got.len()), (0, 1_044_480, 256));
}

#[test]
fn hits_and_misses_keep_apart_and_have_their_own_cursors() {
    let mut g = generator(Xfer::Fixed(64 * K), Seek::Percent(0.0), area(5 * M, 6 * M));
    g.hit = Some(area(4 * M, 5 * M));
    g.read_hit_pct = 50.0;
    let all: Vec<Access> = stream(&g).take(2000).collect();
    for hit in [true, false] {
        let low = if hit { 4 * M } else { 5 * M };
        let of: Vec<u64> = all.iter().filter(|a| a.hit == hit).map(|a| a.lba).collect();
        assert!(of.len() > 800, "{}", of.len());
        let wanted = (0..of.len() as u64).map(|n| low + n % 16 * 64 * K);
        assert!(of.iter().copied().eq(wanted));
    }
}

#[test]
fn range_90_110_wraps_to_the_start() {
    let wrapped = Area { low: 9_437_184, high: 11 * M, wrap: Some(Wrap { at: 10 * M, to: 0 }) };
    let g = generator(Xfer::Fixed(64 * K), Seek::Percent(0.0), wrapped);
    let got = lbas(&g, 33);
    let wanted: Vec<u64> = (144..160).chain(0..16).chain([144]).map(|b| b * 64 * K).collect();
    assert_eq!(got, wanted);
    assert_eq!((got[15], got[16], got[31]), (10_420_224, 0, 983_040));
}

#[test]
fn a_raw_range_90_110_wraps_behind_the_head() {
    let wrapped = Area { low: 9_437_184, high: 11 * M - 64 * K, wrap: Some(Wrap { at: 10 * M, to: 64 * K }) };
    let mut g = generator(Xfer::Fixed(64 * K), Seek::Percent(0.0), wrapped);
    let got = lbas(&g, 32);
    let wanted: Vec<u64> = (144..160).chain(1..16).chain([144]).map(|b| b * 64 * K).collect();
    assert_eq!(got, wanted);
    assert_eq!((got[15], got[16], got[30]), (10_420_224, 65_536, 983_040));
    // Every way to choose an address keeps off the head.
    let ways: [&dyn Fn(&mut Generator); 5] = [
        &|g| g.seek = Seek::Percent(100.0),
        &|g| g.seek = Seek::Poisson { mid: 3.0 },
        &|g| g.hotband = Some(wrapped),
        &|g| g.align = Some(4 * K),
        &|g| g.stride = Some((0, 128 * K)),
    ];
    for way in ways {
        (g.seek, g.hotband, g.align, g.stride) = (Seek::Percent(60.0), None, None, None);
        g.xfer = Xfer::Range { min: 4 * K, max: 64 * K, align: 4 * K };
        way(&mut g);
        let all: Vec<Access> = stream(&g).take(5000).collect();
        assert!(all.iter().all(|a| a.lba >= 64 * K && a.lba + a.len <= 10 * M), "{g:?}");
        assert!(all.iter().all(|a| a.lba >= 9_437_184 || a.lba + a.len <= M), "{g:?}");
        assert!(all.iter().any(|a| a.lba < M), "{g:?}");
    }
}

#[test]
fn a_block_at_the_wrap_is_shortened() {
    let wrapped = Area { low: 0, high: 20 * K, wrap: Some(Wrap { at: 10 * K, to: 0 }) };
    let g = generator(Xfer::Fixed(4 * K), Seek::Percent(0.0), wrapped);
    let got: Vec<_> = stream(&g).take(4).map(|a| (a.lba, a.len)).collect();
    assert_eq!(got, [(0, 4 * K), (4 * K, 4 * K), (8 * K, 2 * K), (0, 4 * K)]);
}

#[test]
fn stride_counts_from_the_end_of_the_block_before() {
    let mut g = generator(Xfer::Fixed(512), Seek::Percent(100.0), area(0, 10 * M));
    g.stride = Some((M, M));
    let got = lbas(&g, 12);
    assert_eq!(&got[..4], [0, 1_049_088, 2_098_176, 3_147_264]);
    assert_eq!((got[9], got[10], got[11]), (9 * 1_049_088, 0, 1_049_088));
}

#[test]
fn stride_with_a_span_never_reaches_its_maximum() {
    let mut g = generator(Xfer::Fixed(4 * K), Seek::Percent(100.0), area(0, 1 << 40));
    g.stride = Some((64 * K, 128 * K));
    let got = lbas(&g, 5000);
    let mut gaps: Vec<u64> = got.windows(2).map(|w| w[1] - w[0] - 4 * K).collect();
    gaps.sort_unstable();
    gaps.dedup();
    assert_eq!((got[0], gaps[0], *gaps.last().unwrap(), gaps.len()), (0, 64 * K, 124 * K, 16));
}

#[test]
fn stride_with_align_takes_align_as_unit_and_starts_with_a_gap() {
    let mut g = generator(Xfer::Fixed(4 * K), Seek::Percent(100.0), area(0, 1 << 40));
    g.stride = Some((64 * K, 128 * K));
    g.align = Some(8 * K);
    let got = lbas(&g, 5000);
    assert!((65_536..=122_880).contains(&got[0]), "{}", got[0]);
    let mut gaps: Vec<u64> = got.windows(2).map(|w| w[1] - w[0] - 4 * K).collect();
    gaps.sort_unstable();
    gaps.dedup();
    assert_eq!(gaps, (0..8).map(|k| 65_536 + k * 8192).collect::<Vec<_>>());
}

#[test]
fn runs_of_seekpct_have_geometric_length() {
    let g = generator(Xfer::Fixed(4 * K), Seek::Percent(25.0), area(0, 1 << 40));
    let got = lbas(&g, 40_000);
    let seeks = got.windows(2).filter(|w| w[1] != w[0] + 4 * K).count();
    assert!((9_700..10_300).contains(&seeks), "{seeks}");
}

#[test]
fn each_size_has_its_own_grid() {
    let sizes = Xfer::Weighted(vec![(4 * K, 50.0), (64 * K, 50.0)]);
    let low = 12 * K;
    let g = generator(sizes, Seek::Percent(100.0), area(low, low + 10 * M));
    let all: Vec<Access> = stream(&g).take(4000).collect();
    assert!(all.iter().all(|a| (a.lba - low).is_multiple_of(a.len) && a.lba + a.len <= low + 10 * M));
    let small = all.iter().filter(|a| a.len == 4 * K).count();
    assert!((1850..2150).contains(&small), "{small}");
}

#[test]
fn sizes_of_a_range_come_alike() {
    let g = generator(Xfer::Range { min: K, max: 8 * K, align: K }, Seek::Percent(100.0), area(0, M));
    let mut seen = [0u32; 9];
    for a in stream(&g).take(16_000) {
        seen[(a.len / K) as usize] += 1;
    }
    assert_eq!(seen[0], 0);
    assert!(seen[1..].iter().all(|n| (1800..2200).contains(n)), "{seen:?}");
}

#[test]
fn align_leaves_room_for_the_block() {
    let mut g = generator(Xfer::Fixed(4 * K), Seek::Percent(100.0), area(64 * K, 128 * K));
    g.align = Some(8 * K);
    let mut got = lbas(&g, 2000);
    got.sort_unstable();
    got.dedup();
    // (65536 − 4096) / 8192 = 7 places.
    assert_eq!(got, (0..7).map(|n| 64 * K + n * 8 * K).collect::<Vec<_>>());
}

#[test]
fn streams_have_cursors_of_their_own_and_end_apart() {
    let mut g = generator(Xfer::Fixed(4 * K), Seek::Eof, area(0, 64 * K));
    g.streams = vec![area(0, 8 * K), area(8 * K, 24 * K)];
    let mut s = stream(&g);
    // Lanes 0 and 2 share the first stream, 1 and 3 the second.
    let at = |s: &mut AddressStream, lane| s.next_for(lane).map(|a| a.lba / K);
    assert_eq!((at(&mut s, 0), at(&mut s, 1), at(&mut s, 2), at(&mut s, 3)), (Some(0), Some(8), Some(4), Some(12)));
    assert_eq!((at(&mut s, 0), s.ended()), (None, false));
    assert_eq!((at(&mut s, 1), at(&mut s, 3), at(&mut s, 1)), (Some(16), Some(20), None));
    assert!(s.ended());
    assert_eq!(lbas(&g, 99), [0, 8, 4, 12, 16, 20].map(|n| n * K));
}

#[test]
fn hotband_and_poisson_prefer_low_addresses() {
    let mut g = generator(Xfer::Fixed(4 * K), Seek::Percent(100.0), area(0, 100 * M));
    g.hotband = Some(area(20 * M, 80 * M));
    let hot = lbas(&g, 10_000);
    assert!(hot.iter().all(|a| (20 * M..80 * M).contains(a) && a % (4 * K) == 0));
    let low = hot.iter().filter(|a| **a < 26 * M).count();
    assert!((4_400..4_900).contains(&low), "{low}");
    let g = generator(Xfer::Fixed(4 * K), Seek::Poisson { mid: 10.0 }, area(0, 100 * M));
    let got = lbas(&g, 10_000);
    // Half of an exponential lies below ln 2 of its mean, here 10 MiB.
    let low = got.iter().filter(|a| **a < 6_931 * M / 1000).count();
    assert!((4_800..5_200).contains(&low), "{low}");
}

#[test]
fn the_seed_decides() {
    let mut g = generator(Xfer::Fixed(4 * K), Seek::Percent(100.0), area(0, 100 * M));
    g.read_pct = 70.0;
    let take = |g: &Generator, seed| AddressStream::new(g, seed).take(100).collect::<Vec<_>>();
    assert_eq!(take(&g, 1), take(&g, 1));
    assert_ne!(take(&g, 1), take(&g, 2));
    let other = Generator { stream: 2, ..g.clone() };
    assert_ne!(take(&g, 1), take(&other, 1));
}

proptest! {
    #[test]
    fn every_address_lies_in_its_area(
        low in 0u64..64, blocks in 2u64..200, seek in 0.0f64..=100.0, len in 1u64..16,
        stride in prop::option::of((0u64..64, 0u64..64)), align in prop::option::of(1u64..16), seed: u64,
    ) {
        let (low, len) = (low * 512, len * 512);
        let high = low + blocks * len;
        let mut g = generator(Xfer::Range { min: 512, max: len, align: 512 }, Seek::Percent(seek), area(low, high));
        g.stride = stride.map(|(a, b)| (a * 512, (a + b) * 512));
        g.align = align.map(|a| a * 512);
        for a in AddressStream::new(&g, seed).take(300) {
            prop_assert!(a.lba >= low && a.lba + a.len <= high && a.len > 0 && a.len % 512 == 0);
        }
    }

    #[test]
    fn eof_covers_every_byte_once(low in 0u64..64, blocks in 1u64..500, len in 1u64..16) {
        let (low, len) = (low * 512, len * 512);
        let high = low + blocks * 512;
        let g = generator(Xfer::Fixed(len), Seek::Eof, area(low, high));
        let mut at = low;
        for a in stream(&g) {
            prop_assert_eq!(a.lba, at);
            at += a.len;
        }
        prop_assert_eq!(at, high);
    }
}

#[test]
fn batches_can_be_taken_by_number() {
    let g = generator(Xfer::Fixed(4 * K), Seek::Percent(100.0), area(0, 100 * M));
    let all: Vec<Access> = stream(&g).take(5 * BATCH as usize).collect();
    let mut other = stream(&g);
    for n in [3, 0, 4, 1, 2] {
        other.go_to_batch(n);
        let from = (n * BATCH) as usize;
        assert!(other.by_ref().take(BATCH as usize).eq(all[from..from + BATCH as usize].iter().copied()));
    }
    let lbas: std::collections::HashSet<u64> = all.iter().map(|a| a.lba).collect();
    assert!(lbas.len() > 75);
}
