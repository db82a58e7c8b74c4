//! Machines that compute, and groups of them.

use bsp::units::InstructionsPerSecond;
use bsp::{HostId, SetId};

use crate::jobs::Jobs;
use crate::profile::Profile;

/// A machine that computes.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// The name in the platform's file; unique.
    pub name: String,
    /// The Set it belongs to.
    pub set: SetId,
    /// Speed of one core.
    pub speed: InstructionsPerSecond,
    /// Number of cores, from 1 to 65536.
    pub cores: u32,
    /// Factor of the speed over time, not negative; 1 before the first point.
    pub availability: Option<Profile>,
    /// External load over time: the fraction, from 0 to 1, of the speed that is not available; 0 before
    /// the first point.
    pub load: Option<Profile>,
    /// Jobs of its owner; a host with jobs has no `load`.
    pub jobs: Option<Jobs>,
}

/// As many cores as hosts of a cluster may report. More would overflow sums over hosts.
pub(super) const CORES_MAX: u32 = 1 << 16;
/// The rule for numbers of cores.
pub(super) const CORES: &str = "a number of cores, from 1 to 65536";

/// The hosts under one Set Manager.
#[derive(Clone, Debug, PartialEq)]
pub struct Set {
    /// The name in the platform's file; unique among Sets.
    pub name: String,
    /// Its hosts, ascending; at least one.
    pub hosts: Vec<HostId>,
}
