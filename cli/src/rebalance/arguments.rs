//! What `rebalance` and `rebalance sweep` are both told.

use clap::Args;

use crate::rebalance::budget::Limit;
use crate::rebalance::instance::{Cost, RATE};
use crate::rebalance::search::Search;

/// How to look.
#[derive(Clone, Debug, Args)]
pub(super) struct SearchArguments {
    /// How long to look for each: time, as "100 ms", or steps, as "2e6 steps", which give the same result everywhere
    #[arg(
        long,
        value_name = "TIME|STEPS",
        default_value = "1 s",
        allow_hyphen_values = true
    )]
    budget: Limit,
    /// Where random choices begin
    #[arg(long, value_name = "SEED", default_value_t = 1, value_parser = seed)]
    seed: u64,
    /// What a move costs
    #[arg(long, value_enum, default_value_t)]
    pub(super) cost: Cost,
}

impl SearchArguments {
    /// How to look.
    pub(super) fn search(&self) -> Search {
        Search {
            limit: self.budget,
            seed: self.seed,
        }
    }
}

/// The seed that `text` gives.
///
/// # Errors
///
/// If it is none.
pub(super) fn seed(text: &str) -> Result<u64, String> {
    text.trim().parse().map_err(|_| {
        let most = u64::MAX;
        format!("met `{text}`, expected a seed: a whole number from 0 to {most}")
    })
}

/// The level that `text` gives.
///
/// # Errors
///
/// If it is none.
pub(super) fn target(text: &str) -> Result<f64, String> {
    let number = text.trim().parse().ok();
    number.filter(|number| RATE.holds(*number)).ok_or_else(|| {
        format!(
            "met `{text}`, expected a level: workload by capacity, {}",
            RATE.expected()
        )
    })
}
