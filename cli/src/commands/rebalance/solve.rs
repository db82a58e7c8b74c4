//! `migbsp rebalance INSTANCE`: an assignment for each target.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::commands::rebalance::arguments::SearchArguments;
use crate::commands::rebalance::instance::read_instance;
use crate::output::{Format, print, print_json};
use crate::rebalance::solve::{solve, text};
use crate::rebalance::{Algorithm, read_level};
use experiments::Failure;
use experiments::batch::Progress;
use settings::nearest;

/// The arguments of `rebalance INSTANCE`.
#[derive(Debug, Args)]
pub(crate) struct SolveArguments {
    /// The instance, a JSON file; `-` reads stdin
    #[arg(value_name = "INSTANCE", required = true)]
    instance: Option<PathBuf>,
    /// What comes after it, which is one too many.
    #[arg(hide = true)]
    more: Vec<PathBuf>,
    /// Who looks: imlp, islp, mlp, tabu, mparv, hyb or best, and parameters it is to have
    #[arg(long, value_name = "NAME[:KEY=VALUE,...]", default_value = "best")]
    algorithm: Algorithm,
    /// The level that no machine may be above; may be given several times; if left out, those of the instance
    #[arg(long = "target", value_name = "LEVEL", value_parser = read_level)]
    targets: Vec<f64>,
    #[command(flatten)]
    search: SearchArguments,
    /// How to show the results
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// Looks for an assignment for each target, and shows it.
///
/// # Errors
///
/// Whatever is wrong with the instance or stdout; [`Failure::Verification`] if a target is not met.
pub(super) fn command(arguments: &SolveArguments, progress: &dyn Progress) -> Result<(), Failure> {
    let Some(file) = &arguments.instance else {
        return Err(Failure::Usage(
            "no instance: give a file, or `-` for stdin".to_owned(),
        ));
    };
    let meant = mistyped(file);
    if let Some(second) = arguments.more.first() {
        return Err(Failure::Usage(one_too_many(file, second, meant)));
    }
    let instance = read_instance(file).map_err(|failure| match meant {
        Some(subcommand) => Failure::Input(format!(
            "{failure}; did you mean the subcommand `{subcommand}`?"
        )),
        None => failure,
    })?;
    let targets = if arguments.targets.is_empty() {
        &instance.targets
    } else {
        &arguments.targets
    };
    if targets.is_empty() {
        return Err(Failure::Usage(format!(
            "no target: {} has no `targets`, so give --target",
            file.display()
        )));
    }
    let search = arguments.search.search();
    let report = solve(&instance, targets, &arguments.algorithm, search, progress)?;
    match arguments.format {
        Format::Table => print(&text(&report, &instance))?,
        Format::Json => print_json(&report)?,
        Format::Csv => print(&report.csv(&instance).map_err(Failure::run)?)?,
    }
    match report.complaint() {
        Some(complaint) => Err(Failure::Verification(complaint)),
        None => Ok(()),
    }
}

/// What is wrong with `second` behind `first`, which may be meant to be a subcommand.
fn one_too_many(first: &Path, second: &Path, meant: Option<&str>) -> String {
    let is_subcommand = SUBCOMMANDS.iter().any(|name| second == Path::new(name));
    let (first, second) = (first.display(), second.display());
    match meant {
        Some(subcommand) => format!("{first}: is no subcommand; did you mean `{subcommand}`?"),
        None if is_subcommand => {
            format!("the subcommand `{second}` stands behind {first}, expected it before")
        }
        None => format!("met {first} and {second}, expected one instance"),
    }
}

/// The subcommand that somebody may have meant who wrote `file`, which is not there.
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
const SUBCOMMANDS: [&str; 2] = ["sweep", "generate"];
