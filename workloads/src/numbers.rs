//! Numbers that are sent as bytes: a sequence is encoded number by number, which takes longer than copying it.

use std::fmt;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Floating-point numbers whose binary encoding is eight bytes each, the lowest first. In a text they are a list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Numbers(pub Vec<f64>);

impl Serialize for Numbers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize(&self.0, serializer)
    }
}

impl<'de> Deserialize<'de> for Numbers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            Vec::deserialize(deserializer).map(Self)
        } else {
            deserializer.deserialize_bytes(Bytes)
        }
    }
}

/// Reads numbers from bytes.
struct Bytes;

impl<'de> Visitor<'de> for Bytes {
    type Value = Numbers;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("numbers of eight bytes each")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Numbers, E> {
        let (numbers, rest) = bytes.as_chunks::<LENGTH>();
        if !rest.is_empty() {
            return Err(E::invalid_length(bytes.len(), &self));
        }
        Ok(Numbers(
            numbers
                .iter()
                .map(|number| f64::from_le_bytes(*number))
                .collect(),
        ))
    }

    fn visit_byte_buf<E: Error>(self, bytes: Vec<u8>) -> Result<Numbers, E> {
        self.visit_bytes(&bytes)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut bytes: A) -> Result<Numbers, A::Error> {
        let mut all = Vec::new();
        while let Some(byte) = bytes.next_element()? {
            all.push(byte);
        }
        self.visit_bytes(&all)
    }
}

/// Bytes of a number.
const LENGTH: usize = 8;

/// Encodes numbers as [`Numbers`] does, for `#[serde(with = "crate::numbers")]`.
pub(crate) fn serialize<S: Serializer>(numbers: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
    if serializer.is_human_readable() {
        return numbers.serialize(serializer);
    }
    let bytes: Vec<u8> = numbers
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect();
    serializer.serialize_bytes(&bytes)
}

/// The numbers that [`serialize`] encoded.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<f64>, D::Error> {
    Numbers::deserialize(deserializer).map(|numbers| numbers.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_bit_by_bit_and_take_eight_bytes_each() {
        let numbers = Numbers(vec![
            0.0,
            -0.0,
            1.5,
            f64::MIN_POSITIVE,
            f64::INFINITY,
            f64::NAN,
        ]);
        let bytes = rmp_serde::to_vec(&numbers).unwrap();
        assert_eq!(bytes.len(), 6 * 8 + 2);
        let back: Numbers = rmp_serde::from_slice(&bytes).unwrap();
        let bits = |numbers: &Numbers| {
            numbers
                .0
                .iter()
                .map(|number| number.to_bits())
                .collect::<Vec<_>>()
        };
        assert_eq!(bits(&back), bits(&numbers));
        let back: Numbers = rmp_serde::from_read(&bytes[..]).unwrap();
        assert_eq!(bits(&back), bits(&numbers));
    }

    #[test]
    fn bytes_that_are_no_numbers_are_refused() {
        let error = rmp_serde::from_slice::<Numbers>(b"\xc4\x03abc").unwrap_err();
        assert!(
            error.to_string().contains("numbers of eight bytes each"),
            "{error}"
        );
    }
}
