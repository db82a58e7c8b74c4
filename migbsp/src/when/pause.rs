//! A pause after a call.

use bsp::units::Seconds;

use crate::bounded::count;
use crate::when::timing::Elapsed;

/// A number of supersteps, cut short if they compute longer than those before.
///
/// The number follows from how long supersteps took before the pause. Once [`SEEN_MIN`] of them have been seen, the
/// pause also ends when as much time has gone by as that many would have taken before: what each computes beyond
/// the former mean counts as that much more time.
#[derive(Clone, Debug, Default)]
pub(super) struct Pause {
    /// Supersteps since the last call, and the sum of their longest computations, in seconds.
    number: f64,
    computation: f64,
    /// The number of supersteps.
    number_max: f64,
    /// Before the last call: the length of a superstep, and the mean of its longest computation, in seconds.
    superstep: f64,
    computation_mean: f64,
}

impl Pause {
    /// A pause of `supersteps` at the start of a run.
    pub(super) fn new(supersteps: u64) -> Self {
        Self {
            number_max: count(supersteps),
            ..Self::default()
        }
    }

    pub(super) fn observe(&mut self, elapsed: &Elapsed) {
        self.number += 1.0;
        self.computation += elapsed.took.get();
    }

    pub(super) fn is_over(&self) -> bool {
        let left = (self.number_max - self.number) * self.superstep;
        let beyond = self.computation - self.number * self.computation_mean;
        let is_late = 0.0 < self.superstep && left <= beyond;
        self.number_max <= self.number || SEEN_MIN <= self.number && is_late
    }

    /// Begins a pause of `supersteps` after a call; the supersteps before it took `took` each.
    pub(super) fn begin(&mut self, supersteps: u64, took: Seconds) {
        *self = Self {
            superstep: took.get(),
            computation_mean: self.computation / self.number.max(1.0),
            ..Self::new(supersteps)
        };
    }
}

/// Fewer supersteps may be one phase of a cycle, and say little about the next ones.
const SEEN_MIN: f64 = 8.0;
