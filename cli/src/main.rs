//! The command with the workloads that ship, and the rules that reproduce papers.

use std::process::ExitCode;

use experiments::Registry;

fn main() -> ExitCode {
    commands::run(&Registry::shipped().with_plans(lab_rules::PLANS))
}
