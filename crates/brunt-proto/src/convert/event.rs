//! [`WorkerEvent`] and [`IoFailure`].

use brunt_plan::work::{IoErrorKind, IoFailure, SdTotals, WorkerEvent};

use super::each;
use crate::error::{WireError, need};
use crate::v1;

impl From<IoFailure> for v1::IoFailure {
    fn from(failure: IoFailure) -> Self {
        use v1::io_failure::Error;
        Self {
            sd: failure.sd,
            lun: failure.lun,
            read: failure.read,
            lba: failure.lba,
            xfer: failure.xfer,
            error: Some(match failure.error {
                IoErrorKind::Errno(errno) => Error::Errno(errno),
                IoErrorKind::Short { got } => Error::ShortBytes(got),
            }),
            at_ms: failure.at_ms,
        }
    }
}

impl TryFrom<v1::IoFailure> for IoFailure {
    type Error = WireError;

    fn try_from(failure: v1::IoFailure) -> Result<Self, WireError> {
        use v1::io_failure::Error;
        Ok(Self {
            sd: failure.sd,
            lun: failure.lun,
            read: failure.read,
            lba: failure.lba,
            xfer: failure.xfer,
            error: match need(failure.error, "IoFailure", "error")? {
                Error::Errno(errno) => IoErrorKind::Errno(errno),
                Error::ShortBytes(got) => IoErrorKind::Short { got },
            },
            at_ms: failure.at_ms,
        })
    }
}

impl From<WorkerEvent> for v1::worker_message::Event {
    fn from(event: WorkerEvent) -> Self {
        match event {
            WorkerEvent::Interval(sample) => Self::Interval((*sample).into()),
            WorkerEvent::Failure(failure) => Self::Failure(failure.into()),
            WorkerEvent::SequentialDone => Self::SequentialDone(v1::Nothing {}),
            WorkerEvent::Log(line) => Self::Log(line),
            WorkerEvent::Warning(text) => Self::Warning(text),
            WorkerEvent::Fatal(text) => Self::Fatal(text),
            WorkerEvent::Outstanding { count, oldest_ns } => Self::Outstanding(v1::Outstanding { count, oldest_ns }),
            WorkerEvent::Totals(sds) => Self::Totals(v1::Totals { sds: each(sds) }),
            WorkerEvent::Drained => Self::Drained(v1::Nothing {}),
        }
    }
}

/// What comes on the event stream: a worker's event, or a line of its standard error.
#[derive(Debug, Clone, PartialEq)]
pub enum Report {
    /// An event.
    Event(WorkerEvent),
    /// A line of standard error.
    Stderr(String),
}

impl TryFrom<v1::worker_message::Event> for Report {
    type Error = WireError;

    fn try_from(event: v1::worker_message::Event) -> Result<Self, WireError> {
        use v1::worker_message::Event;
        Ok(Report::Event(match event {
            Event::Interval(sample) => WorkerEvent::Interval(Box::new(sample.try_into()?)),
            Event::Failure(failure) => WorkerEvent::Failure(failure.try_into()?),
            Event::SequentialDone(_) => WorkerEvent::SequentialDone,
            Event::Log(line) => WorkerEvent::Log(line),
            Event::Warning(text) => WorkerEvent::Warning(text),
            Event::Fatal(text) => WorkerEvent::Fatal(text),
            Event::Outstanding(out) => WorkerEvent::Outstanding { count: out.count, oldest_ns: out.oldest_ns },
            Event::Totals(totals) => WorkerEvent::Totals(each(totals.sds)),
            Event::Drained(_) => WorkerEvent::Drained,
            Event::Stderr(line) => return Ok(Report::Stderr(line)),
        }))
    }
}

impl TryFrom<v1::WorkerMessage> for (u32, Report) {
    type Error = WireError;

    fn try_from(message: v1::WorkerMessage) -> Result<Self, WireError> {
        Ok((message.worker, need(message.event, "WorkerMessage", "event")?.try_into()?))
    }
}

impl From<SdTotals> for v1::SdTotals {
    fn from(t: SdTotals) -> Self {
        let SdTotals { sd, reads, read_bytes, writes, write_bytes } = t;
        Self { sd, reads, read_bytes, writes, write_bytes }
    }
}

impl From<v1::SdTotals> for SdTotals {
    fn from(t: v1::SdTotals) -> Self {
        let v1::SdTotals { sd, reads, read_bytes, writes, write_bytes } = t;
        Self { sd, reads, read_bytes, writes, write_bytes }
    }
}
