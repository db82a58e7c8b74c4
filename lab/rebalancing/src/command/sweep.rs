//! `rebalance sweep`: the cost of each level.

use std::path::PathBuf;

use clap::Args;

use crate::command::arguments::{SearchArguments, provenance};
use crate::sweep::{Levels, sweep, text};
use crate::{Algorithm, Target, read_target};
use commands::file::{SVG, check_output, write};
use commands::output::{Format, print, print_json, print_text};
use commands::{CommandFailure, JobsArguments};
use experiments::batch::Batch;
use experiments::{Failure, Registry};

/// The arguments of `rebalance sweep`.
#[derive(Debug, Args)]
pub(crate) struct SweepArguments {
    /// Instance file, JSON; `-` reads stdin
    #[arg(value_name = "INSTANCE")]
    instance: PathBuf,
    /// Algorithm (imlp, islp, mlp, tabu, mparv, refine, hyb or best) with parameters; can be given several times
    #[arg(
        long = "algorithm",
        value_name = "NAME[:KEY=VALUE,...]",
        default_values = ["imlp", "best"]
    )]
    algorithms: Vec<Algorithm>,
    /// Level, or percentage of the ideal one; can be given several times; by default --points levels, closer to each other where they are low
    #[arg(long = "target", value_name = "LEVEL|PERCENT%", value_parser = read_target)]
    targets: Vec<Target>,
    /// Number of levels, from the initial one down to nearly the ideal one
    #[arg(long, value_name = "N", default_value_t = 10, conflicts_with = "targets",
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    points: u32,
    #[command(flatten)]
    search: SearchArguments,
    #[command(flatten)]
    pub(super) jobs: JobsArguments,
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
pub(super) fn execute(
    arguments: &SweepArguments,
    batch: Batch<'_>,
    registry: &Registry,
) -> Result<(), CommandFailure> {
    let algorithms = &arguments.algorithms;
    let twice = (1..algorithms.len()).find(|at| algorithms[..*at].contains(&algorithms[*at]));
    if let Some(at) = twice {
        let problem = format!("--algorithm {} is given twice", algorithms[at]);
        return Err(Failure::Usage(problem).into());
    }
    let instance = arguments.search.read_instance(&arguments.instance)?;
    if let Some(file) = &arguments.svg {
        // An unwritable place is reported before the search, not after it.
        check_output(file, SVG)?;
    }
    let levels = if arguments.targets.is_empty() {
        Levels::Spread(arguments.points)
    } else {
        Levels::Given(arguments.targets.clone())
    };
    let search = arguments.search.search();
    let report = sweep(&instance, levels, algorithms, search, batch)?;
    let provenance = || provenance(&instance, search, registry);
    match arguments.format {
        Format::Table => print_text(true, |layout| text(&report, layout))?,
        Format::Json => print_json(&provenance()?, &report)?,
        Format::Csv => print(&report.csv(&provenance()?)?)?,
    }
    match &arguments.svg {
        Some(file) => Ok(write(file, &report.chart().svg())?),
        None => Ok(()),
    }
}
