//! The parts of the makespan of a program with calls.

use crate::advise::reading::{Reading, duration};
use crate::advise::report::Loss;

/// The parts of the makespan of a program with calls, in seconds. Their sum is the makespan.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Times {
    /// The mean computation of the processes; the longest one where the mean is not recorded.
    pub(super) mean: f64,
    /// The longest computation, less the mean.
    pub(super) imbalance: f64,
    /// Supersteps, less the longest computation.
    pub(super) communication: f64,
    /// Calls, with their moves.
    pub(super) calls: f64,
    /// All other time between supersteps.
    pub(super) rest: f64,
}

impl Times {
    /// The parts of the recorded makespan.
    pub(super) fn of(reading: &Reading) -> Self {
        let mut times = Self::default();
        for superstep in &reading.supersteps {
            let longest = superstep.computation.get();
            let mean = superstep.mean.map_or(longest, |mean| mean.get());
            times.mean += mean;
            times.imbalance += longest - mean;
            times.communication += duration(superstep) - longest;
        }
        times.calls = reading.calls.iter().map(|call| call.seconds).sum();
        let known = times.mean + times.imbalance + times.communication + times.calls;
        times.rest = reading.seconds() - known;
        times
    }

    /// All parts but the mean computation.
    pub(super) fn losses(&self) -> Vec<Loss> {
        let parts = [
            ("imbalance of computation", self.imbalance),
            ("communication and waiting", self.communication),
            ("calls and moves", self.calls),
            ("the rest", self.rest),
        ];
        let seconds = self.mean + parts.iter().map(|(_, value)| value).sum::<f64>();
        let loss = |(part, value)| Loss::new(part, value, seconds);
        parts.into_iter().map(loss).collect()
    }
}
