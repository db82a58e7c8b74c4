//! The arguments that `rebalance` and `rebalance sweep` share.

use clap::{Args, ValueEnum};

use analysis::rebalance::{Cost, Instance, Limit, Search};
use experiments::{Failure, Provenance, Registry};

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
    cost: CostArgument,
}

impl SearchArguments {
    /// The options of the search.
    pub(super) fn search(&self) -> Search {
        Search {
            limit: self.budget,
            seed: self.seed,
            cost: self.cost.into(),
        }
    }
}

/// What makes the result of a search in `instance`.
///
/// # Errors
///
/// If the binary of this process cannot be read.
pub(super) fn provenance(
    instance: &Instance,
    search: Search,
    registry: &Registry,
) -> Result<Provenance, Failure> {
    let provenance = Provenance::of_program(registry)?.with_seed(search.seed);
    Ok(provenance.with_configuration(&instance.configuration()))
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

/// `--cost`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum CostArgument {
    /// Seconds of the transfer: size divided by bandwidth
    #[default]
    Seconds,
    /// 1 for every move
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
