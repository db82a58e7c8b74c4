//! The messages between agents, their encoding, and their transport over QUIC.
//!
//! A [`Message`] travels from one [`Address`] to another in a [`Frame`]: a fixed prefix, a head in MessagePack, and a
//! payload that is not copied. [`decode`] accepts any bytes: it returns a message or an error with a reason, does not
//! panic, and uses memory in proportion to the bytes. [`AgentMessage::wire_size`] computes the length of a frame
//! without building it.
//!
//! [`identity`] names the members of a cluster by certificates. [`transport`] carries frames between machines, and
//! refuses those that their sender may not send.

#![warn(clippy::as_conversions, clippy::wildcard_enum_match_arm)]

mod build;
mod frame;
pub mod identity;
mod message;
mod text;
pub mod transport;

pub use build::{Build, BuildError};
pub use frame::{
    DecodeError, Frame, HeadError, Limits, NUMBER_MAX, PREFIX_LEN, Prefix, WIRE_VERSION, decode,
    decode_value, encode,
};
pub use message::*;
pub use text::{displayed, is_displayable, message as displayed_message, variant};
