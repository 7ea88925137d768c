//! Which bytes of an SD a workload uses.

use crate::plan::{Run, RunKind, Workload};
use crate::resolve::Lun;
use crate::work::{Area, Seek, Wrap};

/// What an area is cut from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Space {
    /// Usable bytes of the SD.
    pub(crate) size: u64,
    /// Largest transfer size used with the SD in the whole execution.
    pub(crate) largest: u64,
    /// Whether the head is left alone.
    pub(crate) raw: bool,
    /// `offset=` of the SD.
    pub(crate) offset: u64,
}

/// What a workload asks of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Claim {
    /// Bounds as written: percent up to 100 and 200, bytes above.
    pub(crate) range: (f64, f64),
    /// Bytes that misses leave out.
    pub(crate) hit_area: u64,
    /// Whether there are hits.
    pub(crate) hits: bool,
    /// Whether it goes to the end and stops.
    pub(crate) eof: bool,
}

/// Where a workload's I/Os go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Areas {
    pub(crate) miss: Area,
    pub(crate) hit: Option<Area>,
}

impl Claim {
    /// The claim of a workload on an SD, hit area and range of the SD where the workload names none.
    pub(crate) fn of(workload: &Workload, hit_area: u64, range: Option<(f64, f64)>) -> Self {
        let hits = workload.read_hit_pct + workload.write_hit_pct >= 1.0;
        Self {
            range: workload.hotband.or(workload.range).or(range).unwrap_or((0.0, 100.0)),
            hit_area: match workload.hit_area {
                Some(given) => given,
                None if hits => hit_area,
                None => 0,
            },
            hits,
            eof: workload.seek == Seek::Eof,
        }
    }
}

/// A bound in bytes: of the size in percent up to a limit, else bytes (`docs/vdbench/raw.md` §8.3).
fn bound(value: f64, percent_up_to: f64, size: u64) -> u64 {
    if value > percent_up_to {
        value as u64
    } else if value.fract() == 0.0 {
        // Whole percents are exact at any size; a double would lose the last block of a large one.
        (u128::from(size) * value as u128 / 100) as u64
    } else {
        (size as f64 * value / 100.0) as u64
    }
}

/// The areas of a claim, rounded down to multiples of the largest transfer size (`docs/vdbench/raw.md` §8.2).
///
/// # Errors
/// Why they cannot be used, as the end of a sentence about the SD.
pub(crate) fn areas(space: &Space, claim: &Claim) -> Result<Areas, String> {
    let (lo, hi) = claim.range;
    let hi = if claim.eof && hi <= 200.0 { hi.min(100.0) } else { hi };
    check_range(space, lo, hi)?;
    let base = bound(lo, 100.0, space.size);
    let high = bound(hi, 200.0, space.size);
    let largest = space.largest.max(1);
    let whole = space.size - space.size % largest;
    let head = if space.raw { largest } else { 0 };
    let cut = |low: u64, high: u64| {
        let low = low - low % largest;
        let low = low.max(head).saturating_add(space.offset);
        let high = high - high % largest;
        if high <= whole {
            return Area { low, high, wrap: None };
        }
        // What is beyond the end goes on behind the head, and ends where it would without one.
        let high = high.saturating_sub(head).max(whole);
        Area { low, high, wrap: (high > whole).then_some(Wrap { at: whole, to: head }) }
    };
    let miss = cut(base.saturating_add(claim.hit_area), high);
    wide_enough(&miss, largest, "it", space, claim)?;
    let hit = claim.hits.then(|| cut(base, base.saturating_add(claim.hit_area)));
    if let Some(hit) = &hit {
        wide_enough(hit, largest, "its hit area", space, claim)?;
        if hit.high > whole {
            return Err(format!("its hit area of {} bytes reaches beyond its {} bytes", claim.hit_area, space.size));
        }
    }
    Ok(Areas { miss, hit })
}

fn check_range(space: &Space, lo: f64, hi: f64) -> Result<(), String> {
    if !(lo >= 0.0 && hi.is_finite() && lo.is_finite()) {
        return Err(format!("range=({lo},{hi}) is not possible"));
    }
    let (base, high) = (bound(lo, 100.0, space.size), bound(hi, 200.0, space.size));
    if base >= high {
        return Err(format!("range=({lo},{hi}) is reversed or empty"));
    }
    if hi > 200.0 && high > space.size {
        return Err(format!("range=({lo},{hi}) reaches beyond its {} bytes", space.size));
    }
    if high > space.size && high - base >= space.size {
        return Err(format!("range=({lo},{hi}) is 100 percent or more"));
    }
    Ok(())
}

fn wide_enough(area: &Area, largest: u64, what: &str, space: &Space, claim: &Claim) -> Result<(), String> {
    if area.high.saturating_sub(area.low) >= largest.saturating_mul(2) {
        return Ok(());
    }
    let left_out = if claim.hit_area > 0 { format!(", hitarea={}", claim.hit_area) } else { String::new() };
    Err(format!(
        "insufficient lun size: of {} bytes {what} has {} from {} to {} for this workload{left_out}, and needs two of the \
         largest transfer size, {largest}",
        space.size,
        area.high.saturating_sub(area.low),
        area.low,
        area.high
    ))
}

/// The whole of an SD that is formatted, from where its format starts. The last block is shortened, so the end is
/// not rounded; only the head of a raw device stays.
pub(crate) fn of_format(lun: &Lun) -> Area {
    let head = if lun.is_raw() { lun.largest } else { 0 };
    let from = lun.format_from.unwrap_or(0).max(head).min(lun.size);
    Area { low: from, high: lun.size, wrap: None }
}

/// More streams than threads can be.
const MOST_STREAMS: u32 = 1 << 20;

/// The parts of an SD for `streams=n`, rounded down to the largest transfer size; each leaves out its head on a raw
/// device (`docs/vdbench/raw.md` §8.8).
///
/// # Errors
/// Why they cannot be used, as the end of a sentence about the SD.
pub(crate) fn of_streams(space: &Space, streams: u32) -> Result<Vec<Area>, String> {
    if streams > MOST_STREAMS {
        return Err(format!("streams={streams} is more than {MOST_STREAMS}"));
    }
    let largest = space.largest.max(1);
    let part = space.size / u64::from(streams.max(1));
    let part = part - part % largest;
    let head = if space.raw { largest } else { 0 };
    if part < head.saturating_add(largest) {
        return Err(format!(
            "insufficient lun size: streams={streams} makes parts of {part} bytes of its {}; the largest transfer \
             size is {largest}",
            space.size
        ));
    }
    Ok((0..u64::from(streams)).map(|n| Area { low: n * part + head, high: (n + 1) * part, wrap: None }).collect())
}

/// The bytes at the head of a raw SD that a workload that starts at 0 leaves alone.
pub(crate) fn head(run: &Run, workload: &Workload, lun: &Lun, range: Option<(f64, f64)>) -> Option<u64> {
    let low = if run.kind == RunKind::Format { 0.0 } else { workload.range.or(range).unwrap_or((0.0, 100.0)).0 };
    (lun.is_raw() && low == 0.0).then_some(lun.largest)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const K64: u64 = 64 << 10;
    const TEN_MEGABYTES: u64 = 10 << 20;

    fn file(largest: u64) -> Space {
        Space { size: TEN_MEGABYTES, largest, raw: false, offset: 0 }
    }

    fn claim(lo: f64, hi: f64) -> Claim {
        Claim { range: (lo, hi), hit_area: 0, hits: false, eof: false }
    }

    fn hitting(lo: f64, hi: f64) -> Claim {
        Claim { hits: true, hit_area: 1 << 20, ..claim(lo, hi) }
    }

    fn span(area: Area) -> (u64, u64) {
        (area.low, area.high)
    }

    #[test]
    fn a_file_is_used_from_its_first_byte() {
        let areas = areas(&file(K64), &claim(0.0, 100.0)).unwrap();
        assert_eq!(areas.miss, Area { low: 0, high: TEN_MEGABYTES, wrap: None });
        assert_eq!(areas.hit, None);
    }

    #[test]
    fn a_range_in_percent() {
        assert_eq!(span(areas(&file(K64), &claim(40.0, 60.0)).unwrap().miss), (4_194_304, 6_291_456));
    }

    #[test]
    fn misses_never_fall_into_the_hit_area() {
        let whole = areas(&file(K64), &hitting(0.0, 100.0)).unwrap();
        assert_eq!((span(whole.hit.unwrap()), span(whole.miss)), ((0, 1 << 20), (1 << 20, TEN_MEGABYTES)));
        let part = areas(&file(K64), &hitting(40.0, 60.0)).unwrap();
        assert_eq!((span(part.hit.unwrap()), span(part.miss)), ((4 << 20, 5 << 20), (5 << 20, 6_291_456)));
    }

    #[test]
    fn hits_of_4k_end_at_1044480() {
        let hit = areas(&file(4096), &hitting(0.0, 100.0)).unwrap().hit.unwrap();
        assert_eq!(hit.high - 4096, 1_044_480);
    }

    #[test]
    fn a_raw_lun_keeps_its_head() {
        let raw = Space { raw: true, ..file(K64) };
        assert_eq!(areas(&raw, &claim(0.0, 100.0)).unwrap().miss.low, 65_536);
        assert_eq!(
            areas(&raw, &hitting(0.0, 100.0)).unwrap().hit.unwrap(),
            Area { low: K64, high: 1 << 20, wrap: None }
        );
    }

    #[test]
    fn the_head_of_a_16m_loop_device() {
        // docs/vdbench/raw.md §8.2: a 256k prefill writes 63 blocks; hits of 8k then read 127 blocks from 8192.
        let raw = |largest| Space { size: 16 << 20, largest, raw: true, offset: 0 };
        let prefill = areas(&raw(256 << 10), &Claim { eof: true, ..claim(0.0, 100.0) }).unwrap().miss;
        assert_eq!((prefill.low, prefill.high - (256 << 10)), (262_144, 16_515_072));
        assert_eq!((prefill.high - prefill.low) / (256 << 10), 63);
        let hit = areas(&raw(8192), &hitting(0.0, 100.0)).unwrap().hit.unwrap();
        assert_eq!((hit.low, hit.high - 8192, (hit.high - hit.low) / 8192), (8192, 1_040_384, 127));
        let two = Claim { hit_area: 2 << 20, ..hitting(0.0, 100.0) };
        assert_eq!(areas(&raw(8192), &two).unwrap().hit.unwrap().low, 8192);
        // A low bound within the head is no way around it.
        assert_eq!(areas(&raw(8192), &claim(0.001, 100.0)).unwrap().miss.low, 8192);
        // The head run: range=(0,1m).
        let head = areas(&raw(8192), &Claim { eof: true, ..claim(0.0, 1_048_576.0) }).unwrap().miss;
        assert_eq!((head.low, head.high), (8192, 1 << 20));
    }

    #[test]
    fn bounds_are_rounded_down_to_the_largest_size() {
        assert_eq!(areas(&file(4096), &claim(6.0, 100.0)).unwrap().miss.low, 626_688);
        assert_eq!(areas(&file(256 << 10), &claim(6.0, 100.0)).unwrap().miss.low, 524_288);
    }

    #[test]
    fn a_range_beyond_the_end_wraps() {
        let miss = areas(&file(K64), &claim(90.0, 110.0)).unwrap().miss;
        assert_eq!(miss, Area { low: 9_437_184, high: 11_534_336, wrap: Some(Wrap { at: TEN_MEGABYTES, to: 0 }) });
        let to_the_end = areas(&file(K64), &Claim { eof: true, ..claim(90.0, 110.0) }).unwrap().miss;
        assert_eq!(to_the_end, Area { low: 9_437_184, high: TEN_MEGABYTES, wrap: None });
    }

    #[test]
    fn a_raw_range_beyond_the_end_wraps_behind_the_head() {
        let raw = Space { raw: true, ..file(K64) };
        let miss = areas(&raw, &claim(90.0, 110.0)).unwrap().miss;
        // The last tenth, then 65536 to 1048576: the first tenth without its head.
        assert_eq!(miss, Area { low: 9_437_184, high: 11_468_800, wrap: Some(Wrap { at: TEN_MEGABYTES, to: K64 }) });
        assert_eq!(miss.first_byte(), K64);
        // One head beyond the end is nothing but head.
        let only_head = areas(&raw, &claim(90.0, 100.7)).unwrap().miss;
        assert_eq!(only_head, Area { low: 9_437_184, high: TEN_MEGABYTES, wrap: None });
    }

    #[test]
    fn the_offset_is_added_to_the_lows_only() {
        let space = Space { offset: 512, ..file(4096) };
        assert_eq!(areas(&space, &claim(0.0, 100.0)).unwrap().miss, Area { low: 512, high: TEN_MEGABYTES, wrap: None });
    }

    #[test]
    fn a_forhitarea_without_hits_is_left_out_all_the_same() {
        let claim = Claim { hit_area: 2 << 20, ..claim(0.0, 100.0) };
        let areas = areas(&file(4096), &claim).unwrap();
        assert_eq!((areas.miss.low, areas.hit), (2 << 20, None));
    }

    #[test]
    fn what_cannot_be_used_says_why() {
        let why = |space: &Space, lo, hi| areas(space, &claim(lo, hi)).unwrap_err();
        insta::assert_snapshot!(why(&file(K64), 0.0, 250.0), @"insufficient lun size: of 10485760 bytes it has 0 from 0 to 0 for this workload, and needs two of the largest transfer size, 65536");
        insta::assert_snapshot!(why(&file(K64), 60.0, 40.0), @"range=(60,40) is reversed or empty");
        insta::assert_snapshot!(why(&file(K64), 10.0, 110.0), @"range=(10,110) is 100 percent or more");
        insta::assert_snapshot!(why(&file(K64), 0.0, 20_000_000.0), @"range=(0,20000000) reaches beyond its 10485760 bytes");
        insta::assert_snapshot!(areas(&file(4096), &Claim { hit_area: TEN_MEGABYTES, ..hitting(0.0, 100.0) }).unwrap_err(), @"insufficient lun size: of 10485760 bytes it has 0 from 10485760 to 10485760 for this workload, hitarea=10485760, and needs two of the largest transfer size, 4096");
    }

    #[test]
    fn streams_cut_equal_parts() {
        let parts: Vec<_> = of_streams(&file(K64), 3).unwrap().into_iter().map(span).collect();
        assert_eq!(parts, [(0, 3_473_408), (3_473_408, 6_946_816), (6_946_816, 10_420_224)]);
        let raw: Vec<_> = of_streams(&Space { raw: true, ..file(K64) }, 2).unwrap().into_iter().map(span).collect();
        assert_eq!(raw, [(65_536, 5_242_880), (5_308_416, 10_485_760)]);
        assert!(of_streams(&file(K64), 1000).is_err());
    }

    proptest! {
        #[test]
        fn areas_lie_inside_and_are_multiples(
            size in 1u64..1 << 50,
            shift in 9u32..21,
            lo in 0.0f64..100.0,
            hi in 0.0f64..200.0,
            hits in any::<bool>(),
            raw in any::<bool>(),
        ) {
            let space = Space { size, largest: 1 << shift, raw, offset: 0 };
            let claim = Claim { range: (lo, hi), hit_area: if hits { 1 << 20 } else { 0 }, hits, eof: false };
            if let Ok(areas) = areas(&space, &claim) {
                for area in [Some(areas.miss), areas.hit].into_iter().flatten() {
                    prop_assert_eq!(area.low % space.largest, 0);
                    prop_assert_eq!(area.high % space.largest, 0);
                    prop_assert!(area.high - area.low >= 2 * space.largest);
                    let head = if raw { space.largest } else { 0 };
                    prop_assert!(area.low >= head);
                    match area.wrap {
                        None => prop_assert!(area.high <= size),
                        Some(wrap) => {
                            prop_assert!(wrap.at <= size && wrap.to == head);
                            // No byte twice: what wraps ends before the area begins, up to rounding.
                            prop_assert!(area.high - wrap.at + wrap.to < area.low + space.largest);
                        }
                    }
                }
                if let Some(hit) = areas.hit {
                    prop_assert!(hit.high <= areas.miss.low);
                }
            }
        }
    }
}
