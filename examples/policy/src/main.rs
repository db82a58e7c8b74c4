//! Your own plan, with every command of migbsp.

mod pairwise;

use std::process::ExitCode;

use experiments::Registry;

fn main() -> ExitCode {
    let registry = Registry::shipped().named("policy", env!("CARGO_PKG_VERSION"));
    commands::run(&registry.with_plan(pairwise::RULE))
}
