//! The call being held.

use std::collections::BTreeSet;

use crate::planner::LONGER;
use crate::planner::audit::PlanAudit;
use crate::planner::noise::TimeNoise;
use crate::{Assignment, Snapshot};

/// The call being held.
pub(super) struct Call<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) present: Assignment<'a>,
    pub(super) horizon: f64,
    /// Measured seconds of a superstep since the last call.
    pub(super) measured: f64,
    /// The same without the time for which owners' jobs interrupted it.
    pub(super) superstep: f64,
    /// The prediction for that.
    pub(super) predicted: f64,
    /// What noise may make of it.
    pub(super) noise: TimeNoise,
    /// The hosts that are not on the idle list because of their owners.
    pub(super) busy: BTreeSet<usize>,
    /// Whether the last plan is so recent that little but the plan can have changed supersteps, and no owner's job.
    pub(super) is_trial: bool,
}

impl Call<'_> {
    /// Leaves out the moves to hosts that their owners use too much to be on the idle list, unless all do.
    pub(super) fn drop_moves_to_busy_hosts(&self, places: &mut [usize]) {
        if self.busy.len() == self.snapshot.hosts().len() {
            return;
        }
        for (place, present) in places.iter_mut().zip(self.snapshot.places()) {
            if self.busy.contains(place) {
                *place = *present;
            }
        }
    }

    /// Whether supersteps can be compared as measured with those before the plan of `audit`: it was carried out a few
    /// supersteps ago, and the prediction for `reverted`, the placement before it, is what it was then.
    pub(super) fn compares_with(&self, audit: &PlanAudit, reverted: &Assignment<'_>) -> bool {
        let change = (reverted.longest() - audit.predicted()).abs();
        self.is_trial && change <= (LONGER - 1.0) * audit.predicted()
    }

    /// Whether supersteps become shorter by more than what may be noise, or an error of prediction, which has been `error`
    /// seconds.
    pub(super) fn is_noticeable(&self, gain: f64, error: f64) -> bool {
        self.noise.least() < gain && self.is_more(gain, error)
    }

    /// Whether supersteps become shorter by more than what may be an error of prediction.
    pub(super) fn is_more(&self, gain: f64, error: f64) -> bool {
        error.max(NOTICEABLE * self.superstep) < gain
    }
}

/// A smaller part of a superstep may be an error of prediction.
const NOTICEABLE: f64 = 0.05;
