//! How far the model may be wrong, learned from plans that failed.

use bsp::{HostId, Rank};

use crate::Snapshot;

/// The error of the model's predictions, learned from the plans that were carried out.
#[derive(Debug, Default)]
pub(super) struct ModelError {
    /// The plan of the call being held, if it is one to audit.
    pub(super) proposed: Option<PlanAudit>,
    /// The plan that was carried out last, until the next call.
    pub(super) carried_out: Option<PlanAudit>,
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

    /// The most seconds by which a plan has made supersteps longer than predicted; a smaller predicted gain may be an
    /// error.
    pub(super) fn seconds(&self) -> f64 {
        let rejected = self.rejected.iter();
        rejected.map(|rejected| rejected.error).fold(0.0, f64::max)
    }
}

/// The most failed plans that are remembered.
const REJECTED_MAX: usize = 8;

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
    pub(super) superstep: f64,
    /// Its prediction then.
    pub(super) predicted: f64,
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

/// A plan that made supersteps longer, and what it was made from.
#[derive(Clone, Debug)]
struct RejectedPlan {
    /// The processes that it moved, each with its host in the plan and its predicted instructions.
    moved: Vec<(Rank, HostId, f64)>,
    /// The hosts that they went to, with what other programs left of a core.
    rates: Vec<(HostId, f64)>,
    /// Seconds by which supersteps became longer than predicted.
    error: f64,
}

impl RejectedPlan {
    /// The plan that moved `moved` to where they are in `snapshot`, and made supersteps longer than predicted by `error`
    /// seconds.
    pub(super) fn new(snapshot: &Snapshot, moved: impl Iterator<Item = Rank>, error: f64) -> Self {
        let found = moved.filter_map(|rank| {
            let process = snapshot.process(rank)?;
            let host = &snapshot.hosts()[snapshot.places()[process]];
            let instructions = snapshot.processes()[process].instructions;
            Some((rank, host, instructions))
        });
        let found: Vec<_> = found.collect();
        Self {
            moved: found
                .iter()
                .map(|(rank, host, work)| (*rank, host.id, *work))
                .collect(),
            rates: found
                .iter()
                .map(|(_, host, _)| (host.id, host.rate))
                .collect(),
            error,
        }
    }

    /// Whether what the plan was made from holds: its hosts are there, and processes and hosts have changed little.
    pub(super) fn holds(&self, snapshot: &Snapshot) -> bool {
        let hosts = self.rates.iter().all(|(id, rate)| {
            let host = snapshot.host(*id);
            host.is_some_and(|host| is_similar(snapshot.hosts()[host].rate, *rate))
        });
        hosts
            && self.moved.iter().all(|(rank, _, work)| {
                let process = snapshot.process(*rank);
                process.is_some_and(|process| {
                    is_similar(snapshot.processes()[process].instructions, *work)
                })
            })
    }

    /// Whether `places` are like the plan: most of the processes that it moved are where it moved them, or in the Set
    /// where it did.
    fn is_like(&self, snapshot: &Snapshot, places: &[usize]) -> bool {
        let hosts = snapshot.hosts();
        let same = self.moved.iter().filter(|(rank, host, _)| {
            let process = snapshot.process(*rank);
            let place = process.map(|process| (process, places[process]));
            let set = |id: HostId| snapshot.host(id).map(|host| hosts[host].set);
            place.is_some_and(|(process, place)| {
                let is_away = place != snapshot.places()[process];
                is_away && set(*host) == Some(hosts[place].set)
            })
        });
        self.moved.len() < 2 * same.count()
    }
}

/// Whether two quantities differ by no more than a fifth.
fn is_similar(one: f64, other: f64) -> bool {
    (one - other).abs() <= SIMILAR * one.max(other)
}

/// Part by which similar quantities may differ.
const SIMILAR: f64 = 0.2;

#[cfg(test)]
mod tests {
    use bsp::{HostId, Rank};

    use super::*;
    use crate::plan::tests::snapshot;

    #[test]
    fn a_plan_fails_once_and_by_what_supersteps_are_longer_than_predicted() {
        let mut error = ModelError {
            carried_out: Some(PlanAudit::new(Vec::new(), 1.0, (1.0, 1.0))),
            ..ModelError::default()
        };
        let failed = error.failed_plan(4.0, |_| None);
        assert!(failed.is_some_and(|(_, error)| (error - 4.0).abs() < 1e-12));
        assert!(error.failed_plan(4.0, |_| None).is_none());
        error.carried_out = Some(PlanAudit::new(Vec::new(), 1.0, (1.0, 1.0)));
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

    #[test]
    fn a_plan_is_like_one_that_moves_most_of_the_same_processes() {
        let failed = snapshot(&[1.0, 1.0], &[(1, 1.0), (1, 1.0), (0, 1.0)]);
        let rejected = RejectedPlan::new(&failed, [Rank(0), Rank(1)].into_iter(), 1.0);
        let undone = snapshot(&[1.0, 1.0], &[(0, 1.0), (0, 1.0), (0, 1.0)]);
        assert!(rejected.is_like(&undone, &[1, 1, 0]));
        assert!(!rejected.is_like(&undone, &[1, 0, 0]));
        assert!(!rejected.is_like(&undone, &[0, 0, 1]));
    }

    #[test]
    fn a_rejection_holds_while_loads_and_hosts_change_little() {
        let loads = |first: f64| [(1, first), (1, 1.0)];
        let failed = snapshot(&[1.0, 1.0], &loads(1.0));
        let rejected = RejectedPlan::new(&failed, [Rank(0)].into_iter(), 1.0);
        assert!(rejected.holds(&snapshot(&[1.0, 1.0], &loads(1.1))));
        assert!(!rejected.holds(&snapshot(&[1.0, 1.0], &loads(1.5))));
        assert!(!rejected.holds(&snapshot(&[1.0, 0.5], &loads(1.0))));
        assert!(!rejected.holds(&snapshot(&[1.0], &[(0, 1.0), (0, 1.0)])));
    }
}
