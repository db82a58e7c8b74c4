//! Your own plan, with the commands of migbsp.

mod pairwise;

use std::process::ExitCode;

use migbsp::prelude::*;

fn main() -> ExitCode {
    let registry = Registry::shipped().named("policy", env!("CARGO_PKG_VERSION"));
    Commands::new(&registry.with_plan(pairwise::RULE)).run()
}
