//! What agents tell each other, and how it travels.
//!
//! A [`Message`] goes from one [`Address`] to another in a [`Frame`]: a fixed prefix, a head in
//! MessagePack, and a payload that nobody copies. [`decode`] takes bytes from anyone: it answers with a
//! message or with an error that says where and why, never with a panic, and reserves nothing on the
//! word of a count it has not seen the bytes for. [`Message::wire_size`] tells what a frame weighs
//! without making it.
//!
//! [`identity`] says who is who, by certificates; [`transport`] carries frames between machines, over
//! QUIC, and refuses those that their sender may not send.

#![warn(clippy::as_conversions, clippy::wildcard_enum_match_arm)]

mod encoding;
mod frame;
mod head;
pub mod identity;
mod message;
pub mod transport;
mod wire_size;

pub use encoding::encoded_len;
pub use frame::{DecodeError, Frame, Limits, PREFIX_LEN, Prefix, WIRE_VERSION, decode, encode};
pub use head::HeadError;
pub use message::{
    Address, AgentMessage, Answered, Arrived, Ask, Batch, CallMessage, Capacity, Considered,
    Decided, Ended, Evaluate, Failed, Fault, Installed, JobMessage, JobStatus, Measure, Measured,
    Member, Message, MessageHeader, Migrate, NodeMessage, Placed, Planned, Probe, ProcessImage,
    Report, Reports, SetReport, Start, StartCall, Status, Submit,
};
