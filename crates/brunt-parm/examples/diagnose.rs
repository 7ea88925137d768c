//! Prints what is wrong with parameter files: `diagnose FILE…`; with `--ast` also what was
//! understood, with `--echo` only the lines of `parmfile.html`.

#![allow(clippy::print_stdout)]

use brunt_parm::render::render;
use brunt_parm::source::{ReadError, Reader};
use brunt_parm::{Input, parse};

struct Disk;

impl Reader for Disk {
    fn read(&self, path: &str) -> Result<String, ReadError> {
        std::fs::read_to_string(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => ReadError::NotFound,
            _ => ReadError::Other(error.to_string()),
        })
    }

    fn absolute(&self, path: &str) -> String {
        std::path::absolute(path).map_or_else(|_| path.to_owned(), |p| p.display().to_string())
    }
}

fn main() {
    let mut input = Input::default();
    let (mut ast, mut echo) = (false, false);
    for argument in std::env::args().skip(1) {
        match argument.split_once('=') {
            _ if argument == "--ast" => ast = true,
            _ if argument == "--echo" => echo = true,
            _ if argument.starts_with('+') => input.rd_extra = Some(argument[1..].to_owned()),
            Some((key, value)) => input.substitutions.push((key.to_owned(), value.to_owned())),
            None => input.files.push(argument),
        }
    }
    let parsed = parse(&input, &Disk);
    if echo {
        parsed.echo.iter().for_each(|line| println!("{line}"));
        return;
    }
    for diag in &parsed.diags {
        println!("{}\n", render(diag, &parsed.sources, false));
    }
    if ast {
        println!("{:#?}", parsed.file);
    }
}
