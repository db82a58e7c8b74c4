//! A process that has arrived on this node.

use bsp::units::Seconds;
use protocol::{Address, ProcessImage};

use super::transfer::Transfer;
use crate::programs::{HostedProgram, Incoming};
use crate::record::ImageParts;

/// A process that has arrived on this node, decoded except for its agent.
pub(crate) struct ArrivedProcess {
    /// The sender and the receiver of the image.
    pub(crate) ends: (Address, Address),
    /// The image; its payload is the encoded agent alone.
    pub(crate) image: ProcessImage,
    /// The messages that the process has not received yet.
    pub(crate) inbox: Vec<Incoming>,
    pub(crate) program: Box<dyn HostedProgram>,
    /// Bytes of the whole image.
    pub(crate) bytes: u64,
    /// Its parts.
    pub(crate) parts: ImageParts,
    /// How long it took.
    pub(crate) transfer: Transfer,
    /// The shortest round trip to its source so far. The queue of the link is that of the image itself.
    pub(crate) round_trip: Seconds,
}
