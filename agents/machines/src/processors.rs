//! What a host gives its processes.

use std::num::NonZeroU32;

use bsp::units::InstructionsPerSecond;

/// What a host gives its processes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Processors {
    pub(crate) count: NonZeroU32,
    /// The speed of each, as far as programs are given it.
    pub(crate) speed: InstructionsPerSecond,
}
