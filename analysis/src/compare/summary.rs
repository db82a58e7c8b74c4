//! Results of a policy on an experiment, and on all together.

use bsp::units::Bytes;
use serde::Serialize;

use crate::compare::pairs::{Pair, Verdict};
use crate::compare::results::{Blocks, Results, Run};
use crate::compare::statistics::{Estimate, mean, real};

/// A policy on one experiment: means over the seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
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
            calls: mean_of(|run| real(run.calls)),
            migrations: mean_of(|run| real(run.migrations)),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::pairs;
    use crate::compare::results::Outcome;
    use crate::compare::results::tests::{fail, results};

    fn near(met: Option<f64>, expected: f64) {
        let met = met.unwrap();
        assert!((met - expected).abs() < 1e-12, "{met} is not {expected}");
    }

    #[test]
    fn a_summary_relates_the_gain_to_the_possible_gain() {
        let results = results(&[(true, &[&[10.0, 20.0], &[9.0, 18.0]])]);
        let summaries = summaries(&results, &[]);
        let (reference, policy) = (&summaries[0], &summaries[1]);
        assert_eq!(
            (policy.experiment.as_str(), policy.policy.as_str()),
            ("e0", "b")
        );
        near(reference.seconds, 15.0);
        // The standard error of 10 and 20 is 5; Student's quantile for two values is 12.7062.
        let margin = reference
            .seconds_margin
            .map(|margin| (margin / 5.0 * 1e4).round());
        near(margin, 127_062.0);
        near(reference.gain, 0.0);
        near(policy.gain, 0.1);
        near(policy.gain_low, 0.1);
        // Of 4 s and 2 s of each run, 1 s and 0.5 s are left.
        near(policy.share_of_balance, 0.75);
        near(policy.share_of_mapping, 0.75);
        near(reference.share_of_balance, 0.0);
        near(policy.overhead, 0.1 / 13.5);
        near(policy.moved_bytes, 1e6);
    }

    #[test]
    fn no_share_of_imbalance_is_above_all_of_it() {
        // Communication is saved, too: more seconds than the computation of the reference could save.
        let saved = results(&[(true, &[&[100.0, 100.0], &[50.0, 50.0]])]);
        let policy = &summaries(&saved, &[])[1];
        near(policy.gain, 0.5);
        near(policy.share_of_balance, 0.75);
        let mut balanced = saved;
        for run in &mut balanced.runs[0][0] {
            if let Outcome::Finished(run) = &mut run.outcome {
                run.imbalance_seconds = Some(0.0);
            }
        }
        assert_eq!(summaries(&balanced, &[])[1].share_of_balance, None);
    }

    #[test]
    fn a_policy_without_results_has_no_means() {
        let mut results = results(&[(true, &[&[10.0, 20.0], &[9.0, 18.0]])]);
        fail(&mut results, 0, 1, 0);
        let part = &summaries(&results, &[])[1];
        assert_eq!((part.runs, part.failed), (1, 1));
        near(part.seconds, 18.0);
        near(part.gain, 0.1);
        fail(&mut results, 0, 1, 1);
        let none = &summaries(&results, &[])[1];
        assert_eq!((none.runs, none.failed), (0, 2));
        assert_eq!((none.seconds, none.gain, none.calls), (None, None, None));
        assert_eq!((none.overhead, none.share_of_balance), (None, None));
    }

    #[test]
    fn experiments_have_equal_weight_whatever_their_length_and_runs() {
        let results = results(&[
            (true, &[&[1000.0, 1000.0, 1000.0], &[500.0, 500.0, 500.0]]),
            (false, &[&[1.0], &[2.0]]),
        ]);
        let overall = overall(&results, &pairs::on_each(&results));
        near(overall[1].ratio, 1.0);
        assert_eq!((overall[1].better, overall[1].worse), (1, 1));
        assert_eq!((overall[0].better, overall[0].worse), (0, 0));
    }
}
