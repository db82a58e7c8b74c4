//! The command with the workloads that ship.

use std::process::ExitCode;

use cli::Registry;

fn main() -> ExitCode {
    cli::run(&Registry::shipped())
}
