//! Which processes move where, for policies that name processors.
//!
//! A plan is one file here, with its row in [`PLANS`].

mod bonorden_central;
mod bonorden_distributed;
mod chosen;
mod destination;
mod draft;
mod dsa;
mod etm;
mod greedy_refine;
mod list;
mod mcm;
mod partition;
mod portfolio;
mod random;
mod rebalanced;
mod relief;
mod search;
mod trim;

use crate::rule::Rule;

pub use destination::{Destination, DestinationChoice};
pub use draft::{Alternative, Draft, Plan};
pub use greedy_refine::GreedyRefine;
pub use portfolio::Portfolio;
pub(crate) use portfolio::RULE as PORTFOLIO;

/// The shipped plans.
pub(crate) const PLANS: &[Rule<dyn Plan>] = &[
    greedy_refine::RULE,
    bonorden_central::RULE,
    bonorden_distributed::RULE,
    list::RULE,
    portfolio::RULE,
    rebalanced::IMLP,
    rebalanced::BEST,
    dsa::RULE,
    dsa::PLUS,
    mcm::RULE,
    etm::RULE,
    random::RULE,
];

#[cfg(test)]
pub(crate) mod tests;
