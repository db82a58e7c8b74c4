//! What a planner decides in a call.

use bsp::units::Seconds;
use serde::{Deserialize, Serialize};

use crate::{
    Alternative, Assignment, CostBenefit, DestinationChoice, Move, Snapshot, Spacing, Verdict,
};

/// What a planner decides in a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The moves, in rank order.
    pub moves: Vec<PlannedMove>,
    /// How the plan was judged.
    pub assessment: PlanAssessment,
    /// How far away the next call may be.
    pub spacing: Spacing,
}

/// A move of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedMove {
    /// The process and its hosts.
    pub step: Move,
    /// How long moving it is predicted to take.
    pub cost: Seconds,
    /// How long a superstep takes on the host it leaves, in the present placement.
    pub before: Seconds,
    /// How long a superstep will take on the host it goes to, in the planned one.
    pub after: Seconds,
    /// Seconds per byte that were predicted for its image, if the cost of moves is learned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_byte: Option<f64>,
}

/// How a plan was judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanAssessment {
    /// The gain of the plan and its cost.
    pub balance: CostBenefit,
    /// The decision of the gate.
    pub verdict: Verdict,
    /// The measured length of a superstep since the last call, of which [`CostBenefit::present`] is the prediction.
    #[serde(default)]
    pub measured: Seconds,
    /// What a call without moves takes, from the calls before; `None`: there were none, or the cost of moves is not learned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead: Option<Seconds>,
    /// The plans that were compared.
    pub alternatives: Vec<Alternative>,
    /// The hosts that were compared for one process, by plans that choose one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice: Option<DestinationChoice>,
}

/// The processes whose hosts differ between `present` and `planned`.
pub(super) fn moves(
    snapshot: &Snapshot,
    present: &Assignment<'_>,
    planned: &Assignment<'_>,
) -> Vec<PlannedMove> {
    let both = present.places().iter().zip(planned.places()).enumerate();
    both.filter(|(_, (from, to))| from != to)
        .map(|(process, (from, to))| PlannedMove {
            step: Move {
                rank: snapshot.processes()[process].rank,
                from: snapshot.hosts()[*from].id,
                to: snapshot.hosts()[*to].id,
            },
            cost: Seconds::bounded(snapshot.migration(process, *to)),
            before: Seconds::bounded(present.time(*from)),
            after: Seconds::bounded(planned.time(*to)),
            per_byte: snapshot.learned_per_byte(process, *to),
        })
        .collect()
}
