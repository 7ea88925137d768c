//! What a back end costs by itself: random reads through a port, each stamped twice and recorded.

use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Instant;

use brunt_engine::address::Access;
use brunt_engine::buffer::Buffer;
use brunt_engine::port::aio::AioPort;
use brunt_engine::port::uring::UringPort;
use brunt_engine::port::{Completion, Outfit, Port, Request};
use brunt_engine::random::{Draws, Purpose};
use brunt_stats::{Histogram, OpStats};

use crate::run::{BLOCK, cpu_ns};

fn now_ns() -> u64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` is a place for the time.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut t) };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// Reads for so many seconds and prints a line.
pub fn port(path: &str, size: u64, name: &str, lanes: u32, seconds: f64) {
    let file = std::fs::OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(path).unwrap();
    let files = [Arc::new(file)];
    let mut memory = Buffer::new(u64::from(lanes) * BLOCK).unwrap();
    memory.bytes().fill(1);
    let arena = NonNull::from(memory.bytes());
    let outfit = Outfit { files: &files, lanes, arena };
    match name {
        "sync" => drive(Blocking(files[0].as_raw_fd(), None), arena, size, 1, seconds, name),
        "aio" => drive(AioPort::new(&outfit).unwrap(), arena, size, lanes, seconds, name),
        _ => drive(UringPort::new(&outfit).unwrap(), arena, size, lanes, seconds, name),
    }
}

/// `pread`, for comparison: one lane, and the I/O is done within `push`.
struct Blocking(i32, Option<Completion>);

impl Port for Blocking {
    unsafe fn push(&mut self, request: &Request) {
        let Request { lane, access, buffer, .. } = *request;
        // SAFETY: the caller promises that the buffer is as long.
        let done = unsafe { libc::pread(self.0, buffer.as_ptr().cast(), access.len as usize, access.lba as i64) };
        self.1 = Some(Completion { lane, result: u64::try_from(done).map_err(|_| libc::EIO) });
    }

    fn submit(&mut self) {}
    fn wait(&mut self, _deadline_ns: u64) {}
    fn poll(&mut self) {}

    fn reap(&mut self) -> Option<Completion> {
        self.1.take()
    }
}

fn drive(mut port: impl Port, arena: NonNull<[u8]>, size: u64, lanes: u32, seconds: f64, name: &str) {
    let mut draws = Draws::new(1, 0, Purpose::Address);
    let (mut hist, mut sums) = (Histogram::default(), OpStats::default());
    let mut issued = vec![0; lanes as usize];
    let mut idle: Vec<u32> = (0..lanes).rev().collect();
    let (began, before, mut waits) = (Instant::now(), cpu_ns(), 0_u64);
    let end_ns = now_ns() + (seconds * 1e9) as u64;
    let mut now = 0;
    while now < end_ns {
        while let Some(lane) = idle.pop() {
            let access = Access { read: true, hit: false, lba: draws.below(size / BLOCK) * BLOCK, len: BLOCK };
            // SAFETY: each lane has its block of the arena, which outlives the port.
            let buffer = unsafe { arena.cast::<u8>().add(lane as usize * BLOCK as usize) };
            now = now_ns();
            issued[lane as usize] = now;
            // SAFETY: as above, and the lane is idle.
            unsafe { port.push(&Request { lane, file: 0, access, buffer }) };
        }
        // Something is in flight: a timer would be for nothing, and costs 0.3 µs.
        port.wait(u64::MAX);
        waits += 1;
        now = now_ns();
        while let Some(done) = port.reap() {
            now = now_ns();
            let ns = now - issued[done.lane as usize];
            hist.record(ns);
            sums.record(done.result.unwrap(), ns, false);
            idle.push(done.lane);
        }
    }
    let (cpu, wall) = (cpu_ns() - before, began.elapsed().as_secs_f64());
    let ops = sums.ops as f64;
    let p50 = hist.take_sparse().quantile(0.5, sums.min_ns, sums.max_ns).unwrap_or(0);
    println!(
        "{name} lanes {lanes}: {:.0} ns/IO, {:.0} kIOPS, p50 {p50} ns, mean {:.0} ns, {:.2} IOs/wait",
        cpu / ops,
        ops / wall / 1000.0,
        sums.sum_ns as f64 / ops,
        ops / waits as f64
    );
}
