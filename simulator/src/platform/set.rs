//! Groups of hosts.

use bsp::HostId;

/// The hosts under one Set Manager.
#[derive(Clone, Debug, PartialEq)]
pub struct Set {
    /// The name in the platform's file; unique among Sets.
    pub name: String,
    /// Its hosts, ascending; at least one.
    pub hosts: Vec<HostId>,
}
