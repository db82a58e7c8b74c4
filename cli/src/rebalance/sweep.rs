//! `migbsp rebalance sweep`: the cost of each level.

mod levels;
mod report;
mod text;

use std::path::PathBuf;

use clap::Args;

use crate::file::{check_writable, write};
use crate::output::{Format, print, print_json};
use crate::rebalance::algorithm::Algorithm;
use crate::rebalance::arguments::{SearchArguments, target};
use crate::rebalance::instance::Instance;
use crate::rebalance::search::lower_bound;
use crate::rebalance::sweep::levels::levels;
use crate::rebalance::sweep::report::{Point, Report};
use experiments::Failure;
use experiments::batch::{self, Progress};

/// Arguments of `rebalance sweep`.
#[derive(Debug, Args)]
pub(crate) struct SweepArguments {
    /// Instance file, JSON; `-` reads stdin
    #[arg(value_name = "INSTANCE")]
    instance: PathBuf,
    /// Algorithm (imlp, islp, mlp, tabu, mparv, hyb or best) with parameters; can be given several times
    #[arg(
        long = "algorithm",
        value_name = "NAME[:KEY=VALUE,...]",
        default_values = ["imlp", "best"]
    )]
    algorithms: Vec<Algorithm>,
    /// Level; can be given several times; by default --points levels, closer to each other where they are low
    #[arg(long = "target", value_name = "LEVEL", value_parser = target)]
    targets: Vec<f64>,
    /// Number of levels, from the initial one down to nearly the ideal one
    #[arg(long, value_name = "N", default_value_t = 10, conflicts_with = "targets",
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    points: u32,
    #[command(flatten)]
    search: SearchArguments,
    /// Format of the results
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// File for a chart of cost against level
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// Searches with every algorithm for every level, and compares the costs.
///
/// # Errors
///
/// Errors of the arguments, the instance or the disk.
pub(super) fn command(arguments: &SweepArguments, progress: &dyn Progress) -> Result<(), Failure> {
    let algorithms = &arguments.algorithms;
    let twice = (1..algorithms.len()).find(|at| algorithms[..*at].contains(&algorithms[*at]));
    if let Some(at) = twice {
        let problem = format!("--algorithm {} is given twice", algorithms[at]);
        return Err(Failure::Usage(problem));
    }
    let instance = Instance::read(&arguments.instance)?;
    let problem = instance.problem(arguments.search.cost);
    let mut targets = if arguments.targets.is_empty() {
        levels(&problem, arguments.points)
    } else {
        arguments.targets.clone()
    };
    targets.sort_by(f64::total_cmp);
    targets.dedup();
    if let Some(file) = &arguments.svg {
        // An unwritable place is reported before the search, not after it.
        check_writable(file)?;
    }
    let search = arguments.search.search();
    let bounds = batch::run(&targets, progress, |target| {
        Ok(lower_bound(&problem, *target))
    })?;
    let levels = targets.iter().zip(bounds);
    let cases: Vec<(f64, Option<f64>, &Algorithm)> = levels
        .flat_map(|(target, bound)| {
            algorithms
                .iter()
                .map(move |algorithm| (*target, bound, algorithm))
        })
        .collect();
    let points = batch::run(&cases, progress, |(target, bound, algorithm)| {
        let found = search.find(algorithm, &problem, *target);
        Ok(Point::new((*target, *bound), algorithm, &found))
    })?;
    let report = Report::new(&instance, &problem, arguments, points);
    match arguments.format {
        Format::Table => print(&text::text(&report))?,
        Format::Json => print_json(&report)?,
        Format::Csv => print(&report.csv().map_err(Failure::run)?)?,
    }
    match &arguments.svg {
        Some(file) => write(file, &report.chart().svg()),
        None => Ok(()),
    }
}
