//! Finding the device that a lun asks for by its identity: `lun=wwn:0x6005…`.

use std::path::PathBuf;

use brunt_plan::identity;

use super::device::Device;
use super::system::System;

/// Identities that are shown when there is no such device.
const SHOWN: usize = 3;
/// So many characters must be the same for an identity to be near: a kind and a vendor's number.
const NEAR: usize = 17;

/// The device file of the device that a lun asks for; `None` when it is a path.
///
/// # Errors
/// There is no such device here: a sentence.
pub fn path(system: &System, lun: &str) -> Option<Result<PathBuf, String>> {
    let wanted = match identity::wanted(lun)? {
        Ok(wanted) => wanted,
        Err(form) => return Some(Err(format!("it names no device; write {form}"))),
    };
    let found = best(system, &wanted).map(|device| device.file(&system.dev));
    Some(found.ok_or_else(|| absent(system, &wanted)))
}

/// The identity of a device: its own, else what udev says of it.
pub fn identity_of(system: &System, device: &Device) -> Option<String> {
    let known = || system.by_id.iter().find(|(_, name)| **name == device.name).map(|(id, _)| id.clone());
    // What holds on this machine only is less than what udev knows.
    match device.identity.clone() {
        Some(own) if identity::is_global(&own) => Some(own),
        own => known().or(own),
    }
}

/// Of several paths the multipath device; without one the first by the kernel's number.
fn best<'a>(system: &'a System, wanted: &str) -> Option<&'a Device> {
    let by_id = system.by_id.get(wanted);
    let is_it = |device: &&Device| device.identity.as_deref() == Some(wanted) || by_id == Some(&device.name);
    let paths = || system.devices.values().filter(is_it);
    paths().find(|device| device.is_mapped()).or_else(|| paths().next())
}

/// The sentence for a device that is not here.
fn absent(system: &System, wanted: &str) -> String {
    let mut known: Vec<(usize, String)> = system
        .devices
        .values()
        .filter_map(|device| identity_of(system, device))
        .filter(|id| identity::is_global(id))
        .map(|id| (alike(&id, wanted), id))
        .collect();
    known.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    known.dedup();
    let near: Vec<&str> =
        known.iter().filter(|(same, _)| *same >= NEAR).map(|(_, id)| id.as_str()).take(SHOWN).collect();
    let what = match (near.is_empty(), known.len()) {
        (false, _) => format!("near ones are {}", near.join(", ")),
        (true, 0) => "no device here tells an identity".to_owned(),
        (true, n) => format!("the identities of the {n} devices here that tell one are not like it"),
    };
    format!(
        "there is no device with the identity {wanted}; {what}; is it mapped to this host, and was the bus scanned?"
    )
}

/// How many characters two identities begin with alike.
fn alike(a: &str, b: &str) -> usize {
    a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::super::Roots;
    use super::*;

    const A: &str = "60050768018087a5b000000000000123";
    const B: &str = "60050768018087a5b000000000000124";

    /// Number and name of a device, and its files.
    type Made<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)]);

    /// A made-up host: its devices, and the links of udev.
    fn system(devices: &[Made<'_>], links: &[(&str, &str)]) -> (tempfile::TempDir, System) {
        let root = tempfile::tempdir().unwrap();
        let (sys, dev) = (root.path().join("sys"), root.path().join("dev"));
        fs::create_dir_all(sys.join("dev/block")).unwrap();
        fs::create_dir_all(dev.join("disk/by-id")).unwrap();
        for (number, name, files) in devices {
            for (file, text) in files.iter().chain([&("size", "2048\n")]) {
                let path = sys.join("devices").join(name).join(file);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            symlink(sys.join("devices").join(name), sys.join("dev/block").join(number)).unwrap();
        }
        for (link, name) in links {
            symlink(format!("../../{name}"), dev.join("disk/by-id").join(link)).unwrap();
        }
        let system = System::read(&Roots { proc: root.path().join("proc"), sys, dev: "/dev".into() });
        let links = System::read(&Roots { proc: root.path().join("proc"), sys: root.path().join("none"), dev });
        let system = System { by_id: links.by_id, ..system };
        (root, system)
    }

    fn found(system: &System, lun: &str) -> String {
        path(system, lun).unwrap().unwrap().display().to_string()
    }

    #[test]
    fn it_is_found_by_all_its_names() {
        let wwid = format!("naa.{A}\n");
        let nguid = "0025385b-71b0-a1c2-0025-385b71b0a1c2\n";
        let (_root, system) = system(
            &[
                ("8:16", "sdb", &[("device/wwid", &wwid)]),
                ("8:18", "sdb/sdb2", &[("partition", "2\n")]),
                ("259:0", "nvme0n1", &[("nguid", nguid)]),
                ("252:0", "vdx", &[]),
            ],
            &[("wwn-0x5000c500a1b2c3d4", "vdx"), ("ata-Disk_1", "sdb")],
        );
        for lun in [format!("wwn:0x{A}"), format!("wwid:naa.{A}"), format!("wwid:3{A}")] {
            assert_eq!(found(&system, &lun), "/dev/sdb", "{lun}");
        }
        assert_eq!(found(&system, &format!("wwn:0x{A}-part2")), "/dev/sdb2");
        assert_eq!(found(&system, "nguid:0025385b71b0a1c20025385b71b0a1c2"), "/dev/nvme0n1");
        assert_eq!(found(&system, "wwn:0x5000c500a1b2c3d4"), "/dev/vdx", "udev knows what the kernel does not show");
        assert_eq!(path(&system, "/dev/sdb"), None);
    }

    #[test]
    fn a_multipath_device_comes_before_its_paths() {
        let (wwid, uuid) = (format!("naa.{A}\n"), format!("mpath-3{A}\n"));
        let (_root, system) = system(
            &[
                ("8:16", "sdb", &[("device/wwid", &wwid)]),
                ("8:32", "sdc", &[("device/wwid", &wwid)]),
                ("253:1", "dm-1", &[("dm/uuid", &uuid), ("dm/name", "mpatha\n")]),
                ("253:2", "dm-2", &[("dm/uuid", "LVM-aB3\n")]),
            ],
            &[],
        );
        assert_eq!(found(&system, &format!("wwn:0x{A}")), "/dev/mapper/mpatha");
        assert_eq!(found(&system, "dm:LVM-aB3"), "/dev/dm-2");
    }

    #[test]
    fn what_is_not_there_is_told_with_what_is_near() {
        let (a, b) = (format!("naa.{A}\n"), format!("naa.{B}\n"));
        let (_root, one) = system(
            &[
                ("8:0", "sda", &[("device/wwid", "naa.5000c500a1b2c3d4\n")]),
                ("8:16", "sdb", &[("device/wwid", &a)]),
                ("8:32", "sdc", &[("device/wwid", &b)]),
            ],
            &[],
        );
        let asked = "wwn:0x60050768018087a5b000000000000999";
        let absent = |system: &System| path(system, asked).unwrap().unwrap_err();
        insta::assert_snapshot!(absent(&one), @"there is no device with the identity wwid:naa.60050768018087a5b000000000000999; near ones are wwid:naa.60050768018087a5b000000000000123, wwid:naa.60050768018087a5b000000000000124; is it mapped to this host, and was the bus scanned?");
        let (_root, far) = system(&[("8:0", "sda", &[("device/wwid", "naa.5000c500a1b2c3d4\n")])], &[]);
        assert!(absent(&far).contains("; the identities of the 1 devices here that tell one are not like it; "));
        let (_root, none) = system(&[("7:0", "loop0", &[("loop/backing_file", "/x\n")])], &[]);
        assert!(absent(&none).contains("; no device here tells an identity; "));
    }
}
