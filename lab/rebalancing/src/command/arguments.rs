//! The arguments that `rebalance` and `rebalance sweep` share.

use std::path::Path;

use clap::{Args, ValueEnum};

use crate::{Cost, Instance, Limit, Search, read_weight};
use experiments::{Failure, Provenance, Registry};
use settings::{name_of, read};

/// Options of a search.
#[derive(Clone, Debug, Args)]
pub(super) struct SearchArguments {
    /// Budget: time of all searches together, as "100 ms", or steps of each, as "2e6 steps", which give the same result everywhere
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
    /// Phase of the instance whose workloads and edges count; those of `processes` by default
    #[arg(long, value_name = "NAME")]
    phase: Option<String>,
    /// Level that a byte adds on each of two machines between which it is exchanged; the instance's weight by default
    #[arg(long, value_name = "LEVEL", value_parser = read_weight)]
    weight: Option<f64>,
}

impl SearchArguments {
    /// The options of the search.
    pub(super) fn search(&self) -> Search {
        Search {
            limit: self.budget,
            seed: self.seed,
            cost: self.cost.into(),
            cost_max: f64::INFINITY,
        }
    }

    /// The instance in `file`, or on stdin if it is called `-`, with the phase and the weight of the arguments.
    ///
    /// # Errors
    ///
    /// If it cannot be read, is not an instance, or has no such phase: says where, what is there, and what is expected.
    pub(super) fn read_instance(&self, file: &Path) -> Result<Instance, Failure> {
        let text = read(file).map_err(Failure::input)?;
        let mut instance = Instance::from_json(&name_of(file), text)?;
        if let Some(phase) = &self.phase {
            instance = instance.in_phase(phase)?;
        }
        instance.weight = self.weight.unwrap_or(instance.weight);
        Ok(instance)
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

/// The number of MB, or the weight, in `text`.
///
/// # Errors
///
/// If it is not a number of at least 0.
pub(super) fn amount(text: &str) -> Result<f64, String> {
    let number = text.trim().parse().ok();
    number
        .filter(|number: &f64| number.is_finite() && 0.0 <= *number)
        .ok_or_else(|| format!("must be a number of at least 0, not `{text}`"))
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
