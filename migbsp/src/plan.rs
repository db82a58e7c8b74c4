//! Which processes move where, for policies that name processors.
//!
//! A plan is one file here, with its row in [`PLANS`].

mod draft;
mod greedy_refine;
mod list;
mod partition;
mod portfolio;
mod rebalanced;
mod search;
mod trim;

use crate::rule::Rule;

pub use draft::{Alternative, Destination, DestinationChoice, Draft, Plan};
pub use greedy_refine::GreedyRefine;
pub use portfolio::Portfolio;
pub(crate) use portfolio::RULE as PORTFOLIO;

/// The shipped plans.
pub(crate) const PLANS: &[Rule<dyn Plan>] = &[
    greedy_refine::RULE,
    list::RULE,
    portfolio::RULE,
    rebalanced::IMLP,
    rebalanced::BEST,
];

#[cfg(test)]
pub(crate) mod tests;
