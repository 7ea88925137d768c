//! Whether a ring that polls for completions works with these files: tried by a read of the first block of each, since
//! only an I/O shows it. Drivers without queues for polling, and files, answer `EOPNOTSUPP`.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use io_uring::{opcode, types};

use super::ring::Ring;
use crate::buffer::Buffer;
use crate::clock::now_ns;

/// No device asks for more alignment.
const BLOCK: u32 = 4096;
/// So long a device may take for its first block.
const LIMIT_NS: u64 = 2_000_000_000;

/// Reads a block of each.
///
/// # Errors
/// Why it does not work.
pub fn check(ring: &mut Ring, files: &[Arc<File>]) -> Result<(), String> {
    let mut buffer = Buffer::new(u64::from(BLOCK)).map_err(|e| e.to_string())?;
    for file in files {
        match read(ring, file, &mut buffer) {
            Some(Ok(())) => {}
            Some(Err(errno)) => return Err(io::Error::from_raw_os_error(errno).to_string()),
            None => {
                // The kernel may still write there.
                std::mem::forget(buffer);
                return Err("a read was not done in time".into());
            }
        }
    }
    Ok(())
}

/// `None`: it is still out.
fn read(ring: &mut Ring, file: &File, buffer: &mut Buffer) -> Option<Result<(), i32>> {
    let until_ns = now_ns().saturating_add(LIMIT_NS);
    let entry = opcode::Read::new(types::Fd(file.as_raw_fd()), buffer.start().as_ptr(), BLOCK).build();
    loop {
        // SAFETY: the buffer has the bytes; it lives until the I/O is done, or for ever.
        if unsafe { ring.queues.submission().push(&entry) }.is_err() {
            return Some(Err(libc::EBUSY));
        }
        let mut to_submit = 1;
        let answer = loop {
            match ring.enter(to_submit, 0, None) {
                Ok(_) | Err(libc::EINTR | libc::EAGAIN | libc::EBUSY) => {}
                // What was not taken, nobody writes for.
                Err(errno) => return if ring.unsent() > 0 { Some(Err(errno)) } else { None },
            }
            to_submit = ring.unsent();
            if let Some(done) = ring.queues.completion().next() {
                break done.result();
            }
            if now_ns() >= until_ns {
                return None;
            }
        };
        match -answer {
            // Its tags were used up.
            libc::EAGAIN if now_ns() < until_ns => {}
            errno if errno > 0 => return Some(Err(errno)),
            _ => return Some(Ok(())),
        }
    }
}
