//! Conway's Game of Life with every command of migbsp.

mod life;
mod workload;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run(&cli::Registry::shipped().with::<workload::GameOfLife>())
}
