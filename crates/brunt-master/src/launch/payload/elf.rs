//! What an executable says of itself: the head of an ELF file, 64 bits, as `elf(5)` describes it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// `e_machine` of x86_64.
pub(super) const X86_64: u16 = 62;
/// `e_machine` of aarch64.
pub(super) const AARCH64: u16 = 183;

/// Length of the head.
const HEAD: usize = 64;
/// Offset of the program headers, in the head.
const PHOFF: usize = 32;
/// Length of a program header, in the head.
const PHENTSIZE: usize = 54;
/// Number of program headers, in the head.
const PHNUM: usize = 56;
/// The type of a program header that names an interpreter: the dynamic linker.
const PT_INTERP: u32 = 3;

/// What is of interest.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Facts {
    /// As `uname -m` calls it, if Brunt is built for it.
    pub(super) machine: Option<&'static str>,
    /// Whether it needs a dynamic linker, and so libraries of the host.
    pub(super) interpreted: bool,
}

/// Reads the head of a file.
///
/// # Errors
/// The file cannot be read, or is not an ELF program of 64 bits.
pub(super) fn look(file: &File) -> io::Result<Facts> {
    let no_elf = || io::Error::other("it is no ELF program");
    let mut head = [0; HEAD];
    file.read_exact_at(&mut head, 0).map_err(|_| no_elf())?;
    // Magic, 64 bits, little endian.
    if !head.starts_with(b"\x7fELF\x02\x01") {
        return Err(no_elf());
    }
    let machine = match short(&head, 18) {
        X86_64 => Some("x86_64"),
        AARCH64 => Some("aarch64"),
        _ => None,
    };
    let length = u64::from(short(&head, PHENTSIZE));
    let mut offset = u64::from_le_bytes(bytes(&head, PHOFF));
    let mut interpreted = false;
    for _ in 0..short(&head, PHNUM) {
        let mut kind = [0; 4];
        file.read_exact_at(&mut kind, offset).map_err(|_| no_elf())?;
        interpreted |= u32::from_le_bytes(kind) == PT_INTERP;
        offset = offset.checked_add(length).ok_or_else(no_elf)?;
    }
    Ok(Facts { machine, interpreted })
}

fn short(head: &[u8; HEAD], at: usize) -> u16 {
    u16::from_le_bytes(bytes(head, at))
}

fn bytes<const N: usize>(head: &[u8; HEAD], at: usize) -> [u8; N] {
    // All fields lie within the head.
    head.get(at..at + N).and_then(|part| part.try_into().ok()).unwrap_or([0; N])
}

/// A head with one program header.
#[cfg(test)]
pub(super) fn example(machine: u16, interpreted: bool) -> Vec<u8> {
    let mut file = vec![0; HEAD + 56];
    file[..6].copy_from_slice(b"\x7fELF\x02\x01");
    file[18..20].copy_from_slice(&machine.to_le_bytes());
    file[PHOFF..PHOFF + 8].copy_from_slice(&(HEAD as u64).to_le_bytes());
    file[PHENTSIZE..PHENTSIZE + 2].copy_from_slice(&56u16.to_le_bytes());
    file[PHNUM..PHNUM + 2].copy_from_slice(&1u16.to_le_bytes());
    let kind = if interpreted { PT_INTERP } else { 1 };
    file[HEAD..HEAD + 4].copy_from_slice(&kind.to_le_bytes());
    file
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn of(bytes: &[u8]) -> io::Result<Facts> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        look(file.as_file())
    }

    #[test]
    fn machine_and_linker_are_seen() {
        assert_eq!(of(&example(X86_64, true)).unwrap(), Facts { machine: Some("x86_64"), interpreted: true });
        assert_eq!(of(&example(AARCH64, false)).unwrap(), Facts { machine: Some("aarch64"), interpreted: false });
        assert_eq!(of(&example(40, false)).unwrap(), Facts { machine: None, interpreted: false });
    }

    #[test]
    fn this_test_is_a_program_of_this_machine() {
        let facts = look(&File::open("/proc/self/exe").unwrap()).unwrap();
        assert_eq!(facts.machine, Some(std::env::consts::ARCH));
    }

    #[test]
    fn anything_else_is_refused() {
        let mut cut = example(X86_64, true);
        cut.truncate(HEAD);
        let mut far = example(X86_64, true);
        far[PHOFF..PHOFF + 8].copy_from_slice(&u64::MAX.to_le_bytes());
        for bytes in [&b""[..], b"#!/bin/sh\n", &[0; 200], &cut, &far] {
            assert_eq!(of(bytes).unwrap_err().to_string(), "it is no ELF program");
        }
    }
}
