//! How long supersteps took.

use std::ops::Range;

use bsp::Rank;

/// Duration of a superstep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SuperstepDuration {
    /// From its start to the last arrival at its barrier.
    pub(crate) seconds: f64,
    /// The process that computed longest.
    pub(crate) slowest: Rank,
}

impl SuperstepDuration {
    /// The duration of a recorded superstep.
    pub(crate) fn new(superstep: &record::Superstep) -> Self {
        Self {
            seconds: (superstep.ended - superstep.started).get(),
            slowest: superstep.slowest,
        }
    }
}

/// Mean of the supersteps in `range`, in seconds; `None` if there are none, or not all are known.
pub(crate) fn mean(supersteps: &[SuperstepDuration], range: Range<usize>) -> Option<f64> {
    let times = supersteps.get(range)?;
    let number = u32::try_from(times.len())
        .ok()
        .filter(|number| 0 < *number)?;
    let sum: f64 = times.iter().map(|superstep| superstep.seconds).sum();
    Some(sum / f64::from(number))
}
