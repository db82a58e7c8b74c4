//! Programs on nodes of which one is slow: migbsp beside MPI, whose ranks stay where they are.
//!
//! ```text
//! cargo run --release -p integration-tests --example versus -- [quick] [--only WORD]
//! ```
//!
//! Heat (1500 × 1500) and the Lattice Boltzmann method (512 × 512) run on nodes of this machine, which are held to parts of a
//! processor: Open MPI with a rank for each node, and ours with 16 processes, under the policies `none` and `adaptive`; each with equal
//! nodes and with the last one slower. A node that is held sleeps after it has computed, in proportion to the processor time that
//! this took, in both. All runs of a case take turns, and the table has ratios of their makespans: medians, and ranges, of five rounds.
//!
//! * **ideal**: the makespan of the best static placement of whole processes if nothing but computing took time: by the processor time
//!   that the reference runner takes for the same processes, measured in the same round.
//! * **part of the gain**: what `adaptive` wins of what there is to win, `(none - adaptive) / (none - ideal)` with a slow node.
//!
//! Results of all runs have to be equal, bit by bit, or the command fails. `quick` has one round of a quarter of the supersteps, and
//! `--only` selects cases with the word in their names. Without `mpicxx` nothing is compared with MPI. With `ampicxx` the ranks of
//! Adaptive MPI are measured as well, one for each node, without a balancer.
//!
//! This program has the commands of migbsp and starts itself as the nodes and the client.

mod cases;
mod mpi;
#[path = "../live_speed/open_mpi.rs"]
mod open_mpi;
mod ours;

use std::env;
use std::io::{Write, stdout};
use std::process::ExitCode;

use migbsp::commands::Commands;
use migbsp::experiments::Registry;

fn main() -> anyhow::Result<ExitCode> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (is_quick, words) = match words.split_first() {
        Some((&"quick", words)) => (true, words),
        _ => (false, &words[..]),
    };
    let only = match words {
        [] => None,
        ["--only", word] => Some(*word),
        _ => return Ok(Commands::new(&Registry::shipped()).run()),
    };
    cases::measure(is_quick, only)?;
    Ok(ExitCode::SUCCESS)
}

fn line(text: &str) {
    // The reader may have gone.
    drop(writeln!(stdout(), "{text}"));
}

/// Says what is under way, beside the table.
fn say(text: &str) {
    // The reader may have gone.
    drop(writeln!(std::io::stderr(), "{text}"));
}
