//! I/Os that failed: `errorlog.html`, console and log (`docs/vdbench/reports.md` §9.4).

use brunt_event::IoFailed;

use crate::chunk::Sink;
use crate::context::Context;
use crate::{errno, page};

/// Name of the file.
pub(crate) const FILE: &str = "errorlog.html";

/// Makes the file.
pub(crate) fn open(context: &Context, at_ms: i64, sink: &mut Sink) {
    sink.line(FILE, &page::head(&context.directory, FILE));
    sink.line(FILE, &format!("Vdbench error log, created {} ", context.clock.header(at_ms)));
    sink.line(FILE, "Every failed I/O has a line below. No line: no errors.");
    sink.line(FILE, "");
}

/// The line of a failed I/O, without the master's time.
pub(crate) fn line(context: &Context, failed: &IoFailed) -> String {
    let IoFailed { lun, lba, xfer, .. } = failed;
    let (worker, time) = (context.worker(failed.worker), context.clock.tod(failed.worker_ms));
    let op = if failed.read { "read" } else { "write" };
    let reason = reason(failed);
    format!("{worker}: {time} op: {op:<6} lun: {lun:<30} lba: {lba:>12} 0x{lba:08X} xfer: {xfer:>8} errno: {reason} ")
}

fn reason(failed: &IoFailed) -> String {
    match (failed.errno, failed.got) {
        (Some(errno), _) => errno::describe(errno),
        (None, Some(got)) => {
            format!("INCORRECT_SIZE: 'only {got} of {} bytes were read or written'", failed.xfer)
        }
        (None, None) => "INCORRECT_SIZE: 'not enough bytes were read or written'".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons() {
        let mut failed = IoFailed {
            worker: 0,
            worker_ms: 0,
            read: true,
            lun: "./f1".into(),
            lba: 778_240,
            xfer: 4096,
            errno: Some(5),
            got: None,
        };
        assert_eq!(reason(&failed), "EIO: 'Input/output error'");
        failed.errno = None;
        failed.got = Some(512);
        assert_eq!(reason(&failed), "INCORRECT_SIZE: 'only 512 of 4096 bytes were read or written'");
    }
}
