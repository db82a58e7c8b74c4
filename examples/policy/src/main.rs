//! A plan of one's own with every command of migbsp.

mod pairwise;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run(&cli::Registry::shipped().with_plan(pairwise::RULE))
}
