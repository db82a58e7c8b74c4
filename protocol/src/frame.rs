//! Frames: one message, its addresses, and bytes that travel beside them.
//!
//! | bytes | field | |
//! |---|---|---|
//! | 0..2 | magic and version | `0xB5`, then [`WIRE_VERSION`] |
//! | 2..4 | kind | of the message: 0 agents, 1 call, 2 nodes, 3 job; others are refused |
//! | 4..8 | length of the head | bytes |
//! | 8..16 | length of the payload | bytes |
//! | 16.. | head | sender, receiver and message, as compact MessagePack |
//! | .. | payload | raw |
//!
//! Numbers of the prefix are little-endian. The prefix says how long the frame is, so that a stream can
//! be cut into frames, and limits refused, before anything is reserved.

use bytes::{BufMut, Bytes};

use crate::encoding::{encoded_len, length_of};
use crate::head::{self, HeadError};
use crate::message::{Address, AgentMessage, CallMessage, Message, NodeMessage, ProcessImage};

/// What both ends have to agree on; changes when any byte of any frame does.
pub const WIRE_VERSION: u8 = 2;

/// Bytes of a prefix.
pub const PREFIX_LEN: usize = 16;

/// A message on its way: `head`, then `payload`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Prefix and head.
    pub head: Bytes,
    /// What the message carries beside its head: the same memory, not a copy.
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

/// Which enum a head holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MessageKind {
    Agent,
    Call,
    Node,
    Job,
}

impl MessageKind {
    const fn new(message: &Message) -> Self {
        match message {
            Message::Agent(_) => Self::Agent,
            Message::Call(_) => Self::Call,
            Message::Node(_) => Self::Node,
            Message::Job(_) => Self::Job,
        }
    }

    fn from_wire(kind: u16) -> Option<Self> {
        let kinds = [Self::Agent, Self::Call, Self::Node, Self::Job];
        kinds.into_iter().find(|known| known.to_wire() == kind)
    }

    const fn to_wire(self) -> u16 {
        match self {
            Self::Agent => 0,
            Self::Call => 1,
            Self::Node => 2,
            Self::Job => 3,
        }
    }
}

/// What a receiver accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a head.
    pub head: usize,
    /// Bytes of a payload.
    pub payload: u64,
}

/// Why bytes are no frame.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DecodeError {
    /// Something else than a frame.
    #[error("byte 0: met {met:#04x}, expected {MAGIC:#04x}: the sender speaks another protocol")]
    Magic {
        /// The byte met.
        met: u8,
    },
    /// A frame of another version.
    #[error(
        "byte 1: wire version {met}, expected {WIRE_VERSION}: run the same release at both ends"
    )]
    Version {
        /// The version met.
        met: u8,
    },
    /// A frame of a kind that is not known.
    #[error("byte 2: a frame of kind {met}, expected 0 to 3")]
    Kind {
        /// The kind met.
        met: u16,
    },
    /// A head that is longer than the receiver accepts.
    #[error("byte 4: a head of {met} bytes, expected at most {limit}")]
    HeadTooLong {
        /// Its length.
        met: u32,
        /// The longest accepted.
        limit: usize,
    },
    /// A payload that is longer than the receiver accepts.
    #[error("byte 8: a payload of {met} bytes, expected at most {limit}")]
    PayloadTooLong {
        /// Its length.
        met: u64,
        /// The longest accepted.
        limit: u64,
    },
    /// A frame that is shorter or longer than it says.
    #[error("the frame ends at byte {met}, expected {expected}")]
    Length {
        /// Bytes met.
        met: u64,
        /// Bytes expected: those its prefix announces, or those of a prefix.
        expected: u64,
    },
    /// A head that is no message.
    #[error(transparent)]
    Head(#[from] HeadError),
    /// A payload with a message that has none.
    #[error("a payload of {met} bytes, expected none with this message")]
    Payload {
        /// Its length.
        met: usize,
    },
    /// A state that is shorter than the part of it that is the agent's.
    #[error("the state of {rank} has {met} bytes, expected at least the {agent} of its agent")]
    State {
        /// Whose state.
        rank: bsp::Rank,
        /// Its length.
        met: usize,
        /// What it says the agent's part takes.
        agent: u32,
    },
    /// A batch whose payload is shorter or longer than its messages.
    #[error("a batch has a payload of {met} bytes, expected the {expected} of its messages")]
    Batch {
        /// Bytes of its payload.
        met: u64,
        /// Bytes of its messages together.
        expected: u64,
    },
    /// A load that is no fraction.
    #[error("{host} has a load of {met}, expected a fraction between 0 and 1")]
    Load {
        /// Which host.
        host: bsp::HostId,
        /// The load it reports.
        met: f64,
    },
}

impl Default for Limits {
    /// Heads of 64 MiB (the reports of a Set of 10 000 processes after 200 supersteps), and payloads of as
    /// many.
    fn default() -> Self {
        Self {
            head: 64 << 20,
            payload: 64 << 20,
        }
    }
}

impl Prefix {
    /// Reads a prefix.
    ///
    /// # Errors
    ///
    /// If it is not the prefix of a frame of this version, or announces more than `limits` allow.
    pub fn decode(bytes: &[u8; PREFIX_LEN], limits: &Limits) -> Result<Self, DecodeError> {
        let [magic, version, k0, k1, h0, h1, h2, h3, payload @ ..] = *bytes;
        if magic != MAGIC {
            return Err(DecodeError::Magic { met: magic });
        }
        if version != WIRE_VERSION {
            return Err(DecodeError::Version { met: version });
        }
        let kind = u16::from_le_bytes([k0, k1]);
        let kind = MessageKind::from_wire(kind).ok_or(DecodeError::Kind { met: kind })?;
        let head = u32::from_le_bytes([h0, h1, h2, h3]);
        let head = usize::try_from(head)
            .ok()
            .filter(|length| *length <= limits.head)
            .ok_or(DecodeError::HeadTooLong {
                met: head,
                limit: limits.head,
            })?;
        let payload = u64::from_le_bytes(payload);
        if limits.payload < payload {
            return Err(DecodeError::PayloadTooLong {
                met: payload,
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

    /// The message of which `head` and `payload` have come.
    ///
    /// For a receiver that reads them apart; [`decode`] takes a frame in one piece.
    ///
    /// # Errors
    ///
    /// If their lengths are not those of this prefix, or they are no message.
    pub fn open(
        &self,
        head: &[u8],
        payload: Bytes,
    ) -> Result<(Address, Address, Message), DecodeError> {
        let payload_len = length_of(payload.len());
        if head.len() != self.head || payload_len != self.payload {
            return Err(DecodeError::Length {
                met: length_of(PREFIX_LEN + head.len()).saturating_add(payload_len),
                expected: self.end(),
            });
        }
        let (from, to, message) = self.read(head)?;
        Ok((from, to, attach(message, payload)?))
    }

    /// The state of which `head` has come, and whose payload is still to come.
    ///
    /// # Errors
    ///
    /// If it is no message, or its state is shorter than its agent's part of it. Other messages come back without
    /// a payload.
    pub(crate) fn open_state(
        &self,
        head: &[u8],
    ) -> Result<(Address, Address, Message), DecodeError> {
        let opened = self.read(head)?;
        if let Message::Agent(AgentMessage::ProcessImage(image)) = &opened.2 {
            check_image(image, self.payload)?;
        }
        Ok(opened)
    }

    fn read(&self, head: &[u8]) -> Result<(Address, Address, Message), HeadError> {
        Ok(match self.kind {
            MessageKind::Agent => {
                let (from, to, message) = head::read(head)?;
                (from, to, Message::Agent(message))
            }
            MessageKind::Call => {
                let (from, to, message) = head::read(head)?;
                (from, to, Message::Call(message))
            }
            MessageKind::Node => {
                let (from, to, message) = head::read(head)?;
                (from, to, Message::Node(message))
            }
            MessageKind::Job => {
                let (from, to, message) = head::read(head)?;
                (from, to, Message::Job(message))
            }
        })
    }

    /// Where the frame ends.
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
    /// What travels beside the head.
    #[must_use]
    #[expect(clippy::wildcard_enum_match_arm, reason = "all others have none")]
    pub fn payload(&self) -> Option<&Bytes> {
        match self {
            Self::Agent(AgentMessage::ProcessImage(image)) => Some(&image.payload),
            Self::Node(NodeMessage::Batch(batch)) => Some(&batch.payload),
            Self::Node(NodeMessage::Probe(probe)) => Some(&probe.payload),
            _ => None,
        }
    }
}

/// The frame that carries `message`.
///
/// # Panics
///
/// If the state of a process is shorter than its agent's part of it, a load is no fraction, or the head
/// takes 4 GiB or more.
#[must_use]
pub fn encode(from: Address, to: Address, message: &Message) -> Frame {
    if let Err(error) = check(message) {
        panic!("{error}");
    }
    let payload = message.payload().cloned().unwrap_or_default();
    let head = announce((from, to, message), length_of(payload.len()));
    Frame { head, payload }
}

/// Prefix and head of a frame whose payload comes from elsewhere, so many bytes of it.
pub(crate) fn announce(parts: (Address, Address, &Message), payload: u64) -> Bytes {
    let length = encoded_len(&parts).expect("every message can be encoded");
    let length = usize::try_from(length.0).expect("what fits memory fits a usize");
    let prefix = Prefix {
        kind: MessageKind::new(parts.2),
        head: length,
        payload,
    };
    let mut head = Vec::with_capacity(PREFIX_LEN + length);
    prefix.put(&mut head);
    rmp_serde::encode::write(&mut head, &parts).expect("a message encodes into memory");
    assert_eq!(head.len(), PREFIX_LEN + length, "the length of {parts:?}");
    head.into()
}

/// The message that `frame` carries, its sender first. Its payload is a part of `frame`, not a copy.
///
/// # Errors
///
/// If `frame` is anything else than what [`encode`] makes, or exceeds `limits`. Nothing but the message
/// is ever allocated, and that only as far as its bytes have been found.
pub fn decode(
    mut frame: Bytes,
    limits: &Limits,
) -> Result<(Address, Address, Message), DecodeError> {
    let met = length_of(frame.len());
    let Some((prefix, _)) = frame.split_first_chunk() else {
        return Err(DecodeError::Length {
            met,
            expected: length_of(PREFIX_LEN),
        });
    };
    let prefix = Prefix::decode(prefix, limits)?;
    if met != prefix.end() {
        return Err(DecodeError::Length {
            met,
            expected: prefix.end(),
        });
    }
    let payload = frame.split_off(PREFIX_LEN + prefix.head);
    prefix.open(&frame[PREFIX_LEN..], payload)
}

/// `message` with its payload, if it is one that has one.
#[expect(clippy::wildcard_enum_match_arm, reason = "all others have none")]
fn attach(mut message: Message, payload: Bytes) -> Result<Message, DecodeError> {
    match &mut message {
        Message::Agent(AgentMessage::ProcessImage(image)) => image.payload = payload,
        Message::Node(NodeMessage::Batch(batch)) => batch.payload = payload,
        Message::Node(NodeMessage::Probe(probe)) => probe.payload = payload,
        _ if payload.is_empty() => {}
        _ => return Err(DecodeError::Payload { met: payload.len() }),
    }
    check(&message)?;
    Ok(message)
}

/// What types of fields do not say; both ends look.
fn check(message: &Message) -> Result<(), DecodeError> {
    if let Message::Agent(AgentMessage::ProcessImage(image)) = message {
        check_image(image, length_of(image.payload.len()))?;
    }
    if let Message::Node(NodeMessage::Batch(batch)) = message {
        let lengths = batch.messages.iter().map(|message| message.bytes);
        let expected = lengths.fold(0, u64::saturating_add);
        let met = length_of(batch.payload.len());
        if met != expected {
            return Err(DecodeError::Batch { met, expected });
        }
    }
    if let Message::Call(CallMessage::Measured(measured)) = message {
        let host = measured.host;
        for met in [measured.load, measured.load_recent] {
            if !(0.0..=1.0).contains(&met) {
                return Err(DecodeError::Load { host, met });
            }
        }
    }
    Ok(())
}

fn check_image(image: &ProcessImage, length: u64) -> Result<(), DecodeError> {
    if length < image.agent.into() {
        return Err(DecodeError::State {
            rank: image.rank,
            met: usize::try_from(length).unwrap_or(usize::MAX),
            agent: image.agent,
        });
    }
    Ok(())
}

const MAGIC: u8 = 0xB5;
