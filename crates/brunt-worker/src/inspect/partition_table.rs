//! Partition tables: GPT (UEFI specification, chapter 5) and MBR.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// A partition table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// `a GPT` or `an MBR`.
    pub kind: &'static str,
    /// Used entries.
    pub entries: Vec<Entry>,
}

/// An entry of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// From 1.
    pub number: usize,
    /// First byte.
    pub start: u64,
    /// Bytes.
    pub size: u64,
    /// Type in a GPT, capital letters.
    pub kind: Option<String>,
}

impl Entry {
    /// Whose partition it is, when that is somebody who shares disks between hosts: an article and a name.
    pub fn owner(&self) -> Option<&'static str> {
        // Types as VMware and IBM publish them.
        match self.kind.as_deref()? {
            "AA31E02A-400F-11DB-9590-000C2911D1B8" => Some("a VMFS"),
            "381CFCCC-7288-11E0-92EE-000C2911D0B2" => Some("a VMware vSAN"),
            "37AFFC90-EF7D-4E96-91C3-2D7AE055B174" => Some("a GPFS"),
            _ => None,
        }
    }
}

/// Reads the table of a device, if it has one.
///
/// # Errors
/// It cannot be read.
pub fn read(file: &File, size: u64, block_size: Option<u32>) -> io::Result<Option<Table>> {
    // A disk may have been written through another block size.
    for block in [u64::from(block_size.unwrap_or(512)), 512, 4096] {
        if let Some(entries) = gpt(file, size, block)? {
            return Ok(Some(Table { kind: "a GPT", entries }));
        }
    }
    Ok(mbr(file, size)?.map(|entries| Table { kind: "an MBR", entries }))
}

fn bytes(file: &File, size: u64, place: u64, count: usize) -> io::Result<Option<Vec<u8>>> {
    match place.checked_add(count as u64) {
        Some(end) if end <= size => {
            let mut bytes = vec![0; count];
            file.read_exact_at(&mut bytes, place)?;
            Ok(Some(bytes))
        }
        _ => Ok(None),
    }
}

fn u32_at(bytes: &[u8], place: usize) -> u32 {
    bytes.get(place..place + 4).and_then(|four| four.try_into().ok()).map_or(0, u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], place: usize) -> u64 {
    u64::from(u32_at(bytes, place)) | u64::from(u32_at(bytes, place + 4)) << 32
}

fn gpt(file: &File, size: u64, block: u64) -> io::Result<Option<Vec<Entry>>> {
    let Some(header) = bytes(file, size, block, 92)? else { return Ok(None) };
    if !header.starts_with(b"EFI PART") {
        return Ok(None);
    }
    let (count, length) = (u32_at(&header, 80).min(1024) as usize, u32_at(&header, 84) as usize);
    let mut entries = Vec::new();
    if !(128..=4096).contains(&length) {
        return Ok(Some(entries));
    }
    let place = u64_at(&header, 72).saturating_mul(block);
    let Some(table) = bytes(file, size, place, count * length)? else { return Ok(Some(entries)) };
    for (index, entry) in table.chunks_exact(length).enumerate() {
        let (first, last) = (u64_at(entry, 32), u64_at(entry, 40));
        let kind = guid(entry);
        if kind.chars().any(|c| c != '0' && c != '-') && last >= first {
            let (start, blocks) = (first.saturating_mul(block), (last - first).saturating_add(1));
            let size = blocks.saturating_mul(block);
            entries.push(Entry { number: index + 1, start, size, kind: Some(kind) });
        }
    }
    Ok(Some(entries))
}

/// The first 16 bytes as a GUID: its first three groups are little-endian.
fn guid(entry: &[u8]) -> String {
    let byte = |at: usize| entry.get(at).copied().unwrap_or(0);
    let mut text = String::with_capacity(36);
    for (n, at) in [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15].into_iter().enumerate() {
        if [4, 6, 8, 10].contains(&n) {
            text.push('-');
        }
        text.push_str(&format!("{:02X}", byte(at)));
    }
    text
}

/// The primary partitions. Boot sectors of file systems end like an MBR; entries that make no sense tell them.
fn mbr(file: &File, size: u64) -> io::Result<Option<Vec<Entry>>> {
    let Some(sector) = bytes(file, size, 0, 512)? else { return Ok(None) };
    let table = sector.get(446..510).unwrap_or_default();
    let sensible = table.chunks_exact(16).all(|entry| matches!(entry.first(), Some(0 | 0x80)));
    if !sector.ends_with(b"\x55\xaa") || !sensible {
        return Ok(None);
    }
    let mut entries = Vec::new();
    for (index, entry) in table.chunks_exact(16).enumerate() {
        let (first, count) = (u64::from(u32_at(entry, 8)), u64::from(u32_at(entry, 12)));
        if entry.get(4).is_some_and(|kind| *kind != 0) && first > 0 && count > 0 {
            entries.push(Entry { number: index + 1, start: first * 512, size: count * 512, kind: None });
        }
    }
    Ok((!entries.is_empty()).then_some(entries))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const SIZE: u64 = 16 << 20;

    fn gpt_disk(block: u64) -> File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(SIZE).unwrap();
        let mut header = b"EFI PART".to_vec();
        header.resize(92, 0);
        header[72] = 2;
        header[80] = 4;
        header[84] = 128;
        file.write_all_at(&header, block).unwrap();
        let mut entry = vec![0x2a, 0xe0, 0x31, 0xaa, 0x0f, 0x40, 0xdb, 0x11, 0x95, 0x90];
        entry.extend([0x00, 0x0c, 0x29, 0x11, 0xd1, 0xb8]);
        entry.resize(128, 0);
        entry[32] = 16;
        entry[40] = 31;
        file.write_all_at(&entry, 2 * block + 128).unwrap();
        file
    }

    #[test]
    fn a_gpt_is_read_whatever_its_block_size() {
        for block in [512, 4096] {
            for known in [None, Some(512), Some(4096)] {
                let table = read(&gpt_disk(block), SIZE, known).unwrap().unwrap();
                assert_eq!((table.kind, table.entries.len()), ("a GPT", 1));
                let entry = &table.entries[0];
                assert_eq!((entry.number, entry.start, entry.size), (2, 16 * block, 16 * block));
                assert_eq!(entry.owner(), Some("a VMFS"));
            }
        }
    }

    #[test]
    fn a_boot_sector_is_no_table() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(SIZE).unwrap();
        file.write_all_at(b"\x55\xaa", 510).unwrap();
        assert_eq!(read(&file, SIZE, None).unwrap(), None, "no entries");
        file.write_all_at(&[0x33; 64], 446).unwrap();
        assert_eq!(read(&file, SIZE, None).unwrap(), None, "code in place of entries");
    }

    #[test]
    fn a_table_that_lies_is_no_harm() {
        let file = gpt_disk(512);
        file.write_all_at(&u64::MAX.to_le_bytes(), 512 + 72).unwrap();
        assert_eq!(read(&file, SIZE, None).unwrap().unwrap().entries, []);
        file.write_all_at(&u32::MAX.to_le_bytes(), 512 + 84).unwrap();
        assert_eq!(read(&file, SIZE, None).unwrap().unwrap().entries, []);
    }
}
