//! Machines that compute.

use bsp::SetId;
use bsp::units::InstructionsPerSecond;

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
    /// Number of cores, at least one.
    pub cores: u32,
    /// Factor of the speed over time, not negative; 1 before the first point.
    pub availability: Option<Profile>,
    /// Fraction, from 0 to 1, that others take away over time; 0 before the first point.
    pub load: Option<Profile>,
}
