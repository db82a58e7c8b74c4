//! A range, or a single number.

use std::fmt;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A range from a number to another, `[0.1, 0.6]`; a single number is a range, too.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range(pub(super) [f64; 2]);

impl Serialize for Range {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self([low, high]) = self;
        if low.to_bits() == high.to_bits() {
            serializer.serialize_f64(*low)
        } else {
            self.0.serialize(serializer)
        }
    }
}

impl<'de> Deserialize<'de> for Range {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Bounds)
    }
}

struct Bounds;

impl<'de> Visitor<'de> for Bounds {
    type Value = Range;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a number, or a list of two numbers")
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Range, E> {
        Ok(Range([value, value]))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Range, E> {
        let value = i32::try_from(value).map_err(|_| E::custom("too large a number"))?;
        self.visit_f64(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Range, E> {
        let value = u32::try_from(value).map_err(|_| E::custom("too large a number"))?;
        self.visit_f64(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut bounds: A) -> Result<Range, A::Error> {
        let low = bounds.next_element::<f64>()?;
        let high = bounds.next_element::<f64>()?;
        let further = bounds.next_element::<f64>()?;
        match (low, high, further) {
            (Some(low), Some(high), None) => Ok(Range([low, high])),
            _ => Err(A::Error::custom(
                "must be a number, or a list of two numbers",
            )),
        }
    }
}
