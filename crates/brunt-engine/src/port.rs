//! What an I/O thread starts its I/Os through, many at once.
//!
//! A port belongs to one thread. It has a number of lanes, each with at most one I/O in flight, and a list of
//! files. The thread pushes requests, which form a batch; [`Port::submit`] or [`Port::wait`] hands the batch to
//! the kernel; [`Port::reap`] gives back what is done. Times are taken by the caller: before `push`, and after
//! `reap`, each I/O for itself.

pub mod aio;
pub mod error;
mod idle;
pub mod null;
mod refused;
pub mod sim;
pub mod uring;

use std::fs::File;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::address::Access;

/// What a port is made for, in the thread that will use it: `fn new(&Outfit) -> Result<Self, PortError>`.
#[derive(Debug, Clone, Copy)]
pub struct Outfit<'a> {
    /// Open files; requests name them by their index.
    pub files: &'a [Arc<File>],
    /// How many I/Os are in flight at most.
    pub lanes: u32,
    /// The memory in which all buffers lie, page-aligned, mapped for as long as the port lives.
    pub arena: NonNull<[u8]>,
}

/// An I/O to be started.
#[derive(Debug, Clone, Copy)]
pub struct Request {
    /// The lane, below the number that the port was made for. It has no other I/O in flight.
    pub lane: u32,
    /// Index in the port's list of files.
    pub file: u32,
    /// What to do.
    pub access: Access,
    /// Memory of at least `access.len` bytes, the lane's own until the I/O is done.
    pub buffer: NonNull<u8>,
}

/// An I/O that is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// Its lane.
    pub lane: u32,
    /// Bytes moved, or the system's error number.
    pub result: Result<u64, i32>,
}

/// Starts I/Os and says when they are done.
pub trait Port {
    /// Puts an I/O into the batch. There is always room: a lane has at most one.
    ///
    /// # Safety
    /// The buffer holds `access.len` bytes and stays valid, and untouched by others, until the I/O came back
    /// from [`Port::reap`], or the port was dropped.
    unsafe fn push(&mut self, request: &Request);

    /// Starts the batch, without waiting. What the kernel does not take for want of room stays in the batch, in
    /// order, and is tried again with the next call. An I/O that it refuses is done, with that error.
    fn submit(&mut self);

    /// Starts the batch, then waits until at least one I/O is done that `reap` has not given, or until
    /// `deadline_ns` of the monotonic clock. May return early for no reason.
    fn wait(&mut self, deadline_ns: u64);

    /// Looks for what is done without waiting for it, as cheaply as can be: for a thread that watches the clock.
    fn poll(&mut self);

    /// The next I/O that is done, of those that the last `submit`, `wait` or `poll` has found.
    fn reap(&mut self) -> Option<Completion>;
}
