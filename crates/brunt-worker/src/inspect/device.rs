//! A block device as sysfs shows it.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use brunt_plan::identity;
use nix::sys::stat::{major, minor};

use super::line;

/// Major and minor number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Number {
    major: u64,
    minor: u64,
}

impl Number {
    /// That of a device file (`st_rdev`) or of a file system (`st_dev`).
    pub fn of(dev: u64) -> Self {
        Self { major: major(dev), minor: minor(dev) }
    }

    /// Reads `8:16`.
    pub fn parse(text: &str) -> Option<Self> {
        let (major, minor) = text.trim().split_once(':')?;
        Some(Self { major: major.parse().ok()?, minor: minor.parse().ok()? })
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

/// A disk, a partition, or anything else with sectors.
#[derive(Debug, Clone)]
pub struct Device {
    /// Its number.
    pub number: Number,
    /// The kernel's name, `sda1`.
    pub name: String,
    /// Its folder in sysfs.
    pub dir: PathBuf,
    /// The disk of a partition.
    pub disk: Option<String>,
    /// First byte on its disk, for partitions.
    pub start: u64,
    /// Size in bytes.
    pub size: u64,
    /// Kernel's names of the devices on top of it.
    pub holders: Vec<String>,
    /// What it is, the same under each of its names, see [`identity_of`].
    pub identity: Option<String>,
    /// The file or device behind a loop device.
    pub backing: Option<PathBuf>,
}

impl Device {
    /// Reads a folder of `/sys/dev/block`.
    pub fn read(number: Number, link: &Path) -> Option<Self> {
        let dir = fs::canonicalize(link).ok()?;
        let name = dir.file_name()?.to_str()?.to_owned();
        let disk_dir = dir.join("partition").exists().then(|| dir.parent()).flatten();
        Some(Self {
            number,
            disk: disk_dir.and_then(Path::file_name).and_then(|name| name.to_str()).map(str::to_owned),
            start: bytes(&dir.join("start")),
            size: bytes(&dir.join("size")),
            holders: names(&dir.join("holders")),
            identity: identity_of(&dir),
            backing: line(&dir.join("loop/backing_file")).map(PathBuf::from),
            name,
            dir,
        })
    }

    /// Its folder, or that of its disk: where queue and hardware are.
    pub fn disk_dir(&self) -> &Path {
        match (&self.disk, self.dir.parent()) {
            (Some(_), Some(parent)) => parent,
            _ => &self.dir,
        }
    }

    /// Logical block size in bytes.
    pub fn block_size(&self) -> Option<u32> {
        line(&self.disk_dir().join("queue/logical_block_size"))?.parse().ok()
    }

    /// Time after which the kernel gives a command up, seconds: the SCSI device's own, or that of the queue. `None` for
    /// what has no commands of its own.
    pub fn timeout_s(&self) -> Option<u32> {
        let number = |file: &str| line(&self.disk_dir().join(file))?.parse::<u32>().ok();
        number("device/timeout").or_else(|| number("queue/io_timeout").map(|ms| ms.div_ceil(1000)))
    }

    /// I/Os that its queue takes at once. `None` for what has no queue of requests of its own, such as RAID and volumes,
    /// for which the kernel shows a number without a meaning.
    pub fn tags(&self) -> Option<u32> {
        let queue = self.disk_dir().join("queue");
        // Before blk-mq what had requests had a scheduler.
        let scheduler = || line(&queue.join("scheduler")).is_some_and(|names| names != "none");
        (self.disk_dir().join("mq").exists() || scheduler()).then(|| line(&queue.join("nr_requests"))?.parse().ok())?
    }

    /// Whether completions can be polled for: a disk of its own, whose driver has queues for that (`queue/io_poll`). Of
    /// volumes and RAID only some kernels can, and nothing tells.
    pub fn io_poll(&self) -> bool {
        self.parts().is_empty() && line(&self.disk_dir().join("queue/io_poll")).is_some_and(|on| on == "1")
    }

    /// Whether it is made by the device mapper.
    pub fn is_mapped(&self) -> bool {
        self.dir.join("dm").exists()
    }

    /// Its device file. One of the device mapper has a name that lasts longer than its number.
    pub fn file(&self, dev: &Path) -> PathBuf {
        match line(&self.dir.join("dm/name")) {
            Some(name) => dev.join("mapper").join(name),
            None => dev.join(&self.name),
        }
    }

    /// Kernel's names of the devices it is made of.
    pub fn parts(&self) -> Vec<String> {
        names(&self.disk_dir().join("slaves"))
    }

    /// What it is and its names: `LVM volume vg-data (dm-3)`, `sda1`.
    pub fn title(&self) -> String {
        let kind = match line(&self.dir.join("dm/uuid")) {
            Some(uuid) if uuid.starts_with("LVM-") => "LVM volume",
            Some(uuid) if uuid.starts_with("mpath-") => "multipath device",
            Some(uuid) if uuid.starts_with("CRYPT-") => "encrypted device",
            _ if self.is_mapped() => "device-mapper device",
            _ if self.dir.join("md").exists() => "RAID array",
            _ => return self.name.clone(),
        };
        match line(&self.dir.join("dm/name")) {
            Some(name) => format!("{kind} {name} ({})", self.name),
            None => format!("{kind} {}", self.name),
        }
    }
}

/// What a device is, under whatever name and on whatever host ([`brunt_plan::identity`]). A multipath map has the
/// identity of its paths. In the order of the kernel's own `wwid`, which older kernels do not show for NVMe.
fn identity_of(dir: &Path) -> Option<String> {
    if let Some(number) = line(&dir.join("partition")) {
        return identity_of(dir.parent()?).map(|disk| identity::of_partition(&disk, &number));
    }
    if let Some(uuid) = line(&dir.join("dm/uuid")) {
        return Some(identity::of_dm_uuid(&uuid));
    }
    if let Some(wwid) = line(&dir.join("wwid")).or_else(|| line(&dir.join("device/wwid"))) {
        return Some(identity::of_wwid(&wwid));
    }
    let shown = |file: &str, of: fn(&str) -> Option<String>| line(&dir.join(file)).as_deref().and_then(of);
    let namespace = shown("uuid", identity::of_uuid)
        .or_else(|| shown("nguid", identity::of_nguid))
        .or_else(|| shown("eui", identity::of_eui));
    if namespace.is_some() {
        return namespace;
    }
    if let Some(file) = line(&dir.join("loop/backing_file")) {
        let offset = line(&dir.join("loop/offset")).unwrap_or_default();
        return Some(format!("local:loop:{file}@{offset}"));
    }
    // A serial number without a maker (virtio) is no identity: many disks have the same.
    None
}

/// A number of sectors of 512 bytes, whatever the device's own are.
fn bytes(path: &Path) -> u64 {
    line(path).and_then(|sectors| sectors.parse::<u64>().ok()).map_or(0, |sectors| sectors.saturating_mul(512))
}

fn names(dir: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let mut names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort();
    names
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn of(files: &[(&str, &str)]) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        for (file, text) in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        identity_of(folder.path())
    }

    #[test]
    fn identities_hold_on_all_hosts_where_they_can() {
        assert_eq!(of(&[("device/wwid", "naa.60050768\n")]).unwrap(), "wwid:naa.60050768");
        assert_eq!(of(&[("device/wwid", "t10.ATA     Disk   12\n")]).unwrap(), "wwid:t10.ATA Disk 12");
        assert_eq!(of(&[("wwid", "eui.0025\n"), ("nguid", "00\n")]).unwrap(), "wwid:eui.0025");
        assert_eq!(of(&[("nguid", "00000000\n"), ("uuid", "12AB\n")]).unwrap(), "wwid:uuid.12ab");
        let nguid = "0025385b-71b0-a1c2-0025-385b71b0a1c2\n";
        assert_eq!(
            of(&[("nguid", nguid), ("uuid", "0000-00\n")]).unwrap(),
            "wwid:eui.0025385b71b0a1c20025385b71b0a1c2"
        );
        assert_eq!(of(&[("eui", "00 25 38 5b 71 b0 a1 c2\n")]).unwrap(), "wwid:eui.0025385b71b0a1c2");
        assert_eq!(of(&[("dm/uuid", "LVM-aB3\n")]).unwrap(), "dm:LVM-aB3");
        assert_eq!(of(&[("serial", "disk1\n")]), None);
        assert_eq!(of(&[("loop/backing_file", "/a b\n"), ("loop/offset", "0\n")]).unwrap(), "local:loop:/a b@0");
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn a_map_is_its_paths() {
        assert_eq!(of(&[("dm/uuid", "mpath-360050768\n")]), of(&[("device/wwid", "naa.60050768\n")]));
        assert_eq!(of(&[("dm/uuid", "mpath-eui.0025\n")]), of(&[("wwid", "eui.0025\n")]));
        assert_eq!(of(&[("dm/uuid", "part1-mpath-360050768\n")]).unwrap(), "wwid:naa.60050768-part1");
    }

    #[test]
    fn numbers_are_read() {
        assert_eq!(Number::parse("259:12\n").unwrap().to_string(), "259:12");
        assert_eq!(Number::parse("259"), None);
    }
}
