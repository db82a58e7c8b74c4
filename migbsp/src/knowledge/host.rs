//! A host that processes may be placed on.

use bsp::{HostId, SetId};

/// A host that processes may be placed on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Host {
    /// Its number on the platform.
    pub id: HostId,
    /// Its Set.
    pub set: SetId,
    /// What other programs leave of one core, in instructions per second; above zero.
    pub rate: f64,
    /// Instructions per second of one core without other programs.
    pub speed: f64,
    /// The part of its cores that other programs used over `planning.owner_window`, in `[0, 1]`.
    pub utilisation: f64,
    /// Seconds for which the owner's jobs are expected to interrupt each second of computation, beyond what `rate` says.
    pub interruption: f64,
    /// How many processes can compute at the same time; at least 1.
    pub cores: f64,
}
