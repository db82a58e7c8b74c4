//! Load rebalancing: the assignment of processes to machines that meets a target level at least migration cost.
//!
//! With the target fixed this is the generalised assignment problem. A [`Problem`] holds workloads,
//! machines and what moving costs; [`Variant::IMLP`] and [`best`] look for a [`Solution`] until their
//! [`Budget`] is used up. Pure: the only randomness is that of the seed, and a budget in steps gives
//! the same solution everywhere. Sources: Chen, Wang and Lau 2008 and, for what goes beyond them,
//! each file.
//!
//! Every search keeps the limits of a problem: processes that stay, and memory. What processes exchange, a graph as in
//! calls, is part of every result, and only `AnnealingState` knows it while it searches.

mod annealing;
mod annealing_state;
mod best;
mod draws;
mod mending;
mod pair;
mod problem;
mod refine;
mod solution;
mod state;
mod variant;

pub use best::best;
pub use problem::{Machine, Memory, MoveCost, Problem, ProblemError, Resident};
pub use solution::{Budget, SearchResult, Solution};
pub use variant::{Exchanges, Penalised, Thresholds, Variant};

/// What searches are made of, for algorithms in other crates.
pub mod search {
    pub use super::annealing::{Annealing, Course};
    pub use super::best::{improve as best, tabu};
    pub use super::draws::Draws;
    pub use super::problem::MemoryUse;
    pub use super::refine::refine;
    pub use super::solution::{Incumbent, Meter, highest};
    pub use super::state::{Entry, State};
}

#[cfg(test)]
mod tests;
