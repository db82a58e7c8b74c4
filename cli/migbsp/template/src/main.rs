//! Heat that spreads along a rod, with the commands of migbsp.

mod rod;
mod workload;

use std::process::ExitCode;

use migbsp::prelude::*;

fn main() -> ExitCode {
    let registry = Registry::shipped().named("my-program", env!("CARGO_PKG_VERSION"));
    Commands::new(&registry.with::<workload::Rod>()).run()
}
