//! [`LunQuery`], [`LunFacts`] and what belongs to them.

use brunt_plan::devices::ListedDevice;
use brunt_plan::work::{EngineSupport, LunFacts, LunKind, LunQuery};

use crate::error::WireError;
use crate::v1;

impl From<LunQuery> for v1::LunQuery {
    fn from(query: LunQuery) -> Self {
        Self {
            sd: query.sd,
            name: query.name,
            lun: query.lun,
            will_write: query.will_write,
            allow_in_use: query.allow_in_use,
            overwrite: query.overwrite,
        }
    }
}

impl From<v1::LunQuery> for LunQuery {
    fn from(query: v1::LunQuery) -> Self {
        Self {
            sd: query.sd,
            name: query.name,
            lun: query.lun,
            will_write: query.will_write,
            allow_in_use: query.allow_in_use,
            overwrite: query.overwrite,
        }
    }
}

impl From<LunKind> for v1::LunKind {
    fn from(kind: LunKind) -> Self {
        match kind {
            LunKind::Missing => v1::LunKind::Missing,
            LunKind::File => v1::LunKind::File,
            LunKind::Block => v1::LunKind::Block,
            LunKind::Character => v1::LunKind::Character,
            LunKind::Directory => v1::LunKind::Directory,
            LunKind::Other => v1::LunKind::Other,
        }
    }
}

pub(super) fn kind(message: &'static str, value: i32) -> Result<LunKind, WireError> {
    match v1::LunKind::try_from(value) {
        Ok(v1::LunKind::Missing) => Ok(LunKind::Missing),
        Ok(v1::LunKind::File) => Ok(LunKind::File),
        Ok(v1::LunKind::Block) => Ok(LunKind::Block),
        Ok(v1::LunKind::Character) => Ok(LunKind::Character),
        Ok(v1::LunKind::Directory) => Ok(LunKind::Directory),
        Ok(v1::LunKind::Other) => Ok(LunKind::Other),
        Ok(v1::LunKind::Unspecified) => Err(WireError::Missing { message, field: "kind" }),
        Err(_) => Err(WireError::Unknown { message, field: "kind", value }),
    }
}

impl From<LunFacts> for v1::LunFacts {
    fn from(facts: LunFacts) -> Self {
        Self {
            sd: facts.sd,
            kind: v1::LunKind::from(facts.kind).into(),
            size: facts.size,
            readable: facts.readable,
            writable: facts.writable,
            identity: facts.identity,
            block_size: facts.block_size,
            timeout_s: facts.timeout_s,
            nowait: facts.nowait,
            allocated: facts.allocated,
            tags: facts.tags,
            io_poll: facts.io_poll,
            refusals: facts.refusals,
            warnings: facts.warnings,
            path: facts.path,
            trouble: facts.trouble,
        }
    }
}

impl TryFrom<v1::LunFacts> for LunFacts {
    type Error = WireError;

    fn try_from(facts: v1::LunFacts) -> Result<Self, WireError> {
        Ok(Self {
            sd: facts.sd,
            kind: kind("LunFacts", facts.kind)?,
            size: facts.size,
            readable: facts.readable,
            writable: facts.writable,
            identity: facts.identity,
            block_size: facts.block_size,
            timeout_s: facts.timeout_s,
            nowait: facts.nowait,
            allocated: facts.allocated,
            tags: facts.tags,
            io_poll: facts.io_poll,
            refusals: facts.refusals,
            warnings: facts.warnings,
            path: facts.path,
            trouble: facts.trouble,
        })
    }
}

impl From<EngineSupport> for v1::EngineSupport {
    fn from(engines: EngineSupport) -> Self {
        Self { no_aio: engines.no_aio, no_uring: engines.no_uring }
    }
}

impl From<v1::EngineSupport> for EngineSupport {
    fn from(engines: v1::EngineSupport) -> Self {
        Self { no_aio: engines.no_aio, no_uring: engines.no_uring }
    }
}

impl From<ListedDevice> for v1::ListedDevice {
    fn from(device: ListedDevice) -> Self {
        let ListedDevice { path, size, identity, model, driver, block_size, parts, uses } = device;
        Self { path, size, identity, model, driver, block_size, parts, uses }
    }
}

impl From<v1::ListedDevice> for ListedDevice {
    fn from(device: v1::ListedDevice) -> Self {
        let v1::ListedDevice { path, size, identity, model, driver, block_size, parts, uses } = device;
        Self { path, size, identity, model, driver, block_size, parts, uses }
    }
}
