//! Your own plan, with every command of migbsp.

mod pairwise;

use std::process::ExitCode;

fn main() -> ExitCode {
    commands::run(&experiments::Registry::shipped().with_plan(pairwise::RULE))
}
