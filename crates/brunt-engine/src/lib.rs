//! Devices, I/O back ends, pacing, address choice and recording.
