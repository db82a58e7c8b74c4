//! `PageRank` of a graph in a file, with the commands of migbsp.

mod graph;
mod ranking;
mod workload;

use std::process::ExitCode;

use migbsp::prelude::*;

fn main() -> ExitCode {
    let registry = Registry::shipped().named("pagerank", env!("CARGO_PKG_VERSION"));
    Commands::new(&registry.with::<workload::PageRank>()).run()
}
