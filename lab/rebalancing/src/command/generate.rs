//! `rebalance generate`: an instance like those of the paper, or with other sizes of processes.

use std::path::PathBuf;

use clap::Args;
use rebalancing_algorithms::Workloads;

use crate::command::arguments::seed;
use crate::{GroupName, generate, read_level};
use commands::CommandFailure;
use commands::file::write;
use commands::output::print;

/// The arguments of `rebalance generate`.
#[derive(Debug, Args)]
pub(crate) struct GenerateArguments {
    /// Group: I1,1 to I4,5 of the paper's Table 2, S1,1 to S8,5 with other sizes, or X1,1 to X2,3 with communication
    #[arg(long, value_name = "GROUP")]
    group: GroupName,
    /// Number of the instance within the group
    #[arg(long, value_name = "SEED", default_value_t = 1, value_parser = seed)]
    seed: u64,
    /// Level to meet; can be given several times; by default 76, 80 and 90, or for X groups 0.8, 0.85 and 0.9 of the initial level
    #[arg(long = "target", value_name = "LEVEL", value_parser = read_level)]
    targets: Vec<f64>,
    /// Draw the workloads of I4 as the paper prints them, not as its levels imply
    #[arg(long)]
    literal: bool,
    /// File to write, instead of stdout
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Draws the instance and writes it.
///
/// # Errors
///
/// If the file, or stdout, cannot be written.
pub(super) fn execute(arguments: &GenerateArguments) -> Result<(), CommandFailure> {
    let workloads = if arguments.literal {
        Workloads::Literal
    } else {
        Workloads::Swapped
    };
    let targets = arguments.targets.clone();
    let text = generate(arguments.group, arguments.seed, workloads, targets).json();
    match &arguments.out {
        Some(file) => Ok(write(file, &text)?),
        None => print(&text),
    }
}
