//! The buckets of a histogram in JSON: one list of distances and counts in turn. Half of what pairs take, and an
//! interval has thousands.

use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde::ser::{SerializeSeq, Serializer};

use crate::histogram::BUCKETS;

/// Writes the distance of each bucket from the one before (the first from 0) and its count.
pub fn serialize<S: Serializer>(buckets: &[(u16, u64)], serializer: S) -> Result<S::Ok, S::Error> {
    let mut list = serializer.serialize_seq(Some(2 * buckets.len()))?;
    let mut before = 0;
    for (bucket, count) in buckets {
        list.serialize_element(&bucket.saturating_sub(before))?;
        list.serialize_element(count)?;
        before = *bucket;
    }
    list.end()
}

/// Reads them back; buckets must rise, and exist.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(u16, u64)>, D::Error> {
    deserializer.deserialize_seq(Flat)
}

struct Flat;

impl<'de> Visitor<'de> for Flat {
    type Value = Vec<(u16, u64)>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("distances and counts of rising buckets in turn")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut buckets: Vec<(u16, u64)> = Vec::new();
        while let Some(distance) = list.next_element::<u16>()? {
            let count = list.next_element()?.ok_or_else(|| A::Error::custom("a bucket has no count"))?;
            let bucket = match buckets.last() {
                None => Some(distance),
                Some((before, _)) => before.checked_add(distance).filter(|_| distance > 0),
            };
            match bucket.filter(|bucket| usize::from(*bucket) < BUCKETS) {
                Some(bucket) => buckets.push((bucket, count)),
                None => return Err(A::Error::custom("there is no such bucket")),
            }
        }
        Ok(buckets)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::SparseHistogram;

    #[test]
    fn distances_and_counts_in_turn() {
        let histogram = SparseHistogram { buckets: vec![(0, 3), (1, 1), (3_967, 9)], over: 0 };
        let text = serde_json::to_string(&histogram).unwrap();
        assert_eq!(text, r#"{"buckets":[0,3,1,1,3966,9]}"#);
        assert_eq!(serde_json::from_str::<SparseHistogram>(&text).unwrap(), histogram);
    }

    #[test]
    fn nonsense_is_refused() {
        for buckets in ["[1]", "[1,2,0,2]", "[3968,1]", "[65535,1,1,1]", "[-1,1]"] {
            let text = format!(r#"{{"buckets":{buckets}}}"#);
            assert!(serde_json::from_str::<SparseHistogram>(&text).is_err(), "{text}");
        }
    }
}
