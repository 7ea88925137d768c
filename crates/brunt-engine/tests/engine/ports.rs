//! The asynchronous back ends by themselves, on a file in memory, a file on disk and a loop device.
#![allow(unsafe_code, clippy::print_stderr)]

use std::fs::File;
use std::io;
use std::ptr::NonNull;
use std::sync::Arc;

use brunt_engine::address::Access;
use brunt_engine::buffer::Buffer;
use brunt_engine::port::aio::AioPort;
use brunt_engine::port::uring::UringPort;
use brunt_engine::port::{Completion, Outfit, Port, Request};

use crate::media::{Medium, all, mark, skip};

const K: u64 = 1024;
const BLOCK: u64 = 4 * K;
const MIB: u64 = 1024 * K;

type Make = fn(&Outfit<'_>) -> io::Result<Box<dyn Port>>;

/// Both, as far as this machine has them.
fn makes() -> Vec<(&'static str, Make)> {
    let mut makes: Vec<(&'static str, Make)> = Vec::new();
    let support = brunt_engine::support::support();
    match support.no_aio {
        None => makes.push(("aio", |o| Ok(Box::new(AioPort::new(o)?)))),
        Some(why) => skip(&why),
    }
    match support.no_uring {
        None => makes.push(("uring", |o| Ok(Box::new(UringPort::new(o)?)))),
        Some(why) if crate::confined::is_confined() => eprintln!("without uring: {why}"),
        Some(why) => skip(&why),
    }
    makes
}

/// A port with a buffer for each lane.
struct Rig {
    port: Option<Box<dyn Port>>,
    memory: Buffer,
    stride: u64,
}

impl Rig {
    fn new(make: Make, files: &[Arc<File>], lanes: u32, stride: u64) -> Self {
        let mut memory = Buffer::new(u64::from(lanes) * stride).unwrap();
        memory.bytes().fill(0);
        let arena = NonNull::from(memory.bytes());
        let port = make(&Outfit { files, lanes, arena }).unwrap();
        Self { port: Some(port), memory, stride }
    }

    fn port(&mut self) -> &mut dyn Port {
        self.port.as_deref_mut().unwrap()
    }

    fn buffer(&mut self, lane: u32) -> &mut [u8] {
        let (from, len) = ((u64::from(lane) * self.stride) as usize, self.stride as usize);
        &mut self.memory.bytes()[from..from + len]
    }

    fn push(&mut self, lane: u32, read: bool, lba: u64, len: u64) {
        let buffer = NonNull::from(self.buffer(lane)).cast();
        let access = Access { read, hit: false, lba, len };
        // SAFETY: the buffer is the lane's own; a rig drops its port before its memory.
        unsafe { self.port().push(&Request { lane, file: 0, access, buffer }) };
    }

    /// Waits for so many.
    fn reap(&mut self, count: usize) -> Vec<Completion> {
        let mut done = Vec::new();
        while done.len() < count {
            self.port().wait(u64::MAX);
            while let Some(one) = self.port().reap() {
                done.push(one);
            }
        }
        assert_eq!(done.len(), count);
        done.sort_by_key(|c| c.lane);
        done
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.port = None;
    }
}

/// Runs a test for each port on each medium.
fn each(bytes: u64, test: impl Fn(Make, &Medium)) {
    for (name, make) in makes() {
        for medium in all(bytes) {
            eprintln!("{name} on {}", medium.name);
            test(make, &medium);
        }
    }
}

#[test]
fn every_address_is_read() {
    each(2 * MIB, |make, medium| {
        let mut rig = Rig::new(make, &[medium.open(false).unwrap()], 32, BLOCK);
        for first in (0..medium.bytes / BLOCK).step_by(32) {
            (0..32).for_each(|lane| rig.push(lane, true, (first + u64::from(lane)) * BLOCK, BLOCK));
            for (lane, done) in (0..).zip(rig.reap(32)) {
                assert_eq!(done, Completion { lane, result: Ok(BLOCK) });
                let expected = mark(first + u64::from(lane));
                assert!(rig.buffer(lane).iter().all(|b| *b == expected), "block {}", first + u64::from(lane));
            }
        }
    });
}

#[test]
fn every_address_is_written() {
    each(2 * MIB, |make, medium| {
        let mut rig = Rig::new(make, &[medium.open(true).unwrap()], 8, 2 * BLOCK);
        for n in 0..medium.bytes / (2 * BLOCK) / 8 {
            for lane in 0..8 {
                // Every second block of the others, so that neighbours are in flight with others.
                let at = n + u64::from(lane) * (medium.bytes / (2 * BLOCK) / 8);
                rig.buffer(lane).fill(mark(at) ^ 0xff);
                rig.push(lane, false, at * 2 * BLOCK, 2 * BLOCK);
            }
            assert!(rig.reap(8).iter().all(|done| done.result == Ok(2 * BLOCK)));
        }
        drop(rig);
        for at in 0..medium.bytes / (2 * BLOCK) {
            let block = medium.block(at * 2 * BLOCK, 2 * BLOCK as usize);
            assert!(block.iter().all(|b| *b == mark(at) ^ 0xff), "block {at}");
        }
    });
}

#[test]
fn the_end_gives_what_there_is() {
    each(MIB, |make, medium| {
        let mut rig = Rig::new(make, &[medium.open(false).unwrap()], 3, 2 * BLOCK);
        rig.push(0, true, medium.bytes - BLOCK, 2 * BLOCK);
        rig.push(1, true, medium.bytes, BLOCK);
        rig.push(2, true, 0, BLOCK);
        let results: Vec<_> = rig.reap(3).into_iter().map(|done| done.result).collect();
        assert_eq!(results, [Ok(BLOCK), Ok(0), Ok(BLOCK)]);
    });
}

#[test]
fn errors_come_back_on_their_lanes() {
    each(MIB, |make, medium| {
        let mut rig = Rig::new(make, &[medium.open(false).unwrap()], 5, BLOCK);
        // A write to a file that is open for reading, among reads; the kernel refuses it at the door.
        rig.push(0, true, 0, BLOCK);
        rig.push(1, false, 0, BLOCK);
        rig.push(2, true, BLOCK, BLOCK);
        rig.push(3, false, 0, BLOCK);
        rig.push(4, true, 2 * BLOCK, BLOCK);
        let results: Vec<_> = rig.reap(5).into_iter().map(|done| done.result).collect();
        assert_eq!(results, [Ok(BLOCK), Err(libc::EBADF), Ok(BLOCK), Err(libc::EBADF), Ok(BLOCK)]);
        if medium.name != "tmpfs" {
            // O_DIRECT wants whole sectors; tmpfs does not care.
            rig.push(0, true, 100, BLOCK);
            rig.push(1, true, 0, BLOCK);
            rig.push(2, true, 0, 100);
            let results: Vec<_> = rig.reap(3).into_iter().map(|done| done.result).collect();
            assert_eq!(results, [Err(libc::EINVAL), Ok(BLOCK), Err(libc::EINVAL)]);
        }
        // The lanes are as good as before.
        (0..5).for_each(|lane| rig.push(lane, true, u64::from(lane) * BLOCK, BLOCK));
        assert!(rig.reap(5).iter().all(|done| done.result == Ok(BLOCK)));
    });
}

#[test]
fn more_lanes_than_tags() {
    each(4 * MIB, |make, medium| {
        let lanes = 300;
        let mut rig = Rig::new(make, &[medium.open(false).unwrap()], lanes, BLOCK);
        for round in 0..4 {
            (0..lanes).for_each(|lane| rig.push(lane, true, u64::from(lane + round * 100) * BLOCK, BLOCK));
            let done = rig.reap(lanes as usize);
            assert!((0..).zip(&done).all(|(lane, c)| *c == Completion { lane, result: Ok(BLOCK) }));
            assert!((0..lanes).all(|lane| rig.buffer(lane)[7] == mark(u64::from(lane + round * 100))));
        }
    });
}

/// A small generator of numbers, always the same.
struct Draws(u64);

impl Draws {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

#[test]
fn thousands_of_ios_in_any_order() {
    each(2 * MIB, |make, medium| {
        let (lanes, blocks) = (24, medium.bytes / BLOCK);
        let mut rig = Rig::new(make, &[medium.open(false).unwrap()], lanes, BLOCK);
        let mut draws = Draws(7);
        let mut idle: Vec<u32> = (0..lanes).collect();
        let mut at = vec![None; lanes as usize];
        let (mut started, mut ended) = (0, 0);
        while ended < 5000 {
            for _ in 0..draws.below(6) {
                if idle.is_empty() || started == 5000 {
                    break;
                }
                let lane = idle.swap_remove(draws.below(idle.len() as u64) as usize);
                let block = draws.below(blocks);
                at[lane as usize] = Some(block);
                rig.push(lane, true, block * BLOCK, BLOCK);
                started += 1;
            }
            match draws.below(3) {
                0 => rig.port().submit(),
                1 => rig.port().poll(),
                _ => rig.port().wait(if started > ended { u64::MAX } else { 0 }),
            }
            for _ in 0..draws.below(8) {
                let Some(done) = rig.port().reap() else { break };
                assert_eq!(done.result, Ok(BLOCK));
                let block = at[done.lane as usize].take().unwrap();
                let expected = mark(block);
                assert!(rig.buffer(done.lane).iter().all(|b| *b == expected));
                idle.push(done.lane);
                ended += 1;
            }
        }
        assert_eq!(idle.len(), lanes as usize);
    });
}

#[test]
fn a_dropped_port_has_waited_for_its_ios() {
    each(32 * MIB, |make, medium| {
        let (lanes, stride) = (32, MIB);
        let mut rig = Rig::new(make, &[medium.open(false).unwrap()], lanes, stride);
        (0..lanes).for_each(|lane| rig.push(lane, true, u64::from(lane) * stride, stride));
        rig.port().submit();
        rig.port = None;
        for lane in 0..lanes {
            let first = u64::from(lane) * stride / BLOCK;
            let buffer = rig.buffer(lane);
            assert!((first..).zip(buffer.chunks(BLOCK as usize)).all(|(b, c)| c.iter().all(|x| *x == mark(b))));
        }
    });
}

#[test]
fn what_was_only_pushed_is_not_done() {
    each(MIB, |make, medium| {
        let mut rig = Rig::new(make, &[medium.open(true).unwrap()], 1, BLOCK);
        rig.buffer(0).fill(0xff);
        rig.push(0, false, 0, BLOCK);
        rig.port().poll();
        assert_eq!(rig.port().reap(), None);
        drop(rig);
        assert!(medium.block(0, BLOCK as usize).iter().all(|b| *b == mark(0)));
    });
}

#[test]
fn polling_alone_finds_what_is_done() {
    each(MIB, |make, medium| {
        let mut rig = Rig::new(make, &[medium.open(false).unwrap()], 4, BLOCK);
        (0..4).for_each(|lane| rig.push(lane, true, u64::from(lane) * BLOCK, BLOCK));
        rig.port().submit();
        let mut lanes = 0;
        while lanes != 0b1111 {
            rig.port().poll();
            while let Some(done) = rig.port().reap() {
                assert_eq!(done.result, Ok(BLOCK));
                lanes |= 1 << done.lane;
            }
        }
    });
}

#[test]
fn buffers_elsewhere_serve_as_well() {
    each(MIB, |make, medium| {
        let mut rig = Rig::new(make, &[medium.open(false).unwrap()], 1, BLOCK);
        let mut other = Buffer::new(BLOCK).unwrap();
        let access = Access { read: true, hit: false, lba: 5 * BLOCK, len: BLOCK };
        let buffer = NonNull::from(other.bytes()).cast();
        // SAFETY: `other` outlives the I/O, which is awaited below.
        unsafe { rig.port().push(&Request { lane: 0, file: 0, access, buffer }) };
        assert_eq!(rig.reap(1)[0].result, Ok(BLOCK));
        assert!(other.bytes().iter().all(|b| *b == mark(5)));
    });
}

#[test]
fn several_files_keep_apart() {
    for (name, make) in makes() {
        let media = all(MIB);
        let files: Vec<_> = media.iter().map(|m| m.open(true).unwrap()).collect();
        let mut rig = Rig::new(make, &files, files.len() as u32, BLOCK);
        for file in 0..files.len() as u32 {
            rig.buffer(file).fill(0xf0 + file as u8);
            let buffer = NonNull::from(rig.buffer(file)).cast();
            let access = Access { read: false, hit: false, lba: BLOCK, len: BLOCK };
            // SAFETY: as in `Rig::push`.
            unsafe { rig.port().push(&Request { lane: file, file, access, buffer }) };
        }
        assert!(rig.reap(files.len()).iter().all(|done| done.result == Ok(BLOCK)), "{name}");
        for (n, medium) in media.iter().enumerate() {
            assert!(medium.block(BLOCK, BLOCK as usize).iter().all(|b| *b == 0xf0 + n as u8), "{name} {}", medium.name);
        }
    }
}

#[test]
fn a_wrong_file_is_an_error_of_its_lane() {
    for (_, make) in makes() {
        let mut rig = Rig::new(make, &[], 2, BLOCK);
        rig.push(1, true, 0, BLOCK);
        assert_eq!(rig.reap(1), [Completion { lane: 1, result: Err(libc::EBADF) }]);
    }
}

#[test]
fn a_polled_ring_tells_what_cannot_be_polled() {
    if let Some(why) = brunt_engine::support::support().no_uring {
        return if !crate::confined::is_confined() {
            skip(&why)
        };
    }
    let Some(medium) = Medium::tmpfs(MIB) else { return };
    let polled: Make = |o| Ok(Box::new(UringPort::new_polled(o)?));
    let mut rig = Rig::new(polled, &[], 2, BLOCK);
    // With nothing in flight there is nothing to poll; the deadline has passed.
    rig.port().wait(0);
    assert_eq!(rig.port().reap(), None);
    let files = [medium.open(false).unwrap()];
    let arena = NonNull::from(&mut [0_u8; 0][..]);
    let refused = UringPort::new_polled(&Outfit { files: &files, lanes: 1, arena }).err().unwrap().to_string();
    assert!(refused.starts_with("no io_uring: no polling: Operation not supported"), "{refused}");
}
