//! A byte range with its cursor: the end of the I/O before.

use brunt_plan::work::Area;

use crate::random::Draws;

#[derive(Debug, Clone)]
pub(super) struct Cursor {
    area: Area,
    /// Where the next sequential I/O goes, `area.low..=area.high`.
    next: u64,
    /// Whether any I/O was placed yet.
    used: bool,
}

impl Cursor {
    pub(super) fn new(area: Area) -> Self {
        Self { area: Area { high: area.high.max(area.low), ..area }, next: area.low, used: false }
    }

    pub(super) fn area(&self) -> Area {
        self.area
    }

    /// Whether a sequential reader has seen everything.
    pub(super) fn at_end(&self) -> bool {
        self.next >= self.area.high
    }

    /// Takes over the place of another cursor, so that a sequential I/O continues behind its last one.
    pub(super) fn continue_behind(&mut self, other: &Cursor) {
        self.next = other.next.clamp(self.area.low, self.area.high);
        self.used = true;
    }

    fn width(&self) -> u64 {
        self.area.high - self.area.low
    }

    /// Moves behind `at` and turns it into an address of the target. A block neither leaves the area
    /// nor crosses the wrap: it is shortened, and the next one begins there.
    fn place(&mut self, at: u64, len: u64) -> (u64, u64) {
        let mut len = len.min(self.area.high.saturating_sub(at));
        let mut lba = at;
        if let Some(wrap) = self.area.wrap.filter(|w| w.at > 0) {
            if at < wrap.at {
                len = len.min(wrap.at - at);
            } else {
                lba = at - wrap.at + wrap.to;
            }
        }
        self.next = at + len;
        self.used = true;
        (lba, len)
    }

    /// The next sequential block. At the end the last block is shortened; behind it the cursor goes
    /// back to the start, or with `eof` nothing comes (`docs/vdbench/raw.md` §8.5).
    pub(super) fn follow(&mut self, len: u64, eof: bool) -> Option<(u64, u64)> {
        if self.at_end() {
            if eof {
                return None;
            }
            self.next = self.area.low;
        }
        Some(self.place(self.next, len))
    }

    /// On the grid of this size, relative to the start (§8.4).
    pub(super) fn random(&mut self, len: u64, draws: &mut Draws) -> (u64, u64) {
        let block = draws.below(self.blocks(len));
        self.place(self.area.low + block * len, len)
    }

    /// On the grid of `align=` (§8.4).
    pub(super) fn aligned(&mut self, len: u64, align: u64, draws: &mut Draws) -> (u64, u64) {
        let count = self.width().saturating_sub(len) / align;
        self.place(self.area.low + draws.below(count) * align, len)
    }

    /// A gap of `min + k·unit` behind the end of the I/O before, from the start when that does not
    /// fit. The unit is the size, or `align=`, with which also the first I/O has a gap (§8.7).
    pub(super) fn stride(
        &mut self,
        len: u64,
        (min, max): (u64, u64),
        align: Option<u64>,
        draws: &mut Draws,
    ) -> (u64, u64) {
        if !self.used && align.is_none() {
            return self.place(self.area.low, len);
        }
        let unit = align.unwrap_or(len).max(1);
        let gap = min + draws.below(max.saturating_sub(min) / unit) * unit;
        let at = self.next.saturating_add(gap);
        let fits = at.checked_add(len).is_some_and(|end| end <= self.area.high);
        self.place(if fits { at } else { self.area.low }, len)
    }

    /// Skewed to low addresses, exponentially (§8.4).
    pub(super) fn poisson(&mut self, len: u64, mid: f64, draws: &mut Draws) -> (u64, u64) {
        let blocks = self.blocks(len).max(1);
        let far = draws.exponential() * blocks as f64 / mid.max(f64::MIN_POSITIVE);
        self.place(self.area.low + (far as u64 % blocks) * len, len)
    }

    /// Skewed to low addresses by our own curve: the share `x` of the band gets the share `∛x` of the
    /// I/Os, so that its first tenth gets 46 %. Writes lie 1 % of the band higher (§8.4).
    pub(super) fn hot(&mut self, len: u64, write: bool, draws: &mut Draws) -> (u64, u64) {
        let blocks = self.blocks(len).max(1);
        let u = draws.unit();
        let block = (u * u * u * blocks as f64) as u64;
        let shift = if write { blocks / 100 } else { 0 };
        self.place(self.area.low + ((block + shift) % blocks) * len, len)
    }

    fn blocks(&self, len: u64) -> u64 {
        self.width() / len.max(1)
    }
}
