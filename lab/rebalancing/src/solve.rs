//! An assignment for each target.

mod complaint;
mod report;
mod text;

use std::time::Instant;

use crate::algorithm::Algorithm;
use crate::instance::Instance;
use crate::search::{Search, lower_bound};
use crate::target::Target;
use experiments::Failure;
use experiments::batch::Batch;

pub use complaint::complaint;
pub use report::{Report, Seconds};
pub use text::text;

/// The assignments that `algorithm` finds for `targets`, in their order. Reading `instance` took `reading` seconds.
///
/// # Errors
///
/// None: a search does not fail.
pub fn solve(
    (instance, reading): (&Instance, f64),
    targets: &[Target],
    algorithm: &Algorithm,
    search: Search,
    batch: Batch<'_>,
) -> Result<Report, Failure> {
    let problem = instance.problem(search.cost);
    let began = Instant::now();
    let each = search.of_each(targets.len(), batch.threads(targets.len()));
    let found = batch.run(targets, |target| {
        Ok((*target, each.find(algorithm, &problem, *target)))
    })?;
    let searching = began.elapsed().as_secs_f64();
    let bounds = batch.run(&found, |(target, found)| {
        let level = target.level(problem.ideal());
        let level = level.unwrap_or(found.solution.level);
        Ok(lower_bound(&problem, level, Some(each.limit)))
    })?;
    let seconds = Seconds {
        reading,
        searching,
        bounds: began.elapsed().as_secs_f64() - searching,
    };
    let found: Vec<_> = found.into_iter().zip(bounds).collect();
    Ok(Report::new(
        instance,
        &problem,
        (algorithm, search),
        &found,
        seconds,
    ))
}
