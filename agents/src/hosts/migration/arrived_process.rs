//! A process that has arrived on this node.

use bsp::units::Seconds;
use protocol::{Address, ProcessImage};

use crate::programs::{HostedProgram, Incoming};

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
    /// The time from its first byte until it was decoded.
    pub(in crate::hosts) took: Seconds,
}
