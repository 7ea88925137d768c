//! Signatures whose place or meaning must be worked out.

use std::io;

use super::Area;
use super::Verdict::{self, Refuse, Warn};

type Hit = (Verdict, String);

/// All of them.
pub(super) fn all(area: &Area<'_>) -> io::Result<Vec<Hit>> {
    let mut hits = Vec::new();
    if md_at_end(area)? {
        hits.push((Refuse, "an md RAID member".to_owned()));
    }
    if zfs(area)? {
        hits.push((Refuse, "a ZFS pool member".to_owned()));
    }
    if gpfs(area)? {
        hits.push((Refuse, "a GPFS disk".to_owned()));
    }
    hits.extend(ext(area)?);
    Ok(hits)
}

/// linux/raid/md_p.h: version 0.90 lies in the last whole 64 KiB but one, in the byte order of its host; 1.0
/// lies 16 sectors before the end, rounded down to 4 KiB.
fn md_at_end(area: &Area<'_>) -> io::Result<bool> {
    let old = (area.size & !0xffff).checked_sub(0x1_0000);
    let new = area.size.checked_sub(8192).map(|place| place & !4095);
    for place in [old, new].into_iter().flatten() {
        if area.holds(place, b"\xfc\x4e\x2b\xa9")? || area.holds(place, b"\xa9\x2b\x4e\xfc")? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// ZFS on-disk format: four labels of 256 KiB, two at each end (the size rounded down to labels). The second
/// half of each is a ring of uberblocks, 1 KiB or more each, that begin with their magic.
fn zfs(area: &Area<'_>) -> io::Result<bool> {
    const LABEL: u64 = 256 << 10;
    const RING: usize = 128 << 10;
    let magic = 0x00ba_b10c_u64;
    let end = area.size / LABEL * LABEL;
    let labels = [Some(0), Some(LABEL), end.checked_sub(2 * LABEL), end.checked_sub(LABEL)];
    for label in labels.into_iter().flatten() {
        let Some(ring) = area.bytes(label + LABEL / 2, RING)? else { continue };
        let here = |slot: &[u8]| slot.starts_with(&magic.to_le_bytes()) || slot.starts_with(&magic.to_be_bytes());
        if ring.chunks(1024).any(here) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// GPFS before 4.1 writes a text into the first sectors (later ones have a partition of their own type): IBM
/// Storage Scale, "NSD disk discovery".
fn gpfs(area: &Area<'_>) -> io::Result<bool> {
    let text = b"NSD descriptor for ";
    let head = usize::try_from(area.size.min(32 << 10)).unwrap_or(0);
    let head = area.bytes(0, head)?.unwrap_or_default();
    Ok(head.windows(text.len()).any(|window| window == text))
}

/// ext4 data structures and algorithms, "Super Block" and "Multiple Mount Protection".
fn ext(area: &Area<'_>) -> io::Result<Vec<Hit>> {
    let Some(superblock) = area.bytes(1024, 1024)? else { return Ok(Vec::new()) };
    let log_block_size = u32_at(&superblock, 0x18);
    let magic = superblock.get(0x38..0x3a) == Some(b"\x53\xef");
    // Two bytes are found by chance once in 65536 times; a block size that cannot be tells chance.
    if !magic || log_block_size > 6 || u32_at(&superblock, 0) == 0 {
        return Ok(Vec::new());
    }
    let mut hits = vec![(Warn, "an ext2, ext3 or ext4 file system".to_owned())];
    let protected = u32_at(&superblock, 0x60) & 0x100 != 0;
    let block = u64::from(u32_at(&superblock, 0x168)) | u64::from(u32_at(&superblock, 0x16c)) << 32;
    if protected
        && let Some(place) = block.checked_mul(1024 << log_block_size)
        && let Some(mmp) = area.bytes(place, 80)?
        && mmp.starts_with(b"PMM\0")
        && u32_at(&mmp, 4) != MMP_CLEAN
    {
        let node = mmp.get(16..80).unwrap_or_default();
        let node = String::from_utf8_lossy(node.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned();
        hits.push((Refuse, format!("an ext4 file system that node {node} has mounted (multi-mount protection)")));
    }
    Ok(hits)
}

/// `EXT4_MMP_SEQ_CLEAN`: nobody has it mounted.
const MMP_CLEAN: u32 = 0xff4d_4d50;

/// A little-endian number; 0 beyond the end.
fn u32_at(bytes: &[u8], place: usize) -> u32 {
    bytes.get(place..place + 4).and_then(|four| four.try_into().ok()).map_or(0, u32::from_le_bytes)
}
