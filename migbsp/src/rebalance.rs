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
mod budget;
mod chain;
mod communication;
mod cooling;
mod draws;
mod incumbent;
mod memory;
mod mending;
mod noise;
mod pair;
mod penalties;
mod pool_exchange;
mod precise_sum;
mod problem;
mod problem_error;
mod refine;
mod repair;
mod sampled_set;
mod sharing;
mod solution;
mod state;
mod tabu;
mod thresholds;
mod variant;

pub use best::best;
pub use budget::Budget;
pub use memory::Memory;
pub use problem::{Machine, MoveCost, Problem, Resident};
pub use problem_error::ProblemError;
pub use solution::{SearchResult, Solution};
pub use thresholds::Thresholds;
pub use variant::{Exchanges, Penalised, Variant};

/// What searches are made of, for algorithms in other crates.
pub mod search {
    pub use super::annealing::{Annealing, Course};
    pub use super::best::improve as best;
    pub use super::budget::Meter;
    pub use super::draws::Draws;
    pub use super::incumbent::Incumbent;
    pub use super::memory::MemoryUse;
    pub use super::refine::refine;
    pub use super::solution::highest;
    pub use super::state::{Entry, State};
    pub use super::tabu::tabu;
}

#[cfg(test)]
mod tests;
