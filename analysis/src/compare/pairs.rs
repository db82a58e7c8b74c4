//! Significant differences: every two policies, run by run.

use serde::Serialize;

use crate::compare::results::{Results, Subject};
use crate::compare::statistics::{Estimate, Stratum, holm};

/// Two policies, compared by their makespans on the same experiments with the same seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pair {
    /// The experiment; `None`: all together.
    pub experiment: Option<String>,
    /// The compared policy.
    pub policy: String,
    /// The policy that it is compared with.
    pub against: String,
    /// Number of runs of each.
    pub runs: usize,
    /// Ratio of the policy's makespan to the other's, as a geometric mean: over the runs of an
    /// experiment, and over experiments, each of the same weight.
    pub ratio: f64,
    /// Lower end of its 95 % confidence interval; `None` if an experiment that draws has one run, or
    /// none draws.
    pub ratio_low: Option<f64>,
    /// Upper end.
    pub ratio_high: Option<f64>,
    /// Probability of a difference like this if it is due to seeds alone (paired t-test on the logarithms,
    /// stratified by experiment).
    pub p: Option<f64>,
    /// The same, corrected for the number of tests (Holm): pairs of policies on the same experiment, or on
    /// all together, are one family.
    pub p_corrected: Option<f64>,
    /// The verdict.
    pub verdict: Verdict,
}

/// Whether a policy is better than another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Its makespans are shorter.
    Better,
    /// They are longer.
    Worse,
    /// They are equal, or so different that chance makes it in 5 % of all cases or more.
    NoDifference,
    /// One run of many possible ones: no test.
    Untested,
}

/// Every two policies on all experiments together; the reference is the right one of a pair.
pub(super) fn over_all(results: &Results) -> Vec<Pair> {
    corrected(pairs(results, &results.experiments, 0, None))
}

/// Every two policies on every single experiment.
pub(super) fn on_each(results: &Results) -> Vec<Pair> {
    let single = |(index, subject): (usize, &Subject)| {
        let subjects = std::slice::from_ref(subject);
        corrected(pairs(results, subjects, index, Some(&subject.name)))
    };
    let subjects = results.experiments.iter().enumerate();
    subjects.flat_map(single).collect()
}

/// A pair without correction and verdict, and whether its runs are all possible ones.
struct UncorrectedPair {
    pair: Pair,
    mean: f64,
    is_certain: bool,
}

/// Every two policies on `subjects`, which are those from the experiment `first` on.
fn pairs(
    results: &Results,
    subjects: &[Subject],
    first: usize,
    name: Option<&str>,
) -> Vec<UncorrectedPair> {
    let mut order: Vec<usize> = (0..results.policies.len()).collect();
    order.sort_by_key(|policy| (*policy != results.reference, *policy));
    let mut pairs = Vec::new();
    for (place, policy) in order.iter().enumerate() {
        for against in &order[..place] {
            let numbered = subjects.iter().zip(first..);
            let strata: Vec<Stratum> = numbered
                .map(|(subject, experiment)| Stratum {
                    values: results.log_ratios(experiment, *policy, *against),
                    is_exact: !subject.draws,
                })
                .collect();
            let Estimate { mean, margin, p } = Estimate::of_strata(&strata);
            pairs.push(UncorrectedPair {
                pair: Pair {
                    experiment: name.map(str::to_owned),
                    policy: results.policies[*policy].clone(),
                    against: results.policies[*against].clone(),
                    runs: strata.iter().map(|stratum| stratum.values.len()).sum(),
                    ratio: mean.exp(),
                    ratio_low: margin.map(|margin| (mean - margin).exp()),
                    ratio_high: margin.map(|margin| (mean + margin).exp()),
                    p,
                    p_corrected: None,
                    verdict: Verdict::Untested,
                },
                mean,
                is_certain: subjects.iter().all(|subject| !subject.draws),
            });
        }
    }
    pairs
}

/// The pairs of one family of tests.
fn corrected(family: Vec<UncorrectedPair>) -> Vec<Pair> {
    let values: Vec<Option<f64>> = family
        .iter()
        .map(|uncorrected| uncorrected.pair.p)
        .collect();
    let corrected = holm(&values);
    let correct = |(uncorrected, p_corrected): (UncorrectedPair, Option<f64>)| {
        let UncorrectedPair {
            pair,
            mean,
            is_certain,
        } = uncorrected;
        Pair {
            p_corrected,
            verdict: Verdict::of(mean, p_corrected, is_certain),
            ..pair
        }
    };
    family.into_iter().zip(corrected).map(correct).collect()
}

impl Verdict {
    /// The verdict from the mean of the logarithms of the ratios.
    fn of(mean: f64, p: Option<f64>, is_certain: bool) -> Self {
        match p {
            None if !is_certain => Self::Untested,
            Some(p) if SIGNIFICANT <= p => Self::NoDifference,
            _ if mean < 0.0 => Self::Better,
            _ if 0.0 < mean => Self::Worse,
            _ => Self::NoDifference,
        }
    }

    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::NoDifference => "no difference",
            Self::Untested => "untested",
        }
    }
}

/// Significance level.
const SIGNIFICANT: f64 = 0.05;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::results::tests::results;

    #[test]
    fn policies_are_compared_run_by_run() {
        // Seeds differ by far more than policies do: only pairs show that b always takes 10 % less.
        let results = results(&[(true, &[&[10.0, 20.0, 40.0], &[9.0, 18.0, 36.0]])]);
        let pairs = over_all(&results);
        assert_eq!(pairs.len(), 1);
        assert_eq!(
            (pairs[0].policy.as_str(), pairs[0].against.as_str()),
            ("b", "a")
        );
        assert_eq!((pairs[0].runs, pairs[0].verdict), (3, Verdict::Better));
        assert!((pairs[0].ratio - 0.9).abs() < 1e-12, "{pairs:?}");
        assert_eq!(on_each(&results)[0].experiment.as_deref(), Some("e0"));
    }

    #[test]
    fn noise_is_no_difference_and_one_run_is_not_tested() {
        let verdict =
            |draws, a: &[f64], b: &[f64]| over_all(&results(&[(draws, &[a, b])]))[0].verdict;
        assert_eq!(
            verdict(true, &[10.0, 10.0, 10.0], &[9.0, 11.0, 10.1]),
            Verdict::NoDifference
        );
        assert_eq!(verdict(true, &[10.0], &[9.0]), Verdict::Untested);
        assert_eq!(
            verdict(true, &[10.0, 11.0], &[10.0, 11.0]),
            Verdict::NoDifference
        );
    }

    #[test]
    fn differences_between_experiments_do_not_widen_the_interval() {
        // Ten times as much is won on one experiment as on the other: surely on each, surely on both.
        let results = results(&[
            (true, &[&[10.0, 10.0, 10.0], &[5.0, 5.01, 5.02]]),
            (true, &[&[10.0, 10.0, 10.0], &[9.5, 9.51, 9.52]]),
            (false, &[&[10.0], &[9.9]]),
        ]);
        let pairs = over_all(&results);
        assert_eq!((pairs[0].runs, pairs[0].verdict), (7, Verdict::Better));
        assert!(pairs[0].p < Some(1e-3), "{pairs:?}");
    }

    #[test]
    fn deterministic_experiments_need_no_test() {
        let verdict = |a: f64, b: f64| over_all(&results(&[(false, &[&[a], &[b]])]))[0].verdict;
        assert_eq!(verdict(10.0, 9.0), Verdict::Better);
        assert_eq!(verdict(10.0, 11.0), Verdict::Worse);
        assert_eq!(verdict(10.0, 10.0), Verdict::NoDifference);
    }

    #[test]
    fn more_policies_need_clearer_differences() {
        let a: &[f64] = &[10.0, 10.2, 10.1, 10.3];
        let b: &[f64] = &[9.9, 9.9, 10.0, 10.1];
        let alone = over_all(&results(&[(true, &[a, b])]));
        let third: &[f64] = &[10.1, 10.1, 10.2, 10.2];
        let among = over_all(&results(&[(true, &[a, b, third])]));
        assert_eq!(among.len(), 3);
        assert_eq!(alone[0].p, among[0].p);
        assert!(alone[0].p_corrected < among[0].p_corrected, "{among:?}");
    }
}
