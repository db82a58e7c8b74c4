//! The command with the workloads that ship.

use std::process::ExitCode;

use experiments::Registry;

fn main() -> ExitCode {
    commands::run(&Registry::shipped())
}
