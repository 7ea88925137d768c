//! Which I/O comes next: operation, size, hit or miss, and address.
//!
//! [`AddressStream`] is a pure iterator. It owns all cursors and random draws of one generator, so
//! that the n-th I/O is the same whichever lane serves it and whatever the pacing does. The rules are
//! those of `docs/vdbench/raw.md` §8.4–§8.8: exact for everything sequential and for all grids; random
//! draws are our own.

mod cursor;
#[cfg(test)]
mod tests;

use brunt_plan::work::{Generator, Seek, Xfer};

use crate::random::{Draws, Purpose};
use cursor::Cursor;

/// I/Os of a batch: so many a lane takes at once where their order is of no account.
pub const BATCH: u64 = 16;

/// One I/O to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// Whether it reads.
    pub read: bool,
    /// Whether it goes to the hit area.
    pub hit: bool,
    /// First byte.
    pub lba: u64,
    /// Number of bytes.
    pub len: u64,
}

/// The I/Os of a plain sequential stream, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocks {
    read: bool,
    low: u64,
    high: u64,
    len: u64,
    count: u64,
    eof: bool,
}

impl Blocks {
    /// How many there are, when they end.
    pub fn limit(&self) -> Option<u64> {
        self.eof.then_some(self.count)
    }

    /// The n-th one.
    #[inline]
    pub fn get(&self, n: u64) -> Option<Access> {
        let n = match n {
            n if n < self.count => n,
            _ if self.eof => return None,
            n => n % self.count,
        };
        let lba = self.low + n * self.len;
        Some(Access { read: self.read, hit: false, lba, len: self.len.min(self.high - lba) })
    }
}

/// Blocks of one size at random in one area: what nearly all random workloads are.
#[derive(Debug, Clone, Copy)]
struct Plain {
    low: u64,
    len: u64,
    blocks: u64,
}

impl Plain {
    fn new(generator: &Generator) -> Option<Self> {
        let Xfer::Fixed(len @ 1..) = generator.xfer else { return None };
        let area = generator.miss;
        let simple = generator.hit.is_none()
            && generator.hotband.is_none()
            && generator.stride.is_none()
            && generator.streams.is_empty()
            && generator.align.is_none_or(|a| a == 0)
            && area.wrap.is_none()
            && matches!(generator.seek, Seek::Percent(p) if p >= 100.0);
        let blocks = area.high.saturating_sub(area.low) / len;
        (simple && blocks > 0).then_some(Self { low: area.low, len, blocks })
    }
}

/// A part of the SD with a cursor and draws of its own (`streams=`, `docs/vdbench/raw.md` §8.8).
#[derive(Debug, Clone)]
struct Stream {
    cursor: Cursor,
    draws: Draws,
}

/// The I/Os of one generator in order.
#[derive(Debug, Clone)]
pub struct AddressStream {
    read_pct: f64,
    read_hit_pct: f64,
    write_hit_pct: f64,
    xfer: Xfer,
    seek: Seek,
    align: Option<u64>,
    stride: Option<(u64, u64)>,
    draws: Draws,
    miss: Cursor,
    hit: Option<Cursor>,
    band: Option<Cursor>,
    streams: Vec<Stream>,
    next_stream: usize,
    ended: bool,
    /// Seed of the execution and number of the generator's stream.
    identity: (u64, u64),
    /// I/Os so far, of an unordered stream.
    drawn: u64,
    unordered: bool,
    plain: Option<Plain>,
}

impl AddressStream {
    /// The stream of a generator in an execution with seed `seed`.
    pub fn new(generator: &Generator, seed: u64) -> Self {
        let stream = |(n, area)| Stream {
            cursor: Cursor::new(area),
            draws: Draws::new(seed, generator.stream, Purpose::Stream(n)),
        };
        let random = match generator.seek {
            Seek::Percent(p) => p >= 100.0,
            Seek::Poisson { .. } => true,
            Seek::Eof => false,
        };
        Self {
            read_pct: generator.read_pct,
            read_hit_pct: generator.read_hit_pct,
            write_hit_pct: generator.write_hit_pct,
            xfer: generator.xfer.clone(),
            seek: generator.seek,
            align: generator.align.filter(|a| *a > 0),
            stride: generator.stride,
            draws: Draws::new(seed, generator.stream, Purpose::Address),
            miss: Cursor::new(generator.miss),
            hit: generator.hit.map(Cursor::new),
            band: generator.hotband.map(Cursor::new),
            streams: (0..).zip(generator.streams.iter().copied()).map(stream).collect(),
            next_stream: 0,
            ended: false,
            identity: (seed, generator.stream),
            drawn: 0,
            unordered: random && generator.stride.is_none() && generator.streams.is_empty(),
            plain: Plain::new(generator),
        }
    }

    /// Whether it ends at the end of the data (`seekpct=eof`).
    pub fn is_eof(&self) -> bool {
        self.seek == Seek::Eof
    }

    /// Whether the order of its I/Os is of no account: each goes to a random address of its own. Such a
    /// stream draws anew for each [`BATCH`], so that lanes can take batches by number, without a lock.
    pub fn is_unordered(&self) -> bool {
        self.unordered
    }

    /// Its I/Os by number, of a plain sequential stream: one size, one operation, one area without a fold.
    pub fn blocks(&self) -> Option<Blocks> {
        let Xfer::Fixed(len) = self.xfer else { return None };
        let sequential = self.is_eof() || matches!(self.seek, Seek::Percent(p) if p <= 0.0);
        let one_way = self.read_pct <= 0.0 || self.read_pct >= 100.0;
        let plain = self.stride.is_none() && self.streams.is_empty() && self.hit.is_none();
        let area = self.miss.area();
        let room = area.wrap.is_none_or(|w| w.at >= area.high) && area.high > area.low && len > 0;
        (sequential && one_way && plain && room).then(|| Blocks {
            read: self.read_pct > 0.0,
            low: area.low,
            high: area.high,
            len,
            count: (area.high - area.low).div_ceil(len),
            eof: self.is_eof(),
        })
    }

    /// Goes to the n-th batch of an unordered stream.
    pub fn go_to_batch(&mut self, n: u64) {
        self.drawn = n.saturating_mul(BATCH);
    }

    /// Whether nothing will come any more.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// The next I/O for a lane, counted within its SD. Lanes matter only with `streams=`: they are dealt
    /// to the streams in turn, and each lane ends with its stream.
    #[inline]
    pub fn next_for(&mut self, lane: usize) -> Option<Access> {
        if self.ended {
            return None;
        }
        if self.streams.is_empty() {
            let access = self.single();
            self.ended = access.is_none();
            return access;
        }
        let access = self.streamed(lane % self.streams.len());
        if access.is_none() {
            self.ended = self.streams.iter().all(|s| s.cursor.at_end());
        }
        access
    }

    fn streamed(&mut self, n: usize) -> Option<Access> {
        let eof = self.is_eof();
        let stream = self.streams.get_mut(n)?;
        let read = stream.draws.percent(self.read_pct);
        let len = size(&self.xfer, &mut stream.draws);
        let (lba, len) = stream.cursor.follow(len, eof)?;
        Some(Access { read, hit: false, lba, len })
    }

    #[inline]
    fn single(&mut self) -> Option<Access> {
        if self.unordered {
            if self.drawn.is_multiple_of(BATCH) {
                let (seed, stream) = self.identity;
                self.draws = Draws::new(seed, stream, Purpose::Batch(self.drawn / BATCH));
            }
            self.drawn += 1;
        }
        let read = self.draws.percent(self.read_pct);
        if let Some(Plain { low, len, blocks }) = self.plain {
            return Some(Access { read, hit: false, lba: low + self.draws.below(blocks) * len, len });
        }
        let len = size(&self.xfer, &mut self.draws);
        let hit_pct = if read { self.read_hit_pct } else { self.write_hit_pct };
        let hit = self.hit.is_some() && self.draws.percent(hit_pct);
        let seeks = match self.seek {
            Seek::Percent(p) => self.draws.percent(p),
            Seek::Eof => false,
            Seek::Poisson { .. } => true,
        };
        let (lba, len) = if seeks { self.seek(read, hit, len) } else { self.follow(hit, len)? };
        Some(Access { read, hit, lba, len })
    }

    /// Behind the I/O before in the same area (§8.5, §8.6).
    fn follow(&mut self, hit: bool, len: u64) -> Option<(u64, u64)> {
        // The miss area decides about the end; the hit area only where no I/O ever misses.
        let eof = self.is_eof();
        let all_hit = (self.read_pct <= 0.0 || self.read_hit_pct >= 100.0)
            && (self.read_pct >= 100.0 || self.write_hit_pct >= 100.0);
        match self.hit.as_mut().filter(|_| hit) {
            Some(area) => area.follow(len, eof && all_hit),
            None => self.miss.follow(len, eof),
        }
    }

    /// A new address (§8.4, §8.7).
    fn seek(&mut self, read: bool, hit: bool, len: u64) -> (u64, u64) {
        let draws = &mut self.draws;
        if let Some(band) = self.band.as_mut().filter(|_| !hit) {
            let place = band.hot(len, !read, draws);
            self.miss.continue_behind(band);
            return place;
        }
        let area = match self.hit.as_mut().filter(|_| hit) {
            Some(area) => area,
            None => &mut self.miss,
        };
        if let Some(stride) = self.stride {
            return area.stride(len, stride, self.align, draws);
        }
        match (self.seek, self.align) {
            (Seek::Poisson { mid }, _) => area.poisson(len, mid, draws),
            (_, Some(align)) => area.aligned(len, align, draws),
            (_, None) => area.random(len, draws),
        }
    }
}

impl Iterator for AddressStream {
    type Item = Access;

    /// The next I/O; with `streams=` those of the streams in turn.
    fn next(&mut self) -> Option<Access> {
        loop {
            let lane = self.next_stream;
            self.next_stream = (lane + 1) % self.streams.len().max(1);
            match self.next_for(lane) {
                None if !self.ended => {}
                access => return access,
            }
        }
    }
}

fn size(xfer: &Xfer, draws: &mut Draws) -> u64 {
    match xfer {
        Xfer::Fixed(len) => *len,
        Xfer::Range { min, max, align } => {
            let align = (*align).max(1);
            min + align * draws.below(max.saturating_sub(*min) / align + 1)
        }
        Xfer::Weighted(sizes) => {
            let mut left = draws.unit() * 100.0;
            for (len, percent) in sizes {
                left -= percent;
                if left < 0.0 {
                    return *len;
                }
            }
            // Percentages that add up to a hair less than 100.
            sizes.iter().rev().find(|(_, percent)| *percent > 0.0).map_or(0, |(len, _)| *len)
        }
    }
}
