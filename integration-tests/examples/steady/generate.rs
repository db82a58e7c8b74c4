//! `generate`: experiments and platforms as files.

use std::fs;
use std::path::{Path, PathBuf};

use analysis::compare::Seeds;
use anyhow::{Context, ensure};
use clap::{Args, ValueEnum};

use crate::experiment::Experiment;
use crate::mixed::mixed;
use crate::noisy::noisy;
use crate::rings::rings;

/// Writes an experiment for each seed; the same seed gives the same files on every machine.
#[derive(Debug, Args)]
pub(crate) struct GenerateArguments {
    /// Seeds: 7, or 1,2,5, or 1..100 with both ends
    #[arg(long)]
    seeds: Seeds,
    /// What the experiments are like
    #[arg(long, value_enum)]
    kind: Kind,
    /// Let some processes get slowly heavier (kind `mixed`)
    #[arg(long)]
    drift: bool,
    /// Folder for the experiments; their platforms and traces go to DIR/platforms
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Rings and lines on two Sets, in order of hosts
    Rings,
    /// Rings, lines, grids, groups, trees and random graphs on two and three Sets, in order and scattered
    Mixed,
    /// A few equal or unequal hosts close to each other, whose load, or that of processes, is noise; their names say what
    Noisy,
}

pub(crate) fn command(arguments: &GenerateArguments) -> anyhow::Result<()> {
    let is_drifting = arguments.drift;
    ensure!(
        !is_drifting || arguments.kind == Kind::Mixed,
        "--drift: other experiments do not drift; use `--kind mixed`"
    );
    let platforms = arguments.out.join("platforms");
    fs::create_dir_all(&platforms).with_context(|| platforms.display().to_string())?;
    for &seed in arguments.seeds.all() {
        let experiment = match arguments.kind {
            Kind::Rings => rings(seed),
            Kind::Mixed => mixed(seed, is_drifting),
            Kind::Noisy => noisy(seed),
        };
        write(&experiment, &arguments.out)?;
    }
    Ok(())
}

fn write(experiment: &Experiment, folder: &Path) -> anyhow::Result<()> {
    let name = format!("{}.toml", experiment.name);
    let platform = format!("platforms/{name}");
    let trace = format!("platforms/{}.csv", experiment.name);
    let mut files = vec![
        (&platform, experiment.platform()),
        (&name, experiment.text(&platform, &trace)),
    ];
    if let Some(load) = &experiment.load {
        files.push((&trace, load.text(&experiment.hosts())));
    }
    for (file, text) in files {
        let file = folder.join(file);
        fs::write(&file, text).with_context(|| file.display().to_string())?;
    }
    Ok(())
}
