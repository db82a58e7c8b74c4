//! An assignment for each target.

mod report;
mod text;

use crate::rebalance::algorithm::Algorithm;
use crate::rebalance::instance::Instance;
use crate::rebalance::search::{Search, lower_bound};
use experiments::Failure;
use experiments::batch::Batch;

pub use report::Report;
pub use text::text;

/// The assignments that `algorithm` finds for `targets`, in their order.
///
/// # Errors
///
/// None: a search does not fail.
pub fn solve(
    instance: &Instance,
    targets: &[f64],
    algorithm: &Algorithm,
    search: Search,
    batch: Batch<'_>,
) -> Result<Report, Failure> {
    let problem = instance.problem(search.cost);
    let found = batch.run(targets, |target| {
        let found = search.find(algorithm, &problem, *target);
        Ok((*target, found, lower_bound(&problem, *target)))
    })?;
    Ok(Report::new(instance, &problem, algorithm, search, &found))
}
