//! The program with the workloads that ship, and the laboratory.

use std::process::ExitCode;

use commands::Commands;
use experiments::Registry;

fn main() -> ExitCode {
    Commands::new(&Registry::shipped().with_plans(lab_rules::PLANS))
        .with(reproduce::command())
        .with(chaos::command())
        .with(rebalancing::command())
        .run()
}
