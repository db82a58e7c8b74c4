//! `migbsp sweep`: experiments with every combination of values, under several policies, with several seeds.

mod grid;
mod help;
mod kept;
mod merge;
mod views;

use clap::{Args, Subcommand};
use experiments::Registry;

use crate::commands::sweep::grid::GridArguments;
use crate::commands::sweep::merge::MergeArguments;
use crate::failure::CommandFailure;

pub(crate) use help::{SWEEP_ABOUT, SWEEP_HELP};

/// Arguments of `sweep`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct SweepArguments {
    #[command(subcommand)]
    command: Option<SweepCommand>,
    #[command(flatten)]
    grid: GridArguments,
    /// Whether to show a progress bar on stderr.
    #[arg(skip)]
    pub(crate) progress: bool,
}

#[derive(Debug, Subcommand)]
enum SweepCommand {
    /// Join the shards of a sweep
    #[command(long_about = help::MERGE_ABOUT, after_long_help = help::MERGE_HELP)]
    Merge(MergeArguments),
}

/// Runs a sweep, a shard of one, or joins shards.
///
/// # Errors
///
/// Errors of the arguments, an experiment, a run or the disk.
pub(crate) fn command(
    arguments: &SweepArguments,
    registry: &Registry,
) -> Result<(), CommandFailure> {
    match &arguments.command {
        Some(SweepCommand::Merge(merge)) => merge::command(merge),
        None => grid::command(&arguments.grid, arguments.progress, registry),
    }
}
