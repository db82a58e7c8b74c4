//! `migbsp compare`: experiments under several policies, with several seeds.

mod arguments;
mod ledger;
mod live;
mod report;
mod results;
pub mod statistics;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use experiments::batch::Batch;
use experiments::{Failure, Loaded, PreparedExperiment, Provenance, Registry, Scenario};

use crate::compare::ledger::{NamedRun, Place};
use crate::known_best::{KnownBest, file_of};

pub use arguments::{Claim, Contender, Seeds};
pub use ledger::Ledger;
pub use live::{LiveCase, LiveComparison, LiveConditions, OrderedRun};
pub use report::{CheckedClaim, Report, Row, chart};
pub use results::{
    Blocks, DoneRun, FailedRun, Outcome, Overall, Pair, Results, Run, Subject, Summary, Verdict,
};

#[cfg(feature = "schemas")]
pub(crate) use ledger::{Entry, FAILURE_SCHEMA, LEDGER_SCHEMA};
pub(crate) use ledger::{Line, read_lines};
pub(crate) use report::{failed_of, failure, failures, percent};
pub(crate) use results::{on_each, summaries};

#[cfg(test)]
pub(crate) use results::tests::{fail, results as results_of};

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

/// An experiment that is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// The file, TOML.
    pub file: PathBuf,
    /// Its name in results, which no other experiment has.
    pub name: String,
    /// Its name in charts.
    pub label: String,
    /// Values that are changed (`section.key=value`).
    pub set: Vec<String>,
}

impl Variant {
    /// The experiment in `file` with the values `set`, which its name does not show.
    pub fn of_file(file: &Path, set: &[String]) -> Self {
        Self {
            file: file.to_owned(),
            name: file.display().to_string(),
            label: stem(file),
            set: set.to_vec(),
        }
    }

    /// `failure`, with the name of the experiment in front if that is more than the file.
    fn named(&self, failure: Failure) -> Failure {
        if self.file.as_os_str() == &*self.name {
            failure
        } else {
            failure.of(&self.name)
        }
    }
}

/// `drift` of `conf/dynamic/drift.toml`.
pub(crate) fn stem(file: &Path) -> String {
    let stem = file.file_stem().unwrap_or(file.as_os_str());
    stem.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_name_the_values_of_an_experiment() {
        let file = Variant::of_file(Path::new("conf/a.toml"), &[]);
        assert_eq!((&*file.name, &*file.label), ("conf/a.toml", "a"));
        let changed = Variant {
            name: "conf/a.toml run.seed=2".to_owned(),
            ..file.clone()
        };
        let failure = || Failure::Usage("no".to_owned());
        assert_eq!(file.named(failure()).to_string(), "no");
        let text = changed.named(failure()).to_string();
        assert_eq!(text, "conf/a.toml run.seed=2: no");
    }
}
