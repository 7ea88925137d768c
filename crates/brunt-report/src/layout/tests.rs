//! Rows, byte for byte as the reference prints them.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;
use crate::figures::CpuShares;
use crate::tally::Tally;

/// Rows of the reference, one of each shape.
const ROWS_50407: &str = include_str!("rows-5.04.07.txt");
const ROWS_50405: &str = include_str!("rows-5.04.05.txt");

/// The numbers of a row.
fn figures(layout: Layout, numbers: &[f64]) -> Figures {
    let mut figures = Figures::of(&Tally::default(), false);
    let n = |place: usize| numbers[place];
    (figures.rate, figures.mb, figures.bytes, figures.read_pct) = (n(0), n(1), n(2) as u64, n(3));
    (figures.resp, figures.read_resp, figures.write_resp, figures.read_max) = (n(4), n(5), n(6), n(7));
    let rest = match layout {
        Layout::V50407 => {
            figures.write_max = n(8);
            &numbers[9..]
        }
        Layout::V50406 => &numbers[8..],
    };
    (figures.resp_std, figures.queue) = (rest[0], rest[1]);
    let (used, system) = (rest[2], rest[3]);
    figures.cpu = Some(CpuShares { user: used - system, system, wait: 0.0, idle: 0.0 });
    figures
}

fn again(layout: Layout, row: &str) -> String {
    let (time, rest) = row.split_at(12);
    let mut words = rest.split_whitespace();
    let label = words.next().unwrap();
    let numbers: Vec<f64> = words.map(|word| word.parse().unwrap()).collect();
    layout.row(time, label, &figures(layout, &numbers))
}

#[test]
fn rows_of_the_reference_come_out_byte_for_byte() {
    for (layout, rows, width) in [(Layout::V50407, ROWS_50407, 132), (Layout::V50406, ROWS_50405, 120)] {
        assert!(rows.lines().count() > 60);
        for row in rows.lines() {
            assert_eq!(again(layout, row), row);
            assert_eq!(row.len(), width, "{row}");
        }
    }
}

#[test]
fn titles_are_those_of_the_reference() {
    let [upper, lower] = Layout::V50407.titles("Nov 30, 2026", true, false);
    assert_eq!(
        upper,
        "Nov 30, 2026    interval        i/o   MB/sec   bytes   read     resp     read    write     read    write     \
         resp  queue  cpu%  cpu%"
    );
    assert_eq!(
        lower,
        "                               rate  1024**2     i/o    pct     time     resp     resp      max      max   \
         stddev  depth sys+u   sys"
    );
    let [upper, lower] = Layout::V50406.titles("Nov 30, 2026", true, false);
    assert_eq!(
        upper,
        "Nov 30, 2026  interval        i/o   MB/sec   bytes   read     resp     read    write     resp     resp queue  \
         cpu%  cpu%"
    );
    assert_eq!(
        lower,
        "                             rate  1024**2     i/o    pct     time     resp     resp      max   stddev depth \
         sys+u   sys"
    );
}

#[test]
fn megabytes_may_be_decimal() {
    let [_, lower] = Layout::V50407.titles("Nov 30, 2026", true, true);
    assert!(lower.contains(" 1000**2 "));
}

#[test]
fn without_processors_a_blank_ends_the_line() {
    let row = Layout::V50407.row("13:30:49.126", "1", &Figures::of(&Tally::default(), false));
    assert!(row.ends_with("    0.0 "), "{row:?}");
    let [upper, _] = Layout::V50407.titles("Nov 30, 2026", false, false);
    assert!(upper.ends_with("  queue "), "{upper:?}");
    assert_eq!(row.len(), upper.len());
}

#[test]
fn skew_rows_are_those_of_the_reference() {
    // 5.04.07 case 01
    let mut f = Figures::of(&Tally::default(), false);
    (f.rate, f.mb, f.bytes, f.read_pct, f.resp, f.read_resp) = (102.333_333, 0.3997, 4096, 100.0, 0.0085, 0.0085);
    (f.read_max, f.resp_std) = (0.579, 0.0331);
    assert_eq!(skew_row(&f), "    102.33     0.40    4096 100.00    0.009    0.009    0.000    0.579    0.033   0.0 ");
    assert_eq!(
        skew_title(0, false),
        "       i/o   MB/sec   bytes   read     resp     read    write     resp     resp queue "
    );
    assert_eq!(
        skew_title(1, false),
        "      rate  1024**2     i/o    pct     time     resp     resp      max   stddev depth "
    );
}

fn any_figures(limit: f64) -> impl Strategy<Value = Figures> {
    (prop::array::uniform10(0.0..limit), 0..100_000_000u64, 0.0..100.0f64).prop_map(|(n, bytes, cpu)| Figures {
        rate: n[0],
        mb: n[1],
        bytes,
        read_pct: n[2].min(100.0),
        resp: n[3],
        read_resp: n[4],
        write_resp: n[5],
        read_max: n[6],
        write_max: n[7],
        resp_std: n[8],
        read_std: 0.0,
        write_std: 0.0,
        queue: n[9],
        cpu: Some(CpuShares { user: cpu / 2.0, system: cpu / 2.0, wait: 0.0, idle: 0.0 }),
    })
}

proptest! {
    #[test]
    fn ordinary_numbers_keep_their_columns(f in any_figures(999.9), interval in 1u32..1000) {
        let f = Figures { bytes: f.bytes.min(9_999_999), ..f };
        for (layout, width) in [(Layout::V50407, 132), (Layout::V50406, 120)] {
            let row = layout.row("13:30:49.126", &interval.to_string(), &f);
            prop_assert_eq!(row.len(), width, "{}", row);
            let [_, titles] = layout.titles("Nov 30, 2026", true, false);
            for (end, _) in titles.char_indices().skip(13).filter(|(n, c)| *c != ' ' && !titles[n + 1..].starts_with(|c: char| c != ' ')) {
                prop_assert!(row.as_bytes()[end] != b' ', "no number ends under the title at {}: {}", end, row);
            }
        }
    }

    #[test]
    fn columns_never_touch(f in any_figures(1e12)) {
        for (layout, numbers) in [(Layout::V50407, 13), (Layout::V50406, 12)] {
            let row = layout.row("13:30:49.126", "avg_2-4", &f);
            prop_assert_eq!(row.split_whitespace().count(), numbers + 2, "{}", row);
        }
    }

    #[test]
    fn interval_rows_have_no_lower_case_letter(f in any_figures(1e6), interval in 1u32..100_000) {
        let row = Layout::V50407.row("13:30:49.126", &interval.to_string(), &f);
        prop_assert!(!row.contains(|c: char| c.is_ascii_lowercase()));
    }
}
