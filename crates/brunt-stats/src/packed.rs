//! The form in which a histogram travels: about one byte for a bucket.
//!
//! Each used bucket is an entry of its distance from the one before (of the first: from −1) and its count, both at
//! least 1 and written less 1:
//!
//! | first byte | then | distance | count |
//! |---|---|---|---|
//! | `0dddcccc` | | 1 to 8 | 1 to 16 |
//! | `10dddddd` | a byte | 1 to 64 | 1 to 256 |
//! | `11dddddd`, not all ones | a varint | 1 to 63 | any |
//! | `11111111` | two varints | any | any |
//!
//! Varints have seven bits a byte, the low ones first, as in protocol buffers.

use crate::histogram::{BUCKETS, SparseHistogram};

/// Bytes that are no histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotPacked;

impl std::fmt::Display for NotPacked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("these bytes are no packed histogram")
    }
}

impl std::error::Error for NotPacked {}

const MEDIUM: u8 = 0x80;
const LONG: u8 = 0xc0;
const LONGEST: u8 = 0xff;

impl SparseHistogram {
    /// Its buckets in the form described in `packed.rs`; `over` goes beside it.
    pub fn packed(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.buckets.len() * 3 / 2);
        for (distance, count) in self.entries() {
            match (distance, count) {
                (0..8, 0..16) => bytes.push((distance as u8) << 4 | count as u8),
                (0..64, 0..256) => bytes.extend([MEDIUM | distance as u8, count as u8]),
                (0..63, _) => {
                    bytes.push(LONG | distance as u8);
                    push_varint(&mut bytes, count);
                }
                _ => {
                    bytes.push(LONGEST);
                    push_varint(&mut bytes, distance.into());
                    push_varint(&mut bytes, count);
                }
            }
        }
        bytes
    }

    /// Length of [`SparseHistogram::packed`].
    pub fn packed_len(&self) -> usize {
        let length = |(distance, count)| match (distance, count) {
            (0..8u16, 0..16u64) => 1,
            (0..64, 0..256) => 2,
            (0..63, _) => 1 + varint_len(count),
            _ => 1 + varint_len(distance.into()) + varint_len(count),
        };
        self.entries().map(length).sum()
    }

    /// Distances and counts, less 1. What has no count is left out.
    fn entries(&self) -> impl Iterator<Item = (u16, u64)> + '_ {
        let mut next = 0;
        self.buckets.iter().filter(|(_, count)| *count > 0).map(move |(bucket, count)| {
            let distance = bucket.saturating_sub(next);
            next = bucket.saturating_add(1);
            (distance, count - 1)
        })
    }

    /// Reads what [`SparseHistogram::packed`] wrote.
    ///
    /// # Errors
    /// The bytes end within an entry, or name a bucket or a count that cannot be.
    pub fn unpack(mut bytes: &[u8], over: u64) -> Result<Self, NotPacked> {
        let mut buckets = Vec::with_capacity(bytes.len());
        let mut next = 0usize;
        while let Some((&first, rest)) = bytes.split_first() {
            bytes = rest;
            let (distance, count) = match first {
                0..MEDIUM => (usize::from(first >> 4), u64::from(first & 0xf)),
                MEDIUM..LONG => {
                    let (&count, rest) = bytes.split_first().ok_or(NotPacked)?;
                    bytes = rest;
                    (usize::from(first & 0x3f), count.into())
                }
                LONG..LONGEST => (usize::from(first & 0x3f), take_varint(&mut bytes)?),
                LONGEST => {
                    let distance = take_varint(&mut bytes)?;
                    (usize::try_from(distance).map_err(|_| NotPacked)?, take_varint(&mut bytes)?)
                }
            };
            let bucket = next.checked_add(distance).filter(|bucket| *bucket < BUCKETS).ok_or(NotPacked)?;
            buckets.push((bucket as u16, count.checked_add(1).ok_or(NotPacked)?));
            next = bucket + 1;
        }
        Ok(Self { buckets, over })
    }
}

fn push_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn varint_len(value: u64) -> usize {
    (64 - (value | 1).leading_zeros() as usize).div_ceil(7)
}

fn take_varint(bytes: &mut &[u8]) -> Result<u64, NotPacked> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or(NotPacked)?;
        *bytes = rest;
        if shift == 63 && byte > 1 {
            return Err(NotPacked);
        }
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(value);
        }
    }
    Err(NotPacked)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn entries_are_as_documented() {
        let pack = |buckets: &[(u16, u64)]| SparseHistogram { buckets: buckets.to_vec(), over: 0 }.packed();
        assert_eq!(pack(&[(0, 1), (8, 16)]), [0x00, 0x7f]);
        assert_eq!(pack(&[(63, 1), (64, 256)]), [0xbf, 0, 0x80, 255]);
        assert_eq!(pack(&[(62, 257)]), [0xc0 | 62, 0x80, 2]);
        assert_eq!(pack(&[(63, 257)]), [0xff, 63, 0x80, 2]);
    }

    #[test]
    fn nonsense_is_refused() {
        let refused: [&[u8]; 5] = [
            &[0x80],
            &[0xff, 0x80, 0x1f, 0],
            &[0xc0],
            &[0xff; 12],
            &[0xc0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1],
        ];
        for bytes in refused {
            assert_eq!(SparseHistogram::unpack(bytes, 0), Err(NotPacked), "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn what_was_packed_is_unpacked(
            buckets in prop::collection::btree_map(
                0..BUCKETS as u16,
                prop_oneof![1u64..20, 1u64..300, 1u64..=u64::MAX],
                0..300,
            ),
            over in any::<u64>(),
        ) {
            let histogram = SparseHistogram { buckets: buckets.into_iter().collect(), over };
            let bytes = histogram.packed();
            prop_assert_eq!(bytes.len(), histogram.packed_len());
            prop_assert_eq!(SparseHistogram::unpack(&bytes, over), Ok(histogram));
        }

        #[test]
        fn bytes_are_never_believed(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(histogram) = SparseHistogram::unpack(&bytes, 0) {
                prop_assert!(histogram.buckets.windows(2).all(|w| w[0].0 < w[1].0));
                prop_assert!(histogram.buckets.iter().all(|(b, n)| usize::from(*b) < BUCKETS && *n > 0));
            }
        }
    }
}
