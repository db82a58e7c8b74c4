//! `migbsp compare`: experiments under several policies, with several seeds.

mod arguments;
mod claim;
mod contender;
mod pairs;
mod report;
mod results;
mod seeds;
mod statistics;
mod summary;
mod text;

use std::path::Path;

use crate::batch;
use crate::chart::{Interval, Intervals};
use crate::compare::contender::Contender;
use crate::compare::report::Report;
use crate::compare::results::{Results, Run, Subject};
use crate::configuration::{self, Loaded, Scenario};
use crate::failure::Failure;
use crate::file::{check_writable, write};
use crate::output::{Format, print, print_json};
use crate::registry::Registry;
use crate::simulate::Stage;

pub(crate) use arguments::CompareArguments;

/// Runs every experiment under every policy with every seed, and compares the policies.
///
/// # Errors
///
/// Errors of the arguments, an experiment or the disk; [`Failure::Verification`] if a
/// claim does not hold.
pub(crate) fn command(arguments: &CompareArguments, registry: &Registry) -> Result<(), Failure> {
    arguments.check()?;
    let subjects = subjects(arguments, registry)?;
    if let Some(file) = &arguments.svg {
        // An unwritable place is reported before the runs, not after them.
        check_writable(file)?;
    }
    let results = run(arguments, subjects, registry)?;
    let report = Report::new(&results, &arguments.claims, &arguments.claims_each);
    match arguments.format {
        Format::Table => print(&text::text(&report))?,
        Format::Json => print_json(&report)?,
        Format::Csv => print(&report.csv().map_err(Failure::run)?)?,
    }
    if let Some(file) = &arguments.svg {
        write(file, &chart(&report).svg())?;
    }
    match report.complaint() {
        Some(complaint) => Err(Failure::Verification(complaint)),
        None => Ok(()),
    }
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
        configuration::load(self.file, &assignments, registry)
    }
}

/// The experiments, prepared for runs under every policy.
fn subjects(arguments: &CompareArguments, registry: &Registry) -> Result<Vec<Subject>, Failure> {
    let mut subjects = Vec::new();
    for file in &arguments.experiments {
        let name = file.display().to_string();
        let written = configuration::load(file, &arguments.set, registry)?.experiment;
        if !written.scheduler.orders.is_empty() {
            tracing::warn!(
                "{name}: scheduler.script is ignored: policies decide which processes move"
            );
        }
        for contender in &arguments.policies {
            let seed = arguments.seeds.first();
            let case = Case {
                file,
                contender,
                seed,
            };
            let stage = Stage::new(case.load(&arguments.set, registry)?);
            stage.map_err(|failure| failure.of(&name))?;
        }
        let draws = written.draws(registry)?;
        let seeds = if draws {
            arguments.seeds.all().to_vec()
        } else {
            vec![arguments.seeds.first()]
        };
        subjects.push(Subject { name, draws, seeds });
    }
    Ok(subjects)
}

fn run(
    arguments: &CompareArguments,
    subjects: Vec<Subject>,
    registry: &Registry,
) -> Result<Results, Failure> {
    let mut cases = Vec::new();
    for (file, subject) in arguments.experiments.iter().zip(&subjects) {
        for contender in &arguments.policies {
            let case = |seed: &u64| Case {
                file,
                contender,
                seed: *seed,
            };
            cases.extend(subject.seeds.iter().map(case));
        }
    }
    let done = batch::run(&cases, arguments.progress, |case| {
        let stage = Stage::new(case.load(&arguments.set, registry)?)?;
        let finished = stage.run(case.contender.scenario, registry, &mut |_| {});
        let finished = finished.map_err(|failure| {
            let (file, seed) = (case.file.display(), case.seed);
            failure.of(format!("{file}, {}, seed {seed}", case.contender.label))
        })?;
        Ok(Run::new(case.seed, &finished))
    })?;
    let policies = &arguments.policies;
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
fn chart(report: &Report) -> Intervals {
    let compared = report
        .summaries
        .iter()
        .filter(|summary| summary.policy != report.reference);
    let row = |summary: &summary::Summary| Interval {
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
