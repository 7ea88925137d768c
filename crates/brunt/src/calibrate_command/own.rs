//! What this host and this build add, without another tool.

use brunt_plan::work::Backend;
use brunt_report::calibration::{Page, Table};
use brunt_stats::Spread;
use brunt_stats::spread::step_at;
use brunt_worker::calibrate::host::{self, Host, Roots};
use brunt_worker::calibrate::lun::{self, Lun};
use brunt_worker::calibrate::memory::MemoryFile;
use brunt_worker::calibrate::path::beside;
use brunt_worker::calibrate::{REFERENCE_NS, clock, empty, record, timer, wake};

/// Batches of readings and recordings.
const BATCHES: u32 = 2_000;
/// Readings in which steps are looked for.
const READINGS: u32 = 100_000;
/// Sleeps and calls of a row.
const SLEEPS: u32 = 200;
/// How far ahead the due times are.
const AHEAD_NS: u64 = 200_000;
/// Long enough for the deepest idle state.
const LONG_NS: u64 = 5_000_000;
/// Intervals of empty I/O, of 10 ms.
const INTERVALS: u32 = 20;
/// Pairs of rounds on a path, and intervals of a round.
const PAIRS: u32 = 15;
const ROUND: u32 = 4;
/// Bytes of the file in memory.
const MEMORY: u64 = 64 << 20;

/// Measures everything. Takes a few seconds.
pub fn page(lun: Option<&Lun>) -> Page {
    let roots = Roots::default();
    let (host, before) = (host::read(&roots), host::ticks(&roots));
    let (reading, call) = (clock::reading(BATCHES), clock::system_call(BATCHES));
    let mut tables = vec![clock_table(&host, reading, call), recording_table(), empty_table()];
    tables.push(path_table(lun));
    tables.extend([sleep_table(), idle_table(&host)]);
    let stolen = before.zip(host::ticks(&roots)).and_then(|(before, after)| host::stolen(before, after));
    let doubts = host::doubts(&host, reading, call, stolen).iter().map(ToString::to_string).collect();
    let head = format!("Brunt {} on {} CPUs; all times are nanoseconds", env!("CARGO_PKG_VERSION"), host.cpus);
    Page { head: vec![head], tables, doubts }
}

fn clock_table(host: &Host, reading: Option<Spread>, call: Option<Spread>) -> Table {
    let mut table = Table::new("Clock");
    let source = host.clocksource.as_deref().unwrap_or("an unknown source");
    table.add(format!("a reading ({source})"), reading, "the clock stood still");
    table.add("a reading by system call", call, "the clock stood still");
    table.add("steps between readings", clock::steps(READINGS), "the clock stood still");
    if let Some(ns) = clock::resolution_ns() {
        table.notes.push(format!("The system claims a resolution of {ns} ns. A response time has one reading in it."));
    }
    table
}

fn recording_table() -> Table {
    let mut table = Table::new("Recording");
    table.add("a time into sums and histogram", record::recording(BATCHES), "the clock stood still");
    let step = step_at(REFERENCE_NS);
    table.notes.push(format!("A time of 39 µs falls into a bucket of {step} ns: percentiles are not finer than that."));
    table
}

fn empty_table() -> Table {
    let mut table = Table::new("An I/O that takes no time (null), whole engine");
    for threads in [1, 32] {
        match empty::run(threads, INTERVALS, 10_000_000) {
            Ok(found) => {
                table.add(format!("reported response, threads={threads}"), Some(found.response), "");
                table.add(format!("wall time per I/O, threads={threads}"), Some(found.wall), "");
            }
            Err(error) => table.add(format!("threads={threads}"), None, &error.to_string()),
        }
        match empty::cpu(threads, INTERVALS, 20_000_000) {
            Ok(cpu) => table.add(format!("CPU time per I/O, threads={threads}"), Some(cpu), ""),
            Err(error) => table.add(format!("CPU time per I/O, threads={threads}"), None, &error.to_string()),
        }
    }
    let batches =
        "With 32 lanes, I/Os that are done together wait for each other: that is in their response, once each.";
    table.notes.push(batches.to_owned());
    table
}

fn path_table(lun: Option<&Lun>) -> Table {
    let mut table = Table::new("Engine beside a bare pread loop, threads=1");
    let memory = if lun.is_none() { Some(MemoryFile::new(MEMORY)) } else { None };
    let own;
    let found = match (lun, &memory) {
        (Some(lun), _) => Ok(lun),
        (None, Some(Ok(file))) => {
            own = lun::look(&file.path(), 8192).map_err(|error| error.to_string());
            own.as_ref().map_err(String::clone)
        }
        (None, Some(Err(error))) => Err(format!("there is no memory for a file: {error}")),
        (None, None) => Err("there is nothing to read".to_owned()),
    };
    let target = match found {
        Ok(target) => target,
        Err(error) => {
            table.add("sync", None, &error);
            return table;
        }
    };
    rows(&mut table, Backend::Sync, target);
    for backend in [Backend::Aio, Backend::Uring] {
        match lun {
            Some(lun) => rows(&mut table, backend, lun),
            None => table.add(backend.name(), None, "it needs a LUN that completes later: brunt calibrate LUN"),
        }
    }
    let what = match lun {
        Some(lun) => lun.path.clone(),
        None => format!("a file in memory of {} MiB", MEMORY >> 20),
    };
    let how = if target.direct { "with O_DIRECT" } else { "through the page cache: it has no O_DIRECT" };
    table.notes.push(format!("Random reads of {} bytes of {what}, {how}.", target.block));
    table.notes.push("Response times are the medians of rounds; what is added is the difference within a pair.".into());
    table
}

/// Adds the rows of one back end beside a bare loop.
pub fn rows(table: &mut Table, backend: Backend, lun: &Lun) {
    let name = backend.name();
    match beside(&lun.trial(backend, ROUND), PAIRS) {
        Ok(found) => {
            table.add(format!("{name}: response of the bare loop"), Some(found.bare), "");
            table.add(format!("{name}: response reported"), Some(found.engine), "");
            table.add(format!("{name}: added to the response"), Some(found.added), "");
            table.add(format!("{name}: added CPU per I/O"), Some(found.added_cpu), "");
        }
        Err(error) => table.add(name, None, &error.to_string()),
    }
}

fn sleep_table() -> Table {
    let mut table = Table::new("Sleeping");
    let no_thread = "no thread could be made";
    let late = |slack| timer::lateness(SLEEPS, AHEAD_NS, slack);
    table.add("late by the timer, slack 1 ns", late(Some(timer::FINE_SLACK_NS)), no_thread);
    table.add("late by the timer, slack of the system", late(None), no_thread);
    table.add("woken by a thread after 0.2 ms", wake::delay(SLEEPS, AHEAD_NS), no_thread);
    table.add("woken by a thread after 5 ms", wake::delay(SLEEPS / 2, LONG_NS), no_thread);
    table
}

fn idle_table(host: &Host) -> Table {
    let mut table = Table::new("Idle states");
    for state in &host.idle {
        let on = match state.cpus {
            0 => "disabled".to_owned(),
            cpus if cpus == host.cpus => "allowed".to_owned(),
            cpus => format!("allowed on {cpus} of {} CPUs", host.cpus),
        };
        table.notes.push(format!("{:<10} {:>6} µs to leave, {on}", state.name, state.latency_us));
    }
    if host.idle.is_empty() {
        table.notes.push("The kernel tells of none: a virtual machine as a rule, whose hypervisor decides.".into());
    }
    // What nobody asks for reads as 2,000 seconds.
    match host.cpu_dma_latency_us {
        Some(us) if us < 1_000_000_000 => table.notes.push(format!("/dev/cpu_dma_latency is held at {us} µs.")),
        Some(_) => table.notes.push("Nobody holds /dev/cpu_dma_latency.".into()),
        None => table.notes.push("/dev/cpu_dma_latency cannot be read here.".into()),
    }
    table
}
