//! Chance, by a seed.

use std::sync::Mutex;
use std::time::Duration;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// The same throws for the same seed.
#[derive(Debug)]
pub struct Dice(Mutex<Xoshiro256PlusPlus>);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(Mutex::new(Xoshiro256PlusPlus::seed_from_u64(seed)))
    }

    /// From 0 up to `limit`, which is not reached.
    pub fn below(&self, limit: u64) -> u64 {
        self.0.lock().unwrap().next_u64() % limit
    }

    /// Within both limits.
    pub fn between(&self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// Whether it happens, in so many of a hundred cases.
    pub fn chance(&self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of some.
    pub fn pick<T: Clone>(&self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize].clone()
    }

    /// A time within both limits, milliseconds.
    pub fn ms(&self, low: u64, high: u64) -> Duration {
        Duration::from_micros(self.between(low * 1_000, high * 1_000))
    }
}
