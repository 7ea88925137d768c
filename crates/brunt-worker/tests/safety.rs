//! The safety rules on real block devices: loop devices over files, which need root. Where they cannot be made,
//! each test says so and ends.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stderr)]

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use brunt_plan::work::{LunFacts, LunKind, LunQuery};
use brunt_worker::inspect::{Roots, host};

const SIZE: u64 = 16 << 20;

/// Bytes at places.
type Writes<'a> = &'a [(u64, &'a [u8])];

/// A loop device over a file of its own.
struct Loop {
    folder: tempfile::TempDir,
    device: String,
}

fn run(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(arguments).output().map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    } else {
        Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim()))
    }
}

impl Loop {
    /// Makes one whose file holds these bytes.
    fn with(writes: Writes<'_>) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("disk");
        let disk = OpenOptions::new().create_new(true).write(true).open(&file).unwrap();
        disk.set_len(SIZE).unwrap();
        for (place, bytes) in writes {
            disk.write_all_at(bytes, *place).unwrap();
        }
        disk.sync_all().unwrap();
        match run("losetup", &["--find", "--show", "--partscan", file.to_str().unwrap()]) {
            Ok(device) => Some(Self { folder, device }),
            Err(reason) => {
                eprintln!("skipped: no loop device ({reason})");
                None
            }
        }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("disk")
    }

    fn name(&self) -> &str {
        self.device.trim_start_matches("/dev/")
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        run("losetup", &["--detach", &self.device]).unwrap();
    }
}

/// A mounted file system.
struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        run("umount", &[self.0.to_str().unwrap()]).unwrap();
    }
}

fn mount(device: &str, at: &Path) -> Mounted {
    fs::create_dir(at).unwrap();
    run("mount", &[device, at.to_str().unwrap()]).unwrap();
    Mounted(at.to_owned())
}

fn query(lun: &str) -> LunQuery {
    LunQuery { sd: 0, name: "sd1".into(), lun: lun.into(), will_write: true, allow_in_use: false, overwrite: false }
}

fn ask(query: LunQuery) -> LunFacts {
    host(&Roots::default(), &[query]).luns.remove(0)
}

fn assert_in_use(lun: &str, phrase: &str) {
    let facts = ask(query(lun));
    let cure = "; misc=(allow_in_use=sd1) writes to it all the same";
    let expected = format!("{lun} is in use: {phrase}{cure}");
    assert!(facts.refusals.contains(&expected), "{expected}\nis not in {:#?}", facts.refusals);
    let allowed = ask(LunQuery { allow_in_use: true, ..query(lun) });
    assert!(!allowed.refusals.iter().any(|text| text.contains("in use")), "{:#?}", allowed.refusals);
    assert!(allowed.warnings.contains(&format!("{lun} is in use: {phrase}")), "{:#?}", allowed.warnings);
    let reading = ask(LunQuery { will_write: false, ..query(lun) });
    assert!(reading.refusals.is_empty() && reading.warnings.is_empty(), "reading is free");
}

/// One Linux partition of 8 MiB at 1 MiB.
fn partitioned() -> Vec<u8> {
    let mut sector = vec![0; 512];
    sector[446 + 4] = 0x83;
    sector[446 + 8..446 + 12].copy_from_slice(&2048_u32.to_le_bytes());
    sector[446 + 12..446 + 16].copy_from_slice(&16_384_u32.to_le_bytes());
    sector[510..].copy_from_slice(b"\x55\xaa");
    sector
}

#[test]
fn an_empty_device_is_accepted() {
    let Some(disk) = Loop::with(&[]) else { return };
    let facts = ask(query(&disk.device));
    assert_eq!((facts.kind, facts.size, facts.block_size), (LunKind::Block, SIZE, Some(512)));
    assert!(facts.readable && facts.writable);
    assert_eq!(facts.identity, Some(format!("local:loop:{}@0", disk.file().display())));
    assert_eq!((facts.refusals, facts.warnings), (vec![], vec![]));
}

#[test]
fn a_mounted_device_is_refused_under_every_name() {
    let Some(disk) = Loop::with(&[]) else { return };
    run("mkfs.ext4", &["-q", &disk.device]).unwrap();
    let facts = ask(query(&disk.device));
    assert_eq!(facts.refusals, [""; 0]);
    assert_eq!(facts.warnings, [format!("{} carries an ext2, ext3 or ext4 file system", disk.device)]);

    let at = disk.folder.path().join("mnt");
    let mounted = mount(&disk.device, &at);
    assert_in_use(&disk.device, &format!("it is mounted on {}", at.display()));
    let link = disk.folder.path().join("link");
    symlink(&disk.device, &link).unwrap();
    assert_in_use(link.to_str().unwrap(), &format!("it is mounted on {}", at.display()));
    // The file behind it is in use as well.
    assert_in_use(disk.file().to_str().unwrap(), &format!("it is the backing file of {}", disk.device));
    drop(mounted);
    assert_eq!(ask(query(&disk.device)).refusals, [""; 0]);
}

#[test]
fn a_mounted_partition_refuses_its_disk() {
    let Some(disk) = Loop::with(&[(0, &partitioned())]) else { return };
    let partition = format!("{}p1", disk.device);
    // A kernel that does not read partition tables is told.
    if !Path::new(&partition).exists()
        && let Err(reason) = run("addpart", &[&disk.device, "1", "2048", "16384"])
    {
        eprintln!("skipped: {} has no partitions here ({reason})", disk.device);
        return;
    }
    run("mkfs.ext4", &["-q", &partition]).unwrap();
    let facts = ask(query(&disk.device));
    assert_eq!(facts.refusals, [""; 0]);
    let fs = format!("{} carries an ext2, ext3 or ext4 file system in its partition {}p1", disk.device, disk.name());
    assert_eq!(facts.warnings, [format!("{} carries an MBR partition table with 1 partition", disk.device), fs]);

    let at = disk.folder.path().join("mnt");
    let _mounted = mount(&partition, &at);
    assert_in_use(&partition, &format!("it is mounted on {}", at.display()));
    assert_in_use(&disk.device, &format!("its partition {}p1 is mounted on {}", disk.name(), at.display()));
}

#[test]
fn a_swap_area_is_refused() {
    let Some(disk) = Loop::with(&[]) else { return };
    run("mkswap", &[&disk.device]).unwrap();
    assert_eq!(ask(query(&disk.device)).warnings, [format!("{} carries a swap area", disk.device)]);
    if let Err(reason) = run("swapon", &[&disk.device]) {
        eprintln!("skipped: no swap here ({reason})");
        return;
    }
    let facts = ask(query(&disk.device));
    run("swapoff", &[&disk.device]).unwrap();
    let expected = format!(
        "{0} is in use: it is an active swap area; misc=(allow_in_use=sd1) writes to it all the same",
        disk.device
    );
    assert_eq!(facts.refusals, [expected]);
}

#[test]
fn a_device_behind_another_is_refused() {
    let Some(disk) = Loop::with(&[]) else { return };
    let over = run("losetup", &["--find", "--show", &disk.device]).unwrap();
    assert_in_use(&disk.device, &format!("it is behind {over}"));
    assert_eq!(ask(query(&over)).refusals, [""; 0]);
    run("losetup", &["--detach", &over]).unwrap();
}

#[test]
fn a_device_that_the_mapper_holds_is_refused() {
    let Some(disk) = Loop::with(&[]) else { return };
    let name = format!("brunt-test-{}", disk.name());
    let table = format!("0 2048 linear {} 0", disk.device);
    if let Err(reason) = run("dmsetup", &["create", &name, "--table", &table]) {
        eprintln!("skipped: no device mapper here ({reason})");
        return;
    }
    let facts = ask(query(&disk.device));
    run("dmsetup", &["remove", &name]).unwrap();
    assert!(facts.refusals[0].contains(&format!("it is held by device-mapper device {name} (dm-")), "{facts:?}");
}

#[test]
fn a_device_that_a_program_holds_is_refused() {
    let Some(disk) = Loop::with(&[]) else { return };
    let flags = nix::fcntl::OFlag::O_EXCL.bits();
    let mut options = OpenOptions::new();
    let held = std::os::unix::fs::OpenOptionsExt::custom_flags(options.read(true), flags).open(&disk.device).unwrap();
    assert_in_use(&disk.device, "something holds it exclusively (a mount of another namespace, ZFS, or a program)");
    drop(held);
    assert_eq!(ask(query(&disk.device)).refusals, [""; 0]);
}

#[test]
fn somebody_elses_lun_is_refused() {
    let label: &[u8] = b"LABELONE\x01\0\0\0\0\0\0\0\0\0\0\0\x20\0\0\0LVM2 001";
    let cases: [(Writes<'_>, &str); 4] = [
        (&[(512, label)], "an LVM physical volume"),
        (&[(4096, b"\xfc\x4e\x2b\xa9\x01")], "an md RAID member"),
        (&[(32, b"ORCLDISK")], "an Oracle ASM disk"),
        (&[(0x10_0000, b"\x0d\xd0\x01\xc0")], "a VMFS volume"),
    ];
    for (writes, what) in cases {
        let Some(disk) = Loop::with(writes) else { return };
        let facts = ask(query(&disk.device));
        let text = format!("{} carries {what}", disk.device);
        assert_eq!(facts.refusals, [format!("{text}; misc=(overwrite=sd1) writes over it")]);
        let lifted = ask(LunQuery { overwrite: true, ..query(&disk.device) });
        assert_eq!((lifted.refusals, lifted.warnings), (vec![], vec![text]));
    }
}

#[test]
fn files_and_folders_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("file"), "12345").unwrap();
    let file = ask(query(&path("file")));
    assert_eq!((file.kind, file.size, file.readable, file.writable), (LunKind::File, 5, true, true));
    assert_eq!(fs::read(path("file")).unwrap(), b"12345");
    let missing = ask(query(&path("missing")));
    assert_eq!((missing.kind, missing.size, missing.readable, missing.writable), (LunKind::Missing, 0, false, true));
    assert!(!Path::new(&path("missing")).exists());
    let nowhere = ask(query(&path("no/where")));
    assert_eq!((nowhere.kind, nowhere.writable), (LunKind::Missing, false));
    assert_eq!(ask(query(folder.path().to_str().unwrap())).kind, LunKind::Directory);
    assert_eq!(ask(query("/dev/null")).kind, LunKind::Character);
    let inventory = host(&Roots::default(), &[query(&path("file"))]).inventory;
    assert!(inventory.contains(&format!("\nsd sd1: {}\n", path("file"))), "{inventory}");
}

#[test]
fn a_lun_is_found_by_what_udev_calls_it() {
    let Some(disk) = Loop::with(&[]) else { return };
    let dev = tempfile::tempdir().unwrap();
    let link = dev.path().join("disk/by-id/wwn-0x5000c500a1b2c3d4");
    fs::create_dir_all(link.parent().unwrap()).unwrap();
    symlink(format!("../../{}", disk.name()), &link).unwrap();
    symlink(&disk.device, dev.path().join(disk.name())).unwrap();
    let roots = Roots { dev: dev.path().to_owned(), ..Roots::default() };
    let found = host(&roots, &[query("wwn:0x5000C500A1B2C3D4"), query("wwn:0x5000c500a1b2c3d5"), query(&disk.device)]);
    let [asked, other, path] = found.luns.as_slice() else { panic!("{found:?}") };
    let expected = dev.path().join(disk.name()).display().to_string();
    assert_eq!((asked.kind, asked.size, asked.path.as_ref()), (LunKind::Block, SIZE, Some(&expected)));
    assert_eq!(asked.identity.as_deref(), Some("wwid:naa.5000c500a1b2c3d4"));
    assert_eq!((&path.identity, &path.path), (&asked.identity, &None), "one device, however it is asked for");
    let trouble = other.trouble.as_deref().unwrap();
    assert_eq!(other.kind, LunKind::Missing);
    assert!(trouble.starts_with("there is no device with the identity wwid:naa.5000c500a1b2c3d5; "), "{trouble}");
    assert!(found.inventory.contains("sd sd1: wwn:0x5000C500A1B2C3D4\n  device "), "{}", found.inventory);
}

#[test]
fn agents_of_one_machine_say_the_same_of_it() {
    let (one, other) = (host(&Roots::default(), &[]), host(&Roots::default(), &[]));
    assert!(one.machine.is_some());
    assert_eq!(one.machine, other.machine);
}

#[test]
fn what_may_not_be_looked_at_is_not_called_missing() {
    let folder = tempfile::tempdir().unwrap();
    let around = folder.path().join("a");
    std::os::unix::fs::symlink("a", &around).unwrap();
    let facts = ask(query(around.to_str().unwrap()));
    assert_eq!(facts.kind, LunKind::Missing);
    let trouble = facts.trouble.unwrap();
    assert!(trouble.starts_with("it cannot be looked at: Too many levels of symbolic links"), "{trouble}");
}
