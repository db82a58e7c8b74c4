//! Arguments that `rebalance` and `rebalance sweep` share.

use clap::Args;

use crate::rebalance::budget::Limit;
use crate::rebalance::instance::{Cost, RATE};
use crate::rebalance::search::Search;

/// Options of a search.
#[derive(Clone, Debug, Args)]
pub(super) struct SearchArguments {
    /// Budget of each search: time, as "100 ms", or steps, as "2e6 steps", which give the same result everywhere
    #[arg(
        long,
        value_name = "TIME|STEPS",
        default_value = "1 s",
        allow_hyphen_values = true
    )]
    budget: Limit,
    /// Seed of random choices
    #[arg(long, value_name = "SEED", default_value_t = 1, value_parser = seed)]
    seed: u64,
    /// Cost of a move
    #[arg(long, value_enum, default_value_t)]
    pub(super) cost: Cost,
}

impl SearchArguments {
    /// The options of the search.
    pub(super) fn search(&self) -> Search {
        Search {
            limit: self.budget,
            seed: self.seed,
        }
    }
}

/// The seed in `text`.
///
/// # Errors
///
/// If it is not a seed.
pub(super) fn seed(text: &str) -> Result<u64, String> {
    text.trim().parse().map_err(|_| {
        let most = u64::MAX;
        format!("must be a whole number from 0 to {most}, not `{text}`")
    })
}

/// The level in `text`.
///
/// # Errors
///
/// If it is not a level.
pub(super) fn target(text: &str) -> Result<f64, String> {
    let number = text.trim().parse().ok();
    number.filter(|number| RATE.holds(*number)).ok_or_else(|| {
        format!(
            "must be a level (workload by capacity), {}, not `{text}`",
            RATE.expected()
        )
    })
}
