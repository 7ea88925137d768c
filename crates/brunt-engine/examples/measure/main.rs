//! What the engine costs and how exact it is. Reads a file at random, with O_DIRECT, never writes.
//!
//! `cargo run --release -p brunt-engine --example measure -- overhead FILE [LANES] [ROUNDS]`
//! `cargo run --release -p brunt-engine --example measure -- rates FILE [LANES]`
//! `cargo run --release -p brunt-engine --example measure -- binding FILE [LANES] [ROUNDS]`
//! `cargo run --release -p brunt-engine --example measure -- null [LANES] [ROUNDS]`
//! `cargo run --release -p brunt-engine --example measure -- engine sync|aio|uring FILE [LANES] [ROUNDS]`
//! `cargo run --release -p brunt-engine --example measure -- ios sync|aio|uring|null FILE LANES COUNT`
//! `cargo run --release -p brunt-engine --example measure -- sync|aio|uring FILE [LANES] [SECONDS]`
#![allow(unsafe_code, clippy::print_stdout, clippy::unwrap_used, clippy::expect_used)]

mod backend;
mod binding;
mod overhead;
mod port;
mod rates;
mod run;

use brunt_plan::work::Backend;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let number = |rest: &[&str], n: usize, default: usize| rest.get(n).map_or(default, |t| t.parse().unwrap());
    match &args[..] {
        ["null", rest @ ..] => {
            backend::cost(Backend::Null, "/dev/null", 1 << 30, number(rest, 0, 32) as u32, number(rest, 1, 5));
        }
        ["engine", name, path, rest @ ..] if backend::backend(name).is_some() => {
            let backend = backend::backend(name).unwrap();
            backend::cost(backend, path, size_of(path), number(rest, 0, 32) as u32, number(rest, 1, 5));
        }
        ["ios", name, path, rest @ ..] if backend::backend(name).is_some() => {
            let backend = backend::backend(name).unwrap();
            backend::ios(backend, path, size_of(path), number(rest, 0, 1) as u32, number(rest, 1, 100_000) as u64);
        }
        ["rates", path, rest @ ..] => rates::rates(path, size_of(path), number(rest, 0, 8) as u32),
        [name @ ("sync" | "aio" | "uring"), path, rest @ ..] => {
            port::port(path, size_of(path), name, number(rest, 0, 32) as u32, number(rest, 1, 3) as f64);
        }
        ["binding", path, rest @ ..] => {
            binding::binding(path, size_of(path), number(rest, 0, 8) as u32, number(rest, 1, 7))
        }
        ["overhead", path, rest @ ..] => {
            overhead::overhead(path, size_of(path), number(rest, 0, 1) as u32, number(rest, 1, 9));
        }
        _ => println!("usage: measure overhead|rates|binding|sync|aio|uring|null|engine|ios …: see the source"),
    }
}

/// Whole blocks of a file or device.
fn size_of(path: &str) -> u64 {
    let mut file = std::fs::File::open(path).unwrap();
    std::io::Seek::seek(&mut file, std::io::SeekFrom::End(0)).unwrap() / run::BLOCK * run::BLOCK
}
