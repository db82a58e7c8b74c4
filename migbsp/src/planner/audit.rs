//! Checks a plan's predicted gain against what was measured.

use bsp::{HostId, Rank};

use crate::Snapshot;

/// A plan that was carried out, until the supersteps after it show what it gained.
///
/// A model may mispredict the effect of a plan, and do so in every call. The time of supersteps beyond the prediction
/// for the present placement is compared before and after: if it has grown by more than the plan was predicted to
/// gain, the plan has made supersteps longer.
#[derive(Clone, Debug)]
pub(super) struct PlanAudit {
    /// The processes that moved, each with its host before.
    former: Vec<(Rank, HostId)>,
    /// The predicted gain of a superstep, in seconds.
    gain: f64,
    /// Seconds that a superstep took before the plan.
    superstep: f64,
    /// Its prediction then.
    predicted: f64,
}

impl PlanAudit {
    /// Of a plan that moves processes off the hosts `former` and is predicted to gain `gain` seconds per superstep,
    /// at a time when a superstep took `superstep` seconds and was predicted to take `predicted`.
    pub(super) const fn new(
        former: Vec<(Rank, HostId)>,
        gain: f64,
        (superstep, predicted): (f64, f64),
    ) -> Self {
        Self {
            former,
            gain,
            superstep,
            predicted,
        }
    }

    /// The processes that moved.
    pub(super) fn moved(&self) -> impl Iterator<Item = Rank> + '_ {
        self.former.iter().map(|(rank, _)| *rank)
    }

    /// Seconds that a superstep took beyond its prediction before the plan.
    pub(super) const fn unexplained(&self) -> f64 {
        self.superstep - self.predicted
    }

    /// Seconds that a superstep took before the plan.
    pub(super) const fn superstep(&self) -> f64 {
        self.superstep
    }

    /// Its prediction then.
    pub(super) const fn predicted(&self) -> f64 {
        self.predicted
    }

    /// The model error: by how many seconds the unexplained part of a superstep has grown to `unexplained`, if that is
    /// more than the predicted gain.
    pub(super) fn error(&self, unexplained: f64) -> Option<f64> {
        let growth = unexplained - self.unexplained();
        (self.gain < growth).then_some(growth)
    }

    /// The placement with the moved processes back on their former hosts, without those that have halted; `None` if one
    /// of these hosts is gone.
    pub(super) fn reverted(&self, snapshot: &Snapshot) -> Option<Vec<usize>> {
        let mut places = snapshot.places().to_vec();
        for (rank, host) in &self.former {
            let Some(process) = snapshot.process(*rank) else {
                continue;
            };
            places[process] = snapshot.host(*host)?;
        }
        Some(places)
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::tests::snapshot;

    use super::*;

    #[test]
    fn a_plan_fails_if_the_unexplained_time_grows_by_more_than_its_gain() {
        let audit = PlanAudit::new(Vec::new(), 2.0, (1.0, 2.0));
        assert_eq!(audit.error(-1.0), None);
        assert_eq!(audit.error(0.9), None);
        assert_eq!(audit.error(1.5), Some(2.5));
    }

    #[test]
    fn moved_processes_go_back_and_others_stay() {
        let snapshot = snapshot(&[1.0, 1.0, 1.0], &[(0, 1.0), (1, 1.0), (1, 1.0)]);
        let back = |rank, host| PlanAudit::new(vec![(Rank(rank), HostId(host))], 1.0, (1.0, 1.0));
        assert_eq!(back(2, 0).reverted(&snapshot), Some(vec![0, 1, 0]));
        assert_eq!(back(2, 7).reverted(&snapshot), None);
        // Rank 9 has halted.
        let former = vec![(Rank(9), HostId(1)), (Rank(2), HostId(0))];
        let some_halted = PlanAudit::new(former, 1.0, (1.0, 1.0));
        assert_eq!(some_halted.reverted(&snapshot), Some(vec![0, 1, 0]));
    }
}
