//! Devices, I/O back ends, pacing, address choice and recording.
#![allow(unsafe_code)]

pub mod address;
pub mod random;
