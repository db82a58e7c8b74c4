//! How fast runs on real hosts are: node processes on this machine, and beside them Open MPI, plain TCP and one
//! stream of the transport.
//!
//! ```text
//! cargo run --release -p integration-tests --example live_speed -- [quick] [--busy] [--json] [--only WORD]
//! cargo run --release -p integration-tests --example live_speed -- --case "nodes=4 processes=8 sends=100000"
//! ```
//!
//! `quick` takes a tenth of the supersteps, `--busy` keeps one processor of the machine busy meanwhile, `--only`
//! measures what has the word in its name. Open MPI is measured where `mpicc` and `mpirun` are installed. `--case`
//! measures one case, whose keys [`custom::CustomCase`] has, and the processor time of its nodes, which depends less on what
//! else the machine does than the time of a superstep.

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

use cases::Scale;

fn main() -> anyhow::Result<ExitCode> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["--node"] => cluster::node()?,
        ["--sink"] => stream::sink()?,
        ["--echo", address] => others::echo(address)?,
        ["--spin"] => others::spin()?,
        _ => measure(&words)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn measure(words: &[&str]) -> anyhow::Result<()> {
    let has = |word: &str| words.contains(&word);
    let after = |option: &str| words.iter().skip_while(|word| **word != option).nth(1);
    if let Some(case) = after("--case") {
        return custom::measure(&case.parse()?);
    }
    let only = after("--only");
    let scale = Scale {
        divisor: if has("quick") { 10 } else { 1 },
        only: only.map(ToString::to_string),
    };
    let busy = has("--busy").then(others::Spinner::start).transpose()?;
    let rows = cases::all(&scale)?;
    drop(busy);
    if has("--json") {
        table::print_json(&rows)
    } else {
        table::print(&rows);
        Ok(())
    }
}
