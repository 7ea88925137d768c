//! What the kernel counts of the block devices of a run, as a witness to what the engine says that it did
//! (`/sys/dev/block/MAJ:MIN/stat`, Documentation/block/stat.rst).
//!
//! The counters are those of the host: of all workers and of everybody else. They are read before the first I/O of a run
//! and when its last worker has drained and closed its luns, so that what the page cache still held has been written.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use brunt_plan::work::{CommandCounts, DeviceCounts, OpenFlag};
use brunt_proto::v1;

use crate::inspect::device::{Device, Number};
use crate::inspect::system::device_number;

/// The counters of one run.
#[derive(Debug, Default)]
pub struct Witness {
    devices: Vec<Watched>,
    /// Workers with work that have not drained.
    at_work: BTreeSet<u32>,
}

/// A device of the run.
#[derive(Debug)]
struct Watched {
    device: Device,
    sds: BTreeSet<u32>,
    direct: bool,
    before: Option<Counters>,
}

/// Reads and writes so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Counters {
    read: CommandCounts,
    write: CommandCounts,
}

impl Witness {
    /// Finds the devices of a new run behind the luns of its shares, by worker. `sys` is `/sys`.
    pub fn of(sys: &Path, slots: &[v1::WorkerSlot]) -> Self {
        let workers = slots.iter().zip(0..).filter_map(|(slot, worker)| Some((worker, slot.share.as_ref()?)));
        let mut found: BTreeMap<Number, Watched> = BTreeMap::new();
        let mut at_work = BTreeSet::new();
        for (worker, share) in workers {
            at_work.insert(worker);
            for target in share.targets.iter().filter(|target| is_real(target)) {
                let Some(number) = device_number(Path::new(&target.lun)) else { continue };
                if let Entry::Vacant(place) = found.entry(number) {
                    let Some(device) = Device::read(number, &sys.join(format!("dev/block/{number}"))) else { continue };
                    place.insert(Watched { device, sds: BTreeSet::new(), direct: true, before: None });
                }
                let Some(watched) = found.get_mut(&number) else { continue };
                watched.sds.insert(target.sd);
                watched.direct &= is_direct(target);
            }
        }
        let mut devices: Vec<Watched> = found.into_values().collect();
        add_partitions(&mut devices);
        Self { devices, at_work }
    }

    /// Reads the counters before the first I/O.
    pub fn start(&mut self) {
        self.devices.iter_mut().for_each(|watched| watched.before = counters(&watched.device));
    }

    /// A worker has drained. After the last: what was counted, unless there is no device.
    pub fn drained(&mut self, worker: u32) -> Option<v1::Devices> {
        if !self.at_work.remove(&worker) || !self.at_work.is_empty() {
            return None;
        }
        let counted = self.devices.iter().filter_map(|watched| Some(watched.counted()?.into()));
        let devices: Vec<v1::DeviceCounts> = counted.collect();
        (!devices.is_empty()).then_some(v1::Devices { devices })
    }
}

/// Whether I/Os to it reach a device.
fn is_real(target: &v1::Target) -> bool {
    let nowhere = [v1::Backend::Sim, v1::Backend::Null];
    target.sim.is_none() && !nowhere.contains(&target.backend())
}

fn is_direct(target: &v1::Target) -> bool {
    target.flags.iter().any(|flag| OpenFlag::try_from(*flag).is_ok_and(OpenFlag::is_direct))
}

/// The kernel counts the I/Os of a partition at its disk too.
fn add_partitions(devices: &mut [Watched]) {
    let partitions: Vec<(String, BTreeSet<u32>, bool)> =
        devices.iter().filter_map(|w| Some((w.device.disk.clone()?, w.sds.clone(), w.direct))).collect();
    for (disk, sds, direct) in partitions {
        for watched in devices.iter_mut().filter(|w| w.device.name == disk) {
            watched.sds.extend(&sds);
            watched.direct &= direct;
        }
    }
}

impl Watched {
    /// `None` when the counters were not read, or the device has gone.
    fn counted(&self) -> Option<DeviceCounts> {
        let (before, after) = (self.before?, counters(&self.device)?);
        let queue = self.device.disk_dir().join("queue");
        let number = |file: &str| fs::read_to_string(queue.join(file)).ok()?.trim().parse::<u32>().ok();
        Some(DeviceCounts {
            name: self.device.title(),
            sds: self.sds.iter().copied().collect(),
            direct: self.direct,
            counting: number("iostats") != Some(0),
            max_sectors_kb: number("max_sectors_kb"),
            max_segments: number("max_segments"),
            read: difference(&after.read, &before.read),
            write: difference(&after.write, &before.write),
        })
    }
}

fn difference(after: &CommandCounts, before: &CommandCounts) -> CommandCounts {
    CommandCounts {
        commands: after.commands.saturating_sub(before.commands),
        merges: after.merges.saturating_sub(before.merges),
        sectors: after.sectors.saturating_sub(before.sectors),
    }
}

fn counters(device: &Device) -> Option<Counters> {
    parse(&fs::read_to_string(stat_file(device)).ok()?)
}

fn stat_file(device: &Device) -> PathBuf {
    device.dir.join("stat")
}

/// Reads commands, merges, sectors and milliseconds of reads, then those of writes; newer kernels go on with others.
fn parse(stat: &str) -> Option<Counters> {
    let mut words = stat.split_ascii_whitespace().map(|word| word.parse::<u64>().ok());
    let mut direction = || {
        let [commands, merges, sectors, _ms] = [words.next()??, words.next()??, words.next()??, words.next()??];
        Some(CommandCounts { commands, merges, sectors })
    };
    Some(Counters { read: direction()?, write: direction()? })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const BEFORE: &str =
        "   10        1    80        5       20        2      160        7        0       12       12\n";

    /// A disk with a partition, each with its counters.
    fn machine() -> (tempfile::TempDir, Vec<Watched>) {
        let root = tempfile::tempdir().unwrap();
        let disk = root.path().join("sda");
        for (file, text) in [
            ("sda/stat", BEFORE),
            ("sda/queue/iostats", "1\n"),
            ("sda/queue/max_sectors_kb", "128\n"),
            ("sda/sda1/partition", "1\n"),
            ("sda/sda1/stat", BEFORE),
        ] {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let watched = |number: &str, dir: &Path, sd, direct| {
            let device = Device::read(Number::parse(number).unwrap(), dir).unwrap();
            Watched { device, sds: BTreeSet::from([sd]), direct, before: None }
        };
        let devices = vec![watched("8:0", &disk, 4, true), watched("8:1", &disk.join("sda1"), 7, false)];
        (root, devices)
    }

    #[test]
    fn stat_is_read_on_old_and_new_kernels() {
        let read = CommandCounts { commands: 10, merges: 1, sectors: 80 };
        let write = CommandCounts { commands: 20, merges: 2, sectors: 160 };
        assert_eq!(parse(BEFORE), Some(Counters { read, write }));
        assert_eq!(parse(&format!("{} 1 2 3 4 5 6", BEFORE.trim())), Some(Counters { read, write }));
        assert_eq!([parse(""), parse("1 2 3 4"), parse("1 2 3 4 5 x 7 8")], [None; 3]);
    }

    #[test]
    fn the_last_worker_to_drain_brings_what_was_counted() {
        let (root, mut devices) = machine();
        add_partitions(&mut devices);
        let mut witness = Witness { devices, at_work: BTreeSet::from([0, 2]) };
        witness.start();
        fs::write(root.path().join("sda/stat"), "30 1 240 9 21 2 168 9 0 0 0").unwrap();
        assert_eq!([witness.drained(0), witness.drained(0), witness.drained(1)], [None, None, None]);
        let counted: Vec<DeviceCounts> =
            witness.drained(2).unwrap().devices.into_iter().map(DeviceCounts::from).collect();
        let disk = DeviceCounts {
            name: "sda".into(),
            sds: vec![4, 7],
            direct: false,
            counting: true,
            max_sectors_kb: Some(128),
            max_segments: None,
            read: CommandCounts { commands: 20, merges: 0, sectors: 160 },
            write: CommandCounts { commands: 1, merges: 0, sectors: 8 },
        };
        let [read, write] = [CommandCounts::default(); 2];
        let partition = DeviceCounts { name: "sda1".into(), sds: vec![7], read, write, ..disk.clone() };
        assert_eq!(counted, [disk, partition]);
        assert_eq!(witness.drained(2), None, "once");
    }

    #[test]
    fn what_was_never_started_or_has_gone_bears_no_witness() {
        let (root, devices) = machine();
        let mut witness = Witness { devices, at_work: BTreeSet::from([0]) };
        assert_eq!(witness.drained(0), None);
        witness.at_work.insert(0);
        witness.start();
        fs::remove_dir_all(root.path().join("sda")).unwrap();
        assert_eq!(witness.drained(0), None);
    }

    #[test]
    fn luns_without_a_device_are_passed_over() {
        let target = |lun: &str| v1::Target { lun: lun.into(), ..v1::Target::default() };
        let share = v1::WorkerShare {
            targets: vec![target("/dev/null"), target("/nowhere"), target("/proc/stat")],
            ..v1::WorkerShare::default()
        };
        let mut witness = Witness::of(
            Path::new("/sys"),
            &[v1::WorkerSlot::default(), v1::WorkerSlot { share: Some(share), placement: None }],
        );
        assert_eq!((witness.devices.len(), witness.at_work.clone()), (0, BTreeSet::from([1])));
        assert_eq!(witness.drained(1), None);
    }

    #[test]
    fn a_null_back_end_touches_no_device_and_flags_tell_the_page_cache() {
        let direct = v1::OpenFlag { flag: Some(v1::open_flag::Flag::Direct(v1::Nothing {})) };
        let mut target = v1::Target { backend: v1::Backend::Uring.into(), ..v1::Target::default() };
        assert!(is_real(&target) && !is_direct(&target));
        target.flags.push(direct);
        assert!(is_direct(&target));
        target.set_backend(v1::Backend::Null);
        assert!(!is_real(&target));
    }
}
