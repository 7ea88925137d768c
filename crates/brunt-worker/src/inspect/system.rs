//! Everything on this host that can hold a device: read once, then asked for each lun.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use brunt_plan::identity;

use super::Roots;
use super::device::{Device, Number};

/// A mounted file system.
#[derive(Debug, Clone)]
pub struct Mount {
    /// Device number of the file system; not that of a disk for btrfs and network file systems.
    pub number: Number,
    /// The device that was mounted, when it is one.
    pub source: Option<Number>,
    /// Where.
    pub target: String,
}

/// Something that pages are swapped to.
#[derive(Debug, Clone)]
pub struct Swap {
    /// A device.
    pub device: Option<Number>,
    /// A file: device number of its file system, and inode.
    pub file: Option<(u64, u64)>,
}

/// Devices on devices on devices: more than anybody stacks.
const DEEPEST_STACK: u32 = 8;

/// The devices of this host and their uses.
#[derive(Debug, Clone, Default)]
pub struct System {
    /// All block devices.
    pub devices: BTreeMap<Number, Device>,
    /// All mounts that this process sees.
    pub mounts: Vec<Mount>,
    /// All swap areas.
    pub swaps: Vec<Swap>,
    /// Names of devices that belong to a mounted btrfs, with the name of the file system.
    pub btrfs: BTreeMap<String, String>,
    /// Identities that udev knows (`/dev/disk/by-id`), with the kernel's name of the device.
    pub by_id: BTreeMap<String, String>,
    /// Where device files are.
    pub dev: PathBuf,
}

impl System {
    /// Reads it. What is not there counts as empty: containers hide much.
    pub fn read(roots: &Roots) -> Self {
        let read = |path: &str| fs::read_to_string(roots.proc.join(path)).unwrap_or_default();
        Self {
            devices: devices(&roots.sys.join("dev/block")),
            mounts: read("self/mountinfo").lines().filter_map(mount).collect(),
            swaps: read("swaps").lines().skip(1).filter_map(swap).collect(),
            btrfs: btrfs(&roots.sys.join("fs/btrfs")),
            by_id: by_id(&roots.dev.join("disk/by-id")),
            dev: roots.dev.clone(),
        }
    }

    /// A device by the kernel's name.
    pub fn named(&self, name: &str) -> Option<&Device> {
        self.devices.values().find(|device| device.name == name)
    }

    /// The longest command timeout of a device and of those it is made of (multipath, RAID, volumes), seconds.
    pub fn timeout_s(&self, number: Number) -> Option<u32> {
        self.devices.get(&number).and_then(|device| self.timeout_within(device, DEEPEST_STACK))
    }

    fn timeout_within(&self, device: &Device, depth: u32) -> Option<u32> {
        let parts = if depth == 0 { Vec::new() } else { device.parts() };
        let parts = parts.iter().filter_map(|name| self.named(name));
        parts.filter_map(|part| self.timeout_within(part, depth - 1)).chain(device.timeout_s()).max()
    }

    /// The I/Os that a device takes at once, or those it is made of together.
    pub fn tags(&self, number: Number) -> Option<u32> {
        self.devices.get(&number).and_then(|device| self.tags_within(device, DEEPEST_STACK))
    }

    fn tags_within(&self, device: &Device, depth: u32) -> Option<u32> {
        if let Some(tags) = device.tags() {
            return Some(tags);
        }
        let parts = if depth == 0 { Vec::new() } else { device.parts() };
        // One part that does not tell, and nothing is known.
        let tags = parts.iter().map(|name| self.tags_within(self.named(name)?, depth - 1));
        let tags: Vec<u32> = tags.collect::<Option<_>>()?;
        tags.into_iter().reduce(u32::saturating_add)
    }

    /// The partitions of a disk.
    pub fn partitions<'a>(&'a self, disk: &'a Device) -> impl Iterator<Item = &'a Device> {
        self.devices.values().filter(|device| device.disk.as_deref() == Some(&disk.name))
    }

    /// Loop devices over a device or file, `wanted` judging the metadata of what is behind each.
    pub fn loops_over(&self, wanted: impl Fn(&Metadata) -> bool) -> impl Iterator<Item = &Device> {
        self.devices.values().filter(move |device| {
            let behind = device.backing.as_deref().and_then(|path| fs::metadata(path).ok());
            behind.is_some_and(|metadata| wanted(&metadata))
        })
    }
}

/// The number of the block device that a path leads to.
pub fn device_number(path: &Path) -> Option<Number> {
    let metadata = fs::metadata(path).ok()?;
    metadata.file_type().is_block_device().then(|| Number::of(metadata.rdev()))
}

fn devices(dir: &Path) -> BTreeMap<Number, Device> {
    let Ok(entries) = fs::read_dir(dir) else { return BTreeMap::new() };
    let device = |entry: fs::DirEntry| {
        let number = Number::parse(entry.file_name().to_str()?)?;
        Some((number, Device::read(number, &entry.path())?))
    };
    entries.filter_map(|entry| device(entry.ok()?)).collect()
}

/// Reads the links of udev. Kernels before 3.15 show no `wwid`, and some drivers none to this day.
fn by_id(dir: &Path) -> BTreeMap<String, String> {
    let Ok(entries) = fs::read_dir(dir) else { return BTreeMap::new() };
    let link = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        let wanted = match name.split_once('-')? {
            ("wwn", number) => format!("wwn:{number}"),
            ("nvme", id) if id.starts_with("eui.") || id.starts_with("uuid.") => format!("wwid:{id}"),
            _ => return None,
        };
        let device = fs::read_link(entry.path()).ok()?;
        Some((identity::wanted(&wanted)?.ok()?, device.file_name()?.to_str()?.to_owned()))
    };
    entries.filter_map(|entry| link(entry.ok()?)).collect()
}

/// Reads `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw` (proc_pid_mountinfo(5)).
fn mount(line: &str) -> Option<Mount> {
    let (left, right) = line.split_once(" - ")?;
    let mut left = left.split(' ');
    let number = Number::parse(left.nth(2)?)?;
    let target = unescape(left.nth(1)?);
    let source = PathBuf::from(unescape(right.split(' ').nth(1)?));
    Some(Mount { number, source: source.is_absolute().then(|| device_number(&source)).flatten(), target })
}

/// Reads `/dev/sda2 partition 2097148 0 -2`.
fn swap(line: &str) -> Option<Swap> {
    let path = PathBuf::from(unescape(line.split_whitespace().next()?));
    let metadata = fs::metadata(&path).ok();
    let file = metadata.filter(|metadata| metadata.is_file()).map(|metadata| (metadata.dev(), metadata.ino()));
    Some(Swap { device: device_number(&path), file })
}

/// Blanks come as `\040`.
fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        match escape.get(1..4).and_then(|octal| u8::from_str_radix(octal, 8).ok()) {
            Some(byte) => {
                out.push(char::from(byte));
                rest = escape.get(4..).unwrap_or_default();
            }
            None => {
                out.push('\\');
                rest = escape.get(1..).unwrap_or_default();
            }
        }
    }
    out + rest
}

/// Devices of `/sys/fs/btrfs/UUID/devices`, whose numbers mountinfo does not show.
fn btrfs(dir: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let Ok(systems) = fs::read_dir(dir) else { return found };
    for system in systems.flatten() {
        let Ok(devices) = fs::read_dir(system.path().join("devices")) else { continue };
        for device in devices.flatten() {
            let names = (device.file_name().into_string(), system.file_name().into_string());
            if let (Ok(device), Ok(system)) = names {
                found.insert(device, system);
            }
        }
    }
    found
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A block device in a made-up sysfs.
    fn disk(sys: &Path, name: &str, number: &str, files: &[(&str, &str)]) {
        let dir = sys.join("devices").join(name);
        for (file, text) in files {
            let path = dir.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let links = sys.join("dev/block");
        fs::create_dir_all(&links).unwrap();
        std::os::unix::fs::symlink(&dir, links.join(number)).unwrap();
    }

    #[test]
    fn the_timeout_of_a_map_is_the_longest_of_its_paths() {
        let root = tempfile::tempdir().unwrap();
        let (proc, sys) = (root.path().join("proc"), root.path().join("sys"));
        let disk = |name: &str, number: &str, files: &[(&str, &str)]| disk(&sys, name, number, files);
        disk("sda", "8:0", &[("device/timeout", "30\n"), ("sda1/partition", "1\n")]);
        disk("sda/sda1", "8:1", &[]);
        disk("sdb", "8:16", &[("device/timeout", "90\n"), ("queue/io_timeout", "30000\n")]);
        disk("nvme0n1", "259:0", &[("queue/io_timeout", "30500\n")]);
        disk("dm-0", "253:0", &[("dm/name", "mpatha\n"), ("slaves/sda/x", ""), ("slaves/sdb/x", "")]);
        disk("dm-1", "253:1", &[("dm/name", "vg-data\n"), ("slaves/dm-0/x", "")]);
        disk("loop0", "7:0", &[("loop/backing_file", "/x\n")]);
        let system = System::read(&Roots { proc, sys, dev: root.path().join("dev") });
        let timeout = |number| system.timeout_s(Number::parse(number).unwrap());
        assert_eq!([timeout("8:0"), timeout("8:1"), timeout("8:16")], [Some(30), Some(30), Some(90)]);
        assert_eq!([timeout("259:0"), timeout("253:0"), timeout("253:1")], [Some(31), Some(90), Some(90)]);
        assert_eq!([timeout("7:0"), timeout("9:9")], [None, None]);
    }

    #[test]
    fn the_tags_of_a_volume_are_those_of_its_disks_together() {
        let root = tempfile::tempdir().unwrap();
        let sys = root.path().join("sys");
        let disk = |name: &str, number: &str, files: &[(&str, &str)]| disk(&sys, name, number, files);
        let none = ("queue/scheduler", "none\n");
        disk("sda", "8:0", &[("mq/0/x", ""), ("queue/nr_requests", "64\n"), none, ("sda1/partition", "1\n")]);
        disk("sda/sda1", "8:1", &[]);
        disk("sdb", "8:16", &[("queue/nr_requests", "128\n"), ("queue/scheduler", "noop [deadline] cfq\n")]);
        disk("dm-0", "253:0", &[("queue/nr_requests", "999\n"), none, ("slaves/sda1/x", ""), ("slaves/sdb/x", "")]);
        disk("zram0", "254:0", &[("queue/nr_requests", "128\n"), none]);
        disk("dm-1", "253:1", &[("slaves/zram0/x", ""), ("slaves/sdb/x", "")]);
        let system = System::read(&Roots { proc: root.path().join("proc"), sys, dev: root.path().join("dev") });
        let tags = |number| system.tags(Number::parse(number).unwrap());
        assert_eq!([tags("8:0"), tags("8:1"), tags("8:16"), tags("253:0")], [Some(64), Some(64), Some(128), Some(192)]);
        assert_eq!([tags("254:0"), tags("253:1"), tags("9:9")], [None; 3]);
    }

    #[test]
    fn only_disks_are_polled_and_only_where_that_is_on() {
        let root = tempfile::tempdir().unwrap();
        let sys = root.path().join("sys");
        let disk = |name: &str, number: &str, files: &[(&str, &str)]| disk(&sys, name, number, files);
        disk("nvme0n1", "259:0", &[("queue/io_poll", "1\n"), ("nvme0n1p1/partition", "1\n")]);
        disk("nvme0n1/nvme0n1p1", "259:1", &[]);
        disk("nvme1n1", "259:2", &[("queue/io_poll", "0\n")]);
        disk("dm-0", "253:0", &[("queue/io_poll", "1\n"), ("slaves/nvme0n1/x", "")]);
        disk("loop0", "7:0", &[("loop/backing_file", "/x\n")]);
        let system = System::read(&Roots { proc: root.path().join("proc"), sys, dev: root.path().join("dev") });
        let polled = |number| system.devices.get(&Number::parse(number).unwrap()).unwrap().io_poll();
        assert_eq!(["259:0", "259:1", "259:2", "253:0", "7:0"].map(polled), [true, true, false, false, false]);
    }

    #[test]
    fn mounts_are_read() {
        let mount = mount("36 35 98:0 /sub /mnt/a\\040b rw,noatime master:1 - ext3 /dev/nowhere rw").unwrap();
        assert_eq!((mount.number.to_string().as_str(), mount.target.as_str()), ("98:0", "/mnt/a b"));
        assert_eq!(mount.source, None);
        assert!(super::mount("garbage").is_none());
    }

    #[test]
    fn escapes_are_undone() {
        assert_eq!(unescape("a\\040b\\134c"), "a b\\c");
        assert_eq!(unescape("a\\x\\"), "a\\x\\");
    }
}
