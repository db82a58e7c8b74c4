//! A process that has arrived on this node.

use protocol::{Address, ProcessImage};

use super::transfer::Transfer;
use crate::programs::{HostedProgram, Incoming};
use crate::record::ImageParts;

/// A process that has arrived on this node, decoded except for its agent.
pub(in crate::hosts) struct ArrivedProcess {
    /// The sender and the receiver of the image.
    pub(in crate::hosts) ends: (Address, Address),
    /// The image; its payload is the encoded agent alone.
    pub(in crate::hosts) image: ProcessImage,
    /// The messages that the process has not received yet.
    pub(in crate::hosts) inbox: Vec<Incoming>,
    pub(in crate::hosts) program: Box<dyn HostedProgram>,
    /// Bytes of the whole image.
    pub(in crate::hosts) bytes: u64,
    /// Its parts.
    pub(in crate::hosts) parts: ImageParts,
    /// How long it took.
    pub(in crate::hosts) transfer: Transfer,
}
