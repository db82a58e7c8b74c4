//! Makes a plan outside the agent that asks for it: planning time grows with the number of processes.

use migbsp::{CallStart, Decision, Inventory, MoveCost, Planner};

/// A plan to be made, and its planner.
#[derive(Debug)]
pub struct Deliberation {
    /// The planner, which is returned with the plan.
    pub(crate) planner: Planner,
    pub(crate) start: CallStart,
    /// The inventory of every Set.
    pub(crate) sets: Vec<Inventory>,
    /// What moves cost.
    pub(crate) cost: MoveCost,
}

/// A plan, and the planner that made it.
#[derive(Debug)]
pub struct Deliberated {
    pub(crate) planner: Planner,
    pub(crate) decision: Decision,
}

impl Deliberation {
    /// Makes the plan.
    #[must_use]
    pub fn conclude(self) -> Deliberated {
        let Self {
            mut planner,
            start,
            sets,
            cost,
        } = self;
        let decision = planner.decide(start, sets, cost);
        Deliberated { planner, decision }
    }
}
