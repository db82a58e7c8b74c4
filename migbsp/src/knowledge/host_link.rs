//! The link between two hosts.

use bsp::HostId;
use serde::{Deserialize, Serialize};

/// What bytes take from one host to another, where that is measured by pairs of hosts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostLink {
    /// The host that measured it.
    pub from: HostId,
    /// The other one.
    pub to: HostId,
    /// Predicted seconds per byte.
    pub per_byte: f64,
}
