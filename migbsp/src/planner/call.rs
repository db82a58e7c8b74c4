//! The call that a planner holds.

use super::audit::PlanAudit;
use super::expected_jobs::ExpectedJobs;
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
    /// What is expected of owners' jobs.
    pub(super) expected: ExpectedJobs,
    /// Whether the last plan is so recent that little but the plan can have changed supersteps, and no owner's job.
    pub(super) is_trial: bool,
}

impl Call<'_> {
    /// Leaves out the moves to hosts that are not on the idle list, of which their owners use more than `idle_below`,
    /// unless all do.
    pub(super) fn drop_moves_to_busy_hosts(&self, places: &mut [usize], idle_below: f64) {
        let busy = self.expected.busy_hosts(self.snapshot, idle_below);
        if busy.len() == self.snapshot.hosts().len() {
            return;
        }
        for (place, present) in places.iter_mut().zip(self.snapshot.places()) {
            if busy.contains(place) {
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
}

/// A plan has failed if supersteps after it take this many times as long as before.
pub(super) const LONGER: f64 = 1.02;
