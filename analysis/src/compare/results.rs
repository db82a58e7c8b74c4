//! Every single run of a comparison, means of them, and significant differences.

use std::collections::BTreeMap;

use bsp::numbers::{length, real};
use bsp::units::{Bytes, Seconds};
use experiments::Finished;
use serde::{Deserialize, Serialize};

use crate::compare::statistics::{Estimate, SIGNIFICANT, holm, mean};
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
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// With a result.
    Finished(Run),
    /// Without.
    Failed(FailedRun),
}

/// A run that has no result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct FailedRun {
    /// Seed of its random numbers.
    pub seed: u64,
    /// Why it has none.
    pub error: String,
    /// SHA-256 of its configuration.
    #[cfg_attr(feature = "schemas", schemars(pattern("^[0-9a-f]{64}$")))]
    pub configuration_sha256: String,
}

/// An experiment of the comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
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
    #[cfg_attr(feature = "schemas", schemars(pattern("^[0-9a-f]{64}$")))]
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

    /// The runs without a result, each with the names of its experiment and policy, the seed or repetition, as `block` says, and the
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

/// A policy on one experiment: means over the seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Summary {
    /// The experiment.
    pub experiment: String,
    /// The policy's label.
    pub policy: String,
    /// Number of runs with a result; without any, the means are `None`.
    pub runs: usize,
    /// Number of runs without one.
    pub failed: usize,
    /// The makespan.
    pub seconds: Option<f64>,
    /// Half the width of its 95 % confidence interval; `None` if there is one run.
    pub seconds_margin: Option<f64>,
    /// Gain as a part of the reference's makespan: a geometric mean over pairs of runs. `None`: a makespan is 0, or no
    /// run has a pair.
    pub gain: Option<f64>,
    /// Lower end of its confidence interval, that of the pair with the reference, or 95 % without pairs; `None` if there
    /// is one run.
    pub gain_low: Option<f64>,
    /// Upper end.
    pub gain_high: Option<f64>,
    /// Imbalance of the reference that is gone: of the seconds of computation that perfect balance would have saved it,
    /// the part that perfect balance would not save this policy any more. `None` if the reference had none.
    pub share_of_balance: Option<f64>,
    /// The same for the best mapping of every superstep.
    pub share_of_mapping: Option<f64>,
    /// Ratio of the makespan to that of all supersteps under the best placement from the start; `None`: it is not
    /// known.
    pub of_best_placement: Option<f64>,
    /// Rescheduling calls.
    pub calls: Option<f64>,
    /// Processes that moved.
    pub migrations: Option<f64>,
    /// Bytes of their states.
    pub moved_bytes: Option<f64>,
    /// Seconds for which processes waited for calls.
    pub call_seconds: Option<f64>,
    /// The same as a part of the makespan.
    pub overhead: Option<f64>,
}

/// A policy on all experiments, each of the same weight.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Overall {
    /// The policy's label.
    pub policy: String,
    /// Ratio to the reference's makespan: the geometric mean. `None`: there is none.
    pub ratio: Option<f64>,
    /// Gain as a part of the reference's makespan.
    pub gain: Option<f64>,
    /// Number of experiments on which it is better than the reference.
    pub better: usize,
    /// Number of experiments on which it is worse.
    pub worse: usize,
}

/// Every policy on every experiment. Of those in `pairs`, gains have the intervals of their pairs with the reference.
pub(crate) fn summaries(results: &Results, pairs: &[Pair]) -> Vec<Summary> {
    let policies = 0..results.policies.len();
    let mut summaries: Vec<Summary> = (0..results.experiments.len())
        .flat_map(|experiment| {
            let summary = move |policy| Summary::new(results, experiment, policy);
            policies.clone().map(summary)
        })
        .collect();
    let reference = &results.policies[results.reference];
    for summary in &mut summaries {
        let is_meant = |pair: &&Pair| {
            pair.experiment.as_ref() == Some(&summary.experiment)
                && pair.policy == summary.policy
                && pair.against == *reference
        };
        if let Some(pair) = pairs.iter().find(is_meant) {
            summary.gain_low = pair.ratio_high.map(|ratio| 1.0 - ratio);
            summary.gain_high = pair.ratio_low.map(|ratio| 1.0 - ratio);
        }
    }
    summaries
}

/// Every policy on all experiments; `pairs` are those on single ones.
pub(super) fn overall(results: &Results, pairs: &[Pair]) -> Vec<Overall> {
    let reference = &results.policies[results.reference];
    let of = |(index, policy): (usize, &String)| {
        let count = |verdict: Verdict| {
            let is_meant = |pair: &&Pair| {
                pair.policy == *policy && pair.against == *reference && pair.verdict == verdict
            };
            pairs.iter().filter(is_meant).count()
        };
        let ratio = ratio(results, None, index, results.reference);
        Overall {
            policy: policy.clone(),
            ratio,
            gain: ratio.map(|ratio| 1.0 - ratio),
            better: count(Verdict::Better),
            worse: count(Verdict::Worse),
        }
    };
    results.policies.iter().enumerate().map(of).collect()
}

/// Ratio of the makespan of policy `left` to that of policy `right`: the geometric mean over the runs
/// of an experiment; `None`: of all, each of which weighs the same. There is none where a makespan is 0.
pub(super) fn ratio(
    results: &Results,
    experiment: Option<usize>,
    left: usize,
    right: usize,
) -> Option<f64> {
    let all: Vec<usize> = match experiment {
        Some(experiment) => vec![experiment],
        None => (0..results.experiments.len()).collect(),
    };
    results.blocks(&all, left, right).ratio()
}

impl Summary {
    fn new(results: &Results, experiment: usize, policy: usize) -> Self {
        let subject = &results.experiments[experiment];
        let runs: Vec<&Run> = results.of(experiment, policy).collect();
        let values = |of: fn(&Run) -> f64| -> Vec<f64> { runs.iter().map(|run| of(run)).collect() };
        let mean_of = |of: fn(&Run) -> f64| (!runs.is_empty()).then(|| mean(&values(of)));
        let seconds = (!runs.is_empty()).then(|| Estimate::of(&values(|run| run.seconds)));
        let ratios = results.blocks(&[experiment], policy, results.reference);
        let gain = |logarithm: f64| 1.0 - logarithm.exp();
        let interval = match &ratios {
            Blocks::Drawn(values) if !values.is_empty() => {
                let estimate = Estimate::of(values);
                estimate.margin.map(|margin| (estimate.mean, margin))
            }
            Blocks::Drawn(_) | Blocks::Certain(_) => None,
        };
        let (call_seconds, makespan) =
            (mean_of(|run| run.call_seconds), mean_of(|run| run.seconds));
        let overhead = call_seconds.zip(makespan);
        Self {
            experiment: subject.name.clone(),
            policy: results.policies[policy].clone(),
            runs: runs.len(),
            failed: results.runs[experiment][policy].len() - runs.len(),
            seconds: makespan,
            seconds_margin: seconds.and_then(|seconds| seconds.margin),
            gain: ratios.ratio().map(|ratio| 1.0 - ratio),
            gain_low: interval.map(|(mean, margin)| gain(mean + margin)),
            gain_high: interval.map(|(mean, margin)| gain(mean - margin)),
            share_of_balance: gone(results, experiment, policy, |run| run.imbalance_seconds),
            share_of_mapping: gone(results, experiment, policy, |run| run.attainable_seconds),
            of_best_placement: {
                let ratios = runs.iter().map(|run| subject.of_best_placement(run));
                let ratios = ratios.collect::<Option<Vec<f64>>>();
                ratios.filter(|all| !all.is_empty()).map(|all| mean(&all))
            },
            calls: mean_of(|run| real(length(run.calls))),
            migrations: mean_of(|run| real(length(run.migrations))),
            moved_bytes: mean_of(|run| Bytes(run.moved_bytes).as_f64()),
            call_seconds,
            overhead: overhead.map(|(calls, all)| if 0.0 < all { calls / all } else { 0.0 }),
        }
    }
}

/// Of the seconds `possible` of the reference, those that are not among the seconds `possible` of the policy, as a part;
/// over the seeds with which both have a result. `None` if there are none, or they are not known.
fn gone(
    results: &Results,
    experiment: usize,
    policy: usize,
    possible: fn(&Run) -> Option<f64>,
) -> Option<f64> {
    let mut sums = [0.0; 3];
    for run in results.of(experiment, policy) {
        let mut others = results.of(experiment, results.reference);
        if let Some(before) = others.find(|before| before.seed == run.seed) {
            let of_seed = [before.seconds, possible(before)?, possible(run)?];
            sums.iter_mut()
                .zip(of_seed)
                .for_each(|(sum, of_seed)| *sum += of_seed);
        }
    }
    let [makespans, before, after] = sums;
    // A saving within rounding is none.
    (ROUNDED * makespans < before).then(|| (before - after) / before)
}

/// Part of a makespan that counts as rounding.
const ROUNDED: f64 = 1e-9;

/// Two policies, compared by their makespans on the same experiments with the same seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Pair {
    /// The experiment; `None`: all together.
    pub experiment: Option<String>,
    /// The compared policy.
    pub policy: String,
    /// The policy that it is compared with.
    pub against: String,
    /// Number of runs of each.
    pub runs: usize,
    /// Number of seeds, the values that are tested; `None`: no experiment draws.
    pub seeds: Option<usize>,
    /// Ratio of the policy's makespan to the other's, as a geometric mean: over experiments, each of the same weight, and
    /// over seeds. `None`: there is none, because a makespan is 0, or no run of both has a result.
    pub ratio: Option<f64>,
    /// Lower end of its confidence interval; `None` if there are fewer than two seeds.
    pub ratio_low: Option<f64>,
    /// Upper end.
    pub ratio_high: Option<f64>,
    /// Confidence of the interval: that of the test, so that the interval is without 1 exactly if policies differ.
    pub confidence: Option<f64>,
    /// Probability of a difference like this if it is due to seeds alone: a t-test on the logarithms, each seed with the
    /// mean over the experiments.
    pub p: Option<f64>,
    /// The same, corrected for the number of tests (Holm): pairs of policies on the same experiment, or on
    /// all together, are one family.
    pub p_corrected: Option<f64>,
    /// The verdict.
    pub verdict: Verdict,
    /// Number of seeds with which a test of this level would show a difference like this in 80 % of all cases; `None`: it
    /// is shown, or not tested, or there is no such number.
    pub seeds_needed: Option<u32>,
}

/// Whether a policy is better than another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Its makespans are shorter.
    Better,
    /// They are longer.
    Worse,
    /// They are the same with every seed.
    Equal,
    /// Chance alone makes differences like this in 5 % of all cases or more.
    NotShown,
    /// One seed of many possible ones, or no ratio: no test.
    Untested,
}

/// The pairs of policies on all experiments together; the reference is the right one of a pair.
pub(super) fn over_all(results: &Results) -> Vec<Pair> {
    let all: Vec<usize> = (0..results.experiments.len()).collect();
    family(results, &all, None)
}

/// The pairs of policies on every single experiment.
pub(crate) fn on_each(results: &Results) -> Vec<Pair> {
    let experiments = results.experiments.iter().enumerate();
    experiments
        .flat_map(|(index, subject)| family(results, &[index], Some(&subject.name)))
        .collect()
}

/// The pairs of policies on `experiments`, one family of tests.
fn family(results: &Results, experiments: &[usize], name: Option<&str>) -> Vec<Pair> {
    let all = pairs(results);
    let blocks: Vec<Blocks> = all
        .iter()
        .map(|(policy, against)| results.blocks(experiments, *policy, *against))
        .collect();
    let estimates: Vec<Option<Estimate>> = blocks.iter().map(estimate).collect();
    let p = |estimate: &Option<Estimate>| estimate.and_then(|estimate| estimate.p);
    let tests = holm(&estimates.iter().map(p).collect::<Vec<_>>());
    let tested = all
        .iter()
        .zip(&blocks)
        .zip(estimates.into_iter().zip(tests));
    tested
        .map(|(((policy, against), blocks), (estimate, test))| {
            let runs = experiments
                .iter()
                .map(|experiment| results.log_ratios(*experiment, *policy, *against).len());
            let level = test.map(|test| test.level);
            let margin = |estimate: Estimate| Some((estimate.mean, estimate.margin_at(level?)?));
            let interval = estimate.and_then(margin);
            let verdict = Verdict::of(blocks, test.map(|test| test.p));
            let unshown = level.filter(|_| verdict == Verdict::NotShown);
            Pair {
                experiment: name.map(str::to_owned),
                policy: results.policies[*policy].clone(),
                against: results.policies[*against].clone(),
                runs: runs.sum(),
                seeds: match blocks {
                    Blocks::Drawn(values) => Some(values.len()),
                    Blocks::Certain(_) => None,
                },
                ratio: blocks.ratio(),
                ratio_low: interval.map(|(mean, margin)| (mean - margin).exp()),
                ratio_high: interval.map(|(mean, margin)| (mean + margin).exp()),
                confidence: level.map(|level| 1.0 - level),
                p: estimate.and_then(|estimate| estimate.p),
                p_corrected: test.map(|test| test.p),
                verdict,
                seeds_needed: unshown.and_then(|level| estimate?.count_needed(level)),
            }
        })
        .collect()
}

/// Every two policies, or each with the reference, as their places.
fn pairs(results: &Results) -> Vec<(usize, usize)> {
    let mut order: Vec<usize> = (0..results.policies.len()).collect();
    order.sort_by_key(|policy| (*policy != results.reference, *policy));
    let mut pairs = Vec::new();
    for (place, policy) in order.iter().enumerate() {
        let most = if results.against_reference { 1 } else { place };
        let others = order[..place].iter().take(most);
        pairs.extend(others.map(|against| (*policy, *against)));
    }
    pairs
}

/// The estimate of what seeds vary.
fn estimate(blocks: &Blocks) -> Option<Estimate> {
    match blocks {
        Blocks::Drawn(values) if !values.is_empty() => Some(Estimate::of(values)),
        Blocks::Drawn(_) | Blocks::Certain(_) => None,
    }
}

impl Verdict {
    /// The verdict about logarithms of ratios, from p as it is corrected.
    fn of(blocks: &Blocks, p: Option<f64>) -> Self {
        let (mean, is_shown) = match blocks {
            Blocks::Certain(value) => (*value, true),
            Blocks::Drawn(values) => {
                let Some(p) = p else { return Self::Untested };
                if values.iter().all(|value| *value == 0.0) {
                    return Self::Equal;
                }
                (Estimate::of(values).mean, p < SIGNIFICANT)
            }
        };
        match mean {
            _ if mean.is_nan() => Self::Untested,
            _ if !is_shown => Self::NotShown,
            ..0.0 => Self::Better,
            0.0 => Self::Equal,
            _ => Self::Worse,
        }
    }

    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Equal => "equal",
            Self::NotShown => "not shown",
            Self::Untested => "untested",
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
