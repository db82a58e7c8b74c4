//! A superstep of one process.

use bsp::units::{Bytes, Instant, Seconds};
use bsp::{HostId, Rank};
use serde::{Deserialize, Serialize};

/// A process has executed a superstep, and exchanged its messages. What is left until the superstep ends is waiting.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Traced {
    /// The superstep, from 0.
    pub superstep: u64,
    /// The process.
    pub rank: Rank,
    /// Its host.
    pub host: HostId,
    /// The time when it began to compute.
    pub started: Instant,
    /// How long it computed.
    pub computation: Seconds,
    /// From the end of its computation until all its messages had been sent and all messages to it had arrived. On real
    /// hosts, this is known of all processes of a node together.
    pub exchange: Seconds,
    /// Bytes of the messages that it sent.
    pub sent: Bytes,
    /// Bytes of the messages that it received.
    pub received: Bytes,
    /// Whether it was its last superstep.
    pub halted: bool,
}
