//! A short run of the fuzz targets on a stable compiler: the seeds, cut, mixed and changed.

#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "../../../fuzz/checks.rs"]
mod checks;

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use proptest::sample::Index;

fn seeds() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() > 5, "{paths:?}");
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// A change of a text.
#[derive(Debug, Clone)]
enum Change {
    Delete(Index, usize),
    Insert(Index, &'static str),
    Repeat(Index, usize),
    /// A part of another seed.
    Mix(Index, Index, Index, usize),
}

const BITS: [&str; 32] = [
    ",",
    "=",
    "(",
    ")",
    "\"",
    "-",
    " ",
    "\t",
    "\n",
    "\r\n",
    "*",
    "#",
    "/",
    "$x",
    "!x",
    "$host",
    "#hosts",
    "include=b\n",
    "eof",
    "\0",
    "d",
    "%",
    "k",
    "default",
    "rd=",
    "wd=",
    "sd=",
    "fsd=",
    "hd=",
    "1e999",
    "99999999999999999999",
    "é",
];

fn change() -> impl Strategy<Value = Change> {
    let at = any::<Index>;
    prop_oneof![
        (at(), 1usize..40).prop_map(|(i, n)| Change::Delete(i, n)),
        (at(), proptest::sample::select(BITS.to_vec())).prop_map(|(i, bit)| Change::Insert(i, bit)),
        (at(), 1usize..60).prop_map(|(i, n)| Change::Repeat(i, n)),
        (at(), at(), at(), 1usize..80).prop_map(|(i, seed, from, n)| Change::Mix(i, seed, from, n)),
    ]
}

fn part(text: &[u8], from: usize, length: usize) -> &[u8] {
    &text[from.min(text.len())..(from + length).min(text.len())]
}

fn apply(text: &mut Vec<u8>, change: &Change, seeds: &[Vec<u8>]) {
    let place = |i: &Index| i.index(text.len() + 1);
    match change {
        Change::Delete(i, n) => {
            let at = place(i);
            text.drain(at..(at + n).min(text.len()));
        }
        Change::Insert(i, bit) => {
            let at = place(i);
            text.splice(at..at, bit.bytes());
        }
        Change::Repeat(i, n) => {
            let at = place(i);
            let again = part(text, at, *n).to_vec();
            text.splice(at..at, again);
        }
        Change::Mix(i, seed, from, n) => {
            let at = place(i);
            let other = seed.get(seeds);
            text.splice(at..at, part(other, from.index(other.len()), *n).iter().copied());
        }
    }
}

#[test]
fn the_seeds_hold() {
    for seed in seeds() {
        checks::parse(&seed);
        checks::format(&seed);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn changed_seeds_hold(seed in any::<Index>(), changes in proptest::collection::vec(change(), 1..8)) {
        let seeds = seeds();
        let mut text = seed.get(&seeds).clone();
        for change in &changes {
            apply(&mut text, change, &seeds);
        }
        checks::parse(&text);
        checks::format(&text);
    }
}
