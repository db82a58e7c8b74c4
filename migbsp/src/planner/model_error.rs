//! How far the model may be wrong, learned from plans that failed.

use crate::Snapshot;
use crate::planner::audit::PlanAudit;
use crate::planner::rejected::RejectedPlan;

/// The error of the model's predictions, learned from the plans that were carried out.
#[derive(Debug, Default)]
pub(super) struct ModelError {
    /// The plan of the call being held, if it is one to audit.
    proposed: Option<PlanAudit>,
    /// The plan that was carried out last, until the next call.
    carried_out: Option<PlanAudit>,
    /// Plans that failed, as long as what they were made from holds.
    rejected: Vec<RejectedPlan>,
}

impl ModelError {
    /// The plan that was carried out last and by how many seconds it failed, if it did: a superstep now takes
    /// `unexplained` seconds beyond its prediction, or the trial of the plan has shown supersteps to be `longer`, by
    /// that many seconds.
    pub(super) fn failed_plan(
        &mut self,
        unexplained: f64,
        longer: impl Fn(&PlanAudit) -> Option<f64>,
    ) -> Option<(PlanAudit, f64)> {
        let audit = self.carried_out.take()?;
        let error = audit.error(unexplained).or_else(|| longer(&audit))?;
        Some((audit, error))
    }

    /// Rejects plans like the one that `audit` describes, which was carried out in `snapshot` and has made supersteps
    /// longer than predicted by `error` seconds.
    pub(super) fn reject(&mut self, snapshot: &Snapshot, audit: &PlanAudit, error: f64) {
        self.rejected
            .push(RejectedPlan::new(snapshot, audit.moved(), error));
        if REJECTED_MAX < self.rejected.len() {
            self.rejected.remove(0);
        }
    }

    /// Forgets plans that failed if what they were made from does not hold.
    pub(super) fn forget_outdated(&mut self, snapshot: &Snapshot) {
        self.rejected.retain(|rejected| rejected.holds(snapshot));
    }

    /// Whether `places` are like a plan that failed.
    pub(super) fn is_rejected(&self, snapshot: &Snapshot, places: &[usize]) -> bool {
        let mut rejected = self.rejected.iter();
        rejected.any(|rejected| rejected.is_like(snapshot, places))
    }

    /// Proposes a plan in the call being held; `None`: there is nothing to audit.
    pub(super) fn propose(&mut self, audit: Option<PlanAudit>) {
        self.proposed = audit;
    }

    /// Takes the plan of the call being held.
    pub(super) fn take_proposed(&mut self) -> Option<PlanAudit> {
        self.proposed.take()
    }

    /// Audits `audit` in the next call.
    pub(super) fn carry_out(&mut self, audit: PlanAudit) {
        self.carried_out = Some(audit);
    }

    /// The most seconds by which a plan has made supersteps longer than predicted; a smaller predicted gain may be an
    /// error.
    pub(super) fn seconds(&self) -> f64 {
        let rejected = self.rejected.iter();
        rejected.map(RejectedPlan::error).fold(0.0, f64::max)
    }
}

/// The most failed plans that are remembered.
const REJECTED_MAX: usize = 8;

#[cfg(test)]
mod tests {
    use bsp::{HostId, Rank};

    use super::*;
    use crate::plan::tests::snapshot;

    #[test]
    fn a_plan_fails_once_and_by_what_supersteps_are_longer_than_predicted() {
        let mut error = ModelError::default();
        error.carry_out(PlanAudit::new(Vec::new(), 1.0, (1.0, 1.0)));
        let failed = error.failed_plan(4.0, |_| None);
        assert!(failed.is_some_and(|(_, error)| (error - 4.0).abs() < 1e-12));
        assert!(error.failed_plan(4.0, |_| None).is_none());
        error.carry_out(PlanAudit::new(Vec::new(), 1.0, (1.0, 1.0)));
        assert!(error.failed_plan(0.5, |_| None).is_none());
    }

    #[test]
    fn the_error_of_a_failed_plan_lasts_as_long_as_what_it_was_made_from() {
        let loads = |first: f64| snapshot(&[1.0, 1.0], &[(1, first), (1, 1.0)]);
        let audit = PlanAudit::new(vec![(Rank(0), HostId(0))], 1.0, (1.0, 1.0));
        let mut error = ModelError::default();
        error.reject(&loads(1.0), &audit, 4.0);
        for _ in 0..100 {
            error.forget_outdated(&loads(1.1));
        }
        assert!((error.seconds() - 4.0).abs() < 1e-12);
        error.forget_outdated(&loads(1.5));
        assert!(error.seconds() < 1e-12);
    }
}
