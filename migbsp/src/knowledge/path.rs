//! What a message takes from one Set to another.

use bsp::units::Seconds;
use serde::{Deserialize, Serialize};

/// What a message takes from a host of one Set to one of another while nothing else is under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Path {
    /// The time of an empty message.
    pub latency: Seconds,
    /// Seconds that each byte of a long message adds.
    pub per_byte: f64,
}
