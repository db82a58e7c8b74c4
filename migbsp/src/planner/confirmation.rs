//! A plan whose links are probed before it is carried out.

use super::{Decision, decision};
use crate::{Assignment, CostBenefit, LinkProbe, MoveCost, PricedMove, ProbedLink, Snapshot};

/// The plan of the call being held, and what it was made from.
#[derive(Debug)]
pub(super) struct Unconfirmed {
    pub(super) snapshot: Snapshot,
    /// The host of each process, by process.
    pub(super) places: Vec<usize>,
    pub(super) cost: MoveCost,
}

impl Unconfirmed {
    /// The links to be probed before the moves of `decision`.
    pub(super) fn probes(&self, decision: &Decision) -> Vec<LinkProbe> {
        let moves = decision.moves.iter().filter_map(|planned| {
            Some(PricedMove {
                from: planned.step.from,
                to: planned.step.to,
                cost: planned.cost,
                per_byte: planned.per_byte?,
            })
        });
        LinkProbe::before(moves, &self.cost)
    }

    /// The same `decision` with moves priced by what was `probed`.
    pub(super) fn repriced(self, mut decision: Decision, probed: &[ProbedLink]) -> Decision {
        let snapshot = self.snapshot.with_probed(probed);
        let present = Assignment::present(&snapshot);
        let planned = Assignment::new(&snapshot, &self.places);
        decision.moves = decision::moves(&snapshot, &present, &planned);
        decision.assessment.balance = CostBenefit {
            cost: planned.migration_cost(),
            ..decision.assessment.balance
        };
        decision
    }
}
