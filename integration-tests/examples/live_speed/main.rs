//! How fast runs on real hosts are: node processes on this machine, and beside them Open MPI, plain TCP and one
//! stream of the transport. `--help` lists what can be measured alone.

mod cases;
mod checkpoints;
mod cluster;
mod custom;
mod job;
mod memory;
mod open_mpi;
mod others;
mod stream;
mod table;

use std::env;
use std::process::ExitCode;

use clap::Parser;

use cases::Scale;
use custom::CustomCase;

/// Measures runs on node processes of this machine, and beside them Open MPI (where `mpicc` and `mpirun` are
/// installed), plain TCP and one stream of the transport. The whole takes half an hour, and without
/// `checkpoints` and `recovery` some minutes.
#[derive(Parser)]
struct Options {
    /// Take a tenth of the supersteps
    #[arg(long)]
    quick: bool,
    /// Keep one processor of the machine busy meanwhile
    #[arg(long)]
    busy: bool,
    /// Print the rows as JSON
    #[arg(long)]
    json: bool,
    /// Measure one group of cases
    #[arg(long, value_name = "GROUP", value_parser = cases::GROUPS)]
    only: Option<String>,
    /// Measure one case, with the processor time of its nodes, which depends less on what else the machine does than the
    /// time of a superstep
    ///
    /// KEYS are numbers of the form key=number, separated by spaces: nodes, sets, runs, processes, supersteps,
    /// central, sends, sums, spins, state, unmoved, moving.
    #[arg(long, value_name = "KEYS", conflicts_with_all = ["quick", "busy", "json", "only"])]
    case: Option<CustomCase>,
}

fn main() -> anyhow::Result<ExitCode> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        // What this program starts as children.
        ["--node"] => cluster::node()?,
        ["--sink"] => stream::sink()?,
        ["--echo", address] => others::echo(address)?,
        ["--spin"] => others::spin()?,
        _ => measure(Options::parse())?,
    }
    Ok(ExitCode::SUCCESS)
}

fn measure(options: Options) -> anyhow::Result<()> {
    if let Some(case) = options.case {
        return custom::measure(&case);
    }
    let scale = Scale {
        divisor: if options.quick { 10 } else { 1 },
        only: options.only,
    };
    let busy = options.busy.then(others::Spinner::start).transpose()?;
    let rows = cases::all(&scale)?;
    drop(busy);
    if options.json {
        table::print_json(&rows)
    } else {
        table::print(&rows);
        Ok(())
    }
}
