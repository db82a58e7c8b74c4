//! The program with the workloads that ship, and, with the feature `laboratory`, the laboratory.

mod new;

use std::process::ExitCode;

use commands::Commands;
use experiments::Registry;

fn main() -> ExitCode {
    let registry = Registry::shipped();
    #[cfg(feature = "laboratory")]
    let registry = registry.with_plans(lab_rules::PLANS);
    let commands = Commands::new(&registry).with(new::command());
    #[cfg(feature = "laboratory")]
    let commands = commands
        .with(reproduce::command())
        .with(chaos::command())
        .with(rebalancing::command());
    #[cfg(not(feature = "laboratory"))]
    let commands = ["reproduce", "chaos", "rebalance"]
        .into_iter()
        .fold(commands, |commands, name| {
            commands.without(name, LABORATORY)
        });
    commands.run()
}

#[cfg(not(feature = "laboratory"))]
const LABORATORY: &str =
    "it belongs to the laboratory, which a build with `--features laboratory` has";
