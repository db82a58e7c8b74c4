//! Encoding of real numbers as one string of bytes.
//!
//! A sequence is encoded number by number, which takes longer than copying it.

use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserializer, Serializer};

/// Eight bytes per number, the lowest first.
pub(crate) fn serialize<S: Serializer>(cells: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
    let bytes: Vec<u8> = cells.iter().flat_map(|cell| cell.to_le_bytes()).collect();
    serializer.serialize_bytes(&bytes)
}

/// The numbers that [`serialize`] encoded.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<f64>, D::Error> {
    deserializer.deserialize_bytes(Cells)
}

struct Cells;

impl Visitor<'_> for Cells {
    type Value = Vec<f64>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("bytes of real numbers, eight each")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<f64>, E> {
        let (numbers, rest) = bytes.as_chunks();
        if !rest.is_empty() {
            return Err(E::invalid_length(bytes.len(), &self));
        }
        Ok(numbers
            .iter()
            .map(|number| f64::from_le_bytes(*number))
            .collect())
    }

    fn visit_byte_buf<E: Error>(self, bytes: Vec<u8>) -> Result<Vec<f64>, E> {
        self.visit_bytes(&bytes)
    }
}
