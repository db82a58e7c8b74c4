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
    /// Seconds by which plans have made supersteps longer than predicted; a smaller predicted gain may be an error.
    seconds: f64,
    /// Plans that failed, as long as what they were made from holds.
    rejected: Vec<RejectedPlan>,
}

impl ModelError {
    /// The plan that was carried out last, if it failed: a superstep now takes `unexplained` seconds beyond its
    /// prediction, or the trial of the plan has shown supersteps to be `longer`, by that many seconds.
    pub(super) fn failed_plan(
        &mut self,
        unexplained: f64,
        longer: impl Fn(&PlanAudit) -> Option<f64>,
    ) -> Option<PlanAudit> {
        let audit = self.carried_out.take();
        let failed = audit.and_then(|audit| {
            let error = audit.error(unexplained).or_else(|| longer(&audit))?;
            Some((error, audit))
        });
        let Some((error, audit)) = failed else {
            self.seconds *= REMEMBERED;
            return None;
        };
        self.seconds = self.seconds.max(error);
        Some(audit)
    }

    /// Rejects plans like the one that `audit` describes, which was carried out in `snapshot`.
    pub(super) fn reject(&mut self, snapshot: &Snapshot, audit: &PlanAudit) {
        self.rejected
            .push(RejectedPlan::new(snapshot, audit.moved()));
        if REJECTED_MAX < self.rejected.len() {
            self.rejected.remove(0);
        }
    }

    /// Whether `places` are like a plan that failed, and what that was made from holds.
    pub(super) fn is_rejected(&mut self, snapshot: &Snapshot, places: &[usize]) -> bool {
        self.rejected.retain(|rejected| rejected.holds(snapshot));
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

    /// Seconds; a smaller predicted gain may be an error.
    pub(super) const fn seconds(&self) -> f64 {
        self.seconds
    }
}

/// The most failed plans that are remembered.
const REJECTED_MAX: usize = 8;

/// Decay per call.
const REMEMBERED: f64 = 0.9375;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_plan_raises_the_error_and_other_calls_lower_it() {
        let mut error = ModelError::default();
        error.carry_out(PlanAudit::new(Vec::new(), 1.0, (1.0, 1.0)));
        assert!(error.failed_plan(4.0, |_| None).is_some());
        assert!((error.seconds() - 4.0).abs() < 1e-12);
        assert!(
            error.failed_plan(4.0, |_| None).is_none(),
            "a plan fails once"
        );
        assert!((error.seconds() - 3.75).abs() < 1e-12);
        error.carry_out(PlanAudit::new(Vec::new(), 1.0, (1.0, 1.0)));
        assert!(error.failed_plan(0.5, |_| None).is_none());
    }
}
