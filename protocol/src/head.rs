//! Reading a head: MessagePack from a stranger.
//!
//! `rmp-serde` writes heads, and could read them; but it reserves memory on the word of a count, takes
//! several encodings for one value, and cannot say where something is wrong. This reader accepts
//! exactly what the compact encoder writes: the shortest form of every number and length, a float only
//! as eight bytes, a struct only with all its fields. So a frame that decodes is the frame that encoding
//! its message gives. It knows what messages are made of: booleans, unsigned numbers, finite floats,
//! options, lists, structs, tuples and enums. A field of another kind needs a method here, and its first
//! round trip says so.

use std::fmt::Display;

use rmp::Marker;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, SeqAccess, VariantAccess,
    Visitor,
};
use serde::forward_to_deserialize_any;

/// What is wrong with a head, and where.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("byte {offset} of the head: {problem}")]
pub struct HeadError {
    /// Where the value begins that is wrong, in bytes from the start of the head.
    pub offset: usize,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What can be wrong with a value of a head.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Problem {
    /// The head is over too soon.
    #[error("the head ends, expected {expected}")]
    Ended {
        /// What should have been there.
        expected: &'static str,
    },
    /// A value of another type.
    #[error("met {met:?}, expected {expected}")]
    Type {
        /// The marker met.
        met: Marker,
        /// What should have been there.
        expected: &'static str,
    },
    /// A number or a length written with more bytes than it needs.
    #[error("{value} takes {bytes} bytes, expected its shortest form")]
    Long {
        /// The number.
        value: u64,
        /// How many bytes it was written with, without its marker.
        bytes: usize,
    },
    /// A number that its field cannot hold.
    #[error("met {value}, expected at most {max}")]
    Range {
        /// The number.
        value: u64,
        /// The largest one its field holds.
        max: u64,
    },
    /// Infinite, or not a number.
    #[error("met {value}, expected a finite number")]
    NotFinite {
        /// The value.
        value: f64,
    },
    /// More elements or bytes than what is left of the head could hold.
    #[error("{count} elements announced, expected at most the {left} that the rest could hold")]
    Count {
        /// The elements, or bytes of text, announced.
        count: u64,
        /// The bytes left.
        left: usize,
    },
    /// A struct or tuple with more or fewer fields than it has.
    #[error("{count} fields, expected {expected}")]
    Fields {
        /// The fields met.
        count: usize,
        /// The fields it has.
        expected: usize,
    },
    /// The name of a variant that is longer than any.
    #[error("a name of {length} bytes, expected at most {max}", max = NAME_MAX)]
    Name {
        /// Its length.
        length: usize,
    },
    /// Text that is not UTF-8.
    #[error("text that is not UTF-8")]
    Text,
    /// Values nested deeper than any message's.
    #[error("values nested deeper than {max}", max = DEPTH_MAX)]
    Depth,
    /// The message is over before the head is.
    #[error("{left} bytes behind the message, expected none")]
    Trailing {
        /// The bytes left.
        left: usize,
    },
    /// A value of a type that no message has.
    #[error("a value whose type heads do not carry")]
    Untyped,
    /// A value that its type refuses, in the type's own words.
    #[error("{0}")]
    Refused(String),
}

impl de::Error for Problem {
    fn custom<T: Display>(message: T) -> Self {
        Self::Refused(message.to_string())
    }
}

/// The value that `head` holds, and nothing else.
///
/// # Errors
///
/// See [`Problem`].
pub(crate) fn read<T: DeserializeOwned>(head: &[u8]) -> Result<T, HeadError> {
    let mut reader = Reader {
        rest: head,
        before: head.len(),
        depth: 0,
    };
    let value = T::deserialize(&mut reader).and_then(|value| reader.finish().map(|()| value));
    value.map_err(|problem| HeadError {
        offset: head.len() - reader.before,
        problem,
    })
}

/// Reads one value after another off the front of a head.
struct Reader<'de> {
    /// What is still to read.
    rest: &'de [u8],
    /// How much was when the value begun last began.
    before: usize,
    /// How many values are open.
    depth: usize,
}

impl<'de> Reader<'de> {
    const fn finish(&mut self) -> Result<(), Problem> {
        self.before = self.rest.len();
        match self.rest.len() {
            0 => Ok(()),
            left => Err(Problem::Trailing { left }),
        }
    }

    /// The marker that begins a value.
    fn marker(&mut self, expected: &'static str) -> Result<Marker, Problem> {
        self.before = self.rest.len();
        self.take(expected).map(|[byte]| Marker::from_u8(byte))
    }

    fn peek_is(&self, marker: Marker) -> bool {
        self.rest.first() == Some(&marker.to_u8())
    }

    fn take<const N: usize>(&mut self, expected: &'static str) -> Result<[u8; N], Problem> {
        let (taken, rest) = self
            .rest
            .split_first_chunk()
            .ok_or(Problem::Ended { expected })?;
        self.rest = rest;
        Ok(*taken)
    }

    /// The `N` bytes of a number no smaller than `least`, which the next shorter form would not hold.
    fn wide<const N: usize>(&mut self, least: u64, expected: &'static str) -> Result<u64, Problem> {
        let taken: [u8; N] = self.take(expected)?;
        let value = taken
            .into_iter()
            .fold(0, |value, byte| value << 8 | u64::from(byte));
        if value < least {
            return Err(Problem::Long { value, bytes: N });
        }
        Ok(value)
    }

    fn unsigned(&mut self, expected: &'static str) -> Result<u64, Problem> {
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "no other marker is a number"
        )]
        match self.marker(expected)? {
            Marker::FixPos(value) => Ok(value.into()),
            Marker::U8 => self.wide::<1>(0x80, expected),
            Marker::U16 => self.wide::<2>(0x100, expected),
            Marker::U32 => self.wide::<4>(0x1_0000, expected),
            Marker::U64 => self.wide::<8>(0x1_0000_0000, expected),
            met => Err(Problem::Type { met, expected }),
        }
    }

    /// The number of elements that follow; every one takes a byte at least.
    fn count(&mut self, expected: &'static str) -> Result<usize, Problem> {
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "no other marker is an array"
        )]
        let count = match self.marker(expected)? {
            Marker::FixArray(count) => count.into(),
            Marker::Array16 => self.wide::<2>(0x10, expected)?,
            Marker::Array32 => self.wide::<4>(0x1_0000, expected)?,
            met => return Err(Problem::Type { met, expected }),
        };
        self.affordable(count)
    }

    /// The name of a variant.
    fn name(&mut self) -> Result<&'de str, Problem> {
        self.text("the name of a variant", NAME_MAX)
    }

    /// Text of so many bytes at most.
    fn text(&mut self, expected: &'static str, max: usize) -> Result<&'de str, Problem> {
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "no other marker is a string"
        )]
        let length = match self.marker(expected)? {
            Marker::FixStr(length) => length.into(),
            Marker::Str8 => self.wide::<1>(0x20, expected)?,
            Marker::Str16 => self.wide::<2>(0x100, expected)?,
            Marker::Str32 => self.wide::<4>(0x1_0000, expected)?,
            met => return Err(Problem::Type { met, expected }),
        };
        let length = self.affordable(length)?;
        if max < length {
            return Err(Problem::Name { length });
        }
        let (name, rest) = self.rest.split_at(length);
        self.rest = rest;
        std::str::from_utf8(name).map_err(|_| Problem::Text)
    }

    /// `count`, if what is left could hold as many.
    fn affordable(&self, count: u64) -> Result<usize, Problem> {
        let left = self.rest.len();
        match usize::try_from(count) {
            Ok(count) if count <= left => Ok(count),
            _ => Err(Problem::Count { count, left }),
        }
    }

    /// What `read` reads, one level deeper.
    fn nested<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        if self.depth == DEPTH_MAX {
            return Err(Problem::Depth);
        }
        self.depth += 1;
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    /// A struct or tuple: an array of as many elements as it has fields.
    fn fields<V: Visitor<'de>>(
        &mut self,
        expected: usize,
        visitor: V,
    ) -> Result<V::Value, Problem> {
        let count = self.count("the fields of a struct")?;
        if count != expected {
            return Err(Problem::Fields { count, expected });
        }
        self.elements(count, visitor)
    }

    fn elements<V: Visitor<'de>>(&mut self, left: usize, visitor: V) -> Result<V::Value, Problem> {
        self.nested(|reader| {
            let mut elements = Elements { reader, left };
            let value = visitor.visit_seq(&mut elements)?;
            match elements.left {
                0 => Ok(value),
                excess => Err(Problem::Fields {
                    count: left,
                    expected: left - excess,
                }),
            }
        })
    }
}

macro_rules! unsigned {
    ($($method:ident visits $visit:ident($number:ty);)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
            let value = self.unsigned("an unsigned integer")?;
            let max = <$number>::MAX.into();
            visitor.$visit(value.try_into().map_err(|_| Problem::Range { value, max })?)
        }
    )*};
}

impl<'de> Deserializer<'de> for &mut Reader<'de> {
    type Error = Problem;

    unsigned! {
        deserialize_u8 visits visit_u8(u8);
        deserialize_u16 visits visit_u16(u16);
        deserialize_u32 visits visit_u32(u32);
        deserialize_u64 visits visit_u64(u64);
    }

    fn is_human_readable(&self) -> bool {
        false
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        const EXPECTED: &str = "true or false";
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "no other marker is a boolean"
        )]
        match self.marker(EXPECTED)? {
            Marker::False => visitor.visit_bool(false),
            Marker::True => visitor.visit_bool(true),
            met => Err(Problem::Type {
                met,
                expected: EXPECTED,
            }),
        }
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        const EXPECTED: &str = "a float of eight bytes";
        let met = self.marker(EXPECTED)?;
        if met != Marker::F64 {
            return Err(Problem::Type {
                met,
                expected: EXPECTED,
            });
        }
        let value = f64::from_be_bytes(self.take(EXPECTED)?);
        if !value.is_finite() {
            return Err(Problem::NotFinite { value });
        }
        visitor.visit_f64(value)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        if self.peek_is(Marker::Null) {
            self.marker("nil")?;
            visitor.visit_none()
        } else {
            self.nested(|reader| visitor.visit_some(reader))
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Problem> {
        self.nested(|reader| visitor.visit_newtype_struct(reader))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        let count = self.count("a list")?;
        self.elements(count, visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Problem> {
        self.fields(length, visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Problem> {
        self.fields(length, visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        self.fields(fields.len(), visitor)
    }

    /// A name, or a map of one entry: the name, then the content.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        let has_content = self.peek_is(Marker::FixMap(1));
        if has_content {
            self.marker("a variant")?;
        }
        self.nested(|reader| {
            visitor.visit_enum(Variant {
                reader,
                has_content,
            })
        })
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_borrowed_str(self.name()?)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_borrowed_str(self.text("text", usize::MAX)?)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        self.deserialize_str(visitor)
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Problem> {
        self.before = self.rest.len();
        Err(Problem::Untyped)
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u128 f32 char bytes byte_buf unit unit_struct map ignored_any
    }
}

/// The elements of a list or the fields of a struct.
struct Elements<'a, 'de> {
    reader: &'a mut Reader<'de>,
    left: usize,
}

impl<'de> SeqAccess<'de> for Elements<'_, 'de> {
    type Error = Problem;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Problem> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        seed.deserialize(&mut *self.reader).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left.min(RESERVED_MAX))
    }
}

/// A variant of an enum, between its name and its content.
struct Variant<'a, 'de> {
    reader: &'a mut Reader<'de>,
    has_content: bool,
}

impl Variant<'_, '_> {
    fn expect_content(&self, expected: bool) -> Result<(), Problem> {
        if self.has_content == expected {
            return Ok(());
        }
        Err(Problem::Refused(String::from(if expected {
            "a variant without content, expected its content"
        } else {
            "a variant with content, expected its name alone"
        })))
    }
}

impl<'de> EnumAccess<'de> for Variant<'_, 'de> {
    type Error = Problem;
    type Variant = Self;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Self), Problem> {
        Ok((seed.deserialize(&mut *self.reader)?, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_, 'de> {
    type Error = Problem;

    fn unit_variant(self) -> Result<(), Problem> {
        self.expect_content(false)
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Problem> {
        self.expect_content(true)?;
        seed.deserialize(self.reader)
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, Problem> {
        self.expect_content(true)?;
        self.reader.fields(length, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        self.expect_content(true)?;
        self.reader.fields(fields.len(), visitor)
    }
}

/// Deeper than any message: the deepest has a dozen levels.
const DEPTH_MAX: usize = 64;
/// Longer than the name of any variant.
const NAME_MAX: usize = 64;
/// For how many elements of a list to reserve memory before they are read.
const RESERVED_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::{Deserialize, Serialize};

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    enum Shape {
        Unit,
        Newtype(u16),
        Tuple(u8, bool),
        Struct { some: Option<u64>, float: f64 },
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Nest(Vec<Self>);

    /// Reads `head` as a `T`, which has to fail.
    fn check<T: DeserializeOwned + std::fmt::Debug>(head: &[u8], expect: &str) {
        assert_eq!(read::<T>(head).unwrap_err().to_string(), expect);
    }

    #[test]
    fn text_is_as_long_as_it_says_and_text() {
        assert_eq!(read::<String>(b"\xa2ab"), Ok("ab".to_owned()));
        let announced = "byte 0 of the head: 3 elements announced, expected at most the 2 that the rest could hold";
        check::<String>(b"\xa3ab", announced);
        check::<String>(b"\xa1\xff", "byte 0 of the head: text that is not UTF-8");
    }

    #[test]
    fn what_the_encoder_writes_is_read() {
        let shapes = vec![
            Shape::Unit,
            Shape::Newtype(300),
            Shape::Tuple(200, true),
            Shape::Struct {
                some: Some(u64::MAX),
                float: -0.1,
            },
            Shape::Struct {
                some: None,
                float: f64::MAX,
            },
        ];
        let head = rmp_serde::to_vec(&shapes).unwrap();
        assert_eq!(read::<Vec<Shape>>(&head), Ok(shapes));
    }

    #[test]
    fn every_cut_is_found() {
        let head = rmp_serde::to_vec(&[Shape::Newtype(300), Shape::Tuple(1, true)]).unwrap();
        for length in 0..head.len() {
            assert!(read::<Vec<Shape>>(&head[..length]).is_err(), "{length}");
        }
        check::<u32>(
            &[],
            "byte 0 of the head: the head ends, expected an unsigned integer",
        );
        check::<u8>(
            &[1, 2, 3],
            "byte 1 of the head: 2 bytes behind the message, expected none",
        );
    }

    #[test]
    fn announced_counts_reserve_nothing() {
        check::<Vec<u64>>(
            &[0xdd, 0xff, 0xff, 0xff, 0xff, 1],
            "byte 0 of the head: 4294967295 elements announced, expected at most the 1 that the rest \
             could hold",
        );
        check::<Shape>(
            &[0xdb, 0xff, 0xff, 0xff, 0xff, b'U'],
            "byte 0 of the head: 4294967295 elements announced, expected at most the 1 that the rest \
             could hold",
        );
        let mut reader = Reader {
            rest: &[],
            before: 0,
            depth: 0,
        };
        let elements = Elements {
            reader: &mut reader,
            left: usize::MAX,
        };
        assert_eq!(elements.size_hint(), Some(RESERVED_MAX));
    }

    #[test]
    fn a_value_has_one_encoding() {
        check::<u64>(
            &[0xcc, 0x7f],
            "byte 0 of the head: 127 takes 1 bytes, expected its shortest form",
        );
        check::<u64>(
            &[0xcf, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff],
            "byte 0 of the head: 4294967295 takes 8 bytes, expected its shortest form",
        );
        check::<Vec<u8>>(
            &[0xdc, 0, 1, 7],
            "byte 0 of the head: 1 takes 2 bytes, expected its shortest form",
        );
        check::<f64>(
            &[1],
            "byte 0 of the head: met FixPos(1), expected a float of eight bytes",
        );
        check::<(u8, u8)>(&[0x93, 1, 2, 3], "byte 0 of the head: 3 fields, expected 2");
        check::<(u8, u8)>(&[0x91, 1], "byte 0 of the head: 1 fields, expected 2");
    }

    #[test]
    fn values_outside_their_type_are_refused() {
        check::<[u16; 2]>(
            &[0x92, 5, 0xce, 0, 1, 0, 0],
            "byte 2 of the head: met 65536, expected at most 65535",
        );
        let infinite = rmp_serde::to_vec(&f64::INFINITY).unwrap();
        check::<f64>(
            &infinite,
            "byte 0 of the head: met inf, expected a finite number",
        );
        let negative = rmp_serde::to_vec(&-2.5).unwrap();
        check::<bsp::units::BytesPerSecond>(
            &negative,
            "byte 0 of the head: -2.5 is not above zero",
        );
        check::<char>(
            b"\xa1x",
            "byte 0 of the head: a value whose type heads do not carry",
        );
    }

    #[test]
    fn variants_are_checked() {
        check::<Shape>(
            b"\xa4Knot",
            "byte 0 of the head: unknown variant `Knot`, expected one of `Unit`, `Newtype`, `Tuple`, \
             `Struct`",
        );
        check::<Shape>(
            b"\xa5Tuple",
            "byte 0 of the head: a variant without content, expected its content",
        );
        check::<Shape>(
            b"\x81\xa4Unit\xc0",
            "byte 1 of the head: a variant with content, expected its name alone",
        );
        check::<Shape>(b"\xa1\xff", "byte 0 of the head: text that is not UTF-8");
        check::<Shape>(
            &[&[0xd9, 65][..], &[b'x'; 65]].concat(),
            "byte 0 of the head: a name of 65 bytes, expected at most 64",
        );
        check::<Shape>(
            b"\x01",
            "byte 0 of the head: met FixPos(1), expected the name of a variant",
        );
    }

    #[test]
    fn nesting_ends_somewhere() {
        check::<Nest>(
            &[0x91; 10_000],
            "byte 31 of the head: values nested deeper than 64",
        );
    }

    proptest! {
        #[test]
        fn whatever_arrives_is_read_as_it_would_be_written_or_refused(
            head in prop::collection::vec(any::<u8>(), 0..64),
        ) {
            if let Ok(value) = read::<Vec<Shape>>(&head) {
                prop_assert_eq!(rmp_serde::to_vec(&value).unwrap(), head);
            }
        }
    }
}
