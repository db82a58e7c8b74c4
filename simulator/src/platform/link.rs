//! Links between hosts.

use bsp::numbers::index;
use bsp::units::{BytesPerSecond, Seconds};

use crate::profile::Profile;

/// Number of a link of a platform.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkId(pub u32);

/// A cable, or one direction of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// The name in the platform's file; unique.
    pub name: String,
    /// Nominal bandwidth.
    pub bandwidth: BytesPerSecond,
    /// Nominal latency, not negative.
    pub latency: Seconds,
    /// Whether messages compete for the bandwidth.
    pub sharing: Sharing,
    /// Bandwidth over time, in bytes per second, not negative; the nominal one before the first
    /// point.
    pub bandwidth_profile: Option<Profile>,
    /// Latency over time, in seconds, not negative; the nominal one before the first point.
    pub latency_profile: Option<Profile>,
}

/// Whether the messages on a link compete for its bandwidth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// All messages together get at most the bandwidth.
    Shared,
    /// Each message alone gets at most the bandwidth.
    FatPipe,
}

impl Link {
    /// Whether it changes in the course of time.
    #[must_use]
    pub const fn varies(&self) -> bool {
        self.bandwidth_profile.is_some() || self.latency_profile.is_some()
    }
}

impl LinkId {
    /// The position in [`Platform::links`](crate::Platform::links).
    #[must_use]
    #[inline]
    pub const fn index(self) -> usize {
        index(self.0)
    }
}
