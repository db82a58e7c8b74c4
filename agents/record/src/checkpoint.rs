//! A checkpoint in a record.

use bsp::units::{Bytes, Instant, Seconds};
use serde::{Deserialize, Serialize};

/// A checkpoint is complete: the state of the run before a superstep is saved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The first superstep that is to be repeated after a restart.
    pub superstep: u64,
    /// The time when the first process began to save its state.
    pub at: Instant,
    /// The longest time for which a process stood still.
    pub stall: Seconds,
    /// The processor time of encoding while processes computed, per processor of the host where that is longest.
    pub encoding: Seconds,
    /// The bytes of the states.
    pub bytes: Bytes,
    /// The bytes that hosts sent to their buddies.
    pub sent: Bytes,
    /// The time when all states were encoded and all copies had arrived.
    pub complete: Instant,
    /// Why it is not on disk, if it should be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

impl Checkpoint {
    /// What it cost at least: the stall, and the time that encoding took from processors. Copies may delay messages in
    /// addition.
    #[must_use]
    pub fn cost(&self) -> Seconds {
        self.stall + self.encoding
    }
}
