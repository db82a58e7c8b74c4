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

use bsp::{MESSAGE_MAX, encoded_len, units};
use bytes::{BufMut, Bytes};

use crate::head::{self, HeadError};
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
    /// 64 MiB for a head (the reports of a Set of 10 000 processes after 200 supersteps), and a payload of the longest
    /// message of a program.
    fn default() -> Self {
        Self {
            head: 64 << 20,
            payload: MESSAGE_MAX.0,
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
                let (from, to, message) = head::decode_value(head)?;
                (from, to, Message::Agent(message))
            }
            MessageKind::Node => {
                let (from, to, message) = head::decode_value(head)?;
                (from, to, Message::Node(message))
            }
            MessageKind::Job => {
                let (from, to, message) = head::decode_value(head)?;
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
