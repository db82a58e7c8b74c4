//! What each level costs, for several algorithms.

mod levels;
mod report;
mod text;

use crate::algorithm::Algorithm;
use crate::instance::Instance;
use crate::search::{Search, lower_bound};
use crate::sweep::report::Point;
use crate::target::Target;
use experiments::Failure;
use experiments::batch::Batch;

pub use levels::Levels;
pub use report::Report;
pub use text::text;

/// What every one of `algorithms` finds for every one of `levels`.
///
/// # Errors
///
/// None: a search does not fail.
pub fn sweep(
    instance: &Instance,
    levels: Levels,
    algorithms: &[Algorithm],
    search: Search,
    batch: Batch<'_>,
) -> Result<Report, Failure> {
    let problem = instance.problem(search.cost);
    let targets = levels.rising(&problem);
    let of_bound = search
        .of_each(targets.len(), batch.threads(targets.len()))
        .limit;
    let bounds = batch.run(&targets, |target| {
        Ok(lower_bound(&problem, *target, Some(of_bound)))
    })?;
    let levels = targets.iter().zip(bounds);
    let cases: Vec<(f64, Option<f64>, &Algorithm)> = levels
        .flat_map(|(target, bound)| {
            algorithms
                .iter()
                .map(move |algorithm| (*target, bound, algorithm))
        })
        .collect();
    let each = search.of_each(cases.len(), batch.threads(cases.len()));
    let points = batch.run(&cases, |(target, bound, algorithm)| {
        let found = each.find(algorithm, &problem, Target::Level(*target));
        Ok(Point::new((*target, *bound), algorithm, &found))
    })?;
    Ok(Report::new(instance, &problem, algorithms, search, points))
}
