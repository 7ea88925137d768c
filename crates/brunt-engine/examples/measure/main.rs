//! What the engine costs and how exact it is. Reads a file at random, with O_DIRECT, never writes.
//!
//! `cargo run --release -p brunt-engine --example measure -- overhead FILE [LANES] [ROUNDS]`
//! `cargo run --release -p brunt-engine --example measure -- rates FILE [LANES]`
//! `cargo run --release -p brunt-engine --example measure -- binding FILE [LANES] [ROUNDS]`
//! `cargo run --release -p brunt-engine --example measure -- aio|uring FILE [LANES] [SECONDS]`
#![allow(unsafe_code, clippy::print_stdout, clippy::unwrap_used, clippy::expect_used)]

mod binding;
mod overhead;
mod port;
mod rates;
mod run;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [what, path, rest @ ..] = &args[..] else {
        println!("usage: measure overhead|rates|binding|aio|uring FILE [LANES] [ROUNDS]");
        return;
    };
    let number = |n: usize, default: usize| rest.get(n).map_or(default, |t| t.parse().unwrap());
    let mut file = std::fs::File::open(path).unwrap();
    let size = std::io::Seek::seek(&mut file, std::io::SeekFrom::End(0)).unwrap() / run::BLOCK * run::BLOCK;
    match what.as_str() {
        "rates" => rates::rates(path, size, number(0, 8) as u32),
        "aio" | "uring" => port::port(path, size, what, number(0, 32) as u32, number(1, 3) as f64),
        "binding" => binding::binding(path, size, number(0, 8) as u32, number(1, 7)),
        _ => overhead::overhead(path, size, number(0, 1) as u32, number(1, 9)),
    }
}
