//! A plan whose links are probed before it is carried out.

use crate::{
    Assignment, CostBenefit, LinkProbe, MoveCost, PricedMove, ProbedLink, Snapshot, Verdict,
};

use super::{Decision, Planner, decision};

/// The plan of the call being held, and what it was made from.
#[derive(Debug)]
pub(super) struct Unconfirmed {
    pub(super) snapshot: Snapshot,
    /// The host of each process, by process.
    pub(super) places: Vec<usize>,
    pub(super) cost: MoveCost,
}

impl Planner {
    /// The links to be probed before the moves of `decision`, which was the last one. With the results, in
    /// [`Planner::confirm`], the plan is priced again.
    #[must_use]
    pub fn probes(&self, decision: &Decision) -> Vec<LinkProbe> {
        let Some(unconfirmed) = &self.unconfirmed else {
            return Vec::new();
        };
        let moves = decision.moves.iter().filter_map(|planned| {
            Some(PricedMove {
                from: planned.step.from,
                to: planned.step.to,
                cost: planned.cost,
                per_byte: planned.per_byte?,
            })
        });
        LinkProbe::before(moves, &unconfirmed.cost)
    }

    /// The same `decision` with moves priced by what was `probed`, or none if the plan does not pay any more.
    pub fn confirm(&mut self, mut decision: Decision, probed: &[ProbedLink]) -> Decision {
        let Some(unconfirmed) = self.unconfirmed.take() else {
            return decision;
        };
        let snapshot = unconfirmed.snapshot.with_probed(probed);
        let planned = Assignment::new(&snapshot, &unconfirmed.places);
        let balance = CostBenefit {
            cost: planned.migration_cost(),
            ..decision.assessment.balance
        };
        self.balance = Some(balance);
        decision.assessment.balance = balance;
        if self.gate.admits(&balance) {
            let present = Assignment::present(&snapshot);
            decision.moves = decision::moves(&snapshot, &present, &planned);
            return decision;
        }
        let verdict = self.gate.admit(&balance);
        decision.assessment.verdict = verdict;
        decision.moves.clear();
        self.model_error.propose(None);
        if let Verdict::NotAmortised { pause } = verdict {
            decision.spacing.pause = decision.spacing.pause.max(pause);
        }
        decision
    }
}
