//! `migbsp sweep merge`: the shards of a sweep as one.

use std::path::PathBuf;

use analysis::compare::Ledger;
use analysis::sweep::{SweepFolder, merge};
use clap::Args;
use experiments::Failure;

use crate::commands::sweep::kept::begin;
use crate::commands::sweep::views::ViewArguments;
use crate::failure::CommandFailure;
use crate::file::write;

/// Arguments of `sweep merge`.
#[derive(Debug, Args)]
pub(super) struct MergeArguments {
    /// Folders of all shards, as `sweep --shard NUMBER/COUNT --out DIR` makes them
    #[arg(value_name = "DIR", required = true)]
    shards: Vec<PathBuf>,
    /// Folder for the whole sweep
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    views: ViewArguments,
}

/// Joins shards into a folder as the sweep would have made it without shards.
///
/// # Errors
///
/// If shards are missing, incomplete, or of different sweeps; errors of the disk.
pub(super) fn execute(arguments: &MergeArguments) -> Result<(), CommandFailure> {
    let folders = arguments
        .shards
        .iter()
        .map(|folder| SweepFolder::read(folder));
    let folders: Vec<SweepFolder> = folders.collect::<Result<_, Failure>>()?;
    let merged = merge(&folders)?;
    arguments.views.check(&merged.plan.grid)?;
    let provenance = folders[0].provenance()?;
    let out = &arguments.out;
    let ledger = begin(out, &merged.plan, &provenance)?;
    write(&out.join(Ledger::FILE), &merged.lines)?;
    drop(ledger);
    arguments.views.show(out, true)
}
