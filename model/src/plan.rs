//! Which processes move where, for policies that name processors.
//!
//! A plan is a type here, with its row in [`PLANS`].

mod bound;
mod greedy_refine;
mod list;
mod partition;
mod portfolio;
mod rebalanced;

use std::fmt;

use bsp::units::Seconds;
use bsp::{HostId, Rank};
use serde::{Deserialize, Serialize};

use crate::rule::Rule;
use crate::{Assignment, Snapshot};

pub use greedy_refine::GreedyRefine;
pub(crate) use portfolio::PORTFOLIO;
pub use portfolio::Portfolio;

/// The shipped plans.
pub(crate) const PLANS: &[Rule<dyn Plan>] = &[
    greedy_refine::GREEDY_REFINE,
    list::LIST,
    PORTFOLIO,
    rebalanced::IMLP,
    rebalanced::BEST,
];

/// Chooses a host for every process.
///
/// The first Set Manager holds one and orders the moves. MigBSP's own procedure, in which Managers negotiate a
/// list of candidates ([`select`](crate::select), [`Processors`](crate::Processors)), is no such plan.
///
/// # Laws
///
/// A draft keeps every process exactly once. The same snapshots in the same order give the same drafts.
pub trait Plan: fmt::Debug + Send {
    /// The host that every process of `snapshot` should run on.
    fn draft(&mut self, snapshot: &Snapshot) -> Draft;
}

/// A plan that no gate has accepted or refused yet.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// The host of each process, by process of the snapshot; a number of a host.
    pub places: Vec<usize>,
    /// The plans that were compared; the chosen one is among them if there is more than one.
    pub alternatives: Vec<Alternative>,
    /// The hosts that were compared for one process, by plans that choose one.
    pub choice: Option<DestinationChoice>,
    /// The plan with the shortest supersteps whatever its moves cost; `None`: the procedure does not say.
    pub shortest: Option<Alternative>,
}

/// A plan that was compared with others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Alternative {
    /// The name of the procedure that made it.
    pub name: String,
    /// How long a superstep would take.
    pub superstep: Seconds,
    /// How long its moves would take.
    pub cost: Seconds,
    /// How many processes would move.
    pub moves: u32,
}

/// The hosts that were compared for one process: figure 2 of Du, Sun and Wu (2007).
///
/// Equation `DESTINATION` of `docs/model.md`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct DestinationChoice {
    /// The process: of those on the host that computes longest, the one with the most work.
    pub rank: Rank,
    /// Its host.
    pub from: HostId,
    /// No host whose utilisation is higher is on the idle list.
    pub idle_below: f64,
    /// All other hosts, by their ids.
    pub destinations: Vec<Destination>,
}

/// A host that a process could move to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Destination {
    /// The host.
    pub host: HostId,
    /// The part of its cores that other programs used over `planning.owner_window`.
    pub utilisation: f64,
    /// Whether it is on the idle list.
    pub is_idle: bool,
    /// What moving there takes, `C`.
    pub cost: Seconds,
    /// How long the rest of the process is expected to take there, `E[T]`.
    pub execution: Seconds,
}

impl Draft {
    /// The only plan that was made, under the name of the procedure.
    #[must_use]
    pub fn only(name: &str, snapshot: &Snapshot, places: Vec<usize>) -> Self {
        let assignment = Assignment::new(snapshot, &places);
        let alternatives = vec![Alternative::new(name, &assignment)];
        Self {
            places,
            alternatives,
            choice: None,
            shortest: None,
        }
    }
}

impl Alternative {
    /// The plan that makes the present placement `assignment`, with what it takes and costs.
    ///
    /// # Panics
    ///
    /// If there are 2³² processes or more.
    #[must_use]
    pub fn new(name: &str, assignment: &Assignment<'_>) -> Self {
        let moves = assignment.moved().count();
        Self {
            name: name.to_owned(),
            superstep: assignment.superstep(),
            cost: assignment.migration_cost(),
            moves: u32::try_from(moves).expect("ranks fit 32 bits"),
        }
    }
}

impl Destination {
    /// When the process is expected to be complete there, `C + E[T]`.
    #[must_use]
    pub fn completion(&self) -> Seconds {
        self.cost + self.execution
    }
}

#[cfg(test)]
pub(crate) mod tests;
