//! Results of a policy on an experiment, and on all together.

use bsp::units::Bytes;
use serde::Serialize;

use crate::compare::pairs::{Pair, Verdict};
use crate::compare::results::{Results, Run};
use crate::compare::statistics::{Estimate, mean, real};

/// A policy on one experiment: means over the seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The experiment.
    pub experiment: String,
    /// The policy's label.
    pub policy: String,
    /// Number of runs.
    pub runs: usize,
    /// The makespan.
    pub seconds: f64,
    /// Half the width of its 95 % confidence interval; `None` if there is one run.
    pub seconds_margin: Option<f64>,
    /// Gain as a part of the reference's makespan: a geometric mean over pairs of runs.
    pub gain: f64,
    /// Lower end of its 95 % confidence interval; `None` if there is one run.
    pub gain_low: Option<f64>,
    /// Upper end.
    pub gain_high: Option<f64>,
    /// Saved seconds as a part of those that perfect balance would have saved in the reference's computations;
    /// `None` if that would save nothing.
    pub share_of_balance: Option<f64>,
    /// The same for the best mapping of every superstep.
    pub share_of_mapping: Option<f64>,
    /// Ratio of the makespan to that of all supersteps under the best placement from the start; `None`: it is not
    /// known.
    pub of_best_placement: Option<f64>,
    /// Rescheduling calls.
    pub calls: f64,
    /// Processes that moved.
    pub migrations: f64,
    /// Bytes of their states.
    pub moved_bytes: f64,
    /// Seconds for which processes waited for calls.
    pub call_seconds: f64,
    /// The same as a part of the makespan.
    pub overhead: f64,
}

/// A policy on all experiments, each of the same weight.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Overall {
    /// The policy's label.
    pub policy: String,
    /// Ratio to the reference's makespan: the geometric mean.
    pub ratio: f64,
    /// Gain as a part of the reference's makespan.
    pub gain: f64,
    /// Number of experiments on which it is better than the reference.
    pub better: usize,
    /// Number of experiments on which it is worse.
    pub worse: usize,
}

/// Every policy on every experiment.
pub(crate) fn summaries(results: &Results) -> Vec<Summary> {
    let policies = 0..results.policies.len();
    (0..results.experiments.len())
        .flat_map(|experiment| {
            let summary = move |policy| Summary::new(results, experiment, policy);
            policies.clone().map(summary)
        })
        .collect()
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
            gain: 1.0 - ratio,
            better: count(Verdict::Better),
            worse: count(Verdict::Worse),
        }
    };
    results.policies.iter().enumerate().map(of).collect()
}

/// Ratio of the makespan of policy `left` to that of policy `right`: the geometric mean over the runs
/// of an experiment; `None`: of all, each of which weighs the same.
pub(super) fn ratio(
    results: &Results,
    experiment: Option<usize>,
    left: usize,
    right: usize,
) -> f64 {
    let of = |experiment| mean(&results.log_ratios(experiment, left, right));
    let logarithm = match experiment {
        Some(experiment) => of(experiment),
        None => mean(&(0..results.experiments.len()).map(of).collect::<Vec<_>>()),
    };
    logarithm.exp()
}

impl Summary {
    fn new(results: &Results, experiment: usize, policy: usize) -> Self {
        let runs = results.of(experiment, policy);
        let reference = results.of(experiment, results.reference);
        let values = |of: fn(&Run) -> f64| -> Vec<f64> { runs.iter().map(of).collect() };
        let seconds = Estimate::of(&values(|run| run.seconds));
        let logarithms = results.log_ratios(experiment, policy, results.reference);
        let Estimate {
            mean: ratio,
            margin,
            ..
        } = Estimate::of(&logarithms);
        let gain = |logarithm: f64| 1.0 - logarithm.exp();
        let before = mean(&reference.iter().map(|run| run.seconds).collect::<Vec<_>>());
        let share = |possible: fn(&Run) -> f64| {
            let possible = mean(&reference.iter().map(possible).collect::<Vec<_>>());
            // A saving within rounding is none.
            (ROUNDED * before < possible).then(|| (before - seconds.mean) / possible)
        };
        let call_seconds = mean(&values(|run| run.call_seconds));
        Self {
            experiment: results.experiments[experiment].name.clone(),
            policy: results.policies[policy].clone(),
            runs: runs.len(),
            seconds: seconds.mean,
            seconds_margin: seconds.margin,
            gain: gain(ratio),
            gain_low: margin.map(|margin| gain(ratio + margin)),
            gain_high: margin.map(|margin| gain(ratio - margin)),
            share_of_balance: share(|run| run.imbalance_seconds),
            share_of_mapping: share(|run| run.attainable_seconds),
            of_best_placement: {
                let subject = &results.experiments[experiment];
                let ratios = runs.iter().map(|run| subject.of_best_placement(run));
                ratios.collect::<Option<Vec<f64>>>().map(|all| mean(&all))
            },
            calls: mean(&values(|run| real(run.calls))),
            migrations: mean(&values(|run| real(run.migrations))),
            moved_bytes: mean(&values(|run| Bytes(run.moved_bytes).as_f64())),
            call_seconds,
            overhead: if 0.0 < seconds.mean {
                call_seconds / seconds.mean
            } else {
                0.0
            },
        }
    }
}

/// Part of a makespan that counts as rounding.
const ROUNDED: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::pairs;
    use crate::compare::results::tests::results;

    fn near(left: f64, right: f64) {
        assert!((left - right).abs() < 1e-12, "{left} is not {right}");
    }

    #[test]
    fn a_summary_relates_the_gain_to_the_possible_gain() {
        let results = results(&[(true, &[&[10.0, 20.0], &[9.0, 18.0]])]);
        let summaries = summaries(&results);
        let (reference, policy) = (&summaries[0], &summaries[1]);
        assert_eq!(
            (policy.experiment.as_str(), policy.policy.as_str()),
            ("e0", "b")
        );
        near(reference.seconds, 15.0);
        // The standard error of 10 and 20 is 5; Student's quantile for two values is 12.7062.
        near(
            (reference.seconds_margin.unwrap() / 5.0 * 1e4).round(),
            127_062.0,
        );
        near(reference.gain, 0.0);
        near(policy.gain, 0.1);
        near(policy.gain_low.unwrap(), 0.1);
        // 1.5 s won on average, of 4 s and of 2 s.
        near(policy.share_of_balance.unwrap(), 0.375);
        near(policy.share_of_mapping.unwrap(), 0.75);
        near(policy.overhead, 0.1 / 13.5);
        near(policy.moved_bytes, 1e6);
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
