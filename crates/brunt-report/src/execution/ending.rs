//! Failures and ends.

use brunt_event::{AbortCause, IoFailed};

use super::Execution;
use crate::chunk::Sink;
use crate::message::{ALL, CONSOLE, LOG};
use crate::number::commas;
use crate::{book, errors, plain};

impl Execution {
    pub(super) fn io_failed(&mut self, failed: &IoFailed, at_ms: i64, sink: &mut Sink) {
        self.io_errors += 1;
        let text = errors::line(&self.context, failed);
        let time = self.context.clock.tod(at_ms);
        self.say(sink, at_ms, CONSOLE, &text);
        sink.text(errors::FILE, &format!("{time} {text}"));
        if !self.seen.io_error && !self.context.layout.is_old() {
            self.set_state(sink, at_ms, "I/O error detected. See errorlog.html");
        }
        self.seen.io_error = true;
    }

    /// Vdbench has the same words for all signals, and so has whoever is called by its name.
    pub(super) fn interrupted(&mut self, signal: i32, sink: &mut Sink) {
        self.release_summary(sink);
        self.seen.cut = true;
        let name = if self.context.layout.is_old() { "vdbench" } else { "Vdbench" };
        let what = match signal {
            1 if !self.context.opened.as_vdbench => "SIGHUP received",
            15 if !self.context.opened.as_vdbench => "SIGTERM received",
            _ => "CTRL-C requested",
        };
        sink.console(&format!("{what}. {name} terminating"));
        if self.io_errors > 0 {
            sink.console(&format!("Total Data Validation or I/O error count: {}", commas(self.io_errors)));
        }
    }

    pub(super) fn aborted(&mut self, cause: AbortCause, text: &str, io_errors: u64, at_ms: i64, sink: &mut Sink) {
        self.release_summary(sink);
        self.seen.cut = true;
        if cause == AbortCause::IoErrors {
            let count = format!("Total Data Validation or I/O error count: {}", commas(io_errors));
            ["*", &count, "*"].iter().for_each(|line| self.say(sink, at_ms, ALL, line));
        }
        // Problems of the file and its devices were shown with their places; under our own name that is enough.
        let early =
            matches!(cause, AbortCause::Parameters | AbortCause::Usage | AbortCause::Setup | AbortCause::Safety);
        let shown = early && self.seen.diagnostic;
        let to = if shown && !self.context.opened.as_vdbench { LOG } else { CONSOLE };
        ["", text, ""].iter().for_each(|line| self.say(sink, at_ms, to, line));
        let lines: Vec<_> = text.split('\n').map(plain::plain).collect();
        match (self.context.opened.as_vdbench, shown) {
            (true, _) => sink.stderr(&format!("RuntimeException: {}", lines.join("\n"))),
            (false, false) => sink.stderr(&format!("error: {}", lines.join("\n"))),
            (false, true) => {}
        }
        self.set_state(sink, at_ms, "Shutting down slaves");
        if !self.context.layout.is_old() {
            self.set_state(sink, at_ms, &format!("Abort requested: {text}"));
        }
    }

    pub(super) fn closed(&mut self, status: i32, at_ms: i64, sink: &mut Sink) {
        self.release_summary(sink);
        if self.seen.cut || status != 0 {
            return;
        }
        let simulated = self.context.opened.simulate;
        if !simulated {
            self.set_state(sink, at_ms, "Shutting down slaves");
        }
        if !simulated || self.context.layout.is_old() {
            self.set_state(sink, at_ms, "Vdbench complete");
        }
        let what = if simulated { "simulation" } else { "execution" };
        let text = format!("Vdbench {what} completed successfully");
        let directory = self.context.opened.directory.clone();
        self.say(sink, at_ms, CONSOLE, &format!("{text}. Output directory: {directory} "));
        sink.console("");
        sink.line(book::LOG, "");
        sink.line(book::SUMMARY, &format!("{} {text}", self.context.clock.tod(at_ms)));
    }
}
