//! `search`: the best placements of experiments, as files beside them.

use std::fs;
use std::io::{Write as _, stdout};
use std::num::NonZero;
use std::path::{Path, PathBuf};

use analysis::known_best::file_of;
use anyhow::Context;
use clap::Args;
use experiments::batch::Batch;
use experiments::{Attributed, Registry};
use reproduce::best_placement::{Found, Search, search};

use crate::bar::Bar;
use crate::judge::experiments_in;

/// Searches for the best placement of each experiment, and writes it beside it: of x.toml to x.best.json. `compare` and
/// `judge` use the file as long as the experiment stays the same but for its scheduler, seed and number of supersteps.
#[derive(Debug, Args)]
pub(crate) struct SearchArguments {
    /// Steady experiments, or folders of them
    #[arg(required = true, value_name = "FILE|DIR")]
    places: Vec<PathBuf>,
    /// Number of placements to simulate for each experiment
    #[arg(long, default_value_t = 20_000)]
    budget: u64,
    /// Seed of the search
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of threads, by default one per core; the result does not depend on it
    #[arg(short, long)]
    jobs: Option<NonZero<usize>>,
}

pub(crate) fn command(arguments: &SearchArguments) -> anyhow::Result<()> {
    let registry = Registry::shipped();
    for experiment in experiments_in(&arguments.places)? {
        let bar = Bar::new(&experiment);
        let batch = Batch {
            jobs: arguments.jobs,
            progress: &bar,
        };
        let asked = Search {
            experiment: experiment.clone(),
            budget: arguments.budget,
            seed: arguments.seed,
        };
        let found = search(&asked, &registry, batch)?;
        let file = file_of(&experiment);
        let text = serde_json::to_string_pretty(&Attributed::new(&found.provenance, &found.best))?;
        fs::write(&file, text + "\n").with_context(|| file.display().to_string())?;
        stdout().write_all(line(&found, &file).as_bytes())?;
    }
    Ok(())
}

fn line(found: &Found, file: &Path) -> String {
    let Found {
        best,
        at_start,
        by_adaptive,
        ..
    } = found;
    let seconds = best.seconds_per_superstep;
    let file = file.display();
    format!(
        "{file}: {seconds:.6} s per superstep; {at_start:.6} s at the start, {by_adaptive:.6} s by adaptive\n"
    )
}
