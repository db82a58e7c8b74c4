//! Messages, which are bytes, and outputs, which other programs can read.

use std::fmt;

use bytes::Bytes;
use rmp::Marker;
use serde::de::{self, Deserializer, Visitor};
use serde::ser::{SerializeMap, SerializeSeq, Serializer};
use serde::{Deserialize, Serialize};

/// Bytes whose meaning the program knows: a message, a gathered value, a state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blob(pub Bytes);

impl Serialize for Blob {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Blob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Whole;

        impl Visitor<'_> for Whole {
            type Value = Blob;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("bytes")
            }

            fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Blob, E> {
                Ok(Blob(Bytes::copy_from_slice(bytes)))
            }

            fn visit_byte_buf<E: de::Error>(self, bytes: Vec<u8>) -> Result<Blob, E> {
                Ok(Blob(bytes.into()))
            }
        }

        deserializer.deserialize_byte_buf(Whole)
    }
}

/// The output of a process, as it travels: bytes, or `MessagePack`.
///
/// For readers (JSON, CSV) it is the value that is encoded: an array of numbers is a list of lists, and bytes are a list of numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    is_value: bool,
    encoded: Bytes,
}

/// A value in an output.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing.
    Nil,
    /// Whether something holds.
    Bool(bool),
    /// An integer that is less than zero.
    Signed(i64),
    /// Another integer.
    Unsigned(u64),
    /// A number.
    Float(f64),
    /// A text.
    Text(String),
    /// Bytes.
    Bytes(Bytes),
    /// A list.
    List(Vec<Self>),
    /// Pairs of keys and values.
    Map(Vec<(Self, Self)>),
    /// An array of numbers.
    Array(Array),
}

/// An array of numbers, in C order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    /// The type of its elements, as NumPy writes it: `<f8`.
    pub element: String,
    /// Its extents.
    pub shape: Vec<u64>,
    /// Its numbers.
    pub numbers: Bytes,
}

/// Why an output is no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the output is no value: {0}")]
pub struct ValueError(String);

/// The type of arrays among the extensions of `MessagePack`.
const ARRAY: i8 = 1;

/// The deepest nesting of lists and maps.
const DEPTH_MAX: u32 = 100;

impl Output {
    /// Bytes.
    #[must_use]
    pub const fn of_bytes(bytes: Bytes) -> Self {
        Self {
            is_value: false,
            encoded: bytes,
        }
    }

    /// A value that is encoded as `MessagePack`.
    ///
    /// # Errors
    ///
    /// If it is not.
    pub fn of_value(encoded: Bytes) -> Result<Self, ValueError> {
        let output = Self {
            is_value: true,
            encoded,
        };
        output.value()?;
        Ok(output)
    }

    /// As the program gave it.
    #[must_use]
    pub const fn encoded(&self) -> &Bytes {
        &self.encoded
    }

    /// The value.
    ///
    /// # Errors
    ///
    /// If it is none. (One that [`Self::of_value`] accepted is.)
    pub fn value(&self) -> Result<Value, ValueError> {
        if !self.is_value {
            return Ok(Value::Bytes(self.encoded.clone()));
        }
        let mut rest = Rest(self.encoded.clone());
        let value = rest.value(DEPTH_MAX)?;
        if rest.0.is_empty() {
            Ok(value)
        } else {
            Err(ValueError(format!("{} B follow it", rest.0.len())))
        }
    }
}

impl Serialize for Output {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            self.value()
                .map_err(serde::ser::Error::custom)?
                .serialize(serializer)
        } else {
            (self.is_value, Blob(self.encoded.clone())).serialize(serializer)
        }
    }
}

impl<'de> Deserialize<'de> for Output {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (is_value, Blob(encoded)) = Deserialize::deserialize(deserializer)?;
        if is_value {
            Self::of_value(encoded).map_err(de::Error::custom)
        } else {
            Ok(Self::of_bytes(encoded))
        }
    }
}

/// What follows in an encoded value.
struct Rest(Bytes);

impl Rest {
    fn take(&mut self, length: usize) -> Result<Bytes, ValueError> {
        if self.0.len() < length {
            return Err(ValueError("it is cut off".to_owned()));
        }
        Ok(self.0.split_to(length))
    }

    /// A number of `width` bytes, the greatest first.
    fn number(&mut self, width: usize) -> Result<u64, ValueError> {
        let bytes = self.take(width)?;
        Ok(bytes
            .iter()
            .fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn length(&mut self, width: usize) -> Result<usize, ValueError> {
        Ok(bsp::numbers::position(self.number(width)?))
    }

    fn text(&mut self, length: usize) -> Result<Value, ValueError> {
        let text = String::from_utf8(self.take(length)?.to_vec());
        text.map(Value::Text)
            .map_err(|_| ValueError("a text is not UTF-8".to_owned()))
    }

    fn list(&mut self, count: usize, depth: u32) -> Result<Value, ValueError> {
        let depth = deeper(depth)?;
        let mut values = Vec::new();
        for _ in 0..count {
            values.push(self.value(depth)?);
        }
        Ok(Value::List(values))
    }

    fn map(&mut self, count: usize, depth: u32) -> Result<Value, ValueError> {
        let depth = deeper(depth)?;
        let mut pairs = Vec::new();
        for _ in 0..count {
            pairs.push((self.value(depth)?, self.value(depth)?));
        }
        Ok(Value::Map(pairs))
    }

    fn extension(&mut self, length: usize) -> Result<Value, ValueError> {
        let kind = i8::from_be_bytes([self.take(1)?[0]]);
        if kind != ARRAY {
            return Err(ValueError(format!("extension {kind} has no meaning here")));
        }
        let array = Self(self.take(length)?).array();
        array.ok_or_else(|| ValueError("an array contradicts itself".to_owned()))
    }

    fn array(&mut self) -> Option<Value> {
        let head = self.take(3).ok()?;
        let [zeros, dimensions, name] = [head[0], head[1], head[2]].map(usize::from);
        let element = String::from_utf8(self.take(name).ok()?.to_vec()).ok()?;
        let shape = (0..dimensions).map(|_| {
            let extent = self.take(8).ok()?;
            Some(u64::from_le_bytes(extent[..].try_into().ok()?))
        });
        let shape: Vec<u64> = shape.collect::<Option<_>>()?;
        self.take(zeros).ok()?;
        let array = Array {
            numbers: std::mem::take(&mut self.0),
            element,
            shape,
        };
        let numbers = array.width()?.checked_mul(array.count()?)?;
        (numbers == bsp::numbers::length(array.numbers.len())).then_some(Value::Array(array))
    }

    #[expect(
        clippy::cast_possible_wrap,
        reason = "the bits of a number are those of a signed one"
    )]
    fn value(&mut self, depth: u32) -> Result<Value, ValueError> {
        let marker = Marker::from_u8(self.take(1)?[0]);
        Ok(match marker {
            Marker::Null => Value::Nil,
            Marker::True => Value::Bool(true),
            Marker::False => Value::Bool(false),
            Marker::FixPos(number) => Value::Unsigned(u64::from(number)),
            Marker::FixNeg(number) => Value::Signed(i64::from(number)),
            Marker::U8 => Value::Unsigned(self.number(1)?),
            Marker::U16 => Value::Unsigned(self.number(2)?),
            Marker::U32 => Value::Unsigned(self.number(4)?),
            Marker::U64 => Value::Unsigned(self.number(8)?),
            Marker::I8 => signed(self.number(1)? as i64, 56),
            Marker::I16 => signed(self.number(2)? as i64, 48),
            Marker::I32 => signed(self.number(4)? as i64, 32),
            Marker::I64 => signed(self.number(8)? as i64, 0),
            Marker::F32 => {
                let bits = self.take(4)?;
                Value::Float(f32::from_be_bytes([bits[0], bits[1], bits[2], bits[3]]).into())
            }
            Marker::F64 => Value::Float(f64::from_bits(self.number(8)?)),
            Marker::FixStr(length) => self.text(usize::from(length))?,
            Marker::Str8 => self.length(1).and_then(|length| self.text(length))?,
            Marker::Str16 => self.length(2).and_then(|length| self.text(length))?,
            Marker::Str32 => self.length(4).and_then(|length| self.text(length))?,
            Marker::Bin8 => Value::Bytes(self.length(1).and_then(|length| self.take(length))?),
            Marker::Bin16 => Value::Bytes(self.length(2).and_then(|length| self.take(length))?),
            Marker::Bin32 => Value::Bytes(self.length(4).and_then(|length| self.take(length))?),
            Marker::FixArray(count) => self.list(usize::from(count), depth)?,
            Marker::Array16 => self.length(2).and_then(|count| self.list(count, depth))?,
            Marker::Array32 => self.length(4).and_then(|count| self.list(count, depth))?,
            Marker::FixMap(count) => self.map(usize::from(count), depth)?,
            Marker::Map16 => self.length(2).and_then(|count| self.map(count, depth))?,
            Marker::Map32 => self.length(4).and_then(|count| self.map(count, depth))?,
            Marker::FixExt1 => self.extension(1)?,
            Marker::FixExt2 => self.extension(2)?,
            Marker::FixExt4 => self.extension(4)?,
            Marker::FixExt8 => self.extension(8)?,
            Marker::FixExt16 => self.extension(16)?,
            Marker::Ext8 => self.length(1).and_then(|length| self.extension(length))?,
            Marker::Ext16 => self.length(2).and_then(|length| self.extension(length))?,
            Marker::Ext32 => self.length(4).and_then(|length| self.extension(length))?,
            Marker::Reserved => return Err(ValueError("a byte begins no value".to_owned())),
        })
    }
}

fn deeper(depth: u32) -> Result<u32, ValueError> {
    let deeper = depth.checked_sub(1);
    deeper.ok_or_else(|| ValueError(format!("it is nested more than {DEPTH_MAX} deep")))
}

/// The integer whose sign is the bit before its first `unused` ones.
fn signed(number: i64, unused: u32) -> Value {
    match number << unused >> unused {
        number if number < 0 => Value::Signed(number),
        number => Value::Unsigned(number.unsigned_abs()),
    }
}

impl Array {
    /// The bytes of an element.
    fn width(&self) -> Option<u64> {
        let digits = self
            .element
            .trim_start_matches(|letter: char| !letter.is_ascii_digit());
        digits.parse().ok()
    }

    /// The number of elements.
    fn count(&self) -> Option<u64> {
        let extents = self.shape.iter();
        extents.copied().try_fold(1, u64::checked_mul)
    }

    /// Its elements as numbers, if they are integers or numbers with a point.
    fn elements(&self) -> Option<Vec<Value>> {
        let mut letters = self.element.chars();
        let order = letters.next()?;
        let is_reversed = order == '>';
        let kind = letters.next()?;
        let width = bsp::numbers::position(self.width()?);
        if !(1..=8).contains(&width) || !matches!(order, '<' | '>' | '|' | '=') {
            return None;
        }
        let bits = |bytes: &[u8]| {
            let fold = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
            if is_reversed {
                bytes.iter().fold(0, fold)
            } else {
                bytes.iter().rev().fold(0, fold)
            }
        };
        let unused = 64 - 8 * u32::try_from(width).ok()?;
        let element = |bytes: &[u8]| {
            let bits = bits(bytes);
            Some(match (kind, width) {
                ('b', 1) => Value::Bool(bits != 0),
                ('u', _) => Value::Unsigned(bits),
                ('i', _) => signed(i64::from_ne_bytes(bits.to_ne_bytes()), unused),
                ('f', 8) => Value::Float(f64::from_bits(bits)),
                ('f', 4) => Value::Float(f32::from_bits(u32::try_from(bits).ok()?).into()),
                _ => return None,
            })
        };
        self.numbers.chunks(width).map(element).collect()
    }

    /// As lists of lists.
    fn nested(&self) -> Option<Value> {
        if self.shape.contains(&0) {
            return Some(Value::List(Vec::new()));
        }
        let mut values = self.elements()?;
        for extent in self.shape.iter().skip(1).rev() {
            let extent = bsp::numbers::position(*extent);
            let mut lists = Vec::with_capacity(values.len() / extent);
            let mut values_left = values.into_iter().peekable();
            while values_left.peek().is_some() {
                lists.push(Value::List(values_left.by_ref().take(extent).collect()));
            }
            values = lists;
        }
        match (&self.shape[..], values.pop()) {
            ([], Some(single)) if values.is_empty() => Some(single),
            (_, last) => {
                values.extend(last);
                Some(Value::List(values))
            }
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Nil => serializer.serialize_unit(),
            Self::Bool(holds) => serializer.serialize_bool(*holds),
            Self::Signed(number) => serializer.serialize_i64(*number),
            Self::Unsigned(number) => serializer.serialize_u64(*number),
            Self::Float(number) => serializer.serialize_f64(*number),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Bytes(bytes) => bytes[..].serialize(serializer),
            Self::List(values) => {
                let mut list = serializer.serialize_seq(Some(values.len()))?;
                for value in values {
                    list.serialize_element(value)?;
                }
                list.end()
            }
            Self::Map(pairs) => {
                let mut map = serializer.serialize_map(Some(pairs.len()))?;
                for (key, value) in pairs {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
            Self::Array(array) => match array.nested() {
                Some(lists) => lists.serialize(serializer),
                None => array.numbers[..].serialize(serializer),
            },
        }
    }
}
