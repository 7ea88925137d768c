//! [`WorkerEvent`] and what else comes on the event stream.

use brunt_plan::work::{CommandCounts, DeviceCounts, IoErrorKind, IoFailure, SdTotals, WorkerEvent};

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
            WorkerEvent::Outstanding { count, oldest_ns, lun } => {
                Self::Outstanding(v1::Outstanding { count, oldest_ns, lun })
            }
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
    /// What the host's kernel counted of the devices of a run. Comes right before the last worker has drained.
    Devices(Vec<DeviceCounts>),
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
            Event::Outstanding(out) => {
                WorkerEvent::Outstanding { count: out.count, oldest_ns: out.oldest_ns, lun: out.lun }
            }
            Event::Totals(totals) => WorkerEvent::Totals(each(totals.sds)),
            Event::Drained(_) => WorkerEvent::Drained,
            Event::Stderr(line) => return Ok(Report::Stderr(line)),
            Event::Devices(devices) => return Ok(Report::Devices(each(devices.devices))),
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

impl From<DeviceCounts> for v1::DeviceCounts {
    fn from(d: DeviceCounts) -> Self {
        Self {
            name: d.name,
            sds: d.sds,
            direct: d.direct,
            counting: d.counting,
            max_sectors_kb: d.max_sectors_kb,
            max_segments: d.max_segments,
            read: Some(d.read.into()),
            write: Some(d.write.into()),
        }
    }
}

impl From<v1::DeviceCounts> for DeviceCounts {
    fn from(d: v1::DeviceCounts) -> Self {
        Self {
            name: d.name,
            sds: d.sds,
            direct: d.direct,
            counting: d.counting,
            max_sectors_kb: d.max_sectors_kb,
            max_segments: d.max_segments,
            // A message of zeros need not be sent.
            read: d.read.unwrap_or_default().into(),
            write: d.write.unwrap_or_default().into(),
        }
    }
}

impl From<CommandCounts> for v1::CommandCounts {
    fn from(c: CommandCounts) -> Self {
        let CommandCounts { commands, merges, sectors } = c;
        Self { commands, merges, sectors }
    }
}

impl From<v1::CommandCounts> for CommandCounts {
    fn from(c: v1::CommandCounts) -> Self {
        let v1::CommandCounts { commands, merges, sectors } = c;
        Self { commands, merges, sectors }
    }
}
