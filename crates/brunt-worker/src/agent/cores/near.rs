//! Where the hardware behind a lun is: its NUMA node, and the CPUs that take its interrupts.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use nix::sys::stat::{major, minor};

use super::parse;
use crate::inspect::Roots;

/// Devices on devices on devices: more than anybody stacks.
const DEEPEST_STACK: u32 = 8;

/// The hardware behind a lun.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Near {
    /// The kernel's name of the device.
    pub name: String,
    /// Its NUMA nodes; several for a device that is made of several.
    pub nodes: BTreeSet<usize>,
    /// Numbers of its interrupts.
    pub irqs: BTreeSet<u32>,
}

/// What is known of a lun's hardware; nothing of what is no device of this host.
pub fn of_lun(roots: &Roots, lun: &Path) -> Option<Near> {
    let metadata = fs::metadata(lun).ok()?;
    let number = device_of(&metadata)?;
    let dir = fs::canonicalize(roots.sys.join("dev/block").join(number)).ok()?;
    let mut near = Near { name: dir.file_name()?.to_str()?.to_owned(), ..Near::default() };
    follow(roots, &dir, DEEPEST_STACK, &mut near);
    Some(near)
}

/// `major:minor` of a block device, or of the file system of a file.
fn device_of(metadata: &Metadata) -> Option<String> {
    let kind = metadata.file_type();
    let number = if kind.is_block_device() {
        metadata.rdev()
    } else if kind.is_file() {
        metadata.dev()
    } else {
        return None;
    };
    Some(format!("{}:{}", major(number), minor(number)))
}

/// Goes down to the devices that a device is made of, and from each up to the first parents that know a node and
/// interrupts.
fn follow(roots: &Roots, dir: &Path, depth: u32, near: &mut Near) {
    let disk = if dir.join("partition").exists() { dir.parent().unwrap_or(dir) } else { dir };
    let parts = if depth > 0 { parts(disk) } else { Vec::new() };
    if !parts.is_empty() {
        parts.iter().for_each(|part| follow(roots, part, depth - 1, near));
        return;
    }
    let parents = || disk.ancestors().take_while(|parent| parent.starts_with(&roots.sys) && *parent != roots.sys);
    let number = |parent: &Path| fs::read_to_string(parent.join("numa_node")).ok()?.trim().parse::<usize>().ok();
    // -1 is "none", which is no number.
    near.nodes.extend(parents().find_map(number));
    let irqs = parents().find_map(irqs).unwrap_or_else(|| by_name(roots, parents().filter_map(Path::file_name)));
    near.irqs.extend(irqs);
}

/// What a device is made of. An NVMe namespace with native multipath hangs below a subsystem; its controllers are the
/// paths.
fn parts(disk: &Path) -> Vec<PathBuf> {
    let folder = |dir: &Path, wanted: fn(&str) -> bool| -> Vec<PathBuf> {
        let entries = fs::read_dir(dir).into_iter().flatten().flatten();
        let entries = entries.filter(|entry| entry.file_name().to_str().is_some_and(wanted));
        entries.filter_map(|entry| fs::canonicalize(entry.path()).ok()).collect()
    };
    let controller = |name: &str| {
        let number = name.strip_prefix("nvme").unwrap_or_default();
        !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
    };
    match disk.parent() {
        Some(subsystem) if subsystem.file_name().is_some_and(|n| n.to_string_lossy().starts_with("nvme-subsys")) => {
            folder(subsystem, controller)
        }
        _ => folder(&disk.join("slaves"), |_| true),
    }
}

/// The interrupts of a PCI function: its MSI vectors, or its one line.
fn irqs(parent: &Path) -> Option<BTreeSet<u32>> {
    if let Ok(entries) = fs::read_dir(parent.join("msi_irqs")) {
        return Some(entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect());
    }
    let line: u32 = fs::read_to_string(parent.join("irq")).ok()?.trim().parse().ok()?;
    (line > 0).then(|| BTreeSet::from([line]))
}

/// The interrupts that `/proc/interrupts` shows under one of these names: `virtio1`, `virtio1-req.0`.
fn by_name<'a>(roots: &Roots, names: impl Iterator<Item = &'a std::ffi::OsStr>) -> BTreeSet<u32> {
    let names: Vec<&str> = names.filter_map(std::ffi::OsStr::to_str).filter(|n| *n != "devices").collect();
    let text = fs::read_to_string(roots.proc.join("interrupts")).unwrap_or_default();
    let ours = |action: &str| {
        let rest = |name: &&str| action.strip_prefix(*name).map(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()));
        names.iter().any(|name| rest(name) == Some(true))
    };
    let row = |line: &str| {
        let (irq, rest) = line.split_once(':')?;
        let actions = rest.split_whitespace().map(|word| word.trim_end_matches(','));
        // Behind the counts and the name of the chip; a shared line has several actions.
        actions.skip_while(|word| word.parse::<u64>().is_ok()).any(ours).then(|| irq.trim().parse().ok())?
    };
    text.lines().filter_map(row).collect()
}

/// How many interrupts of these go to each CPU. One that may go to all of `cpus` says nothing.
pub fn busy<'a>(
    roots: &Roots,
    irqs: impl Iterator<Item = &'a u32>,
    cpus: &[usize],
    known: &mut BTreeMap<u32, Vec<usize>>,
) -> BTreeMap<usize, usize> {
    let mut count = BTreeMap::new();
    for irq in irqs {
        let to = known.entry(*irq).or_insert_with(|| goes_to(&roots.proc.join(format!("irq/{irq}"))));
        if cpus.iter().all(|cpu| to.contains(cpu)) {
            continue;
        }
        to.iter().for_each(|cpu| *count.entry(*cpu).or_insert(0) += 1);
    }
    count
}

/// Where an interrupt is delivered; on old kernels, where it may be.
fn goes_to(dir: &Path) -> Vec<usize> {
    let list = |name: &str| parse(&fs::read_to_string(dir.join(name)).ok()?);
    list("effective_affinity_list").or_else(|| list("smp_affinity_list")).unwrap_or_default()
}
