//! `migbsp sweep`: experiments with every combination of values, under several policies, with several seeds.

mod grid;
mod help;
mod kept;
mod merge;
mod views;

use clap::{Args, Subcommand};

use crate::command::{Command, Context};
use crate::commands::sweep::grid::GridArguments;
use crate::commands::sweep::merge::MergeArguments;
use crate::failure::CommandFailure;

/// Arguments of `sweep`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct SweepArguments {
    #[command(subcommand)]
    command: Option<SweepCommand>,
    #[command(flatten)]
    grid: GridArguments,
}

#[derive(Debug, Subcommand)]
enum SweepCommand {
    /// Join the shards of a sweep
    #[command(long_about = help::MERGE_ABOUT, after_long_help = help::MERGE_HELP)]
    Merge(MergeArguments),
}

/// The command `sweep`.
pub(crate) fn command() -> Command {
    Command::new(
        "sweep",
        "Run experiments with every combination of values, policies and seeds",
        execute,
    )
    .long_about(help::SWEEP_ABOUT)
    .after_long_help(help::SWEEP_HELP)
    .example(
        "sweep conf/lbm.toml --set scheduler.interval=2,4,8 --seeds 1..3 -o runs/sweep",
        "every combination, as a table",
    )
}

/// Runs a sweep, a shard of one, or joins shards.
///
/// # Errors
///
/// Errors of the arguments, an experiment, a run or the disk.
fn execute(arguments: &SweepArguments, context: &Context<'_>) -> Result<(), CommandFailure> {
    match &arguments.command {
        Some(SweepCommand::Merge(merge)) => merge::execute(merge),
        None => grid::execute(&arguments.grid, context),
    }
}
