//! Parses a parameter file, makes its plan and says how long each took, to see what grows with the input:
//!
//! ```sh
//! cargo run -p brunt-parm --example large -- 5000 200 100 > /tmp/large.parm
//! cargo run --release -p brunt-plan --example expand -- /tmp/large.parm
//! ```

#![allow(clippy::print_stdout, reason = "it is what the example does")]

use std::time::Instant;

use brunt_parm::source::{ReadError, Reader};
use brunt_parm::{Input, Severity, parse};
use brunt_plan::{Options, expand};

struct Disk;

impl Reader for Disk {
    fn read(&self, path: &str) -> Result<String, ReadError> {
        std::fs::read_to_string(path).map_err(|_| ReadError::NotFound)
    }

    fn absolute(&self, path: &str) -> String {
        path.to_owned()
    }
}

fn main() {
    let input = Input { files: std::env::args().skip(1).collect(), ..Input::default() };
    let began = Instant::now();
    let parsed = parse(&input, &Disk);
    let parse = began.elapsed();
    let mut diags = parsed.diags;
    let began = Instant::now();
    let plan = expand(&parsed.file, &Options::default(), &mut diags);
    let expand = began.elapsed();
    let errors = diags.iter().filter(|d| d.severity == Severity::Error).count();
    println!(
        "{} runs, {errors} errors; parsed in {parse:.1?}, expanded in {expand:.1?}",
        plan.map_or(0, |p| p.runs.len())
    );
}
