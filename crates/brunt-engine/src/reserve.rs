//! Persistent reservation keys of a block device: who else has registered to write to it.
//!
//! SCSI devices, and multipath maps over them, are asked with PERSISTENT RESERVE IN through `SG_IO` (SPC-4 §6.15.2);
//! others, NVMe among them, through the kernel's `IOC_PR_READ_KEYS`, which Linux has from 6.19 on. Only the pure parts
//! are tested: no such device was at hand.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Keys that are asked for: a cluster has one for each path of each node.
const MOST_KEYS: usize = 256;
/// In front of the keys: generation and length, four bytes each.
const HEADER: usize = 8;
const ANSWER: usize = HEADER + 8 * MOST_KEYS;
/// Milliseconds that a device has to answer.
const TIMEOUT_MS: u32 = 10_000;

/// `linux/pr.h`: `_IOWR('p', 206, struct pr_read_keys)` of 16 bytes.
const IOC_PR_READ_KEYS: u32 = 3 << 30 | 16 << 16 | (b'p' as u32) << 8 | 206;
/// `scsi/sg.h`.
const SG_IO: u32 = 0x2285;
const SG_DXFER_FROM_DEV: i32 = -3;

/// `scsi/sg.h`: `struct sg_io_hdr`.
#[repr(C)]
struct SgIo {
    interface: i32,
    direction: i32,
    command_len: u8,
    sense_max: u8,
    iovecs: u16,
    data_len: u32,
    data: *mut u8,
    command: *const u8,
    sense: *mut u8,
    timeout_ms: u32,
    flags: u32,
    pack_id: i32,
    user: *mut u8,
    status: u8,
    masked_status: u8,
    message_status: u8,
    sense_written: u8,
    host_status: u16,
    driver_status: u16,
    residual: i32,
    duration: u32,
    info: u32,
}

/// `linux/pr.h`: `struct pr_read_keys`.
#[repr(C)]
struct PrReadKeys {
    generation: u32,
    count: u32,
    keys: u64,
}

/// PERSISTENT RESERVE IN, READ KEYS (SPC-4 §6.15.1): operation code, service action, and the length of the answer in
/// bytes 7 and 8.
fn command(answer: u16) -> [u8; 10] {
    let [high, low] = answer.to_be_bytes();
    [0x5e, 0x00, 0, 0, 0, 0, 0, high, low, 0]
}

/// The keys of an answer (SPC-4 §6.15.2). The device says how many bytes of them there are, which may be more than fit.
///
/// # Errors
/// `InvalidData` when there is not even a header.
fn parse(answer: &[u8]) -> io::Result<Vec<u64>> {
    let (Some(length), Some(rest)) = (answer.get(4..HEADER), answer.get(HEADER..)) else {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the answer about reservation keys is too short"));
    };
    let length = length.iter().fold(0usize, |all, byte| all << 8 | usize::from(*byte));
    let keys = rest.get(..length.min(rest.len())).unwrap_or_default().chunks_exact(8);
    Ok(keys.map(|key| key.iter().fold(0, |all, byte| all << 8 | u64::from(*byte))).collect())
}

/// The keys that are registered with a device, at most 256.
///
/// # Errors
/// What the system says; `ENOTTY`, `EINVAL`, `EPERM` and others only mean that it cannot be known.
pub fn read_keys(device: BorrowedFd<'_>) -> io::Result<Vec<u64>> {
    scsi_keys(device).or_else(|_| kernel_keys(device))
}

fn scsi_keys(device: BorrowedFd<'_>) -> io::Result<Vec<u64>> {
    let (mut answer, mut sense) = ([0u8; ANSWER], [0u8; 32]);
    let command = command(ANSWER as u16);
    let mut request = SgIo {
        interface: i32::from(b'S'),
        direction: SG_DXFER_FROM_DEV,
        command_len: command.len() as u8,
        sense_max: sense.len() as u8,
        iovecs: 0,
        data_len: ANSWER as u32,
        data: answer.as_mut_ptr(),
        command: command.as_ptr(),
        sense: sense.as_mut_ptr(),
        timeout_ms: TIMEOUT_MS,
        flags: 0,
        pack_id: 0,
        user: std::ptr::null_mut(),
        status: 0,
        masked_status: 0,
        message_status: 0,
        sense_written: 0,
        host_status: 0,
        driver_status: 0,
        residual: 0,
        duration: 0,
        info: 0,
    };
    // SAFETY: `request` has the layout of `struct sg_io_hdr`; its pointers lead to arrays of the lengths that it names,
    // which live through the call. The command only reads.
    let result = unsafe { libc::ioctl(device.as_raw_fd(), SG_IO as libc::Ioctl, &raw mut request) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    if request.status != 0 || request.host_status != 0 || request.driver_status != 0 {
        return Err(io::Error::other("the device does not tell its reservation keys"));
    }
    let written = ANSWER.saturating_sub(usize::try_from(request.residual).unwrap_or(0));
    parse(&answer[..written])
}

fn kernel_keys(device: BorrowedFd<'_>) -> io::Result<Vec<u64>> {
    let mut keys = [0u64; MOST_KEYS];
    let mut request = PrReadKeys { generation: 0, count: MOST_KEYS as u32, keys: keys.as_mut_ptr() as u64 };
    // SAFETY: `request` has the layout of `struct pr_read_keys`, and `keys` leads to `count` numbers that live through
    // the call.
    let result = unsafe { libc::ioctl(device.as_raw_fd(), IOC_PR_READ_KEYS as libc::Ioctl, &raw mut request) };
    if result != 0 {
        return Err(if result < 0 { io::Error::last_os_error() } else { io::Error::other("the device refused") });
    }
    Ok(keys.into_iter().take(request.count as usize).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn the_command_asks_for_keys() {
        assert_eq!(command(0x0808), [0x5e, 0, 0, 0, 0, 0, 0, 0x08, 0x08, 0]);
        assert_eq!(ANSWER, 0x0808);
    }

    #[test]
    fn structures_are_as_the_kernel_has_them() {
        assert_eq!(size_of::<PrReadKeys>(), 16);
        assert_eq!(IOC_PR_READ_KEYS, 0xc010_70ce);
        #[cfg(target_pointer_width = "64")]
        assert_eq!((size_of::<SgIo>(), std::mem::offset_of!(SgIo, status)), (88, 64));
    }

    #[test]
    fn keys_are_read_from_the_answer() {
        let answer = [
            &[0, 0, 0, 7][..],
            &[0, 0, 0, 16],
            &[0x12, 0x34, 0, 0, 0, 0, 0, 1],
            &[0, 0, 0, 0, 0xab, 0xcd, 0, 2],
            // Behind the keys: what the buffer held before.
            &[0xff; 16],
        ];
        assert_eq!(parse(&answer.concat()).unwrap(), [0x1234_0000_0000_0001, 0xabcd_0002]);
        assert_eq!(parse(&[0, 0, 0, 0, 0, 0, 0, 0]).unwrap(), [0u64; 0]);
        // More keys than fit: those that came.
        let cut = [&[0, 0, 0, 1, 0xff, 0xff, 0xff, 0xf8][..], &[1; 12]].concat();
        assert_eq!(parse(&cut).unwrap(), [0x0101_0101_0101_0101]);
        assert_eq!(parse(&[0; 7]).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn what_has_no_reservations_says_so() {
        let null = std::fs::File::open("/dev/null").unwrap();
        assert!(read_keys(null.as_fd()).is_err());
        let file = tempfile::tempfile().unwrap();
        assert!(read_keys(file.as_fd()).is_err());
    }
}
