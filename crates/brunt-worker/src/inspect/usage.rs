//! Who uses a lun: the in-use rules of `docs/vdbench/decisions.md`, execution.
//!
//! A device is asked about under all its names, with its partitions and its disk: writing to a disk writes to
//! its partitions, and writing to one path writes to the lun behind all.

use std::fs::{Metadata, OpenOptions};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::OFlag;

use super::device::{Device, Number};
use super::system::System;

/// Attempts to open exclusively: another agent may be trying at the same moment.
const ATTEMPTS: u32 = 6;
const PAUSE: Duration = Duration::from_millis(50);

/// Why a device is in use, a phrase each: `its partition sda1 is mounted on /boot`.
pub fn of_device(system: &System, number: Number, path: &Path) -> Vec<String> {
    let Some(target) = system.devices.get(&number) else { return exclusive(path).into_iter().collect() };
    let mut uses = Vec::new();
    for (relation, device) in relatives(system, target) {
        for purpose in direct(system, device, target) {
            let subject = if device.number == target.number { "it".to_owned() } else { relation.clone() };
            uses.push(format!("{subject} {purpose}"));
        }
    }
    uses.dedup();
    // Whoever holds it without a trace in sysfs: ZFS, a process, another mount namespace.
    if uses.is_empty() {
        uses.extend(exclusive(path));
    }
    uses
}

/// Why a regular file is in use.
pub fn of_file(system: &System, file: &Metadata) -> Vec<String> {
    let identity = (file.dev(), file.ino());
    let mut uses = Vec::new();
    if system.swaps.iter().any(|swap| swap.file == Some(identity)) {
        uses.push("it is an active swap file".to_owned());
    }
    let loops = system.loops_over(|behind| behind.is_file() && (behind.dev(), behind.ino()) == identity);
    uses.extend(loops.map(|device| format!("it is the backing file of /dev/{}", device.name)));
    uses
}

/// The device itself, and what is written along with it, each with its relation to the device.
fn relatives<'a>(system: &'a System, target: &'a Device) -> Vec<(String, &'a Device)> {
    let mut found = Vec::new();
    let same = |device: &&Device| device.identity.is_some() && device.identity == target.identity;
    let others = system.devices.values().filter(same).filter(|device| device.number != target.number);
    let behind = target.backing.as_deref().and_then(super::system::device_number);
    let behind = behind.and_then(|number| system.devices.get(&number));
    let names = std::iter::once((String::new(), target))
        .chain(others.map(|device| ("its other name ".to_owned(), device)))
        .chain(behind.map(|device| ("its backing device ".to_owned(), device)));
    for (relation, device) in names {
        found.push((format!("{relation}{}", device.title()), device));
        for partition in system.partitions(device) {
            found.push((format!("its partition {}", partition.name), partition));
        }
        if let Some(disk) = device.disk.as_deref().and_then(|disk| system.named(disk)) {
            found.push((format!("its disk {}", disk.name), disk));
        }
    }
    found
}

/// What one device is used for. That `target` sits on it is no use by somebody else.
fn direct(system: &System, device: &Device, target: &Device) -> Vec<String> {
    let mut purposes = Vec::new();
    let here = |mount: &&super::system::Mount| mount.number == device.number || mount.source == Some(device.number);
    // A device can be mounted many times; one is enough to know.
    purposes.extend(system.mounts.iter().find(here).map(|mount| format!("is mounted on {}", mount.target)));
    if let Some(uuid) = system.btrfs.get(&device.name).filter(|_| purposes.is_empty()) {
        purposes.push(format!("is part of the mounted btrfs {uuid}"));
    }
    if system.swaps.iter().any(|swap| swap.device == Some(device.number)) {
        purposes.push("is an active swap area".to_owned());
    }
    for holder in device.holders.iter().filter(|holder| **holder != target.name) {
        let title = system.named(holder).map_or_else(|| holder.clone(), Device::title);
        purposes.push(format!("is held by {title}"));
    }
    let number = device.number;
    let over = system.loops_over(move |behind| is_device(behind, number));
    purposes.extend(
        over.filter(|found| found.number != target.number).map(|found| format!("is behind /dev/{}", found.name)),
    );
    purposes
}

fn is_device(metadata: &Metadata, number: Number) -> bool {
    metadata.file_type().is_block_device() && Number::of(metadata.rdev()) == number
}

/// Tries to be the only user. Opening for reading changes nothing, and lets go at once.
fn exclusive(path: &Path) -> Option<String> {
    let flags = OFlag::O_EXCL | OFlag::O_NONBLOCK;
    for attempt in 0..ATTEMPTS {
        if attempt > 0 {
            sleep(PAUSE);
        }
        match OpenOptions::new().read(true).custom_flags(flags.bits()).open(path) {
            Err(error) if error.raw_os_error() == Some(Errno::EBUSY as i32) => {}
            _ => return None,
        }
    }
    Some("something holds it exclusively (a mount of another namespace, ZFS, or a program)".to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::Roots;
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    /// A made-up host.
    struct Host {
        folder: tempfile::TempDir,
    }

    impl Host {
        fn new() -> Self {
            let host = Self { folder: tempfile::tempdir().unwrap() };
            host.write("sys/dev/block/.keep", "");
            host.write("proc/swaps", "Filename Type Size Used Priority\n");
            host.write("proc/self/mountinfo", "");
            host
        }

        fn path(&self, path: &str) -> PathBuf {
            self.folder.path().join(path)
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        /// A device in `sys/devices`; `name` is a path for partitions (`sda/sda1`).
        fn device(&self, number: &str, name: &str, files: &[(&str, &str)]) -> &Self {
            self.write(&format!("sys/devices/{name}/size"), "2048\n");
            for (file, text) in files {
                self.write(&format!("sys/devices/{name}/{file}"), text);
            }
            symlink(format!("../../devices/{name}"), self.path(&format!("sys/dev/block/{number}"))).unwrap();
            self
        }

        fn mounted(&self, number: &str, target: &str) -> &Self {
            self.write("proc/self/mountinfo", &format!("30 1 {number} / {target} rw - ext4 none rw\n"));
            self
        }

        fn uses(&self, number: &str) -> Vec<String> {
            let roots = Roots { proc: self.path("proc"), sys: self.path("sys"), dev: self.path("dev") };
            of_device(&System::read(&roots), Number::parse(number).unwrap(), &self.path("no-device"))
        }
    }

    fn disk() -> Host {
        let host = Host::new();
        host.device("8:0", "sda", &[("device/wwid", "naa.6001\n"), ("queue/logical_block_size", "512\n")]);
        host.device("8:1", "sda/sda1", &[("partition", "1\n"), ("start", "2048\n")]);
        host.device("8:2", "sda/sda2", &[("partition", "2\n"), ("start", "4096\n")]);
        host
    }

    #[test]
    fn an_idle_disk_is_free() {
        assert_eq!(disk().uses("8:0"), [""; 0]);
        assert_eq!(disk().uses("9:9"), [""; 0], "unknown to sysfs");
    }

    #[test]
    fn mounts_count_upwards_and_downwards() {
        let host = disk();
        host.mounted("8:1", "/boot");
        assert_eq!(host.uses("8:1"), ["it is mounted on /boot"]);
        assert_eq!(host.uses("8:0"), ["its partition sda1 is mounted on /boot"]);
        assert_eq!(host.uses("8:2"), [""; 0], "a neighbour is no reason");
        host.mounted("8:0", "/data");
        assert_eq!(host.uses("8:2"), ["its disk sda is mounted on /data"]);
    }

    #[test]
    fn holders_are_named() {
        let host = disk();
        host.device("253:0", "dm-0", &[("dm/uuid", "LVM-abc\n"), ("dm/name", "vg-data\n")]);
        host.write("sys/devices/sda/sda2/holders/dm-0", "");
        assert_eq!(host.uses("8:2"), ["it is held by LVM volume vg-data (dm-0)"]);
        assert_eq!(host.uses("8:0"), ["its partition sda2 is held by LVM volume vg-data (dm-0)"]);
        assert_eq!(host.uses("8:1"), [""; 0]);
        assert_eq!(host.uses("253:0"), [""; 0], "the volume itself may be written");
    }

    #[test]
    fn arrays_hold_their_members() {
        let host = disk();
        host.device("9:0", "md0", &[("md/level", "raid1\n")]);
        host.write("sys/devices/sda/holders/md0", "");
        assert_eq!(host.uses("8:0"), ["it is held by RAID array md0"]);
        assert_eq!(host.uses("8:1"), ["its disk sda is held by RAID array md0"]);
    }

    #[test]
    fn all_paths_are_one_lun() {
        let host = disk();
        host.device("8:16", "sdb", &[("device/wwid", "naa.6001\n")]);
        host.device("8:17", "sdb/sdb1", &[("partition", "1\n"), ("start", "2048\n")]);
        host.mounted("8:17", "/mnt");
        assert_eq!(host.uses("8:0"), ["its partition sdb1 is mounted on /mnt"]);
        assert_eq!(host.uses("8:1"), ["its other name sdb1 is mounted on /mnt"]);
    }

    #[test]
    fn a_multipath_map_may_be_written_but_its_paths_may_not() {
        let host = disk();
        host.device("253:1", "dm-1", &[("dm/uuid", "mpath-36001\n"), ("dm/name", "mpatha\n")]);
        host.write("sys/devices/sda/holders/dm-1", "");
        assert_eq!(host.uses("253:1"), [""; 0]);
        assert_eq!(host.uses("8:0"), ["it is held by multipath device mpatha (dm-1)"]);
        host.mounted("253:1", "/san");
        assert_eq!(host.uses("253:1"), ["it is mounted on /san"]);
    }

    #[test]
    fn btrfs_members_are_known() {
        let host = disk();
        host.write("sys/fs/btrfs/5d1f/devices/sda1", "");
        assert_eq!(host.uses("8:0"), ["its partition sda1 is part of the mounted btrfs 5d1f"]);
    }

    #[test]
    fn swap_files_and_backing_files_are_in_use() {
        let host = Host::new();
        host.write("file", "");
        let file = host.path("file");
        host.write("proc/swaps", &format!("Filename Type Size Used Priority\n{} file 4 0 -2\n", file.display()));
        host.device("7:3", "loop3", &[("loop/backing_file", &format!("{}\n", file.display()))]);
        let roots = Roots { proc: host.path("proc"), sys: host.path("sys"), dev: host.path("dev") };
        let system = System::read(&roots);
        let uses = of_file(&system, &fs::metadata(&file).unwrap());
        assert_eq!(uses, ["it is an active swap file", "it is the backing file of /dev/loop3"]);
        host.write("other", "");
        assert_eq!(of_file(&system, &fs::metadata(host.path("other")).unwrap()), [""; 0]);
    }
}
