//! What others leave on a device, told by its signature.
//!
//! The places and values are facts of each on-disk format, as its documentation gives them and as blkid(8)
//! finds them. What several hosts may use at once, or what is a part of something larger, is refused; what
//! is most likely a leftover is worth a warning.

mod special;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::partition_table::{self, Table};

/// What a signature means for writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Somebody may be using it from elsewhere.
    Refuse,
    /// It would be lost.
    Warn,
}

use Verdict::{Refuse, Warn};

/// Something found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// What it means.
    pub verdict: Verdict,
    /// A phrase behind the name of the lun: `carries an LVM physical volume`.
    pub text: String,
}

/// A constant at a constant place.
struct Signature {
    what: &'static str,
    verdict: Verdict,
    places: &'static [u64],
    magic: &'static [u8],
}

const fn row(what: &'static str, verdict: Verdict, places: &'static [u64], magic: &'static [u8]) -> Signature {
    Signature { what, verdict, places, magic }
}

/// Source of each line behind it. Several rows may have one name; it is told once.
const SIGNATURES: &[Signature] = &[
    // VMware: libvmfs's description of the volume header at 1 MiB and of the file system's at 2 MiB.
    row("a VMFS volume", Refuse, &[0x10_0000], b"\x0d\xd0\x01\xc0"),
    row("a VMFS file system", Refuse, &[0x20_0000], b"\x5e\xf1\xab\x2f"),
    // Oracle ASM: the provision string of the disk header block, kfed(1) `kfdhdb.driver.provstr`.
    row("an Oracle ASM disk", Refuse, &[32], b"ORCLDISK"),
    // lvm2 `man pvcreate`: the label is in one of the first four sectors; its type stands at 24.
    row("an LVM physical volume", Refuse, &[0x18, 0x218, 0x418, 0x618], b"LVM2 001"),
    // OCFS2 on-disk format: superblock in block 2 of 512 to 4096 bytes. OCFS: volume header in sector 0.
    row("an OCFS2 file system", Refuse, &[0x400, 0x800, 0x1000, 0x2000], b"OCFSV2"),
    row("an OCFS file system", Refuse, &[8], b"OracleCFS"),
    // linux/gfs2_ondisk.h: GFS2_MAGIC, big-endian, in the superblock at 64 KiB.
    row("a GFS2 file system", Refuse, &[0x1_0000], b"\x01\x16\x19\x70"),
    // linux/raid/md_p.h: MD_SB_MAGIC, little-endian; versions 1.1 and 1.2. Those at the end are in `special`.
    row("an md RAID member", Refuse, &[0, 0x1000], b"\xfc\x4e\x2b\xa9"),
    // linux/fs/xfs/libxfs/xfs_format.h: XFS_SB_MAGIC.
    row("an XFS file system", Warn, &[0], b"XFSB"),
    // btrfs on-disk format: superblock at 64 KiB, magic at 0x40 in it.
    row("a btrfs file system", Warn, &[0x1_0040], b"_BHRfS_M"),
    // mkswap(8): the last 10 bytes of the first page, for pages of 4 to 64 KiB.
    row("a swap area", Warn, &[4086, 8182, 16_374, 65_526], b"SWAPSPACE2"),
    row("a swap area", Warn, &[4086, 8182, 16_374, 65_526], b"SWAP-SPACE"),
    // LUKS on-disk format specification.
    row("a LUKS container", Warn, &[0], b"LUKS\xba\xbe"),
    // linux/f2fs_fs.h: F2FS_SUPER_MAGIC, little-endian, at 1024.
    row("an F2FS file system", Warn, &[1024], b"\x10\x20\xf5\xf2"),
    // Ceph BlueStore's label.
    row("a Ceph BlueStore device", Warn, &[0], b"bluestore block device\n"),
    // linux/bcache.h: BCACHE_MAGIC at 24 in the superblock in sector 8.
    row("a bcache device", Warn, &[4120], b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81"),
    // Microsoft's boot sectors: OEM name at 3; file system type of FAT at 54 and 82.
    row("an NTFS file system", Warn, &[3], b"NTFS    "),
    row("an exFAT file system", Warn, &[3], b"EXFAT   "),
    row("a FAT file system", Warn, &[54], b"FAT1"),
    row("a FAT file system", Warn, &[82], b"FAT32   "),
    // Logical Disk Manager's private header in sector 6.
    row("a Windows dynamic disk", Warn, &[0xc00], b"PRIVHEAD"),
    // ECMA-119: volume descriptor in sector 16 of 2048 bytes.
    row("an ISO 9660 file system", Warn, &[0x8001], b"CD001"),
];

/// A part of a device that is known from elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// First byte.
    pub start: u64,
    /// Bytes.
    pub size: u64,
}

/// Searches a device and its partitions: those that `known` names and those of its partition table.
///
/// # Errors
/// It cannot be read.
pub fn search(file: &File, size: u64, block_size: Option<u32>, known: &[Part]) -> io::Result<Vec<Found>> {
    let mut found = probe(file, 0, size)?;
    let mut parts = known.to_vec();
    if let Some(table) = partition_table::read(file, size, block_size)? {
        found.extend(of_table(&table));
        for entry in &table.entries {
            if !parts.iter().any(|part| part.start == entry.start) {
                let name = entry.number.to_string();
                parts.push(Part { name, start: entry.start, size: entry.size.min(size.saturating_sub(entry.start)) });
            }
        }
    }
    for part in parts {
        for one in probe(file, part.start, part.size)? {
            found.push(Found { text: format!("{} in its partition {}", one.text, part.name), ..one });
        }
    }
    Ok(found)
}

/// The table itself, and partitions whose type tells more than their content.
fn of_table(table: &Table) -> Vec<Found> {
    let count = table.entries.len();
    let plural = if count == 1 { "" } else { "s" };
    let mut found = vec![carries(Warn, &format!("{} partition table with {count} partition{plural}", table.kind))];
    for entry in &table.entries {
        if let Some(owner) = entry.owner() {
            found.push(carries(Refuse, &format!("{owner} partition (number {})", entry.number)));
        }
    }
    found
}

fn carries(verdict: Verdict, what: &str) -> Found {
    Found { verdict, text: format!("carries {what}") }
}

/// Searches `size` bytes from `base` on.
fn probe(file: &File, base: u64, size: u64) -> io::Result<Vec<Found>> {
    let area = Area { file, base, size };
    let mut found: Vec<Found> = Vec::new();
    let mut add = |one: Found| {
        if !found.contains(&one) {
            found.push(one);
        }
    };
    for signature in SIGNATURES {
        for place in signature.places {
            if area.holds(*place, signature.magic)? {
                add(carries(signature.verdict, signature.what));
            }
        }
    }
    for (verdict, what) in special::all(&area)? {
        add(carries(verdict, &what));
    }
    Ok(found)
}

/// A part of a device that is searched.
struct Area<'a> {
    file: &'a File,
    base: u64,
    size: u64,
}

impl Area<'_> {
    /// Bytes at a place of it; `None` when it ends before.
    fn bytes(&self, place: u64, count: usize) -> io::Result<Option<Vec<u8>>> {
        match place.checked_add(count as u64) {
            Some(end) if end <= self.size => {
                let mut bytes = vec![0; count];
                self.file.read_exact_at(&mut bytes, self.base + place)?;
                Ok(Some(bytes))
            }
            _ => Ok(None),
        }
    }

    fn holds(&self, place: u64, magic: &[u8]) -> io::Result<bool> {
        Ok(self.bytes(place, magic.len())?.is_some_and(|bytes| bytes == magic))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    const MIB: u64 = 1 << 20;

    /// A sparse file with some bytes in it.
    fn disk(size: u64, writes: &[(u64, &[u8])]) -> File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(size).unwrap();
        for (place, bytes) in writes {
            file.write_all_at(bytes, *place).unwrap();
        }
        file
    }

    fn texts(size: u64, writes: &[(u64, &[u8])]) -> Vec<String> {
        let found = search(&disk(size, writes), size, None, &[]).unwrap();
        found.into_iter().map(|one| format!("{:?}: {}", one.verdict, one.text)).collect()
    }

    #[test]
    fn nothing_is_found_on_nothing() {
        assert_eq!(texts(8 * MIB, &[]), [""; 0]);
        assert_eq!(texts(0, &[]), [""; 0]);
        assert_eq!(texts(513, &[]), [""; 0]);
    }

    #[test]
    fn every_row_is_found_at_every_place() {
        for signature in SIGNATURES {
            for place in signature.places {
                let found = texts(8 * MIB, &[(*place, signature.magic)]);
                assert_eq!(found, [format!("{:?}: carries {}", signature.verdict, signature.what)]);
                let end = place + signature.magic.len() as u64 - 1;
                assert_eq!(texts(end, &[(*place, &signature.magic[..signature.magic.len() - 1])]), [""; 0]);
            }
        }
    }

    #[test]
    fn md_is_found_at_the_end() {
        // Version 0.90 in the last whole 64 KiB but one, version 1.0 within the last 16 KiB.
        assert_eq!(
            texts(8 * MIB + 5000, &[(8 * MIB - 65_536, b"\xfc\x4e\x2b\xa9")]),
            ["Refuse: carries an md RAID member"]
        );
        let size = 8 * MIB + 512;
        assert_eq!(texts(size, &[(8 * MIB - 8192, b"\xfc\x4e\x2b\xa9")]), ["Refuse: carries an md RAID member"]);
    }

    #[test]
    fn zfs_is_found_by_any_of_its_uberblocks() {
        let magic = 0x00ba_b10c_u64.to_le_bytes();
        for place in [0x2_0000, 0x4_0000 + 0x2_0000 + 5 * 1024, 8 * MIB - 0x4_0000 + 0x2_0000] {
            assert_eq!(texts(8 * MIB + 700, &[(place, &magic)]), ["Refuse: carries a ZFS pool member"], "{place:#x}");
        }
        assert_eq!(texts(8 * MIB, &[(0x2_0000, &magic[..7]), (0x2_0007, b"\x01")]), [""; 0]);
    }

    /// An ext4 superblock with multi-mount protection whose block is number 9.
    fn ext4(sequence: u32) -> Vec<(u64, Vec<u8>)> {
        let mut superblock = vec![0; 1024];
        superblock[0] = 16; // s_inodes_count
        superblock[0x18] = 2; // s_log_block_size: 4096
        superblock[0x38..0x3a].copy_from_slice(&0xef53_u16.to_le_bytes());
        superblock[0x61] = 1; // s_feature_incompat: MMP
        superblock[0x168] = 9; // s_mmp_block
        let mut mmp = b"PMM\0".to_vec();
        mmp.extend(sequence.to_le_bytes());
        mmp.extend([0; 8]);
        mmp.extend(b"nodeb\0");
        vec![(1024, superblock), (9 * 4096, mmp)]
    }

    #[test]
    fn a_protected_ext4_in_use_is_refused() {
        let find = |sequence| {
            let writes = ext4(sequence);
            let writes: Vec<(u64, &[u8])> = writes.iter().map(|(place, bytes)| (*place, bytes.as_slice())).collect();
            texts(8 * MIB, &writes)
        };
        let warning = "Warn: carries an ext2, ext3 or ext4 file system".to_owned();
        let used =
            "Refuse: carries an ext4 file system that node nodeb has mounted (multi-mount protection)".to_owned();
        assert_eq!(find(0xff4d_4d50), std::slice::from_ref(&warning), "unmounted");
        assert_eq!(find(1234), [warning, used], "mounted");
    }

    #[test]
    fn two_bytes_alone_are_no_ext() {
        assert_eq!(texts(8 * MIB, &[(0x438, b"\x53\xef"), (0x400, &[1]), (0x418, &[0xff; 4])]), [""; 0]);
    }

    #[test]
    fn old_gpfs_is_found_by_its_text() {
        let text = b"NSD descriptor for /dev/sdb created by GPFS Tue Sep  3 10:00:00 2013";
        assert_eq!(texts(MIB, &[(0x450, text)]), ["Refuse: carries a GPFS disk"]);
    }

    #[test]
    fn partitions_are_searched() {
        let mut mbr = vec![0; 512];
        mbr[446 + 4] = 0x83;
        mbr[446 + 8..446 + 12].copy_from_slice(&2048_u32.to_le_bytes());
        mbr[446 + 12..446 + 16].copy_from_slice(&4096_u32.to_le_bytes());
        mbr[510..].copy_from_slice(b"\x55\xaa");
        let found = texts(8 * MIB, &[(0, &mbr), (MIB + 0x18, b"LVM2 001")]);
        assert_eq!(
            found,
            [
                "Warn: carries an MBR partition table with 1 partition",
                "Refuse: carries an LVM physical volume in its partition 1"
            ]
        );
        let known = [Part { name: "sdb1".into(), start: MIB, size: 2 * MIB }];
        let file = disk(8 * MIB, &[(0, &mbr), (MIB + 0x18, b"LVM2 001")]);
        let found = search(&file, 8 * MIB, None, &known).unwrap();
        assert_eq!(found[1].text, "carries an LVM physical volume in its partition sdb1");
    }
}
