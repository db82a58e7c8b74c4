//! `rebalance INSTANCE`: an assignment for each target.

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;

use crate::command::arguments::{SearchArguments, provenance};
use crate::solve::{complaint, solve, text};
use crate::{Algorithm, Search, Target, read_cost};
use commands::output::{Format, print, print_json, print_text};
use commands::{CommandFailure, JobsArguments};
use experiments::batch::Batch;
use experiments::{Failure, Registry};
use settings::nearest;

/// The arguments of `rebalance INSTANCE`.
#[derive(Debug, Args)]
pub(crate) struct SolveArguments {
    /// Instance file, JSON; `-` reads stdin
    #[arg(value_name = "INSTANCE", required = true)]
    instance: Option<PathBuf>,
    /// Surplus argument.
    #[arg(hide = true)]
    more: Vec<PathBuf>,
    /// Algorithm (imlp, islp, mlp, tabu, mparv, refine, hyb or best) with parameters
    #[arg(long, value_name = "NAME[:KEY=VALUE,...]", default_value = "best")]
    algorithm: Algorithm,
    /// Highest allowed level of a machine, also as a percentage of the ideal one, or `min`; can be given several times;
    /// the instance's targets by default
    #[arg(long = "target", value_name = "LEVEL|PERCENT%|min")]
    targets: Vec<Target>,
    /// Highest cost of an assignment for `--target min`
    #[arg(long, value_name = "COST", value_parser = read_cost)]
    max_cost: Option<f64>,
    #[command(flatten)]
    search: SearchArguments,
    #[command(flatten)]
    pub(super) jobs: JobsArguments,
    /// Show long tables whole
    #[arg(long)]
    all: bool,
    /// Format of the results
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Searches an assignment for each target, and shows it.
///
/// # Errors
///
/// Errors of the instance or stdout; [`Failure::Verification`] if a target is not met.
pub(super) fn execute(
    arguments: &SolveArguments,
    batch: Batch<'_>,
    registry: &Registry,
) -> Result<(), CommandFailure> {
    let Some(file) = &arguments.instance else {
        return Err(Failure::Usage(
            "missing argument <INSTANCE>: a file, or `-` for stdin".to_owned(),
        )
        .into());
    };
    let meant = mistyped(file);
    if let Some(second) = arguments.more.first() {
        return Err(Failure::Usage(one_too_many(file, second, meant)).into());
    }
    let began = Instant::now();
    let instance = arguments
        .search
        .read_instance(file)
        .map_err(|failure| match meant {
            Some(subcommand) => Failure::Input(format!(
                "{failure}; did you mean the subcommand `{subcommand}`?"
            )),
            None => failure,
        })?;
    let reading = began.elapsed().as_secs_f64();
    let targets = if arguments.targets.is_empty() {
        instance
            .targets
            .iter()
            .copied()
            .map(Target::Level)
            .collect()
    } else {
        arguments.targets.clone()
    };
    if arguments.max_cost.is_some() && !targets.contains(&Target::Lowest) {
        let problem = "--max-cost is a limit of `--target min`, which is not given";
        return Err(Failure::Usage(problem.to_owned()).into());
    }
    if targets.is_empty() {
        return Err(Failure::Usage(format!(
            "missing option --target: {} has no `targets`",
            file.display()
        ))
        .into());
    }
    let search = Search {
        cost_max: arguments.max_cost.unwrap_or(f64::INFINITY),
        ..arguments.search.search()
    };
    let read = (&instance, reading);
    let report = solve(read, &targets, &arguments.algorithm, search, batch)?;
    let provenance = || provenance(&instance, search, registry);
    match arguments.format {
        Format::Table => print_text(arguments.all, |layout| text(&report, &instance, layout))?,
        Format::Json => print_json(&provenance()?, &report)?,
        Format::Csv => print(&report.csv(&instance, &provenance()?)?)?,
    }
    match complaint(&report, &instance, search) {
        Some(complaint) => Err(Failure::Verification(complaint).into()),
        None => Ok(()),
    }
}

/// The error of `second` after `first`, which may be a subcommand.
fn one_too_many(first: &Path, second: &Path, meant: Option<&str>) -> String {
    let is_subcommand = SUBCOMMANDS.iter().any(|name| second == Path::new(name));
    let (first, second) = (first.display(), second.display());
    match meant {
        Some(subcommand) => format!("unknown subcommand `{first}`; did you mean `{subcommand}`?"),
        None if is_subcommand => {
            format!("the subcommand `{second}` must precede `{first}`")
        }
        None => format!("expected one instance, found `{first}` and `{second}`"),
    }
}

/// The subcommand that the missing file `file` may have meant.
fn mistyped(file: &Path) -> Option<&'static str> {
    let word = file
        .to_str()
        .filter(|word| word.chars().all(char::is_alphabetic))?;
    if file.exists() {
        return None;
    }
    nearest(word, &SUBCOMMANDS)
}

/// The subcommands of `rebalance`.
const SUBCOMMANDS: [&str; 4] = ["sweep", "generate", "import", "export"];
