//! Every single run of a comparison.

use std::collections::BTreeMap;

use bsp::units::Seconds;
use experiments::Finished;
use serde::{Deserialize, Serialize};

use crate::compare::statistics::mean;
use crate::known_best::KnownBest;

/// Experiments, policies, and the runs of each experiment under each policy.
#[derive(Clone, Debug)]
pub struct Results {
    /// In the order they were given.
    pub experiments: Vec<Subject>,
    /// Labels of the policies, in the order they were given.
    pub policies: Vec<String>,
    /// Position of the policy that the others are compared with.
    pub reference: usize,
    /// Whether policies are compared with the reference alone; else every two are.
    pub against_reference: bool,
    /// Experiment × policy × seed. An experiment has one for each of its seeds under every policy.
    pub runs: Vec<Vec<Vec<DoneRun>>>,
}

/// A run that is over, with a result or without.
#[derive(Clone, Debug, PartialEq)]
pub struct DoneRun {
    /// Digest of all that it depends on, in hexadecimal digits: rows with the same one are the same run.
    pub run_sha256: String,
    /// Its result, or why it has none.
    pub outcome: Outcome,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Outcome {
    /// With a result.
    Finished(Run),
    /// Without.
    Failed(FailedRun),
}

/// A run that has no result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedRun {
    /// Seed of its random numbers.
    pub seed: u64,
    /// Why it has none.
    pub error: String,
    /// SHA-256 of its configuration.
    pub configuration_sha256: String,
}

/// An experiment of the comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Subject {
    /// Its file, as it was given; of a sweep, with the values that vary.
    pub name: String,
    /// Its name in charts.
    #[serde(skip)]
    pub label: String,
    /// Whether its result depends on the seed; if not, it is run once.
    pub draws: bool,
    /// The seeds of its runs.
    pub seeds: Vec<u64>,
    /// Its best placement, if a file beside it names one.
    pub best_placement: Option<KnownBest>,
}

/// Result of one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Seed of its random numbers.
    pub seed: u64,
    /// The makespan.
    pub seconds: f64,
    /// Number of supersteps.
    pub supersteps: u64,
    /// Rescheduling calls.
    pub calls: usize,
    /// Processes that moved.
    pub migrations: usize,
    /// Bytes of their states.
    pub moved_bytes: u64,
    /// Seconds for which processes waited for calls.
    pub call_seconds: f64,
    /// Computation that the best mapping of every superstep would have saved, in seconds; not known on real hosts.
    pub attainable_seconds: Option<f64>,
    /// Computation that perfect balance would have saved, in seconds; not known on real hosts.
    pub imbalance_seconds: Option<f64>,
    /// SHA-256 of its configuration.
    pub configuration_sha256: String,
}

impl Results {
    /// The makespans of an experiment by trial and seed, each trial compared with the first one alone.
    pub(crate) fn of_makespans(draws: bool, seeds: &[u64], trials: &[&[f64]]) -> Self {
        let run = |(seed, seconds): (&u64, &f64)| DoneRun {
            run_sha256: String::new(),
            outcome: Outcome::Finished(Run {
                seed: *seed,
                seconds: *seconds,
                ..Run::default()
            }),
        };
        let runs = |trial: &&[f64]| seeds.iter().zip(*trial).map(run).collect();
        Self {
            experiments: vec![Subject {
                name: String::new(),
                label: String::new(),
                draws,
                seeds: seeds.to_vec(),
                best_placement: None,
            }],
            policies: (0..trials.len()).map(|trial| trial.to_string()).collect(),
            reference: 0,
            against_reference: true,
            runs: vec![trials.iter().map(runs).collect()],
        }
    }

    /// The runs of an experiment under a policy that have a result, by seed.
    pub fn of(&self, experiment: usize, policy: usize) -> impl Iterator<Item = &Run> {
        self.runs[experiment][policy]
            .iter()
            .filter_map(|run| run.outcome.run())
    }

    /// For each seed with which an experiment has a result under both policies: the logarithm of the ratio of the
    /// makespan under policy `left` to that under `right`.
    pub fn log_ratios(&self, experiment: usize, left: usize, right: usize) -> Vec<(u64, f64)> {
        let runs = &self.runs[experiment];
        let pairs = runs[left].iter().zip(&runs[right]);
        let pairs = pairs.filter_map(|(left, right)| left.outcome.run().zip(right.outcome.run()));
        pairs
            .map(|(left, right)| (left.seed, log_ratio(left.seconds, right.seconds)))
            .collect()
    }

    /// The same for `experiments` together, a value for each seed: the mean over the experiments that have it. Those that
    /// do not draw have all seeds. If none draws, there is one value without a seed.
    ///
    /// Experiments with the same seed have the same random numbers, so that only seeds are independent of one another.
    pub fn blocks(&self, experiments: &[usize], left: usize, right: usize) -> Blocks {
        let (mut by_seed, mut constant) = (BTreeMap::<u64, Vec<f64>>::new(), Vec::new());
        for experiment in experiments {
            for (seed, value) in self.log_ratios(*experiment, left, right) {
                if self.experiments[*experiment].draws {
                    by_seed.entry(seed).or_default().push(value);
                } else {
                    constant.push(value);
                }
            }
        }
        if by_seed.is_empty() && !constant.is_empty() {
            return Blocks::Certain(mean(&constant));
        }
        let of_seed = |mut values: Vec<f64>| {
            values.extend_from_slice(&constant);
            mean(&values)
        };
        Blocks::Drawn(by_seed.into_values().map(of_seed).collect())
    }

    /// The runs without a result, each with the names of its experiment and policy, the seed or whatever a `block` is, and the
    /// reason.
    pub fn failures(&self, block: &str) -> Vec<String> {
        let mut failures = Vec::new();
        for (experiment, policies) in self.experiments.iter().zip(&self.runs) {
            for (policy, runs) in self.policies.iter().zip(policies) {
                let failed = runs.iter().filter_map(|run| run.outcome.failed());
                failures.extend(failed.map(|FailedRun { seed, error, .. }| {
                    format!("{}, {policy}, {block} {seed}: {error}", experiment.name)
                }));
            }
        }
        failures
    }
}

/// Logarithms of ratios that are independent of one another.
#[derive(Clone, Debug, PartialEq)]
pub enum Blocks {
    /// One for each seed; there may be none.
    Drawn(Vec<f64>),
    /// The only one that is possible, of experiments that do not draw.
    Certain(f64),
}

impl Blocks {
    /// The geometric mean of the ratios; `None` if there is none, as where a makespan is 0.
    pub fn ratio(&self) -> Option<f64> {
        let logarithm = match self {
            Self::Drawn(values) if values.is_empty() => return None,
            Self::Drawn(values) => mean(values),
            Self::Certain(value) => *value,
        };
        Some(logarithm.exp()).filter(|_| logarithm.is_finite())
    }
}

impl Outcome {
    /// The result, if there is one.
    pub fn run(&self) -> Option<&Run> {
        match self {
            Self::Finished(run) => Some(run),
            Self::Failed(_) => None,
        }
    }

    /// The run without a result, if it is one.
    pub fn failed(&self) -> Option<&FailedRun> {
        match self {
            Self::Finished(_) => None,
            Self::Failed(run) => Some(run),
        }
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        match self {
            Self::Finished(run) => run.seed,
            Self::Failed(run) => run.seed,
        }
    }

    /// The same run, for a configuration with another digest.
    pub(super) fn with_configuration(&self, configuration_sha256: &str) -> Self {
        let mut same = self.clone();
        let digest = match &mut same {
            Self::Finished(run) => &mut run.configuration_sha256,
            Self::Failed(run) => &mut run.configuration_sha256,
        };
        configuration_sha256.clone_into(digest);
        same
    }

    /// SHA-256 of the configuration.
    pub fn configuration_sha256(&self) -> &str {
        match self {
            Self::Finished(run) => &run.configuration_sha256,
            Self::Failed(run) => &run.configuration_sha256,
        }
    }
}

impl Subject {
    /// Ratio of the makespan of `run` to that of its supersteps under the best placement, where it is known.
    pub fn of_best_placement(&self, run: &Run) -> Option<f64> {
        let best = self.best_placement.as_ref()?;
        best.ratio(run.seconds, run.supersteps)
    }
}

impl Run {
    /// The result of the run `finished` with `seed`, of a configuration with this digest.
    pub fn new(seed: u64, finished: &Finished, configuration_sha256: &str) -> Self {
        let calls = &finished.calls;
        Self {
            seed,
            seconds: finished.end.seconds.get(),
            supersteps: finished.end.supersteps,
            calls: calls.len(),
            migrations: calls.iter().map(|call| call.migrations.len()).sum(),
            moved_bytes: finished.end.moved.0,
            call_seconds: calls.iter().fold(0.0, |sum, call| sum + call.cost.get()),
            attainable_seconds: finished.end.attainable.map(Seconds::get),
            imbalance_seconds: finished.end.imbalance.map(Seconds::get),
            configuration_sha256: configuration_sha256.to_owned(),
        }
    }
}

/// `ln(left / right)`; two makespans of zero are equal.
fn log_ratio(left: f64, right: f64) -> f64 {
    if left.total_cmp(&right).is_eq() {
        0.0
    } else {
        (left / right).ln()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Experiments e0, e1, …: whether they draw, and the makespans of policies a, b, … by seed; a is the
    /// reference, and others have a quarter of its imbalance left.
    pub(crate) fn results(experiments: &[(bool, &[&[f64]])]) -> Results {
        let subject = |(index, (draws, policies)): (usize, &(bool, &[&[f64]]))| Subject {
            name: format!("e{index}"),
            label: format!("e{index}"),
            draws: *draws,
            seeds: (1..).take(policies[0].len()).collect(),
            best_placement: None,
        };
        let run = |policy: usize, (seed, seconds): (u64, &f64)| Run {
            seed,
            seconds: *seconds,
            supersteps: 10,
            calls: 2,
            migrations: 1,
            moved_bytes: 1_000_000,
            call_seconds: 0.1,
            attainable_seconds: Some(if policy == 0 { 2.0 } else { 0.5 }),
            imbalance_seconds: Some(if policy == 0 { 4.0 } else { 1.0 }),
            configuration_sha256: "ab12".to_owned(),
        };
        let of = |(_, policies): &(bool, &[&[f64]])| -> Vec<Vec<DoneRun>> {
            let runs = |(policy, makespans): (usize, &&[f64])| {
                let done = |makespan| DoneRun {
                    run_sha256: "ef56".to_owned(),
                    outcome: Outcome::Finished(run(policy, makespan)),
                };
                (1..).zip(*makespans).map(done).collect()
            };
            policies.iter().enumerate().map(runs).collect()
        };
        let policies = experiments
            .first()
            .map_or(0, |(_, policies)| policies.len());
        let labels = ('a'..='z').take(policies);
        Results {
            experiments: experiments.iter().enumerate().map(subject).collect(),
            policies: labels.map(String::from).collect(),
            reference: 0,
            against_reference: false,
            runs: experiments.iter().map(of).collect(),
        }
    }

    /// The run of an experiment under a policy at this place fails.
    pub(crate) fn fail(results: &mut Results, experiment: usize, policy: usize, place: usize) {
        let run = &mut results.runs[experiment][policy][place];
        run.outcome = Outcome::Failed(FailedRun {
            seed: run.outcome.seed(),
            error: "out of road".to_owned(),
            configuration_sha256: "ab12".to_owned(),
        });
    }

    #[test]
    fn runs_are_paired_by_seed_and_zero_makespans_are_equal() {
        let mut results = results(&[(true, &[&[2.0, 0.0, 3.0], &[4.0, 0.0, 3.0]])]);
        let two = (1, 2.0_f64.ln());
        assert_eq!(results.log_ratios(0, 1, 0), [two, (2, 0.0), (3, 0.0)]);
        fail(&mut results, 0, 1, 1);
        assert_eq!(results.log_ratios(0, 1, 0), [two, (3, 0.0)]);
        assert_eq!(results.of(0, 1).count(), 2);
        assert_eq!(results.failures("seed"), ["e0, b, seed 2: out of road"]);
    }

    #[test]
    fn seeds_are_blocks_with_the_mean_of_the_experiments_that_have_them() {
        let e = std::f64::consts::E;
        let drawn: &[&[f64]] = &[&[1.0, 1.0], &[e, e * e]];
        let other: &[&[f64]] = &[&[1.0], &[e * e * e]];
        let constant: &[&[f64]] = &[&[1.0], &[1.0]];
        let results = results(&[(true, drawn), (true, other), (false, constant)]);
        let blocks = |experiments: &[usize]| match results.blocks(experiments, 1, 0) {
            Blocks::Drawn(values) => values
                .iter()
                .map(|value| (value * 12.0).round() / 12.0)
                .collect::<Vec<f64>>(),
            Blocks::Certain(value) => vec![value],
        };
        assert_eq!(blocks(&[0]), [1.0, 2.0]);
        assert_eq!(blocks(&[0, 1]), [2.0, 2.0]);
        assert_eq!(blocks(&[0, 1, 2]), [16.0 / 12.0, 1.0]);
        assert_eq!(results.blocks(&[2], 1, 0), Blocks::Certain(0.0));
        assert_eq!(results.blocks(&[], 1, 0), Blocks::Drawn(Vec::new()));
    }

    #[test]
    fn a_makespan_of_nothing_has_no_ratio() {
        let results = results(&[(false, &[&[0.0], &[1.0]]), (false, &[&[0.0], &[0.0]])]);
        assert_eq!(results.blocks(&[0], 1, 0).ratio(), None);
        assert_eq!(results.blocks(&[0], 0, 1).ratio(), None);
        assert_eq!(results.blocks(&[1], 1, 0).ratio(), Some(1.0));
    }
}
