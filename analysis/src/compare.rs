//! `migbsp compare`: experiments under several policies, with several seeds.

mod chart;
mod claim;
mod contender;
mod ledger;
mod line;
mod live;
mod pairs;
mod report;
mod results;
mod seeds;
pub mod statistics;
mod summary;
mod text;
mod variant;

use std::collections::BTreeSet;
use std::path::Path;

use crate::compare::ledger::{NamedRun, Place};
use crate::known_best::{KnownBest, file_of};
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
pub(crate) use line::{Line, read_lines};
pub use live::{LiveCase, LiveComparison, LiveConditions, OrderedRun};
pub(crate) use pairs::on_each;
pub use pairs::{Pair, Verdict};
pub(crate) use report::failure;
pub use report::{CheckedClaim, Report, Row};
#[cfg(test)]
pub(crate) use results::tests::{fail, results as results_of};
pub use results::{Blocks, DoneRun, FailedRun, Outcome, Results, Run, Subject};
pub use seeds::Seeds;
pub(crate) use summary::summaries;
pub use summary::{Overall, Summary};
pub use text::text;
pub(crate) use text::{failed_of, failures};
pub use variant::Variant;
pub(crate) use variant::stem;

/// A comparison that is asked for.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The experiments.
    pub experiments: Vec<Variant>,
    /// The policies.
    pub policies: Vec<Contender>,
    /// The seeds.
    pub seeds: Seeds,
    /// Label of the policy that each other one is compared with; `None`: every two are compared.
    pub against: Option<String>,
}

/// One run of the comparison.
#[derive(Clone, Copy, Debug)]
struct Case<'a> {
    variant: &'a Variant,
    contender: &'a Contender,
    seed: u64,
}

impl Case<'_> {
    fn load(&self, registry: &Registry) -> Result<Loaded, Failure> {
        let mut assignments = self.variant.set.clone();
        assignments.extend_from_slice(&self.contender.assignments);
        assignments.push(format!("run.seed={}", self.seed));
        experiments::load(&self.variant.file, &assignments, registry)
    }

    /// Runs it, unless `ledger` has the run already or it is under way, and notes how it ended at `place`; `draws`:
    /// whether it depends on the seed.
    fn run(
        &self,
        draws: bool,
        registry: &Registry,
        ledger: &Ledger,
        place: Place,
    ) -> Result<(), Failure> {
        let prepared = PreparedExperiment::new(self.load(registry)?)?;
        let provenance = Provenance::of_program(registry)?;
        let digest = prepared.digest(self.contender.scenario, registry)?;
        let named = NamedRun {
            provenance: provenance.with_overrides(prepared.loaded.overrides.clone()),
            digest: digest.clone(),
            experiment: self.variant.name.clone(),
            draws,
            policy: self.contender.label.clone(),
            configuration_sha256: prepared.loaded.experiment.digest(),
        };
        if ledger.begin(place, named)? {
            ledger.finish(&digest, &self.simulate(&prepared, registry))?;
        }
        Ok(())
    }

    fn simulate(&self, prepared: &PreparedExperiment, registry: &Registry) -> Outcome {
        let configuration_sha256 = prepared.loaded.experiment.digest();
        match prepared.run(self.contender.scenario, registry, &mut |_| {}) {
            Ok(finished) => {
                Outcome::Finished(Run::new(self.seed, &finished, &configuration_sha256))
            }
            Err(failure) => Outcome::Failed(FailedRun {
                seed: self.seed,
                error: Failure::from(failure).to_string(),
                configuration_sha256,
            }),
        }
    }
}

/// The experiments, prepared for runs under every policy.
///
/// # Errors
///
/// The first experiment that is invalid, or has no place for its processes.
pub fn subjects(
    comparison: &Comparison,
    registry: &Registry,
    batch: Batch<'_>,
) -> Result<Vec<Subject>, Failure> {
    let prepared = batch.run(&comparison.experiments, |variant| {
        subject(comparison, variant, registry)
    })?;
    let (mut subjects, mut scripted) = (Vec::new(), BTreeSet::new());
    for (variant, (subject, has_script)) in comparison.experiments.iter().zip(prepared) {
        if has_script && scripted.insert(&variant.file) {
            let name = variant.file.display();
            tracing::warn!(
                "{name}: scheduler.script is ignored: policies decide which processes move"
            );
        }
        subjects.push(subject);
    }
    Ok(subjects)
}

/// The experiment `variant`, and whether it has a script.
fn subject(
    comparison: &Comparison,
    variant: &Variant,
    registry: &Registry,
) -> Result<(Subject, bool), Failure> {
    let loaded = experiments::load(&variant.file, &variant.set, registry);
    let written = loaded.map_err(|failure| variant.named(failure))?.experiment;
    for contender in &comparison.policies {
        let seed = comparison.seeds.first();
        let case = Case {
            variant,
            contender,
            seed,
        };
        let prepared = case.load(registry).and_then(PreparedExperiment::new);
        prepared.map_err(|failure| failure.of(&variant.name))?;
    }
    let draws = written.draws(registry)?;
    let seeds = if draws {
        comparison.seeds.all().to_vec()
    } else {
        vec![comparison.seeds.first()]
    };
    let subject = Subject {
        name: variant.name.clone(),
        label: variant.label.clone(),
        draws,
        seeds,
        best_placement: best_placement(&variant.file, &variant.set, registry)?,
    };
    Ok((subject, !written.scheduler.orders.is_empty()))
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
/// If a run cannot be prepared, or the ledger does not take one; or there is no experiment. A run that fails is noted, and
/// the others are made.
pub fn run(
    comparison: &Comparison,
    subjects: &[Subject],
    registry: &Registry,
    batch: Batch<'_>,
    ledger: &Ledger,
) -> Result<Results, Failure> {
    let mut cases = Vec::new();
    let variants = comparison.experiments.iter().zip(subjects);
    for (experiment, (variant, subject)) in variants.enumerate() {
        for (number, seed) in subject.seeds.iter().enumerate() {
            for (policy, contender) in comparison.policies.iter().enumerate() {
                let case = Case {
                    variant,
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
        case.run(subjects[*experiment].draws, registry, ledger, place)
    })?;
    let done = results(comparison, subjects.to_vec(), ledger);
    done.ok_or_else(|| Failure::Usage("no experiment to compare".to_owned()))
}

/// The results of the seeds that are done under all policies; `None`: of no experiment is there one.
pub fn results_so_far(
    comparison: &Comparison,
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
fn results(comparison: &Comparison, subjects: Vec<Subject>, ledger: &Ledger) -> Option<Results> {
    let policies = &comparison.policies;
    let (mut experiments, mut runs) = (Vec::new(), Vec::new());
    for (experiment, subject) in subjects.into_iter().enumerate() {
        if subject.seeds.is_empty() {
            continue;
        }
        let of = |policy: usize| {
            let seeds = subject.seeds.iter();
            let run = |seed: &u64| ledger.done((experiment, policy, *seed));
            seeds.filter_map(run).collect::<Vec<DoneRun>>()
        };
        runs.push((0..policies.len()).map(of).collect());
        experiments.push(subject);
    }
    let policies: Vec<String> = policies.iter().map(|policy| policy.label.clone()).collect();
    (!experiments.is_empty()).then(|| Results {
        experiments,
        reference: reference(comparison),
        against_reference: comparison.against.is_some(),
        policies,
        runs,
    })
}

/// The place of the policy that the others are compared with: the one that is named, else scenario i, else the first.
fn reference(comparison: &Comparison) -> usize {
    let is_meant = |policy: &Contender| match &comparison.against {
        Some(label) => policy.label == *label,
        None => policy.scenario == Scenario::I,
    };
    comparison.policies.iter().position(is_meant).unwrap_or(0)
}
