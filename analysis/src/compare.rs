//! `migbsp compare`: experiments under several policies, with several seeds.

mod chart;
mod claim;
mod contender;
mod ledger;
mod pairs;
mod report;
mod results;
mod seeds;
pub(crate) mod statistics;
mod summary;
mod text;

use std::path::{Path, PathBuf};

use crate::best_placement::{KnownBest, file_of};
use crate::compare::ledger::{Entry, LEDGER_SCHEMA, Place};
use experiments::Failure;
use experiments::Loaded;
use experiments::PreparedExperiment;
use experiments::Provenance;
use experiments::Registry;
use experiments::Scenario;
use experiments::batch::Batch;

pub use chart::chart;
pub use claim::Claim;
pub use contender::Contender;
pub use ledger::Ledger;
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

    /// Runs it, unless `ledger` has the run already, and notes the result at `place`.
    fn run(
        &self,
        set: &[String],
        registry: &Registry,
        ledger: &Ledger,
        place: Place,
    ) -> Result<(), Failure> {
        let prepared = PreparedExperiment::new(self.load(set, registry)?)?;
        let provenance = Provenance::of_program(registry)?;
        let digest = prepared.digest(self.contender.scenario, registry)?;
        if ledger.recall(&digest, place) {
            return Ok(());
        }
        let configuration = prepared.loaded.experiment.digest();
        let finished = prepared.run(self.contender.scenario, registry, &mut |_| {});
        let finished = finished.map_err(|failure| {
            let (file, seed) = (self.file.display(), self.seed);
            failure.of(format!("{file}, {}, seed {seed}", self.contender.label))
        })?;
        ledger.note(
            place,
            &Entry {
                schema: LEDGER_SCHEMA,
                provenance: provenance.with_overrides(prepared.loaded.overrides.clone()),
                digest,
                experiment: self.file.display().to_string(),
                policy: self.contender.label.clone(),
                run: Run::new(self.seed, &finished, &configuration),
            },
        )
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
        let best_placement = best_placement(file, comparison.set, registry)?;
        let draws = written.draws(registry)?;
        let seeds = if draws {
            comparison.seeds.all().to_vec()
        } else {
            vec![comparison.seeds.first()]
        };
        subjects.push(Subject {
            name,
            draws,
            seeds,
            best_placement,
        });
    }
    Ok(subjects)
}

/// The best placement of the experiment in `file`, if a file beside it names one.
fn best_placement(
    file: &Path,
    set: &[String],
    registry: &Registry,
) -> Result<Option<KnownBest>, Failure> {
    if !file_of(file).exists() {
        return Ok(None);
    }
    let prepared = PreparedExperiment::new(experiments::load(file, set, registry)?)?;
    KnownBest::of(file, &prepared)
}

/// Runs every experiment under every policy with every seed; what `ledger` has is not run again.
///
/// All policies have a seed on all experiments before the next seed begins.
///
/// # Errors
///
/// That of the first run that fails, or the ledger's; or there is no experiment.
pub fn run(
    comparison: &Comparison<'_>,
    subjects: &[Subject],
    registry: &Registry,
    batch: Batch<'_>,
    ledger: &Ledger,
) -> Result<Results, Failure> {
    let mut cases = Vec::new();
    for (experiment, (file, subject)) in comparison.experiments.iter().zip(subjects).enumerate() {
        for (number, seed) in subject.seeds.iter().enumerate() {
            for (policy, contender) in comparison.policies.iter().enumerate() {
                let case = Case {
                    file,
                    contender,
                    seed: *seed,
                };
                cases.push(((number, experiment, policy), case));
            }
        }
    }
    cases.sort_by_key(|(place, _)| *place);
    batch.run(&cases, |((_, experiment, policy), case)| {
        let place = (*experiment, *policy, case.seed);
        case.run(comparison.set, registry, ledger, place)
    })?;
    let done = results(comparison, subjects.to_vec(), ledger);
    done.ok_or_else(|| Failure::Usage("no experiment to compare".to_owned()))
}

/// The results of the seeds that are done under all policies; `None`: of no experiment is there one.
pub fn results_so_far(
    comparison: &Comparison<'_>,
    subjects: &[Subject],
    ledger: &Ledger,
) -> Option<Results> {
    let policies = 0..comparison.policies.len();
    let mut done = subjects.to_vec();
    for (experiment, subject) in done.iter_mut().enumerate() {
        subject.seeds.retain(|seed| {
            let mut policies = policies.clone();
            policies.all(|policy| ledger.done((experiment, policy, *seed)).is_some())
        });
    }
    results(comparison, done, ledger)
}

/// The results of `subjects` with their seeds, all of which are done; those without any are left out.
fn results(
    comparison: &Comparison<'_>,
    subjects: Vec<Subject>,
    ledger: &Ledger,
) -> Option<Results> {
    let policies = comparison.policies;
    let (mut experiments, mut runs) = (Vec::new(), Vec::new());
    for (experiment, subject) in subjects.into_iter().enumerate() {
        if subject.seeds.is_empty() {
            continue;
        }
        let of = |policy: usize| {
            let seeds = subject.seeds.iter();
            let run = |seed: &u64| ledger.done((experiment, policy, *seed));
            seeds.filter_map(run).collect::<Vec<Run>>()
        };
        runs.push((0..policies.len()).map(of).collect());
        experiments.push(subject);
    }
    let alone = policies
        .iter()
        .position(|policy| policy.scenario == Scenario::I);
    (!experiments.is_empty()).then(|| Results {
        experiments,
        policies: policies.iter().map(|policy| policy.label.clone()).collect(),
        reference: alone.unwrap_or(0),
        runs,
    })
}
