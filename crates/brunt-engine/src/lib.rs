//! Devices, I/O back ends, pacing, address choice and recording.
//!
//! A [`WorkerShare`](brunt_plan::work::WorkerShare) goes in, [`WorkerEvent`](brunt_plan::work::WorkerEvent)s
//! come out:
//!
//! ```text
//! share ─ assembly ─▶ generators (address, pacing) ─ feed | dispatch ─▶ queue ─▶ lanes ─▶ device
//!                                                       lanes ─▶ record ─▶ collect ─▶ reporter ─▶ events
//! ```
//!
//! A *lane* is one outstanding I/O (`threads=`), a *generator* one (workload × SD) of the worker. In real time lanes
//! are threads that block (`lane`), or one thread drives many of them through a port (`reactor`, `port`); on the
//! virtual clock one loop plays them all. Reactor and virtual clock share the lanes' book-keeping (`crew`).
//! The I/O loop neither allocates nor logs nor formats; its only lock is the one around the generators of an SD with
//! blocking lanes and mixed sequential work in uncontrolled runs, outside the measured time.
#![allow(unsafe_code)]

mod affinity;
mod assembly;
mod clock;
mod collect;
mod crew;
mod dispatch;
mod engine;
mod feed;
mod futex;
mod lane;
mod options;
mod pace;
mod pacer;
mod pattern;
mod queue;
mod reactor;
mod record;
mod removal;
mod reporter;
mod seat;
mod shared;
mod site;
mod tally;
mod threads;
mod virtual_time;
mod watch;

mod absence;
pub mod address;
pub mod buffer;
pub mod calibrate;
pub mod device;
pub mod pacing;
pub mod port;
pub mod priority;
pub mod probe;
pub mod random;
pub mod reserve;
pub mod support;

pub use engine::{Engine, Outstanding, Prepared, Running};
pub use options::{Bind, EngineError, EngineOptions};
