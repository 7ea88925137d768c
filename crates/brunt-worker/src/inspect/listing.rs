//! The disks of this host, for `brunt luns`.

use std::sync::Arc;

use brunt_plan::devices::ListedDevice;
use brunt_plan::identity;

use super::device::Device;
use super::system::System;
use super::{LUN_LIMIT, Roots, inventory, named, patience, usage};

/// Lists whole disks, volumes and multipath devices; not their partitions, nor the paths behind a multipath device.
/// Nothing is written. A device that does not answer is listed as in use.
pub fn devices(roots: &Roots) -> Vec<ListedDevice> {
    let system = Arc::new(System::read(roots));
    let listed: Vec<Device> = system.devices.values().filter(|device| is_listed(&system, device)).cloned().collect();
    let works = listed.iter().cloned().map(|device| {
        let system = Arc::clone(&system);
        move || usage::of_device(&system, device.number, &device.file(&system.dev))
    });
    let uses = patience::in_time(LUN_LIMIT, works);
    let silent = || vec!["it does not answer".to_owned()];
    listed.iter().zip(uses).map(|(device, uses)| row(&system, device, uses.unwrap_or_else(silent))).collect()
}

/// Disks that somebody could mean: with a size, and with a file of their own behind them if they are loop devices.
fn is_listed(system: &System, device: &Device) -> bool {
    let memory = ["ram", "zram", "sr", "fd"].iter().any(|kind| {
        device.name.strip_prefix(kind).is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
    });
    let is_path = |holder: &String| {
        system.named(holder).is_some_and(|map| map.identity.is_some() && map.identity == device.identity)
    };
    device.size > 0 && device.disk.is_none() && !memory && !device.holders.iter().any(is_path)
}

fn row(system: &System, device: &Device, uses: Vec<String>) -> ListedDevice {
    // A map has neither model nor driver of its own.
    let part = device.parts().first().and_then(|part| system.named(part)).filter(|_| device.is_mapped());
    let hardware = part.unwrap_or(device);
    ListedDevice {
        path: device.file(&system.dev).display().to_string(),
        size: device.size,
        identity: named::identity_of(system, device).filter(|id| identity::is_global(id)),
        model: inventory::model(hardware),
        driver: inventory::driver(hardware),
        block_size: device.block_size(),
        parts: device.parts(),
        uses,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn disks_and_maps_are_listed_without_paths_and_partitions() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        let device = |number: &str, name: &str, files: &[(&str, &str)]| {
            for (file, text) in files.iter().chain([&("queue/logical_block_size", "512\n")]) {
                let path = at(&format!("sys/devices/{name}/{file}"));
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            fs::create_dir_all(at("sys/dev/block")).unwrap();
            symlink(at(&format!("sys/devices/{name}")), at(&format!("sys/dev/block/{number}"))).unwrap();
        };
        let model = [("device/vendor", "IBM\n"), ("device/model", "2145\n")];
        let size = ("size", "2048\n");
        let path = [("device/wwid", "naa.60050768\n"), ("holders/dm-0", ""), size];
        device("8:0", "sda", &[size, ("device/model", "Disk\n")]);
        device("8:1", "sda/sda1", &[size, ("partition", "1\n")]);
        device("8:16", "sdb", &[&path[..], &model].concat());
        device("8:32", "sdc", &[&path[..], &model].concat());
        let map = [("dm/uuid", "mpath-360050768\n"), ("dm/name", "mpatha\n"), ("slaves/sdb", ""), ("slaves/sdc", "")];
        device("253:0", "dm-0", &[&map[..], &[size]].concat());
        device("1:0", "ram0", &[size]);
        device("7:0", "loop0", &[("size", "0\n")]);
        fs::create_dir_all(at("proc/self")).unwrap();
        fs::write(at("proc/self/mountinfo"), "30 1 8:1 / /boot rw - ext4 none rw\n").unwrap();
        let listed = devices(&Roots { proc: at("proc"), sys: at("sys"), dev: at("dev") });
        let told: Vec<_> = listed
            .iter()
            .map(|d| {
                (d.path.rsplit('/').next().unwrap(), d.size, d.identity.as_deref(), d.model.as_deref(), d.uses.len())
            })
            .collect();
        let expected = [
            ("sda", 1 << 20, None, Some("Disk"), 1),
            ("mpatha", 1 << 20, Some("wwid:naa.60050768"), Some("IBM 2145"), 0),
        ];
        assert_eq!(told, expected);
        assert_eq!(listed[0].uses, ["its partition sda1 is mounted on /boot"]);
        assert_eq!(listed[1].parts, ["sdb", "sdc"]);
    }
}
