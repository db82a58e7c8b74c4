//! Frames: one message, its addresses, and its payload.
//!
//! | bytes | field | |
//! |---|---|---|
//! | 0..2 | magic and version | `0xB5`, then [`WIRE_VERSION`] |
//! | 2..4 | kind | of the message: 0 agents, 1 nodes, 2 job; others are refused |
//! | 4..8 | length of the head | bytes |
//! | 8..16 | length of the payload | bytes |
//! | 16.. | head | sender, receiver and message, as compact MessagePack |
//! | .. | payload | raw |
//!
//! Numbers of the prefix are little-endian. The prefix holds the length of the frame: a receiver splits a stream into
//! frames, and refuses long ones, before it reserves memory.

use bsp::{encoded_len, units};
use bytes::{Buf, BufMut, Bytes};
use rmp::Marker;
use serde::de::DeserializeOwned;

use crate::message::{Address, AgentMessage, CheckpointMessage, Message, NodeMessage};

/// The version of the encoding, the same at both ends; it changes whenever any byte of any frame does.
pub const WIRE_VERSION: u8 = 4;

/// Bytes of the prefix of a frame.
pub const PREFIX_LEN: usize = 16;

/// An encoded message: `head`, then `payload`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Prefix and head.
    pub head: Bytes,
    /// The payload of the message, not copied.
    pub payload: Bytes,
}

/// The first bytes of a frame.
///
/// Invariant: both lengths are within the limits it was decoded with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    kind: MessageKind,
    head: usize,
    payload: u64,
}

/// The enum that a head holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MessageKind {
    Agent,
    Node,
    Job,
}

impl MessageKind {
    const fn new(message: &Message) -> Self {
        match message {
            Message::Agent(_) => Self::Agent,
            Message::Node(_) => Self::Node,
            Message::Job(_) => Self::Job,
        }
    }

    fn from_wire(kind: u16) -> Option<Self> {
        let kinds = [Self::Agent, Self::Node, Self::Job];
        kinds.into_iter().find(|known| known.to_wire() == kind)
    }

    const fn to_wire(self) -> u16 {
        match self {
            Self::Agent => 0,
            Self::Node => 1,
            Self::Job => 2,
        }
    }
}

/// The longest frames that a receiver accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a head.
    pub head: usize,
    /// Bytes of a payload.
    pub payload: u64,
}

/// Why bytes are not a frame.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DecodeError {
    /// Another protocol.
    #[error(
        "byte 0: found {found:#04x}, expected {MAGIC:#04x}: the sender speaks another protocol"
    )]
    Magic {
        /// The byte.
        found: u8,
    },
    /// A frame of another version.
    #[error("byte 1: wire version {found}, expected {WIRE_VERSION}: run one build at both ends")]
    Version {
        /// The version.
        found: u8,
    },
    /// A frame of an unknown kind.
    #[error("byte 2: a frame of kind {found}, expected 0 to 2")]
    Kind {
        /// The kind.
        found: u16,
    },
    /// A head that is too long.
    #[error("byte 4: a head of {found} bytes, expected at most {limit}")]
    HeadTooLong {
        /// Its length.
        found: u32,
        /// The accepted length.
        limit: usize,
    },
    /// A payload that is too long.
    #[error("byte 8: a payload of {found} bytes, expected at most {limit}")]
    PayloadTooLong {
        /// Its length.
        found: u64,
        /// The accepted length.
        limit: u64,
    },
    /// A frame that is shorter or longer than announced.
    #[error("the frame ends at byte {found}, expected {expected}")]
    Length {
        /// Its length.
        found: u64,
        /// The length that its prefix announces, or that of a prefix.
        expected: u64,
    },
    /// A head that is not a message.
    #[error(transparent)]
    Head(#[from] HeadError),
    /// A payload of a message that has none.
    #[error("a payload of {found} bytes, expected none with this message")]
    Payload {
        /// Its length.
        found: usize,
    },
    /// A batch whose payload is shorter or longer than its messages.
    #[error("a batch has a payload of {found} bytes, expected the {expected} of its messages")]
    Batch {
        /// Bytes of its payload.
        found: u64,
        /// Bytes of its messages together.
        expected: u64,
    },
    /// A load that is not a fraction.
    #[error("invalid load `{found}` of {host}: must be a fraction between 0 and 1")]
    Load {
        /// The host.
        host: bsp::HostId,
        /// The load.
        found: f64,
    },
}

impl Default for Limits {
    /// 64 MiB for a head (the reports of a Set of 10 000 processes after 200 supersteps), and for a payload, of which nodes send
    /// less: longer messages of programs are divided.
    fn default() -> Self {
        Self {
            head: 64 << 20,
            payload: 64 << 20,
        }
    }
}

impl Prefix {
    /// Decodes a prefix.
    ///
    /// # Errors
    ///
    /// If it is not the prefix of a frame of this version, or announces more than `limits` allow.
    pub fn decode(bytes: &[u8; PREFIX_LEN], limits: &Limits) -> Result<Self, DecodeError> {
        let [magic, version, k0, k1, h0, h1, h2, h3, payload @ ..] = *bytes;
        if magic != MAGIC {
            return Err(DecodeError::Magic { found: magic });
        }
        if version != WIRE_VERSION {
            return Err(DecodeError::Version { found: version });
        }
        let kind = u16::from_le_bytes([k0, k1]);
        let kind = MessageKind::from_wire(kind).ok_or(DecodeError::Kind { found: kind })?;
        let head = u32::from_le_bytes([h0, h1, h2, h3]);
        let head = usize::try_from(head)
            .ok()
            .filter(|length| *length <= limits.head)
            .ok_or(DecodeError::HeadTooLong {
                found: head,
                limit: limits.head,
            })?;
        let payload = u64::from_le_bytes(payload);
        if limits.payload < payload {
            return Err(DecodeError::PayloadTooLong {
                found: payload,
                limit: limits.payload,
            });
        }
        Ok(Self {
            kind,
            head,
            payload,
        })
    }

    /// Bytes of the head that follows.
    #[must_use]
    pub const fn head_len(&self) -> usize {
        self.head
    }

    /// Bytes of the payload that follows the head.
    #[must_use]
    pub const fn payload_len(&self) -> u64 {
        self.payload
    }

    /// Decodes the message with this `head` and `payload`.
    ///
    /// For a receiver that reads them separately; [`decode`] takes a whole frame.
    ///
    /// # Errors
    ///
    /// If their lengths differ from this prefix, or they are not a message.
    pub fn open(
        &self,
        head: &[u8],
        payload: Bytes,
    ) -> Result<(Address, Address, Message), DecodeError> {
        let payload_len = length_of(payload.len());
        if head.len() != self.head || payload_len != self.payload {
            return Err(DecodeError::Length {
                found: length_of(PREFIX_LEN + head.len()).saturating_add(payload_len),
                expected: self.end(),
            });
        }
        let (from, to, message) = self.read(head)?;
        Ok((from, to, attach(message, payload)?))
    }

    fn read(&self, head: &[u8]) -> Result<(Address, Address, Message), HeadError> {
        Ok(match self.kind {
            MessageKind::Agent => {
                let (from, to, message) = decode_value(head)?;
                (from, to, Message::Agent(message))
            }
            MessageKind::Node => {
                let (from, to, message) = decode_value(head)?;
                (from, to, Message::Node(message))
            }
            MessageKind::Job => {
                let (from, to, message) = decode_value(head)?;
                (from, to, Message::Job(message))
            }
        })
    }

    /// The length of the whole frame.
    fn end(&self) -> u64 {
        length_of(PREFIX_LEN)
            .saturating_add(length_of(self.head))
            .saturating_add(self.payload)
    }

    fn put(&self, bytes: &mut Vec<u8>) {
        bytes.put_u8(MAGIC);
        bytes.put_u8(WIRE_VERSION);
        bytes.put_u16_le(self.kind.to_wire());
        bytes.put_u32_le(u32::try_from(self.head).expect("a head takes less than 4 GiB"));
        bytes.put_u64_le(self.payload);
    }
}

impl Message {
    /// The payload, if this message has one.
    #[must_use]
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "other messages have no payload"
    )]
    pub fn payload(&self) -> Option<&Bytes> {
        match self {
            Self::Agent(AgentMessage::State(state)) => Some(&state.payload),
            Self::Node(NodeMessage::Batch(batch)) => Some(&batch.payload),
            Self::Node(NodeMessage::Probe(probe)) => Some(&probe.payload),
            Self::Node(NodeMessage::Checkpoint(_, CheckpointMessage::Pieces(pieces))) => {
                Some(&pieces.payload)
            }
            _ => None,
        }
    }
}

impl AgentMessage {
    /// The bytes that a simulated network is charged for this message.
    ///
    /// This is the length of its frame, with one exception: the state of a process that declares its size
    /// ([`EncodedState::declared`](crate::EncodedState::declared)) is charged by that size, not by its payload. The
    /// program of a modelled application consists of a few counters; what would have to move is the memory of the
    /// application it stands for.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "every message can be encoded")]
    pub fn wire_size(&self, from: Address, to: Address) -> units::Bytes {
        let head = encoded_len(&(from, to, self)).expect("every message can be encoded");
        let payload = if let Self::State(state) = self {
            let payload = || units::Bytes(length_of(state.payload.len()));
            state.declared.unwrap_or_else(payload)
        } else {
            units::Bytes::ZERO
        };
        units::Bytes(length_of(PREFIX_LEN)) + head + payload
    }
}

/// The frame that carries `message`.
///
/// # Panics
///
/// If a load is not a fraction, or the head takes 4 GiB or more.
#[must_use]
pub fn encode(from: Address, to: Address, message: &Message) -> Frame {
    if let Err(error) = check(message) {
        panic!("{error}");
    }
    let payload = message.payload().cloned().unwrap_or_default();
    let parts = (from, to, message);
    let length = encoded_len(&parts).expect("every message can be encoded");
    let length = usize::try_from(length.0).expect("what fits memory fits a usize");
    let prefix = Prefix {
        kind: MessageKind::new(message),
        head: length,
        payload: length_of(payload.len()),
    };
    let mut head = Vec::with_capacity(PREFIX_LEN + length);
    prefix.put(&mut head);
    rmp_serde::encode::write(&mut head, &parts).expect("a message encodes into memory");
    assert_eq!(head.len(), PREFIX_LEN + length, "the length of {parts:?}");
    let head = head.into();
    Frame { head, payload }
}

/// The sender, the receiver and the message of `frame`. The payload is a part of `frame`, not a copy.
///
/// # Errors
///
/// If `frame` is not a message, or exceeds `limits`. The memory used is bounded by a multiple of the length of `frame`.
pub fn decode(
    mut frame: Bytes,
    limits: &Limits,
) -> Result<(Address, Address, Message), DecodeError> {
    let found = length_of(frame.len());
    let Some((prefix, _)) = frame.split_first_chunk() else {
        return Err(DecodeError::Length {
            found,
            expected: length_of(PREFIX_LEN),
        });
    };
    let prefix = Prefix::decode(prefix, limits)?;
    if found != prefix.end() {
        return Err(DecodeError::Length {
            found,
            expected: prefix.end(),
        });
    }
    let payload = frame.split_off(PREFIX_LEN + prefix.head);
    prefix.open(&frame[PREFIX_LEN..], payload)
}

/// Attaches `payload` to `message`, if it has one.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "other messages have no payload"
)]
fn attach(mut message: Message, payload: Bytes) -> Result<Message, DecodeError> {
    match &mut message {
        Message::Agent(AgentMessage::State(state)) => state.payload = payload,
        Message::Node(NodeMessage::Batch(batch)) => batch.payload = payload,
        Message::Node(NodeMessage::Probe(probe)) => probe.payload = payload,
        Message::Node(NodeMessage::Checkpoint(_, CheckpointMessage::Pieces(pieces))) => {
            pieces.payload = payload;
        }
        _ if payload.is_empty() => {}
        _ => {
            return Err(DecodeError::Payload {
                found: payload.len(),
            });
        }
    }
    check(&message)?;
    Ok(message)
}

/// Checks what the types of the fields do not ensure, at both ends.
fn check(message: &Message) -> Result<(), DecodeError> {
    if let Message::Node(NodeMessage::Batch(batch)) = message {
        let lengths = batch.messages.iter().map(|message| message.bytes);
        let expected = lengths.fold(0, u64::saturating_add);
        let found = length_of(batch.payload.len());
        if found != expected {
            return Err(DecodeError::Batch { found, expected });
        }
    }
    if let Message::Agent(AgentMessage::Measured(measured)) = message {
        let host = measured.host;
        for found in [measured.load, measured.load_recent] {
            if !(0.0..=1.0).contains(&found) {
                return Err(DecodeError::Load { host, found });
            }
        }
    }
    Ok(())
}

/// A length in memory, as frames announce it.
fn length_of(length: usize) -> u64 {
    u64::try_from(length).expect("a length in memory fits 64 bits")
}

const MAGIC: u8 = 0xB5;

// Reading a head: MessagePack, by `rmp-serde`, within limits.
//
// A cluster member with a valid certificate may be hostile. [`check_head`] therefore walks over a head before
// `rmp-serde` decodes it, and refuses what that would accept:
//
// * **NaN, infinities and extreme numbers.** `rmp-serde` takes them for any plain float. A capacity or a tolerance
// that is NaN, or a time whose sum with others overflows, would reach the arithmetic of another Set Manager and end
// its job there, instead of the connection of the sender.
// * **Bytes after the message**, which `rmp-serde` leaves unread.
// * **Announced counts** larger than the rest of the head could hold.
// * **More values** than a head may have.
//
// Memory is bounded without a stricter reader. `serde` reserves at most 1 MiB for a list on its announced count, and
// lists of messages nest two deep. Measured over all lists, decoding takes at most 22 bytes for each byte of a head of
// values of one byte, which are the smallest.
// The walk takes half as long as the decoding.

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
    check_head(head)?;
    let mut deserializer = rmp_serde::Deserializer::from_read_ref(head);
    deserializer.set_max_depth(DEPTH_MAX);
    T::deserialize(&mut deserializer).map_err(|error| HeadError::Message(error.to_string()))
}

/// Checks that `head` is one value, made of what messages contain.
fn check_head(head: &[u8]) -> Result<(), HeadError> {
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
        // Numbers of a program, which may be anything.
        Marker::Bin8 => number(1)?,
        Marker::Bin16 => number(2)?,
        Marker::Bin32 => number(4)?,
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
            (&[0xd0, 7], "I8"),
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
