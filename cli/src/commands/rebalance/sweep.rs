//! `migbsp rebalance sweep`: what each level would cost.

use std::path::PathBuf;

use clap::Args;

use crate::commands::rebalance::arguments::SearchArguments;
use crate::commands::rebalance::instance::read_instance;
use crate::file::{check_writable, write};
use crate::output::{Format, print, print_json};
use crate::rebalance::sweep::{Levels, sweep, text};
use crate::rebalance::{Algorithm, read_level};
use experiments::Failure;
use experiments::batch::Progress;

/// The arguments of `rebalance sweep`.
#[derive(Debug, Args)]
pub(crate) struct SweepArguments {
    /// The instance, a JSON file; `-` reads stdin
    #[arg(value_name = "INSTANCE")]
    instance: PathBuf,
    /// Who looks: imlp, islp, mlp, tabu, mparv, hyb or best, and parameters it is to have; may be given several times
    #[arg(
        long = "algorithm",
        value_name = "NAME[:KEY=VALUE,...]",
        default_values = ["imlp", "best"]
    )]
    algorithms: Vec<Algorithm>,
    /// A level; may be given several times; if left out, --points of them, closer to each other where they are low
    #[arg(long = "target", value_name = "LEVEL", value_parser = read_level)]
    targets: Vec<f64>,
    /// How many levels, from the one before anybody moves down to nearly the ideal one
    #[arg(long, value_name = "N", default_value_t = 10, conflicts_with = "targets",
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    points: u32,
    #[command(flatten)]
    search: SearchArguments,
    /// How to show the results
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Draw cost against level into this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// Looks with every algorithm for every level, and sets the costs beside each other.
///
/// # Errors
///
/// Whatever is wrong with the arguments, the instance or the disk.
pub(super) fn command(arguments: &SweepArguments, progress: &dyn Progress) -> Result<(), Failure> {
    let algorithms = &arguments.algorithms;
    let twice = (1..algorithms.len()).find(|at| algorithms[..*at].contains(&algorithms[*at]));
    if let Some(at) = twice {
        let problem = format!("--algorithm {} is given twice", algorithms[at]);
        return Err(Failure::Usage(problem));
    }
    let instance = read_instance(&arguments.instance)?;
    if let Some(file) = &arguments.svg {
        // A place that takes nothing is better known before the search than after it.
        check_writable(file)?;
    }
    let levels = if arguments.targets.is_empty() {
        Levels::Spread(arguments.points)
    } else {
        Levels::Given(arguments.targets.clone())
    };
    let search = arguments.search.search();
    let report = sweep(&instance, levels, algorithms, search, progress)?;
    match arguments.format {
        Format::Table => print(&text(&report))?,
        Format::Json => print_json(&report)?,
        Format::Csv => print(&report.csv().map_err(Failure::run)?)?,
    }
    match &arguments.svg {
        Some(file) => write(file, &report.chart().svg()),
        None => Ok(()),
    }
}
