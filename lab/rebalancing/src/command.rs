//! `rebalance`: which processes to move so that no machine is above a level, and what that costs.

mod arguments;
mod export;
mod generate;
mod help;
mod import;
mod solve;
mod sweep;

use clap::{Args, Subcommand};

use experiments::batch::Batch;

use crate::command::export::ExportArguments;
use crate::command::generate::GenerateArguments;
use crate::command::import::ImportArguments;
use crate::command::solve::SolveArguments;
use crate::command::sweep::SweepArguments;
use commands::{Command, CommandFailure, Context, JobsArguments, RunBar};

/// The arguments of `rebalance`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
struct RebalanceArguments {
    #[command(subcommand)]
    command: Option<RebalanceCommand>,
    #[command(flatten)]
    solve: SolveArguments,
}

#[derive(Debug, Subcommand)]
enum RebalanceCommand {
    /// Compare the costs of levels for several algorithms
    #[command(long_about = help::SWEEP_ABOUT, after_long_help = help::SWEEP_HELP)]
    Sweep(SweepArguments),
    /// Draw an instance like those of the paper
    #[command(long_about = help::GENERATE_ABOUT, after_long_help = help::GENERATE_HELP)]
    Generate(GenerateArguments),
    /// Make an instance from LB data of vt, which LBAF reads
    #[command(long_about = help::IMPORT_ABOUT, after_long_help = help::IMPORT_HELP)]
    Import(ImportArguments),
    /// Write a plan into the LB data it was made from
    #[command(long_about = help::EXPORT_ABOUT, after_long_help = help::EXPORT_HELP)]
    Export(ExportArguments),
}

/// The command `rebalance`.
#[must_use]
pub fn command() -> Command {
    Command::new(
        "rebalance",
        "Find the cheapest migrations after which no machine is above a level",
        execute,
    )
    .long_about(help::REBALANCE_ABOUT)
    .after_long_help(help::REBALANCE_HELP)
    .example(
        "rebalance sweep conf/rebalance/small.json",
        "the cost of lower levels",
    )
    .opening("json", "rebalance")
}

/// Searches for assignments, sweeps over levels, draws an instance, or exchanges data with vt.
///
/// # Errors
///
/// Errors of the arguments, the instance or the disk; [`Failure::Verification`] if a target
/// of an instance is not met.
fn execute(arguments: &RebalanceArguments, context: &Context<'_>) -> Result<(), CommandFailure> {
    let registry = context.registry();
    let progress = &RunBar::new(context.has_progress());
    let batch = |jobs: JobsArguments| Batch {
        jobs: jobs.threads(),
        progress,
    };
    match &arguments.command {
        Some(RebalanceCommand::Sweep(sweep)) => sweep::execute(sweep, batch(sweep.jobs), registry),
        Some(RebalanceCommand::Generate(generate)) => generate::execute(generate),
        Some(RebalanceCommand::Import(arguments)) => import::execute(arguments),
        Some(RebalanceCommand::Export(arguments)) => export::execute(arguments),
        None => solve::execute(&arguments.solve, batch(arguments.solve.jobs), registry),
    }
}
