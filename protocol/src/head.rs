//! Reading a head: MessagePack, by `rmp-serde`, within limits.
//!
//! A cluster member with a valid certificate may be hostile. [`check`] therefore walks over a head before
//! `rmp-serde` decodes it, and refuses what that would accept:
//!
//! * **NaN, infinities and extreme numbers.** `rmp-serde` takes them for any plain float. A capacity or a tolerance
//!   that is NaN, or a time whose sum with others overflows, would reach the arithmetic of another Set Manager and end
//!   its job there, instead of the connection of the sender.
//! * **Bytes after the message**, which `rmp-serde` leaves unread.
//! * **Announced counts** larger than the rest of the head could hold.
//! * **More values** than a head may have.
//!
//! Memory is bounded without a stricter reader. `serde` reserves at most 1 MiB for a list on its announced count, and
//! lists of messages nest two deep. Measured over all lists, decoding takes at most 22 bytes for each byte of a head of
//! values of one byte, which are the smallest.
//! The walk takes half as long as the decoding.

use bytes::Buf;
use rmp::Marker;
use serde::de::DeserializeOwned;

/// Why a head is not a message.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum HeadError {
    /// The head ends inside a value.
    #[error("byte {offset} of the head: the head ends inside this value")]
    Ended {
        /// Where the value begins, in bytes from the start of the head.
        offset: usize,
    },
    /// A value of a type that no message contains.
    #[error("byte {offset} of the head: found {found:?}, a type that no message contains")]
    Type {
        /// Where the value begins.
        offset: usize,
        /// Its marker.
        found: Marker,
    },
    /// Infinite, not a number, or so large or small that sums and quotients of such numbers are not finite.
    #[error(
        "byte {offset} of the head: invalid number `{found:e}`: must be 0 or from {NUMBER_MIN:e} to {NUMBER_MAX:e} in magnitude"
    )]
    Number {
        /// Where the number begins.
        offset: usize,
        /// The number.
        found: f64,
    },
    /// More values or bytes of text than the rest of the head could hold.
    #[error(
        "byte {offset} of the head: {announced} values or bytes announced, but only {left} bytes follow"
    )]
    Count {
        /// Where the list or text begins.
        offset: usize,
        /// Values that are still to come, or bytes of text.
        announced: u64,
        /// Bytes that follow.
        left: u64,
    },
    /// More values than a head may have.
    #[error("byte {offset} of the head: more than {VALUES_MAX} values")]
    Values {
        /// Where the values begin that are too many.
        offset: usize,
    },
    /// Bytes after the message.
    #[error("byte {offset} of the head: the message ends here, but {left} bytes follow")]
    Trailing {
        /// Where the message ends.
        offset: usize,
        /// Bytes that follow.
        left: usize,
    },
    /// Values that are not those of a message.
    #[error("the head is not a message: {0}")]
    Message(String),
}

/// The value that `head` holds as MessagePack, and nothing else.
///
/// # Errors
///
/// See [`HeadError`].
pub fn decode_value<T: DeserializeOwned>(head: &[u8]) -> Result<T, HeadError> {
    check(head)?;
    let mut deserializer = rmp_serde::Deserializer::from_read_ref(head);
    deserializer.set_max_depth(DEPTH_MAX);
    T::deserialize(&mut deserializer).map_err(|error| HeadError::Message(error.to_string()))
}

/// Checks that `head` is one value, made of what messages contain.
fn check(head: &[u8]) -> Result<(), HeadError> {
    let mut rest = head;
    // Values that are still to come; each takes at least one byte.
    let mut values = 1;
    let mut all: u64 = 1;
    while 0 < values {
        let offset = head.len() - rest.len();
        let inside = skip(&mut rest, offset)?;
        values = values - 1 + inside;
        affordable(values, rest, offset)?;
        // No overflow: each value takes a byte of the head.
        all += inside;
        if VALUES_MAX < all {
            return Err(HeadError::Values { offset });
        }
    }
    match rest.len() {
        0 => Ok(()),
        left => Err(HeadError::Trailing {
            offset: head.len() - left,
            left,
        }),
    }
}

/// Skips the value that `rest`, which begins at `offset`, begins with; how many values that one contains.
fn skip(rest: &mut &[u8], offset: usize) -> Result<u64, HeadError> {
    let ended = |_| HeadError::Ended { offset };
    let marker = Marker::from_u8(rest.try_get_u8().map_err(ended)?);
    let mut number = |bytes: usize| rest.try_get_uint(bytes).map_err(ended);
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "messages contain no other types"
    )]
    let text = match marker {
        Marker::Null | Marker::True | Marker::False | Marker::FixPos(_) => return Ok(0),
        Marker::U8 => return number(1).map(|_| 0),
        Marker::U16 => return number(2).map(|_| 0),
        Marker::U32 => return number(4).map(|_| 0),
        Marker::U64 => return number(8).map(|_| 0),
        Marker::F32 | Marker::F64 => {
            let found = match marker {
                Marker::F32 => rest.try_get_f32().map_err(ended)?.into(),
                _ => rest.try_get_f64().map_err(ended)?,
            };
            return is_moderate(found)
                .then_some(0)
                .ok_or(HeadError::Number { offset, found });
        }
        Marker::FixArray(count) => return Ok(count.into()),
        Marker::Array16 => return number(2),
        Marker::Array32 => return number(4),
        // A variant of an enum: its name and its content.
        Marker::FixMap(1) => return Ok(2),
        Marker::FixStr(length) => length.into(),
        Marker::Str8 => number(1)?,
        Marker::Str16 => number(2)?,
        Marker::Str32 => number(4)?,
        found => return Err(HeadError::Type { offset, found }),
    };
    affordable(text, rest, offset)?;
    rest.advance(usize::try_from(text).expect("no longer than the rest"));
    Ok(0)
}

/// Checks that `rest` has at least `announced` bytes.
fn affordable(announced: u64, rest: &[u8], offset: usize) -> Result<(), HeadError> {
    let left = u64::try_from(rest.len()).expect("lengths in memory fit 64 bits");
    if left < announced {
        return Err(HeadError::Count {
            offset,
            announced,
            left,
        });
    }
    Ok(())
}

/// Whether the model can compute with `number`: sums, products and quotients of such numbers are finite.
fn is_moderate(number: f64) -> bool {
    number == 0.0 || (NUMBER_MIN..=NUMBER_MAX).contains(&number.abs())
}

/// The least magnitude of a number above zero.
const NUMBER_MIN: f64 = 1e-120;
/// The largest magnitude of a number from another machine: sums, products and quotients of such numbers are finite.
pub const NUMBER_MAX: f64 = 1e60;
/// The reports of 10 000 processes after 200 supersteps have 8 million values, and fewer in other messages.
const VALUES_MAX: u64 = 9 << 20;
/// Deeper than any message: the deepest has a dozen levels.
const DEPTH_MAX: usize = 64;

#[cfg(test)]
mod tests {
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
        assert_eq!(decode_value::<T>(head).unwrap_err().to_string(), expect);
    }

    #[test]
    fn every_kind_of_value_is_read() {
        let float = -0.5;
        let shapes = [
            Shape::Unit,
            Shape::Newtype(300),
            Shape::Tuple(7, true),
            Shape::Struct { some: None, float },
            Shape::Struct {
                some: Some(u64::MAX),
                float,
            },
        ];
        for count in [1, 10, 100, 20_000] {
            let value: Vec<_> = shapes.iter().cycle().take(count).collect();
            let head = rmp_serde::to_vec(&value).unwrap();
            let read = decode_value::<Vec<Shape>>(&head).unwrap();
            assert_eq!(read.iter().collect::<Vec<_>>(), value);
        }
        for length in [0, 31, 32, 255, 256, 65_535, 65_536] {
            let value = "x".repeat(length);
            assert_eq!(decode_value(&rmp_serde::to_vec(&value).unwrap()), Ok(value));
        }
        for value in [0, 127, 128, 65_535, 65_536, u64::from(u32::MAX), u64::MAX] {
            assert_eq!(decode_value(&rmp_serde::to_vec(&value).unwrap()), Ok(value));
        }
    }

    #[test]
    fn truncated_heads_are_refused() {
        let head = rmp_serde::to_vec(&[Shape::Newtype(300), Shape::Tuple(1, true)]).unwrap();
        for length in 0..head.len() {
            assert!(
                decode_value::<Vec<Shape>>(&head[..length]).is_err(),
                "{length}"
            );
        }
        check::<u32>(&[], "byte 0 of the head: the head ends inside this value");
        check::<u32>(
            &[0xcd, 1],
            "byte 0 of the head: the head ends inside this value",
        );
    }

    #[test]
    fn trailing_bytes_are_refused() {
        check::<u8>(
            &[1, 2, 3],
            "byte 1 of the head: the message ends here, but 2 bytes follow",
        );
    }

    #[test]
    fn announced_counts_are_checked_against_the_rest() {
        let expect =
            "byte 0 of the head: 4294967295 values or bytes announced, but only 1 bytes follow";
        check::<Vec<u64>>(&[0xdd, 0xff, 0xff, 0xff, 0xff, 1], expect);
        check::<String>(&[0xdb, 0xff, 0xff, 0xff, 0xff, b'U'], expect);
        check::<Vec<Vec<u64>>>(
            &[0x92, 0x92, 1],
            "byte 1 of the head: 3 values or bytes announced, but only 1 bytes follow",
        );
    }

    #[test]
    fn the_number_of_values_is_limited() {
        let list = |count: u32| {
            let mut head = vec![0xdd];
            head.extend(count.to_be_bytes());
            head.resize(head.len() + usize::try_from(count).unwrap(), 1);
            head
        };
        let most = u32::try_from(VALUES_MAX - 1).unwrap();
        assert!(decode_value::<Vec<u8>>(&list(most)).is_ok());
        let expect = "byte 0 of the head: more than 9437184 values";
        check::<Vec<u8>>(&list(most + 1), expect);
    }

    #[test]
    fn numbers_that_are_not_moderate_are_refused() {
        for value in [
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            1e61,
            -1e61,
            1e-121,
            f64::MIN_POSITIVE,
        ] {
            let head = rmp_serde::to_vec(&[0.5, value]).unwrap();
            let expect = format!(
                "byte 10 of the head: invalid number `{value:e}`: must be 0 or from 1e-120 to 1e60 in magnitude"
            );
            check::<Vec<f64>>(&head, &expect);
        }
        for value in [0.0, -0.0, 1e-120, -1e60] {
            assert_eq!(decode_value(&rmp_serde::to_vec(&value).unwrap()), Ok(value));
        }
    }

    #[test]
    fn types_that_no_message_contains_are_refused() {
        for (head, marker) in [
            (&[0xff][..], "FixNeg(-1)"),
            (&[0xc4, 1, 7], "Bin8"),
            (&[0xd4, 1, 7], "FixExt1"),
            (&[0x80], "FixMap(0)"),
            (&[0x82, 1, 2, 3, 4], "FixMap(2)"),
            (&[0xde, 0, 1, 1, 2], "Map16"),
        ] {
            let expect =
                format!("byte 0 of the head: found {marker}, a type that no message contains");
            check::<f64>(head, &expect);
        }
    }

    #[test]
    fn values_of_another_type_are_refused() {
        for head in [
            // A number that its field cannot hold, text that is not UTF-8, an unknown variant.
            &[
                0x91, 0x81, 0xa7, b'N', b'e', b'w', b't', b'y', b'p', b'e', 0xce, 0, 1, 0, 0,
            ][..],
            b"\x91\xa1\xff",
            b"\x91\xa4Knot",
            b"\x91\xa5Tuple",
            b"\x91\x81\xa5Tuple\x91\x01",
        ] {
            let error = decode_value::<Vec<Shape>>(head).unwrap_err();
            assert!(matches!(error, HeadError::Message(_)), "{error}");
        }
    }

    #[test]
    fn nesting_is_limited() {
        let mut head = vec![0x91; 10_000];
        head.push(0x90);
        check::<Nest>(&head, "the head is not a message: depth limit exceeded");
    }
}
