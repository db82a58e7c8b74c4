//! Steady experiments from a seed, and how good policies are on them.
//!
//! ```text
//! cargo run --release -p integration-tests --example steady -- generate --kind rings --seeds 1..100 -o DIR
//! cargo run --release -p integration-tests --example steady -- search DIR
//! cargo run --release -p integration-tests --example steady -- judge DIR --policy migbsp --policy adaptive
//! ```
//!
//! The programs communicate and do not change, and the clusters differ in speed and are connected by slow links: what a
//! policy reaches early, it keeps. Those of `--kind noisy` are steady but for noise, from which nothing can be won.
//! `--help` of each command explains its options.

mod bar;
mod draws;
mod experiment;
mod generate;
mod judge;
mod mixed;
mod noisy;
mod pace;
mod rings;
mod search;
mod verdict;

use clap::{Parser, Subcommand};

/// Steady experiments from a seed, and how good policies are on them.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Generate(generate::GenerateArguments),
    Judge(judge::JudgeArguments),
    Search(search::SearchArguments),
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Generate(arguments) => generate::command(&arguments),
        Command::Judge(arguments) => judge::command(&arguments),
        Command::Search(arguments) => search::command(&arguments),
    }
}

#[cfg(test)]
mod tests;
