//! Conway's Game of Life with the commands of migbsp.

mod life;
mod workload;

use std::process::ExitCode;

use migbsp::prelude::*;

fn main() -> ExitCode {
    let registry = Registry::shipped().named("life", env!("CARGO_PKG_VERSION"));
    Commands::new(&registry.with::<workload::GameOfLife>()).run()
}
