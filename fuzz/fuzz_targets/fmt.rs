//! Parse, format, parse: the meaning stays, and twice is once.
#![no_main]

#[path = "../checks.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::format(data));
