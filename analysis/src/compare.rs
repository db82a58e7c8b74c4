//! `migbsp compare`: experiments under several policies, with several seeds.

mod claim;
mod contender;
mod pairs;
mod report;
mod results;
mod seeds;
mod statistics;
mod summary;
mod text;

use std::path::{Path, PathBuf};

use crate::chart::{Interval, Intervals};
use experiments::Failure;
use experiments::Loaded;
use experiments::PreparedExperiment;
use experiments::Registry;
use experiments::Scenario;
use experiments::batch::{self, Progress};

pub use claim::Claim;
pub use contender::Contender;
pub use pairs::{Pair, Verdict};
pub use report::{CheckedClaim, Report, Row};
pub use results::{Results, Run, Subject};
pub use seeds::Seeds;
pub use summary::{Overall, Summary};
pub use text::text;

/// A comparison that is asked for.
#[derive(Debug)]
pub struct Comparison<'a> {
    /// The experiments, TOML files.
    pub experiments: &'a [PathBuf],
    /// The policies.
    pub policies: &'a [Contender],
    /// The seeds.
    pub seeds: &'a Seeds,
    /// Values of all experiments that are changed (`section.key=value`).
    pub set: &'a [String],
}

/// One run of the comparison.
#[derive(Clone, Copy, Debug)]
struct Case<'a> {
    file: &'a Path,
    contender: &'a Contender,
    seed: u64,
}

impl Case<'_> {
    fn load(&self, set: &[String], registry: &Registry) -> Result<Loaded, Failure> {
        let mut assignments = set.to_vec();
        assignments.extend_from_slice(&self.contender.assignments);
        assignments.push(format!("run.seed={}", self.seed));
        experiments::load(self.file, &assignments, registry)
    }
}

/// The experiments, prepared for runs under every policy.
///
/// # Errors
///
/// The first experiment that is invalid, or has no place for its processes.
pub fn subjects(comparison: &Comparison<'_>, registry: &Registry) -> Result<Vec<Subject>, Failure> {
    let mut subjects = Vec::new();
    for file in comparison.experiments {
        let name = file.display().to_string();
        let written = experiments::load(file, comparison.set, registry)?.experiment;
        if !written.scheduler.orders.is_empty() {
            tracing::warn!(
                "{name}: scheduler.script is ignored: policies decide which processes move"
            );
        }
        for contender in comparison.policies {
            let seed = comparison.seeds.first();
            let case = Case {
                file,
                contender,
                seed,
            };
            let prepared = PreparedExperiment::new(case.load(comparison.set, registry)?);
            prepared.map_err(|failure| failure.of(&name))?;
        }
        let draws = written.draws(registry)?;
        let seeds = if draws {
            comparison.seeds.all().to_vec()
        } else {
            vec![comparison.seeds.first()]
        };
        subjects.push(Subject { name, draws, seeds });
    }
    Ok(subjects)
}

/// Runs every experiment under every policy with every seed.
///
/// # Errors
///
/// That of the first run that fails.
pub fn run(
    comparison: &Comparison<'_>,
    subjects: Vec<Subject>,
    registry: &Registry,
    progress: &dyn Progress,
) -> Result<Results, Failure> {
    let mut cases = Vec::new();
    for (file, subject) in comparison.experiments.iter().zip(&subjects) {
        for contender in comparison.policies {
            let case = |seed: &u64| Case {
                file,
                contender,
                seed: *seed,
            };
            cases.extend(subject.seeds.iter().map(case));
        }
    }
    let done = batch::run(&cases, progress, |case| {
        let prepared = PreparedExperiment::new(case.load(comparison.set, registry)?)?;
        let finished = prepared.run(case.contender.scenario, registry, &mut |_| {});
        let finished = finished.map_err(|failure| {
            let (file, seed) = (case.file.display(), case.seed);
            failure.of(format!("{file}, {}, seed {seed}", case.contender.label))
        })?;
        Ok(Run::new(case.seed, &finished))
    })?;
    let policies = comparison.policies;
    let mut done = done.into_iter();
    let runs = subjects.iter().map(|subject| {
        let of = |_| done.by_ref().take(subject.seeds.len()).collect();
        policies.iter().map(of).collect()
    });
    let runs = runs.collect();
    let alone = policies
        .iter()
        .position(|policy| policy.scenario == Scenario::I);
    Ok(Results {
        experiments: subjects,
        policies: policies.iter().map(|policy| policy.label.clone()).collect(),
        reference: alone.unwrap_or(0),
        runs,
    })
}

/// The gain of every policy on every experiment.
pub fn chart(report: &Report) -> Intervals {
    let compared = report
        .summaries
        .iter()
        .filter(|summary| summary.policy != report.reference);
    let row = |summary: &Summary| Interval {
        name: format!("{}: {}", stem(&summary.experiment), summary.policy),
        mean: summary.gain * 100.0,
        low: summary.gain_low.map_or(f64::NAN, |low| low * 100.0),
        high: summary.gain_high.map_or(f64::NAN, |high| high * 100.0),
    };
    Intervals {
        title: format!("Gain against {}, with 95 % confidence", report.reference),
        unit: "% of the makespan".to_owned(),
        rows: compared.map(row).collect(),
    }
}

/// `drift` of `conf/dynamic/drift.toml`.
fn stem(experiment: &str) -> String {
    let stem = Path::new(experiment).file_stem();
    stem.map_or_else(
        || experiment.to_owned(),
        |stem| stem.to_string_lossy().into_owned(),
    )
}
