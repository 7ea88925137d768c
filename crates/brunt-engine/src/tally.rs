//! Which generators have come to the end of their data, and whether all their I/Os are done.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};

use brunt_plan::work::{Generator, Seek};

#[derive(Debug, Default)]
struct One {
    eof: bool,
    issued: AtomicU64,
    completed: AtomicU64,
    ended: AtomicBool,
    drained: AtomicBool,
}

/// Counts the I/Os of generators that end (`seekpct=eof`); the others cost nothing.
#[derive(Debug)]
pub struct Tally {
    all: Vec<One>,
    any_eof: bool,
    left: AtomicUsize,
}

impl Tally {
    /// For the generators of a share.
    pub fn new(generators: &[Generator]) -> Self {
        let one = |g: &Generator| One { eof: g.seek == Seek::Eof, ..One::default() };
        let all: Vec<One> = generators.iter().map(one).collect();
        let count = all.iter().filter(|o| o.eof).count();
        Self { all, any_eof: count > 0, left: AtomicUsize::new(count) }
    }

    /// So many I/Os will be handed out, one way or another; they need not be told one by one.
    pub fn expect(&self, generator: usize, count: u64) {
        if let Some(one) = self.all.get(generator).filter(|o| o.eof) {
            one.issued.store(count, SeqCst);
            one.ended.store(true, SeqCst);
        }
    }

    /// An I/O was handed out.
    #[inline]
    pub fn issued(&self, generator: usize) {
        if let Some(one) = self.all.get(generator).filter(|o| o.eof) {
            one.issued.fetch_add(1, SeqCst);
        }
    }

    /// An I/O is done. True when it was the last of all that end.
    #[inline]
    pub fn completed(&self, generator: usize) -> bool {
        match self.all.get(generator).filter(|o| o.eof) {
            Some(one) => {
                one.completed.fetch_add(1, SeqCst);
                self.drained(one)
            }
            None => false,
        }
    }

    /// A generator will hand out nothing more. True when nothing was left to do for any that end.
    pub fn ended(&self, generator: usize) -> bool {
        match self.all.get(generator) {
            Some(one) => {
                one.ended.store(true, SeqCst);
                self.drained(one)
            }
            None => false,
        }
    }

    /// A generator is not to go on, whatever of it is in flight. True when it was the last of all that end.
    pub fn abandoned(&self, generator: usize) -> bool {
        let one = self.all.get(generator).filter(|o| o.eof);
        one.is_some_and(|one| !one.drained.swap(true, SeqCst) && self.left.fetch_sub(1, SeqCst) == 1)
    }

    fn drained(&self, one: &One) -> bool {
        one.ended.load(SeqCst)
            && one.completed.load(SeqCst) == one.issued.load(SeqCst)
            && !one.drained.swap(true, SeqCst)
            && self.left.fetch_sub(1, SeqCst) == 1
    }

    /// Whether there were generators that end, and all have, with all their I/Os.
    pub fn sequential_done(&self) -> bool {
        self.any_eof && self.left.load(SeqCst) == 0
    }

    /// Whether there is nothing at all left to do.
    pub fn all_done(&self) -> bool {
        self.left.load(SeqCst) == 0 && self.all.iter().all(|o| o.eof)
    }
}
