//! Two lists of fixed room, on the way of every I/O.

/// The lanes of what was pushed and not taken by the kernel, in order.
#[derive(Debug)]
pub struct Unsent {
    /// A circle of a power of two.
    lanes: Box<[u32]>,
    /// Pushed in all, modulo 2³².
    pushed: u32,
    count: u32,
}

impl Unsent {
    /// With room for so many.
    pub fn new(lanes: u32) -> Self {
        Self { lanes: vec![0; lanes.max(1).next_power_of_two() as usize].into(), pushed: 0, count: 0 }
    }

    /// How many there are.
    #[inline]
    pub fn len(&self) -> u32 {
        self.count
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    fn place(&self, n: u32) -> usize {
        n as usize & (self.lanes.len() - 1)
    }

    /// Adds one. There is room: a lane has one at most.
    #[inline]
    pub fn push(&mut self, lane: u32) {
        let place = self.place(self.pushed);
        if let Some(slot) = self.lanes.get_mut(place) {
            *slot = lane;
        }
        self.pushed = self.pushed.wrapping_add(1);
        self.count += 1;
    }

    /// The kernel took the first ones.
    #[inline]
    pub fn taken(&mut self, count: u32) {
        self.count -= count.min(self.count);
    }

    /// Takes the first one back.
    pub fn pop(&mut self) -> Option<u32> {
        let first = self.pushed.wrapping_sub(self.count);
        self.count = self.count.checked_sub(1)?;
        self.lanes.get(self.place(first)).copied()
    }
}

/// What is done and was not reaped: lanes and answers, in order.
#[derive(Debug)]
pub struct Answers {
    list: Vec<(u32, i32)>,
    next: usize,
}

impl Answers {
    /// With room for so many, and for as many that were reaped already.
    pub fn new(lanes: u32) -> Self {
        Self { list: Vec::with_capacity(2 * lanes as usize), next: 0 }
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.next == self.list.len()
    }

    /// Adds some, at most as many as there are lanes without an answer, and says how many.
    #[inline]
    pub fn add(&mut self, more: impl ExactSizeIterator<Item = (u32, i32)>) -> u32 {
        if self.is_empty() {
            self.list.clear();
            self.next = 0;
        } else if self.list.len() + more.len() > self.list.capacity() {
            self.list.drain(..self.next);
            self.next = 0;
        }
        let before = self.list.len();
        for answer in more {
            self.list.push(answer);
        }
        (self.list.len() - before) as u32
    }

    /// The next one.
    #[inline]
    pub fn take(&mut self) -> Option<(u32, i32)> {
        let answer = *self.list.get(self.next)?;
        self.next += 1;
        Some(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unsent_go_round_in_order() {
        let mut unsent = Unsent::new(3);
        unsent.pushed = u32::MAX - 1;
        for round in 0..5 {
            (0..3).for_each(|n| unsent.push(round * 3 + n));
            unsent.taken(1);
            assert_eq!((unsent.len(), unsent.pop(), unsent.pop()), (2, Some(round * 3 + 1), Some(round * 3 + 2)));
            assert!(unsent.is_empty() && unsent.pop().is_none());
        }
    }

    #[test]
    fn answers_need_no_more_room_however_they_are_taken() {
        let mut answers = Answers::new(4);
        let room = answers.list.capacity();
        let (mut given, mut taken) = (0, 0);
        for turn in 0..1000u32 {
            let free = 4 - (given - taken);
            given += answers.add((given..given + free).map(|n| (n, -1)).collect::<Vec<_>>().into_iter());
            for _ in 0..turn % 4 + 1 {
                assert_eq!(answers.take(), Some((taken, -1)));
                taken += 1;
            }
        }
        assert_eq!(answers.list.capacity(), room);
    }
}
