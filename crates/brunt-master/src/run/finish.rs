//! The end of a run and what follows from it.

use brunt_event::{AbortCause, Event, RunEnd, RunEnded, SdDone};

use crate::link::HostLink;
use crate::run::{Run, is_complete};
use crate::session::Halt;
use crate::totals::Totals;

/// What a run came to.
#[derive(Debug)]
pub(crate) struct RunReport {
    /// What was measured.
    pub(crate) totals: Totals,
    /// Whether it did what it should, apart from I/O errors.
    pub(crate) orderly: bool,
    /// Why nothing comes after it.
    pub(crate) halt: Option<Halt>,
    /// A command that is due now (`data_errors=`).
    pub(crate) error_command: Option<String>,
}

impl<L: HostLink> Run<'_, '_, L> {
    pub(super) fn finish(mut self) -> RunReport {
        self.recall_all();
        self.judge_end();
        let end = self.end.unwrap_or(RunEnd::Elapsed);
        let orderly = is_complete(end);
        if orderly {
            self.say_workload_done();
            self.session.emit(Event::WorkersDone { run: self.number });
        }
        // What came between the last interval and the last I/O takes nothing away from what was measured. A worker that
        // is missing in the last interval does.
        let is_whole = end != RunEnd::WorkerLost || self.last_whole == self.merger.completed();
        let complete = self.workload_done && is_whole;
        let io_errors = self.errors.count();
        self.session.io_errors += io_errors;
        if end == RunEnd::WorkerLost {
            let (rd, last) = (&self.name, self.last_whole);
            let text = match last {
                0 => format!("rd={rd} is partial: no interval of it is complete"),
                _ => format!("rd={rd} is partial: its last complete interval is {last}"),
            };
            self.session.notice(true, "partial", text);
        }
        let times = self.totals.times(self.merger.late());
        let all = times.all.clone();
        self.session.emit(Event::RunEnded(Box::new(RunEnded {
            run: self.number,
            intervals: self.merger.completed(),
            end,
            complete,
            short: self.totals.is_short(),
            times: times.all,
            host_times: times.hosts,
            sd_times: times.sds,
            wd_times: times.wds,
            worker_times: times.workers,
            totals: self.sd_totals(),
            io_errors,
            start_skew_ns: std::mem::take(&mut self.start_skew_ns),
        })));
        if orderly {
            self.judge_run(&all);
        }
        if orderly && io_errors > 0 {
            let text = "Vdbench terminating due to Data Validation or I/O errors. See errorlog.html.";
            self.halt = Some(Halt::abort(AbortCause::IoErrors, text));
        }
        RunReport { totals: self.totals, orderly, halt: self.halt, error_command: self.error_command }
    }

    /// All that was done on each SD of the run, over all hosts.
    fn sd_totals(&self) -> Vec<SdDone> {
        let mut all = vec![SdDone::default(); self.merger.shape().sds.len()];
        for done in self.done.values().flatten() {
            if let Some(sum) = self.merger.shape().place(done.sd).and_then(|place| all.get_mut(place)) {
                sum.reads += done.reads;
                sum.read_bytes += done.read_bytes;
                sum.writes += done.writes;
                sum.write_bytes += done.write_bytes;
            }
        }
        all
    }
}
