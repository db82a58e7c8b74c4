//! Load rebalancing: the assignment of processes to machines that meets a target level at least migration cost.
//!
//! With the target fixed this is the generalised assignment problem. A [`Problem`] holds workloads,
//! machines and what moving costs; a [`Method`] looks for a [`Solution`] until its
//! [`Budget`] is used up. Pure: the only randomness is that of the seed, and a budget in steps gives
//! the same solution everywhere. Sources: Chen, Wang and Lau 2008 and, for what goes beyond them,
//! each file.

mod annealing;
mod annealing_state;
mod best;
mod bound;
mod budget;
mod chain;
mod communication;
mod conceivable;
mod cooling;
mod draws;
mod exchanging;
mod groups;
mod hyb;
mod incumbent;
mod knapsack;
mod lowest;
mod memory;
mod mending;
mod method;
mod mparv;
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
mod search_result;
mod sharing;
mod solution;
mod spread;
mod state;
mod tabu;
mod thresholds;
mod variant;

pub use bound::{bound, bound_while};
pub use budget::Budget;
pub use exchanging::{ExchangePattern, Exchanging};
pub use groups::{Family, Group, UnknownGroup, Workloads};
pub use lowest::lowest;
pub use memory::Memory;
pub use method::{Method, UnknownMethod};
pub use mparv::{Opt, Partition};
pub use problem::{Machine, MoveCost, Problem, Resident};
pub use problem_error::ProblemError;
pub use search_result::SearchResult;
pub use solution::Solution;
pub use thresholds::Thresholds;
pub use variant::{Exchanges, Penalised, Variant};
