//! Table 1: the choice of a host for a process that has to leave its own.

mod checks;
mod condition;
mod figures;
mod paper;
mod report;
mod strategy;
mod table;
mod text;
mod trial;

use experiments::batch::Batch;
use experiments::{Failure, Registry};

use analysis::compare::Seeds;

use report::Parameters;

pub use report::Report;
pub use text::text;

/// Runs all rows of the table with all `seeds`, on networks and under disciplines of all kinds, and compares. `registry`
/// has the plans that the paper compares.
///
/// # Errors
///
/// If a run fails.
pub fn reproduce(seeds: &Seeds, registry: &Registry, batch: Batch<'_>) -> Result<Report, Failure> {
    let draws: Vec<_> = condition::all()
        .flat_map(|condition| seeds.all().iter().map(move |seed| (condition, *seed)))
        .collect();
    let trials = batch.run(&draws, |(condition, seed)| {
        trial::all(*condition, *seed, registry)
    })?;
    let drawn = draws.into_iter().map(|(condition, _)| condition);
    let trials: Vec<_> = drawn.zip(trials).collect();
    let parameters = Parameters::of(&paper::ROWS[0], registry)?;
    Ok(Report::new(seeds, parameters, &trials))
}
