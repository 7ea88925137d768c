//! A number of 128 bits as decimal text.
//!
//! JSON readers hold 53 or 64 bits exactly, and serde's tagged enums cannot carry more than 64 through at all.

use serde::de::{Error, Visitor};
use serde::{Deserializer, Serializer};

/// Writes the number as text.
pub(crate) fn serialize<S: Serializer>(value: &u128, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// Reads text, or a number of at most 64 bits.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u128, D::Error> {
    deserializer.deserialize_any(Wide)
}

struct Wide;

impl Visitor<'_> for Wide {
    type Value = u128;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a whole number of up to 128 bits, as text")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<u128, E> {
        text.parse().map_err(|_| E::invalid_value(serde::de::Unexpected::Str(text), &self))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<u128, E> {
        Ok(value.into())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde::de::IntoDeserializer;
    use serde::de::value::{Error, StrDeserializer, U64Deserializer};

    use super::*;

    fn read_text(text: &str) -> Result<u128, Error> {
        let deserializer: StrDeserializer<Error> = text.into_deserializer();
        deserialize(deserializer)
    }

    #[test]
    fn all_bits_survive() {
        assert_eq!(read_text(&u128::MAX.to_string()).unwrap(), u128::MAX);
    }

    #[test]
    fn small_numbers_may_be_plain() {
        let deserializer: U64Deserializer<Error> = u64::MAX.into_deserializer();
        assert_eq!(deserialize(deserializer).unwrap(), u128::from(u64::MAX));
    }

    #[test]
    fn other_text_is_refused() {
        let error = read_text("many").unwrap_err().to_string();
        assert!(error.contains("a whole number of up to 128 bits"), "{error}");
    }
}
