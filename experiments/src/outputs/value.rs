//! An output of any type as a tree of plain values.

use std::fmt;

use serde::Serialize;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// A plain value. Fields of a record are in the order of their declaration.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// Nothing, as `None` or `()`.
    Nothing,
    /// A truth value.
    Boolean(bool),
    /// A number of any integer type.
    Integer(i128),
    /// A number of single precision.
    Single(f32),
    /// A number of double precision.
    Double(f64),
    /// A text, or the name of a variant.
    Text(String),
    /// A sequence.
    List(Vec<Self>),
    /// A record, a map, or a variant with contents.
    Record(Vec<(String, Self)>),
}

/// The outputs as values.
///
/// # Errors
///
/// If one of them has no such form.
pub(super) fn values<Output: Serialize>(outputs: &[Output]) -> Result<Vec<Value>, String> {
    let value = |output: &Output| {
        let mut bytes = Vec::new();
        let mut serializer = rmp_serde::Serializer::new(&mut bytes)
            .with_struct_map()
            .with_human_readable();
        output
            .serialize(&mut serializer)
            .map_err(|error| error.to_string())?;
        rmp_serde::from_slice(&bytes).map_err(|error| error.to_string())
    };
    outputs.iter().map(value).collect()
}

impl Value {
    /// The text of a value without parts; `None` for others.
    pub(super) fn text(&self) -> Option<String> {
        Some(match self {
            Self::Boolean(value) => value.to_string(),
            Self::Integer(value) => value.to_string(),
            // Unlike `Display`, this is short for very large and very small numbers.
            Self::Single(value) => format!("{value:?}"),
            Self::Double(value) => format!("{value:?}"),
            Self::Text(value) => value.clone(),
            Self::Nothing | Self::List(_) | Self::Record(_) => return None,
        })
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a plain value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Nothing)
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Nothing)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Value::deserialize(deserializer)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Boolean(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Integer(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Integer(value.into()))
    }

    fn visit_f32<E: Error>(self, value: f32) -> Result<Value, E> {
        Ok(Value::Single(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Double(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Value, E> {
        let numbers = bytes.iter().map(|byte| Value::Integer((*byte).into()));
        Ok(Value::List(numbers.collect()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Value::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut fields = Vec::new();
        while let Some((key, value)) = access.next_entry::<Value, Value>()? {
            let key = key
                .text()
                .ok_or_else(|| A::Error::custom("a key of a map is no number and no text"))?;
            fields.push((key, value));
        }
        Ok(Value::Record(fields))
    }
}
