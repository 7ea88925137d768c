//! What is written: incompressible, never zeros, every sector different.
//!
//! A lane fills its write buffer with random bytes once. Before each write it stamps the first 16
//! bytes of every 512-byte sector with two mixed words of the sector's address, the lane's salt and a
//! count of its writes. So no two sectors are equal, on the device or in time, and neither
//! deduplication nor compression finds anything; 16 bytes a sector cost a fraction of a fresh fill.
//! Reads go to a buffer of their own: what they bring would spoil the fill.

use crate::random::{Draws, Purpose, mix};

const SECTOR: usize = 512;

/// Stamps one lane's write buffer.
#[derive(Debug)]
pub struct Pattern {
    salt: u64,
    writes: u64,
}

impl Pattern {
    /// The pattern of a lane; `salt` differs between runs and lanes.
    pub fn new(salt: u64) -> Self {
        Self { salt: mix(salt), writes: 0 }
    }

    /// Fills a buffer, once.
    pub fn fill(&self, buffer: &mut [u8]) {
        let mut draws = Draws::new(self.salt, 0, Purpose::Data);
        for chunk in buffer.chunks_mut(8) {
            let bits = draws.bits().to_le_bytes();
            chunk.copy_from_slice(&bits[..chunk.len()]);
        }
    }

    /// Makes every sector of a block new that will be written at `lba`.
    #[inline]
    pub fn stamp(&mut self, block: &mut [u8], lba: u64) {
        self.writes += 1;
        let base = mix(self.salt ^ self.writes);
        for (n, sector) in block.chunks_mut(SECTOR).enumerate() {
            if let Some(head) = sector.first_chunk_mut::<16>() {
                let first = mix(base ^ lba.wrapping_add((n * SECTOR) as u64));
                let second = mix(first);
                head[..8].copy_from_slice(&first.to_le_bytes());
                head[8..].copy_from_slice(&second.to_le_bytes());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn all_sectors_of_all_writes_and_lanes_differ() {
        let mut seen = HashSet::new();
        for salt in 0..3 {
            let mut p = Pattern::new(salt);
            let mut block = vec![0; 8192];
            p.fill(&mut block);
            for lba in [0, 8192, 0] {
                p.stamp(&mut block, lba);
                assert!(block.chunks(SECTOR).all(|s| seen.insert(s.to_vec())));
            }
        }
    }

    #[test]
    fn it_does_not_compress() {
        let mut block = vec![0; 65_536];
        let mut p = Pattern::new(1);
        p.fill(&mut block);
        p.stamp(&mut block, 0);
        let mut counts = [0u32; 256];
        block.iter().for_each(|b| counts[usize::from(*b)] += 1);
        let entropy: f64 =
            counts.iter().map(|n| f64::from(*n) / 65_536.0).filter(|p| *p > 0.0).map(|p| -p * p.log2()).sum();
        assert!(entropy > 7.99, "{entropy}");
    }
}
