//! Conway's Game of Life with every command of migbsp.

mod life;
mod workload;

use std::process::ExitCode;

fn main() -> ExitCode {
    commands::run(&experiments::Registry::shipped().with::<workload::GameOfLife>())
}
