//! The end of a run and what follows from it.

use brunt_event::{AbortCause, Event, RunEnd, RunEnded};

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
        let end = self.end.unwrap_or(RunEnd::Elapsed);
        let orderly = is_complete(end);
        if orderly {
            self.say_workload_done();
            self.session.emit(Event::WorkersDone { run: self.number });
        }
        // What came between the last interval and the last I/O takes nothing away from what was measured.
        let complete = self.workload_done;
        let io_errors = self.errors.count();
        self.session.io_errors += io_errors;
        let (sd_hists, wd_hists, worker_hists) = self.totals.clone().into_hists();
        self.session.emit(Event::RunEnded(Box::new(RunEnded {
            run: self.number,
            intervals: self.merger.completed(),
            end,
            complete,
            short: self.totals.is_short(),
            sd_hists,
            wd_hists,
            worker_hists,
            io_errors,
        })));
        if orderly && io_errors > 0 {
            let text = "Vdbench terminating due to Data Validation or I/O errors. See errorlog.html.";
            self.halt = Some(Halt::abort(AbortCause::IoErrors, text));
        }
        RunReport { totals: self.totals, orderly, halt: self.halt, error_command: self.error_command }
    }
}
