//! `rebalance import`: an instance of what vt measured.

use std::path::PathBuf;

use clap::Args;

use crate::command::arguments::amount;
use crate::vt::{ImportOptions, Imported, import};
use commands::CommandFailure;
use commands::file::{check_writable, write};
use commands::output::print;

/// The arguments of `rebalance import`.
#[derive(Debug, Args)]
pub(crate) struct ImportArguments {
    /// LB data of vt: a folder with data.0.json and so on, or the files of all ranks; compressed (.br) or not
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Phase; the last one that all ranks have by default
    #[arg(long, value_name = "ID")]
    phase: Option<u64>,
    /// Memory of each rank in MB (`max_memory_usage` of LBAF, which is in bytes); without it memory is not limited
    #[arg(long, value_name = "MB", value_parser = amount)]
    memory: Option<f64>,
    /// File to write, instead of stdout
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Reads the files, and writes an instance.
///
/// # Errors
///
/// If a file is invalid, ranks disagree, or the instance cannot be written.
pub(super) fn execute(arguments: &ImportArguments) -> Result<(), CommandFailure> {
    if let Some(file) = &arguments.out {
        check_writable(file)?;
    }
    let options = ImportOptions {
        phase: arguments.phase,
        memory: arguments.memory,
    };
    let Imported { instance, notes } = import(&arguments.paths, options)?;
    tracing::info!(instance = %instance.name, "imported");
    if !notes.is_empty() {
        tracing::warn!("{}", notes.join("; "));
    }
    let text = instance.json();
    match &arguments.out {
        Some(file) => Ok(write(file, &text)?),
        None => print(&text),
    }
}
