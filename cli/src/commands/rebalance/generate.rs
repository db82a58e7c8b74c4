//! `migbsp rebalance generate`: an instance like those of the paper, or with other sizes of processes.

use std::path::PathBuf;

use clap::Args;
use migbsp::rebalance::{Group, Workloads};

use crate::commands::rebalance::arguments::seed;
use crate::failure::CommandFailure;
use crate::file::write;
use crate::output::print;
use analysis::rebalance::{generate, read_level};

/// The arguments of `rebalance generate`.
#[derive(Debug, Args)]
pub(crate) struct GenerateArguments {
    /// Group: I1,1 to I4,5 of the paper's Table 2, or S1,1 to S8,5 with other sizes
    #[arg(long, value_name = "GROUP", value_parser = group)]
    group: Group,
    /// Number of the instance within the group
    #[arg(long, value_name = "SEED", default_value_t = 1, value_parser = seed)]
    seed: u64,
    /// Level to meet; can be given several times
    #[arg(long = "target", value_name = "LEVEL", value_parser = read_level, default_values = ["76", "80", "90"])]
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
pub(super) fn command(arguments: &GenerateArguments) -> Result<(), CommandFailure> {
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

fn group(text: &str) -> Result<Group, String> {
    // A point or a dash instead of the comma is unambiguous.
    let name = text.trim().to_uppercase().replace(['.', '-', '_'], ",");
    name.parse().map_err(|_| {
        format!("unknown group `{text}`, must be from I1,1 to I4,5 or from S1,1 to S8,5")
    })
}
