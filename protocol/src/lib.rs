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
mod encoding;
mod frame;
mod head;
pub mod identity;
mod message;
mod text;
pub mod transport;
mod wire_size;

pub use build::{Build, BuildError};
pub use frame::{DecodeError, Frame, Limits, PREFIX_LEN, Prefix, WIRE_VERSION, decode, encode};
pub use head::{HeadError, NUMBER_MAX, decode_value};
pub use message::{
    Abandoned, Address, AgentMessage, Answered, Arrived, Ask, Batch, BusyProcess, CallMessage,
    CallsStatus, Capacity, CheckpointMessage, Considered, Decided, EncodedState, Ended, Evaluate,
    Failed, Fault, Installed, JobMessage, JobStatus, LinkProbed, Measure, Measured, Member,
    Message, MessageHeader, Migrate, NodeMessage, Pieces, PiecesFile, Placed, Planned, Probe,
    ProbeLink, Report, Reports, ResumedJob, Saved, SetReport, Start, StartCall, Status, Submit,
};
pub use text::{displayed, is_displayable, message as displayed_message, variant};
