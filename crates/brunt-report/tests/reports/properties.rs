//! What holds for every stream.

use brunt_event::Compat;
use brunt_stats::CpuTicks;
use proptest::prelude::*;

use crate::reader::{Row, flat, output, rows};
use crate::stream::{Io, Measured, Stream, planned, planned_run};

const HOSTS: [(&str, u32); 2] = [("one", 2), ("two", 1)];
const SDS: [&str; 2] = ["sd1", "sd2"];
const WDS: [&str; 2] = ["wd1", "wd2"];

fn any_io() -> impl Strategy<Value = Io> {
    (0..3u32, 0..2u32, 0..2u32, any::<bool>(), 1..2048u64, 1_000..3_000_000_000u64)
        .prop_map(|(worker, wd, sd, read, blocks, ns)| Io { worker, wd, sd, read, bytes: blocks * 512, ns })
}

fn any_interval() -> impl Strategy<Value = Measured> {
    let ticks = prop::array::uniform4(0..1000u64);
    (prop::collection::vec(any_io(), 0..40), 900_000_000..1_100_000_000u64, ticks).prop_map(|(ios, length_ns, t)| {
        let cpu = CpuTicks { user: t[0] + 1, system: t[1], idle: t[2], iowait: t[3], ..CpuTicks::default() };
        Measured { ios, length_ns, cpu: Some(cpu) }
    })
}

fn any_compat() -> impl Strategy<Value = Compat> {
    prop_oneof![Just(Compat::V50407), Just(Compat::V50406)]
}

/// One run after another, each of the given intervals.
fn stream(compat: Compat, warmup: u32, runs: &[Vec<Measured>]) -> Vec<brunt_event::Record> {
    let plans: Vec<_> = (1..=runs.len()).map(|n| planned_run(&format!("rd{n}"), &[])).collect();
    let mut stream = Stream::new(compat, planned(&HOSTS, &SDS, &WDS, &plans));
    stream.set_up();
    plans.iter().zip(runs).for_each(|(plan, intervals)| stream.run(plan, warmup, intervals));
    stream.close(0)
}

/// Whether a printed number is the rounded form of a value.
fn shows(text: &str, value: f64) -> bool {
    let decimals = text.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let printed: f64 = text.parse().unwrap();
    (printed - value).abs() <= 0.5 * 10f64.powi(-(decimals as i32)) * (1.0 + 1e-9) + value.abs() * 1e-12
}

/// The numbers of a row computed the plain way, in the order of its columns.
fn expected(compat: Compat, ios: &[Io], length_ns: u64, cpu: &CpuTicks) -> Vec<f64> {
    let seconds = length_ns as f64 / 1e9;
    let times = |wanted: &dyn Fn(&&Io) -> bool| -> Vec<f64> {
        ios.iter().filter(wanted).map(|io| io.ns as f64 / 1e6).collect()
    };
    let (all, reads, writes) = (times(&|_| true), times(&|io| io.read), times(&|io| !io.read));
    let mean = |times: &[f64]| if times.is_empty() { 0.0 } else { times.iter().sum::<f64>() / times.len() as f64 };
    let max = |times: &[f64]| times.iter().copied().fold(0.0, f64::max);
    let spread: f64 = all.iter().map(|t| (t - mean(&all)).powi(2)).sum();
    let bytes: u64 = ios.iter().map(|io| io.bytes).sum();
    let n = ios.len() as f64;
    let mut row = vec![
        n / seconds,
        bytes as f64 / 1_048_576.0 / seconds,
        (bytes / (ios.len() as u64).max(1)) as f64,
        100.0 * reads.len() as f64 / n.max(1.0),
        mean(&all),
        mean(&reads),
        mean(&writes),
    ];
    match compat {
        Compat::V50407 => row.extend([max(&reads), max(&writes)]),
        Compat::V50406 => row.push(max(&all)),
    }
    let ticks = (cpu.user + cpu.nice + cpu.system + cpu.idle + cpu.iowait) as f64;
    row.push(if ios.len() > 1 { (spread / (n - 1.0)).sqrt() } else { 0.0 });
    row.push(all.iter().sum::<f64>() / 1e3 / seconds);
    row.push(100.0 * (cpu.user + cpu.system) as f64 / ticks);
    row.push(100.0 * cpu.system as f64 / ticks);
    row
}

/// Names of the flat file for the columns of a row.
fn flat_names(compat: Compat) -> Vec<&'static str> {
    let mut names = vec!["rate", "MB/sec", "bytes/io", "read%", "resp", "read_resp", "write_resp"];
    match compat {
        Compat::V50407 => names.extend(["read_max", "write_max"]),
        Compat::V50406 => names.push("resp_max"),
    }
    names.extend(["resp_std", "queue_depth", "cpu_used", "cpu_kernel"]);
    names
}

fn check(compat: Compat, row: &Row, ios: &[Io], length_ns: u64, cpu: &CpuTicks) -> Result<(), TestCaseError> {
    let expected = expected(compat, ios, length_ns, cpu);
    prop_assert_eq!(row.numbers.len(), expected.len());
    for ((text, value), name) in row.numbers.iter().zip(&expected).zip(flat_names(compat)) {
        prop_assert!(shows(text, *value), "{name} of {row:?} should show {value}");
    }
    Ok(())
}

/// Ticks of some hosts over some intervals.
fn cpu(intervals: &[Measured], hosts: std::ops::Range<u32>) -> CpuTicks {
    let ticks = intervals.iter().flat_map(|measured| hosts.clone().filter_map(|host| measured.cpu_of(host)));
    ticks.fold(CpuTicks::default(), |mut sum, cpu| {
        sum.merge(&cpu);
        sum
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn console_summary_log_and_flat_file_agree(
        compat in any_compat(),
        warmup in 1..3u32,
        runs in prop::collection::vec(prop::collection::vec(any_interval(), 1..5), 1..3),
    ) {
        let out = output(&stream(compat, warmup, &runs));
        let console = rows(&out.console);
        prop_assert_eq!(console.len(), runs.iter().map(|intervals| intervals.len() + 1).sum::<usize>());
        prop_assert_eq!(&console, &rows(out.file("summary.html")));
        prop_assert_eq!(&console, &rows(out.file("logfile.html")));
        let averages: Vec<Row> = console.iter().filter(|row| row.is_average()).cloned().collect();
        prop_assert_eq!(averages, rows(out.file("totals.html")));

        let flat = flat(out.file("flatfile.html"));
        prop_assert_eq!(flat.len(), console.len());
        for (fields, row) in flat.iter().zip(&console) {
            prop_assert_eq!(&fields["Interval"], &row.label);
            for (name, text) in flat_names(compat).into_iter().zip(&row.numbers) {
                let (value, printed): (f64, f64) = (fields[name].parse().unwrap(), text.parse().unwrap());
                let decimals = text.split_once('.').map_or(0, |(_, fraction)| fraction.len() as i32);
                let slack = 0.5 * 10f64.powi(-decimals) + 0.5e-4; // both are rounded
                let both_nan = value.is_nan() && printed.is_nan();
                prop_assert!(both_nan || (value - printed).abs() <= slack + 1e-9, "{name}: {value}, {text}");
            }
        }
    }

    #[test]
    fn rows_show_what_was_measured(compat in any_compat(), intervals in prop::collection::vec(any_interval(), 2..6)) {
        let out = output(&stream(compat, 1, std::slice::from_ref(&intervals)));
        let console = rows(&out.console);
        for (row, measured) in console.iter().zip(&intervals) {
            check(compat, row, &measured.ios, measured.length_ns, &cpu(std::slice::from_ref(measured), 0..2))?;
        }
        for (sd, name) in SDS.iter().enumerate() {
            let page = rows(out.file(&format!("{name}.html")));
            for (row, measured) in page.iter().zip(&intervals) {
                let ios: Vec<Io> = measured.ios.iter().filter(|io| io.sd as usize == sd).copied().collect();
                check(compat, row, &ios, measured.length_ns, &cpu(std::slice::from_ref(measured), 0..2))?;
            }
        }
    }

    #[test]
    fn an_average_is_that_of_its_intervals(
        compat in any_compat(),
        warmup in 1..4u32,
        intervals in prop::collection::vec(any_interval(), 4..8),
    ) {
        let out = output(&stream(compat, warmup, std::slice::from_ref(&intervals)));
        let console = rows(&out.console);
        let average = console.last().unwrap();
        prop_assert_eq!(&average.label, &format!("avg_{}-{}", warmup + 1, intervals.len()));
        let counted = &intervals[warmup as usize..];
        let ios: Vec<Io> = counted.iter().flat_map(|measured| measured.ios.clone()).collect();
        let length_ns = counted.iter().map(|measured| measured.length_ns).sum();
        check(compat, average, &ios, length_ns, &cpu(counted, 0..2))?;
        for (n, (name, workers)) in HOSTS.iter().enumerate() {
            let page = rows(out.file(&format!("{name}.html")));
            let first = if n == 0 { 0 } else { 2 };
            let of_host: Vec<Io> =
                ios.iter().filter(|io| (first..first + workers).contains(&io.worker)).copied().collect();
            let host = n as u32;
            check(compat, page.last().unwrap(), &of_host, length_ns, &cpu(counted, host..host + 1))?;
        }
    }

    #[test]
    fn histograms_count_what_averages_count(
        warmup in 1..3u32,
        intervals in prop::collection::vec(any_interval(), 3..6),
    ) {
        let out = output(&stream(Compat::V50407, warmup, std::slice::from_ref(&intervals)));
        let counted: usize = intervals[warmup as usize..].iter().map(|measured| measured.ios.len()).sum();
        let block = out.file("histogram.html").split("min(ms)").nth(1).unwrap_or_default();
        let counts = block.lines().skip(1).filter(|line| line.contains(" < ")).filter_map(|line| line.split_whitespace().nth(3));
        let sum: usize = counts.map(|text| text.replace(',', "").parse::<usize>().unwrap()).sum();
        prop_assert_eq!(sum, counted);
    }

    #[test]
    fn the_same_stream_gives_the_same_text(intervals in prop::collection::vec(any_interval(), 1..4)) {
        let records = stream(Compat::V50407, 1, std::slice::from_ref(&intervals));
        let text: String = records.iter().map(|record| serde_json::to_string(record).unwrap() + "\n").collect();
        let again: Vec<brunt_event::Record> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        prop_assert_eq!(output(&records), output(&again));
        let (first, second) = (output(&records), output(&again));
        prop_assert_eq!(first.file("events.ndjson"), text);
        prop_assert_eq!(first, second);
    }
}
