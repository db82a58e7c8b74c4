//! `judge`: policies on experiments, relative to no rescheduling and to their own best pace.

use std::fs;
use std::io::{Write as _, stdout};
use std::num::NonZero;
use std::path::{Path, PathBuf};

use analysis::compare::Contender;
use analysis::known_best::KnownBest;
use anyhow::{Context, bail};
use clap::Args;
use experiments::batch::{Batch, Silent};
use experiments::{Failure, PreparedExperiment, Registry};
use record::Event;

use crate::pace::best_pace;
use crate::verdict::{Run, Verdict};

/// Simulates experiments under policies, with the seed that each file has. Beside every policy, `none` is run.
#[derive(Debug, Args)]
pub(crate) struct JudgeArguments {
    /// Experiments, or folders of them
    #[arg(required = true, value_name = "FILE|DIR")]
    places: Vec<PathBuf>,
    /// Policy, with parameters of [scheduler]; can be given several times
    #[arg(long = "policy", value_name = "NAME[:KEY=VALUE,...]", default_values = ["migbsp", "adaptive"])]
    policies: Vec<Contender>,
    /// Value to set in all experiments; can be given several times
    #[arg(long, value_name = "SECTION.KEY=VALUE")]
    set: Vec<String>,
    /// Number of threads, by default one per core
    #[arg(short, long)]
    jobs: Option<NonZero<usize>>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print only the means
    #[arg(long)]
    summary: bool,
}

pub(crate) fn command(arguments: &JudgeArguments) -> anyhow::Result<()> {
    let verdict = verdict(arguments)?;
    let text = if arguments.json {
        serde_json::to_string_pretty(&verdict)? + "\n"
    } else {
        verdict.text(arguments.summary)
    };
    stdout().write_all(text.as_bytes())?;
    Ok(())
}

/// Runs all policies on all experiments.
pub(crate) fn verdict(arguments: &JudgeArguments) -> anyhow::Result<Verdict> {
    let files = experiments_in(&arguments.places)?;
    let mut policies: Vec<Contender> = vec!["none".parse().expect("a policy of that name")];
    for policy in &arguments.policies {
        if !policies.contains(policy) {
            policies.push(policy.clone());
        }
    }
    let registry = Registry::shipped();
    let mut cases = Vec::new();
    for file in &files {
        cases.extend(policies.iter().map(|policy| (file, policy)));
    }
    let batch = Batch {
        jobs: arguments.jobs,
        progress: &Silent,
    };
    let runs = batch.run(&cases, |(file, policy)| {
        run(file, policy, &arguments.set, &registry)
    })?;
    let by_file: Vec<Vec<Run>> = runs.chunks(policies.len()).map(<[Run]>::to_vec).collect();
    let labels = policies.iter().map(|policy| policy.label.clone()).collect();
    Ok(Verdict::new(&files, labels, &by_file))
}

/// The files among `places`, and those in the folders among them.
pub(crate) fn experiments_in(places: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for place in places {
        if !place.is_dir() {
            files.push(place.clone());
            continue;
        }
        let mut found = Vec::new();
        for entry in fs::read_dir(place).with_context(|| place.display().to_string())? {
            let file = entry?.path();
            if file.extension().is_some_and(|ending| ending == "toml") {
                found.push(file);
            }
        }
        if found.is_empty() {
            bail!("{}: no experiment, which is a TOML file", place.display());
        }
        found.sort();
        files.extend(found);
    }
    Ok(files)
}

fn run(
    file: &Path,
    policy: &Contender,
    set: &[String],
    registry: &Registry,
) -> Result<Run, Failure> {
    let assignments = [set, &policy.assignments].concat();
    let named = |failure: Failure| failure.of(format!("{}, {}", file.display(), policy.label));
    let loaded = experiments::load(file, &assignments, registry)?;
    let prepared = PreparedExperiment::new(loaded).map_err(named)?;
    let best = KnownBest::of(file, &prepared)?;
    let mut starts = Vec::new();
    let mut observe = |event: &Event| {
        if let Event::Superstep(superstep) = event {
            starts.push(superstep.started.get());
        }
    };
    let finished = prepared.run(policy.scenario, registry, &mut observe);
    let finished = finished.map_err(|failure| named(failure.into()))?;
    let seconds = finished.end.seconds.get();
    starts.push(seconds);
    let supersteps = finished.end.supersteps;
    Ok(Run {
        seconds,
        own_pace: best_pace(&starts).unwrap_or_default() * supersteps as f64,
        of_best: best.and_then(|best| best.ratio(seconds, supersteps)),
        calls: finished.calls.len(),
        migrations: finished
            .calls
            .iter()
            .map(|call| call.migrations.len())
            .sum(),
    })
}
