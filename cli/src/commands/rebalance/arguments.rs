//! The arguments that `rebalance` and `rebalance sweep` share.

use clap::{Args, ValueEnum};

use crate::rebalance::{Cost, Limit, Search};

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
    cost: CostArgument,
}

impl SearchArguments {
    /// How to look.
    pub(super) fn search(&self) -> Search {
        Search {
            limit: self.budget,
            seed: self.seed,
            cost: self.cost.into(),
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

/// `--cost`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum CostArgument {
    /// The seconds that the process is under way: its size by the bandwidth
    #[default]
    Seconds,
    /// 1, whatever moves where
    Moves,
}

impl From<CostArgument> for Cost {
    fn from(cost: CostArgument) -> Self {
        match cost {
            CostArgument::Seconds => Self::Seconds,
            CostArgument::Moves => Self::Moves,
        }
    }
}
