//! Conjugate gradients on a Poisson problem, with the commands of migbsp.

mod direct;
mod solver;
mod workload;

use std::process::ExitCode;

use migbsp::prelude::*;

fn main() -> ExitCode {
    let registry = Registry::shipped().named("poisson", env!("CARGO_PKG_VERSION"));
    Commands::new(&registry.with::<workload::Poisson>()).run()
}
