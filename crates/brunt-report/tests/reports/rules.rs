//! Single rules of `docs/vdbench/reports.md` and `docs/vdbench/consumers.md`.

use brunt_event::{
    AbortCause, Compat, EndScope, Event, IoFailed, NoticeLevel, Planned, PlannedRun, RateText, Record, RunEnd,
    RunWorkload,
};

use crate::reader::{Output, flat, links, output, rows};
use crate::stream::{Measured, START_MS, Stream, planned, planned_run, reads, writes};

const ONE: [(&str, u32); 1] = [("localhost", 1)];

fn second() -> Measured {
    Measured::second(reads(0, 0, 0, 100))
}

fn simple(compat: Compat, runs: &[PlannedRun], intervals: usize) -> Output {
    let mut stream = Stream::new(compat, planned(&ONE, &["sd1"], &["wd1"], runs));
    stream.set_up();
    runs.iter().for_each(|run| stream.run(run, 1, &vec![second(); intervals]));
    output(&stream.close(0))
}

/// A stream in which the first run has begun and has two intervals.
fn in_a_run(as_vdbench: bool) -> Stream {
    let run = planned_run("rd1", &[]);
    let mut stream = Stream::new(Compat::V50407, planned(&ONE, &["sd1"], &["wd1"], std::slice::from_ref(&run)));
    opened(&mut stream).as_vdbench = as_vdbench;
    stream.set_up();
    let started = stream.start(&run, 1);
    stream.interval(&started, 1, &second());
    stream.interval(&started, 2, &second());
    stream
}

fn opened(stream: &mut Stream) -> &mut brunt_event::Opened {
    match &mut stream.records[0] {
        Record { event: Event::Opened(opened), .. } => opened,
        other => panic!("{other:?}"),
    }
}

fn failed_read() -> Event {
    Event::IoFailed(IoFailed {
        worker: 0,
        worker_ms: START_MS,
        read: true,
        lun: "./f1".into(),
        lba: 778_240,
        xfer: 4096,
        errno: Some(5),
        got: None,
    })
}

fn states(out: &Output) -> Vec<&str> {
    out.file("status.html").lines().filter_map(|line| line.split_once('\t')).map(|(_, state)| state).collect()
}

#[test]
fn the_version_is_the_third_word_of_its_line() {
    for (compat, word) in [(Compat::V50407, "vdbench50407"), (Compat::V50406, "vdbench50406")] {
        let out = simple(compat, &[planned_run("rd1", &[])], 2);
        let line = out.console.lines().find(|line| line.starts_with("Vdbench distribution: ")).unwrap();
        assert_eq!(line.split_whitespace().nth(2), Some(word));
        assert!(line.ends_with(" (Brunt 0.1.0)"));
        assert!(!out.console.contains("Copyright"));
    }
}

#[test]
fn the_log_says_how_far_hosts_may_be_off_the_common_start() {
    let run = planned_run("rd1", &[]);
    let hosts = [("one", 1), ("two", 1), ("idle", 1)];
    let mut stream = Stream::new(Compat::V50407, planned(&hosts, &["sd1"], &["wd1"], std::slice::from_ref(&run)));
    stream.set_up();
    stream.run(&run, 1, &[second(), second()]);
    for record in &mut stream.records {
        if let Event::RunEnded(ended) = &mut record.event {
            ended.start_skew_ns = vec![Some(34_500), Some(1_250_000), None];
        }
    }
    let out = output(&stream.close(0));
    let line = "rd=rd1: off the common start by at most: host=one 0.035 ms, host=two 1.250 ms";
    assert!(out.file("logfile.html").contains(line), "{}", out.file("logfile.html"));
    assert!(!out.console.contains("off the common start"));
}

#[test]
fn titles_are_repeated_before_intervals_1_31_61() {
    let out = simple(Compat::V50407, &[planned_run("rd1", &[])], 61);
    for text in [&out.console, out.file("summary.html"), out.file("sd1.html"), out.file("localhost-0.html")] {
        let before: Vec<&str> = text
            .lines()
            .collect::<Vec<_>>()
            .windows(4)
            .filter(|lines| lines[0].is_empty() && lines[1].contains("    interval  "))
            .map(|lines| lines[3].split_whitespace().nth(1).unwrap())
            .collect();
        assert_eq!(before, ["1", "31", "61"]);
    }
    assert_eq!(rows(&out.console).len(), 62);
}

#[test]
fn titles_of_totals_are_repeated_before_runs_1_and_16() {
    let runs: Vec<_> = (1..=16).map(|n| planned_run("rd1", &[&format!("iorate={n}")])).collect();
    let out = simple(Compat::V50407, &runs, 2);
    let lines: Vec<&str> = out.file("totals.html").lines().collect();
    assert_eq!(lines.iter().filter(|line| line.contains("    interval  ")).count(), 2);
    assert_eq!(lines.iter().filter(|line| line.contains("avg_")).count(), 16);
    assert!(lines.last().unwrap().contains("avg_2-2"), "the last line is an average");
}

#[test]
fn totals_have_nothing_else_that_begins_with_a_time() {
    let out = simple(Compat::V50407, &[planned_run("a", &[]), planned_run("b", &[])], 2);
    let text = out.file("totals.html");
    let timed = text.lines().filter(|line| line.get(2..3) == Some(":")).count();
    assert_eq!(timed, 2);
    assert!(text.lines().nth(4).unwrap().contains("<A HREF"), "line 5 has the first run link");
}

#[test]
fn every_page_announces_every_run_and_links_to_it() {
    let runs = [planned_run("rd1", &["iorate=50"]), planned_run("rd1", &["iorate=100"]), planned_run("rd2", &[])];
    let out = simple(Compat::V50407, &runs, 2);
    let without = ["status", "errorlog", "flatfile", "parmfile", "parmscan", "config"];
    for (name, text) in out.files.iter().filter(|(name, _)| name.ends_with(".html")) {
        let stem = name.trim_end_matches(".html");
        let ids = |start: &str| -> Vec<&str> {
            text.split(start).skip(1).map(|rest| rest.split('"').next().unwrap()).collect()
        };
        let expected = if without.contains(&stem) { 0 } else { 3 };
        assert_eq!(ids("name=\"_").len(), expected, "{name}");
        assert_eq!(ids("name=\"_"), ids("HREF=\"#_"), "{name}");
        assert_eq!(
            text.matches("Starting RD=rd1; I/O rate: 100; elapsed=4; For loops: iorate=50").count() > 0,
            expected > 0
        );
    }
}

#[test]
fn a_run_of_one_interval_averages_that_one() {
    for compat in [Compat::V50407, Compat::V50406] {
        let out = simple(compat, &[planned_run("rd1", &[])], 1);
        let all = rows(&out.console);
        assert_eq!(all[1].label, "avg_2-1");
        assert_eq!(all[0].numbers, all[1].numbers);
        let fields = flat(out.file("flatfile.html"));
        assert_eq!(fields[0]["rate"], fields[1]["rate"]);
        assert!(!out.file("histogram.html").contains("No statistics"));
    }
}

#[test]
fn without_processor_data_there_are_no_columns_for_it() {
    let run = planned_run("rd1", &[]);
    let mut stream = Stream::new(Compat::V50407, planned(&ONE, &["sd1"], &["wd1"], std::slice::from_ref(&run)));
    stream.set_up();
    stream.run(&run, 1, &[Measured { cpu: None, ..second() }, Measured { cpu: None, ..second() }]);
    let out = output(&stream.close(0));
    assert!(rows(&out.console).iter().all(|row| row.numbers.len() == 11));
    assert!(!out.console.contains("cpu%"));
    assert!(flat(out.file("flatfile.html")).iter().all(|fields| fields["cpu_idle"] == "n/a"));
}

#[test]
fn links_of_the_summary_lead_to_files() {
    let run = planned_run("rd1", &[]);
    for compat in [Compat::V50407, Compat::V50406] {
        let plan = Planned {
            host_detail: true,
            worker_detail: true,
            run_totals: true,
            ..planned(&[("one", 2), ("two", 1)], &["sd1", "sd2"], &["wd1", "wd2"], std::slice::from_ref(&run))
        };
        let mut stream = Stream::new(compat, plan);
        stream.set_up();
        stream.run(&run, 1, &[second(), second()]);
        let out = output(&stream.close(0));
        for (name, text) in &out.files {
            for (label, target) in links(text).into_iter().filter(|(_, target)| !target.starts_with('#')) {
                assert!(out.files.contains_key(&target), "{name}: {label} leads to {target}");
            }
        }
        assert_eq!(rows(out.file("one-0.sd1.html")).len(), 3);
        assert_eq!(rows(out.file("two.sd2.html")).len(), 3);
    }
}

#[test]
fn no_sd_detail_leaves_sds_out() {
    let run = planned_run("rd1", &[]);
    let plan = Planned { no_sd_detail: true, ..planned(&ONE, &["sd1"], &["wd1"], std::slice::from_ref(&run)) };
    let mut stream = Stream::new(Compat::V50407, plan);
    stream.set_up();
    stream.run(&run, 1, &[second(), second()]);
    let out = output(&stream.close(0));
    assert!(!out.files.keys().any(|name| name.starts_with("sd1")));
    assert!(!out.file("summary.html").contains("Link to SD reports"));
    assert!(out.file("skew.html").contains(" SD: "), "5.04.07 has the table all the same");
}

#[test]
fn a_format_gives_the_workload_a_report() {
    let run = planned_run("rd1", &[]);
    for (compat, generated) in [(Compat::V50407, false), (Compat::V50406, true)] {
        let mut stream = Stream::new(compat, planned(&ONE, &["sd1"], &["wd1"], std::slice::from_ref(&run)));
        stream.set_up();
        stream.push(Event::FormatNeeded { sd: 0, lun: "./sd1".into(), host: 0 });
        let format = PlannedRun {
            rate: RateText::UncontrolledMax,
            elapsed: None,
            format: true,
            ..planned_run("SD_format", &["threads=2", "iorate=max"])
        };
        let started = stream.start(&format, 1);
        if let Some(Record { event: Event::RunStarted(started), .. }) = stream.records.last_mut() {
            started.workloads = vec![RunWorkload { wd: None, name: "SD_format_sd1".into(), skew: None }];
        }
        let measured = [Measured::second(writes(0, 0, 0, 32))];
        stream.push(Event::SequentialDone);
        stream.interval(&started, 1, &measured[0]);
        stream.end(&started, &measured, RunEnd::EndOfData);
        stream.run(&run, 1, &[second(), second()]);
        let out = output(&stream.close(0));
        assert_eq!(rows(out.file("wd1.html")).len(), 3);
        assert_eq!(out.files.contains_key("SD_format_sd1.html"), generated);
        let summary = out.file("summary.html");
        let first = summary.lines().find(|line| line.starts_with("Link to Run Definitions:")).unwrap();
        assert!(first.ends_with(">SD_format For loops: threads=2 iorate=max</A>"), "{first}");
        assert!(
            out.console
                .contains("Starting RD=SD_format; I/O rate: Uncontrolled MAX; elapsed=(none); For loops: threads")
        );
        assert!(out.console.contains("lun=./sd1 does not exist or is too small. host=localhost\n"));
    }
}

#[test]
fn passes_have_runs_of_their_own() {
    let run = planned_run("rd1", &[]);
    let mut stream = Stream::new(Compat::V50407, planned(&ONE, &["sd1"], &["wd1"], std::slice::from_ref(&run)));
    stream.set_up();
    for pass in 1..=3 {
        stream.push(Event::LoopStarted { pass });
        stream.run(&run, 1, &[second(), second()]);
    }
    let out = output(&stream.close(0));
    let ids: std::collections::BTreeSet<&str> =
        out.file("totals.html").split("name=\"_").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert_eq!(ids.len(), 3);
    assert_eq!(out.console.matches("Starting loop ").count(), 3);
}

#[test]
fn status_tells_the_states_in_order() {
    let out = simple(Compat::V50407, &[planned_run("rd1", &[])], 2);
    assert_eq!(
        states(&out),
        [
            "Starting slaves",
            "Slave localhost-0 (pid   4712) connected to master 4711",
            "Slaves connected",
            "Query host configuration started",
            "Query host configuration completed",
            "Starting\trd=rd1\tFor loops: None",
            "Warmup done\trd=rd1\tFor loops: None",
            "Workload done\trd=rd1\tFor loops: None",
            "Slaves done\trd=rd1\tFor loops: None",
            "Shutting down slaves",
            "Vdbench complete",
        ]
    );
}

#[test]
fn the_last_line_is_that_of_success() {
    let out = simple(Compat::V50407, &[planned_run("rd1", &[])], 2);
    let end = "Vdbench execution completed successfully";
    assert!(out.console.ends_with(&format!(" {end}. Output directory: /w/out \n\n")));
    assert!(out.file("summary.html").ends_with(&format!(" {end}\n")));
    assert!(out.file("logfile.html").ends_with(&format!(" {end}. Output directory: /w/out \n\n")));
}

#[test]
fn simulations_show_their_runs() {
    let runs = [planned_run("sim", &["iorate=100"]), planned_run("sim", &["iorate=max"])];
    for (compat, expected) in [(Compat::V50407, 0), (Compat::V50406, 3)] {
        let mut stream = Stream::new(compat, planned(&ONE, &["sd1"], &["wd1"], &runs));
        opened(&mut stream).simulate = true;
        stream.push(Event::Planned(stream.planned.clone()));
        stream.push(Event::Simulated { run: 0 });
        stream.push(Event::Simulated { run: 1 });
        stream.push(Event::SimulationTotal { runs: 2, seconds: 120 });
        let out = output(&stream.close(0));
        assert!(out.console.contains(" Simulating RD=sim; I/O rate: 100; elapsed=4; For loops: iorate=max\n"));
        assert!(
            out.console
                .contains("Total amount of Run Definitions: 2; total elapsed time 120 seconds, or 0.0333 hours, ")
        );
        assert!(out.console.contains(" Vdbench simulation completed successfully. Output directory: /w/out \n"));
        assert_eq!(states(&out).len(), expected);
        assert_eq!(links(out.file("summary.html")).len(), 5);
        assert!(!out.files.contains_key("errorlog.html"));
    }
}

#[test]
fn failed_ios_are_named_everywhere() {
    let mut stream = in_a_run(true);
    stream.push(failed_read());
    stream.push(failed_read());
    stream.push(Event::Aborted {
        cause: AbortCause::IoErrorLimit,
        text: "'data_errors=2' requested. Abort rd=rd1 after last error.".into(),
        io_errors: 2,
    });
    let out = output(&stream.close(157));
    let line = "localhost-0: 13:30:45.000 op: read   lun: ./f1                           lba:       778240 0x000BE000 \
                xfer:     4096 errno: EIO: 'Input/output error' \n";
    for text in [&out.console, out.file("errorlog.html"), out.file("logfile.html")] {
        assert_eq!(text.matches(line).count(), 2);
    }
    assert!(out.console.ends_with(" 'data_errors=2' requested. Abort rd=rd1 after last error.\n13:30:47.016 \n"));
    assert_eq!(out.stderr, "RuntimeException: 'data_errors=2' requested. Abort rd=rd1 after last error.\n");
    let states = states(&out);
    assert_eq!(states.iter().filter(|state| state.contains("I/O error detected. See errorlog.html")).count(), 1);
    assert!(states.last().unwrap().starts_with("Abort requested: 'data_errors=2'"));
    assert_eq!(rows(out.file("summary.html")).len(), 2, "what was measured is there");
}

#[test]
fn errors_of_a_complete_run_are_counted_after_its_average() {
    let mut stream = in_a_run(true);
    stream.push(failed_read());
    let started = stream.records.iter().find_map(|record| match &record.event {
        Event::RunStarted(started) => Some(started.clone()),
        _ => None,
    });
    stream.end(&started.unwrap(), &[second(), second()], RunEnd::Elapsed);
    let text = "Vdbench terminating due to Data Validation or I/O errors. See errorlog.html.";
    stream.push(Event::Aborted { cause: AbortCause::IoErrors, text: text.into(), io_errors: 1 });
    let out = output(&stream.close(157));
    let tail: Vec<&str> = out.console.lines().rev().take(7).map(|line| line.get(13..).unwrap_or_default()).collect();
    let tail: Vec<&str> = tail.into_iter().rev().collect();
    assert!(tail[0].trim_start().starts_with("avg_2-2"), "{tail:?}");
    assert_eq!(tail[1..], ["*", "Total Data Validation or I/O error count: 1", "*", "", text, ""]);
}

#[test]
fn interrupts_leave_no_average() {
    let mut stream = in_a_run(true);
    stream.push(Event::Interrupted { signal: 2 });
    let started = stream.start(&planned_run("rd1", &[]), 1);
    stream.records.pop();
    stream.end(&started, &[second(), second()], RunEnd::Signal);
    let out = output(&stream.close(130));
    assert!(out.console.ends_with("\nCTRL-C requested. Vdbench terminating\n"));
    assert!(rows(&out.console).iter().all(|row| !row.is_average()));
    assert_eq!(states(&out).last(), Some(&"Ctrl-C found"));
}

#[test]
fn problems_of_the_file_are_shown_once_under_our_own_name() {
    for as_vdbench in [false, true] {
        let mut stream = Stream::new(Compat::V50407, planned(&ONE, &[], &[], &[]));
        opened(&mut stream).as_vdbench = as_vdbench;
        let shown = "error[unknown-keyword]: unknown keyword `banana`\n".to_owned();
        stream.push(Event::Diagnostic { text: shown, fatal: true });
        let text = "Unknown keyword: banana".to_owned();
        stream.push(Event::Aborted { cause: AbortCause::Parameters, text, io_errors: 0 });
        let out = output(&stream.close(157));
        assert!(out.stderr.starts_with("error[unknown-keyword]: unknown keyword `banana`\n"));
        assert_eq!(out.stderr.contains("\nRuntimeException: Unknown keyword: banana\n"), as_vdbench);
        assert_eq!(out.console.contains(" Unknown keyword: banana\n"), as_vdbench);
        assert!(out.file("logfile.html").contains(" Unknown keyword: banana\n"));
        assert_eq!(states(&out), ["Shutting down slaves", "Abort requested: Unknown keyword: banana"]);
    }
}

#[test]
fn a_note_of_the_file_does_not_hide_why_a_set_up_failed() {
    for fatal in [false, true] {
        let mut stream = Stream::new(Compat::V50407, planned(&ONE, &[], &[], &[]));
        opened(&mut stream).as_vdbench = false;
        stream.push(Event::Diagnostic { text: "said before".to_owned(), fatal });
        let text = "lun=/x does not exist".to_owned();
        stream.push(Event::Aborted { cause: AbortCause::Setup, text, io_errors: 0 });
        let out = output(&stream.close(4));
        assert_eq!(out.stderr.contains("error: lun=/x does not exist"), !fatal);
        assert_eq!(out.console.contains(" lun=/x does not exist\n"), !fatal);
    }
}

#[test]
fn other_ends_are_told_on_standard_error() {
    let mut stream = in_a_run(false);
    let text = "no answer from host=localhost".to_owned();
    stream.push(Event::Aborted { cause: AbortCause::Setup, text, io_errors: 0 });
    let out = output(&stream.close(4));
    assert_eq!(out.stderr, "error: no answer from host=localhost\n");
    assert!(out.console.contains(" no answer from host=localhost\n"));
}

#[test]
fn notices_wait_for_the_links_of_the_summary() {
    let run = planned_run("rd1", &[]);
    let mut stream = Stream::new(Compat::V50407, planned(&ONE, &["sd1"], &["wd1"], std::slice::from_ref(&run)));
    let notice =
        |text: &str| Event::Notice { level: NoticeLevel::Warning, code: "page-cache".into(), text: text.into() };
    stream.push(notice("the page cache is measured"));
    stream.set_up();
    stream.run(&run, 1, &[second(), second()]);
    stream.push(notice("late"));
    let out = output(&stream.close(0));
    let summary = out.file("summary.html");
    let place = |text: &str| summary.find(text).unwrap();
    assert!(place("Link to config output") < place("warning: the page cache is measured"));
    assert!(place("warning: the page cache") < place("Starting RD="));
    assert!(place("avg_2-2") < place("warning: late"));
    for text in [&out.console, out.file("logfile.html")] {
        assert_eq!(text.matches("warning: the page cache is measured\n").count(), 1);
    }
}

#[test]
fn every_line_of_a_message_has_its_time() {
    let mut stream = in_a_run(true);
    let text = "first\nsecond".to_owned();
    stream.push(Event::Aborted { cause: AbortCause::Setup, text, io_errors: 0 });
    let out = output(&stream.close(157));
    assert!(out.console.contains("13:30:47.014 first\n13:30:47.014 second\n"));
    assert_eq!(states(&out).last(), Some(&"Abort requested: first second"));
}

#[test]
fn early_ends_are_states_too() {
    let mut stream = in_a_run(true);
    stream.push(Event::EarlyEnd { scope: EndScope::Execution });
    let out = output(&stream.close(0));
    let text = "User requested early Vdbench termination.";
    assert!(states(&out).contains(&text));
    assert!(out.console.contains(text) && out.file("summary.html").contains(text));
    assert!(out.console.contains("Vdbench execution completed successfully"));
}

#[test]
fn busy_processors_and_missed_skew_are_boxed() {
    let run = planned_run("rd1", &[]);
    let mut plan = planned(&ONE, &["sd1"], &["wd1", "wd2"], std::slice::from_ref(&run));
    plan.ios_per_worker = Some(50.0);
    let mut stream = Stream::new(Compat::V50407, plan);
    stream.set_up();
    let ios = [reads(0, 0, 0, 60), reads(0, 1, 0, 40)].concat();
    let cpu = brunt_stats::CpuTicks { user: 90, system: 5, idle: 5, ..Default::default() };
    stream.run(
        &run,
        1,
        &[
            Measured { cpu: Some(cpu), ..Measured::second(ios.clone()) },
            Measured { cpu: Some(cpu), ..Measured::second(ios) },
        ],
    );
    let out = output(&stream.close(0));
    let skew = "* Observed Workload skew for wd=wd1 delta greater than 1% (10.00). See skew.html for details *";
    let busy = "* Warning for host=localhost: average processor utilization 95.0%  ";
    let rate = "* Warning: total amount of i/o per second per slave (100) greater than 50. ";
    let mut last = 0;
    for text in [skew, busy, rate] {
        let place = out.console.find(text).unwrap_or_else(|| panic!("{text}"));
        assert!(place > last);
        last = place;
        assert!(out.file("summary.html").contains(text));
    }
    assert!(out.file("skew.html").contains("     50.00%   60.00% -10.00%\n"));
}

#[test]
fn quiet_runs_have_no_boxes() {
    let out = simple(Compat::V50407, &[planned_run("rd1", &[])], 2);
    assert!(!out.console.contains(" *\n"), "{}", out.console);
}

#[test]
fn rows_have_no_lower_case_and_messages_have_some() {
    let mut stream = in_a_run(true);
    stream.push(Event::Draining { outstanding: 3, seconds: 12 });
    stream.push(Event::Pausing { seconds: 5 });
    let out = output(&stream.close(0));
    for line in out.console.lines().filter(|line| line.len() > 13) {
        let row = rows(line).len() == 1;
        assert_eq!(line.chars().any(|c| c.is_ascii_lowercase()), !row, "{line}");
    }
}

#[test]
fn worker_lines_have_both_times() {
    let mut stream = in_a_run(true);
    stream.push(Event::WorkerLog { worker: 0, worker_ms: START_MS + 7, text: "opened ./f1".into() });
    let out = output(&stream.close(0));
    assert!(out.file("localhost-0.stdout.html").contains("13:30:47.014 13:30:45.007 opened ./f1\n"));
}

#[test]
fn what_others_say_is_text_everywhere() {
    let mut stream = in_a_run(true);
    let text = "h <b>&\u{1b}[2J".to_owned();
    stream.push(Event::WorkerLog { worker: 0, worker_ms: START_MS, text: text.clone() });
    stream.push(Event::HostConfig { host: 0, text: text.clone() });
    stream.push(Event::Notice { level: NoticeLevel::Warning, code: "host".into(), text: text.clone() });
    stream.push(Event::Aborted { cause: AbortCause::WorkerLost, text, io_errors: 0 });
    let out = output(&stream.close(7));
    for file in ["localhost-0.stdout.html", "config.html", "logfile.html", "summary.html", "status.html"] {
        let page = out.file(file);
        assert!(page.contains("h &lt;b&gt;&amp;\\x1b[2J\n"), "{file}: {page}");
        assert!(!page.contains("h <b>") && !page.contains('\u{1b}'), "{file}: {page}");
    }
    assert!(out.console.contains("warning: h <b>&\\x1b[2J\n"), "{}", out.console);
    assert!(!out.stderr.contains('\u{1b}') && out.stderr.contains(": h <b>&\\x1b[2J"), "{}", out.stderr);
}

#[test]
fn usage_has_its_line() {
    let mut stream = Stream::new(Compat::V50407, planned(&ONE, &[], &[], &[]));
    stream.push(Event::Usage);
    let out = output(&stream.close(157));
    assert!(out.console.lines().any(|line| line.ends_with(" usage:")));
}

#[test]
fn events_before_the_head_do_no_harm() {
    let out = output(&[Record { at_ms: 0, event: Event::Usage }]);
    assert_eq!(out.files.keys().collect::<Vec<_>>(), ["events.ndjson"]);
    assert!(out.console.is_empty());
}
