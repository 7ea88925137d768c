//! What the system allows, held against what the shares of a host need: before anything is opened or allocated.
//!
//! Limits of a process hold for each worker alone, the others for all workers of the host together. Soft limits are
//! raised to the hard ones beforehand, see [`raise`]. What cannot be asked limits nothing here: the system then says
//! so itself, when it is too late for a good sentence.

mod read;

pub use read::{raise, read};

use super::needs::Needs;

/// Of threads there are never more (`PID_MAX_LIMIT` of the kernel, proc_sys_kernel(5)); of the rest nobody wants more.
const MOST: u64 = 1 << 22;

/// Of memory that is to be had: beyond this share it is worth a warning.
const TIGHT_PERCENT: u64 = 80;

/// A limit that others use too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Room {
    /// What sets it, `kernel.threads-max`.
    pub of: String,
    /// The limit.
    pub limit: u64,
    /// In use by whatever runs now.
    pub used: u64,
    /// How to raise it; `{}` stands for the number.
    pub cure: String,
}

/// Limits. `None` and empty: nothing limits it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Limits {
    /// Open files of a process.
    pub files: Option<u64>,
    /// Address space of a process.
    pub space: Option<Room>,
    /// Mappings of a process.
    pub mappings: Option<Room>,
    /// Bytes that all processes of the user may keep in memory.
    pub locked: Option<u64>,
    /// Threads: of the user, of the groups of the process, of the system.
    pub threads: Vec<Room>,
    /// Events of Linux AIO of the system.
    pub aio: Option<Room>,
    /// Memory: of the system and of the groups.
    pub memory: Vec<Room>,
}

/// Holds the needs of the workers of a host, by label, against its limits. Gives what is worth a warning.
///
/// # Errors
/// What cannot be, each in a sentence with numbers and cure.
pub fn check(host: &str, workers: &[(&str, Needs)], limits: &Limits) -> Result<Vec<String>, String> {
    let all = workers.iter().fold(Needs::default(), |sum, (_, needs)| sum.and(*needs));
    let mut refused: Vec<String> = workers.iter().filter_map(|(name, n)| of_worker(name, n, limits)).take(1).collect();
    let rooms = limits.threads.iter().map(|room| (room, all.threads, "threads"));
    let rooms = rooms.chain(limits.aio.iter().map(|room| (room, all.aio_events, "events of Linux AIO")));
    let who = format!("host {host}");
    refused.extend(rooms.filter_map(|(room, needed, what)| short(&who, needed, what, room)));
    refused.extend(limits.memory.iter().filter_map(|room| short_of_memory(host, &all, room)).take(1));
    if !refused.is_empty() {
        return Err(refused.join("; "));
    }
    let tight = limits.memory.iter().find_map(|room| tight(host, &all, room));
    Ok(tight.into_iter().chain(unlocked(host, &all, limits)).collect())
}

/// The first limit that a worker's process would break.
fn of_worker(worker: &str, needs: &Needs, limits: &Limits) -> Option<String> {
    if let Some(limit) = limits.files.filter(|limit| needs.files > *limit) {
        let (files, luns) = (needs.files, needs.luns);
        return Some(format!(
            "worker {worker} needs {files} open files, {luns} of them luns, and its hard limit is {limit}; raise it \
             (ulimit -Hn {files}, LimitNOFILE={files} of a service, nofile in limits.conf) or use more hosts or jvms="
        ));
    }
    let space = limits.space.iter().find(|room| needs.space > free(room)).map(|room| {
        format!(
            "worker {worker} needs {} of address space for {} threads, and {} of {} are left ({}); {}",
            bytes(needs.space),
            needs.lanes,
            bytes(free(room)),
            bytes(room.limit),
            room.of,
            cure(room, room.used.saturating_add(needs.space).div_ceil(1024)),
        )
    });
    let who = format!("worker {worker}");
    space.or_else(|| limits.mappings.iter().find_map(|room| short(&who, needs.mappings, "mappings of memory", room)))
}

/// Whether something that is counted is short.
fn short(who: &str, needed: u64, what: &str, room: &Room) -> Option<String> {
    if needed <= free(room) {
        return None;
    }
    let Room { of, limit, used, .. } = room;
    let cure = match used.saturating_add(needed) {
        all if all <= MOST => cure(room, all),
        _ => format!("Linux has never more than {MOST}: use fewer threads="),
    };
    Some(format!("{who} needs {needed} {what}, {used} are in use and {of} is {limit}; {cure}"))
}

fn short_of_memory(host: &str, needs: &Needs, room: &Room) -> Option<String> {
    (needs.memory > free(room)).then(|| {
        format!(
            "host {host} needs {} of memory for {} threads, {} of it for buffers, and {} can be had ({}); {}",
            bytes(needs.memory),
            needs.lanes,
            bytes(needs.buffers),
            bytes(free(room)),
            room.of,
            cure(room, room.used.saturating_add(needs.memory)),
        )
    })
}

fn tight(host: &str, needs: &Needs, room: &Room) -> Option<String> {
    let much = free(room) / 100 * TIGHT_PERCENT;
    (needs.memory > much).then(|| {
        format!(
            "host {host} needs {} of the {} of memory that can be had ({}): what is short may be swapped out, and the \
             page cache is gone",
            bytes(needs.memory),
            bytes(free(room)),
            room.of
        )
    })
}

/// Buffers that the kernel will not keep for io_uring: it is tried, since only the kernel knows what it counts, and then
/// goes without.
fn unlocked(host: &str, needs: &Needs, limits: &Limits) -> Option<String> {
    limits.locked.filter(|limit| needs.locked > *limit).map(|limit| {
        let kib = needs.locked.div_ceil(1024);
        format!(
            "host {host} has {} of buffers for io_uring and may lock {} of memory: without registered buffers an I/O \
             costs more CPU; raise the limit (ulimit -Hl {kib}, LimitMEMLOCK={kib}K of a service, memlock in limits.conf)",
            bytes(needs.locked),
            bytes(limit)
        )
    })
}

fn free(room: &Room) -> u64 {
    room.limit.saturating_sub(room.used)
}

fn cure(room: &Room, number: u64) -> String {
    room.cure.replace("{}", &number.to_string())
}

/// `12.3 GiB`.
fn bytes(count: u64) -> String {
    let unit = |shift: u32| (count as f64) / (1u64 << shift) as f64;
    match count {
        0..1024 => format!("{count} bytes"),
        1024..0x10_0000 => format!("{:.1} KiB", unit(10)),
        0x10_0000..0x4000_0000 => format!("{:.1} MiB", unit(20)),
        _ => format!("{:.1} GiB", unit(30)),
    }
}

#[cfg(test)]
mod tests;
