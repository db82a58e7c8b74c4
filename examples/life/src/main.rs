//! Conway's Game of Life with every command of migbsp.

mod life;
mod workload;

use std::process::ExitCode;

use experiments::Registry;

fn main() -> ExitCode {
    let registry = Registry::shipped().named("life", env!("CARGO_PKG_VERSION"));
    commands::run(&registry.with::<workload::GameOfLife>())
}
