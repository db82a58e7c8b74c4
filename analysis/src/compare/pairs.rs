//! Significant differences: every two policies, or each and the reference, by seed.

use serde::Serialize;

use crate::compare::results::{Blocks, Results};
use crate::compare::statistics::{Estimate, SIGNIFICANT, holm};

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
mod tests {
    use super::*;
    use crate::compare::results::tests::{fail, results};

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
        assert!((pairs[0].ratio.unwrap() - 0.9).abs() < 1e-12, "{pairs:?}");
        assert_eq!(on_each(&results)[0].experiment.as_deref(), Some("e0"));
    }

    #[test]
    fn noise_shows_nothing_and_one_run_is_not_tested() {
        let verdict =
            |draws, a: &[f64], b: &[f64]| over_all(&results(&[(draws, &[a, b])]))[0].verdict;
        assert_eq!(
            verdict(true, &[10.0, 10.0, 10.0], &[9.0, 11.0, 10.1]),
            Verdict::NotShown
        );
        assert_eq!(verdict(true, &[10.0], &[9.0]), Verdict::Untested);
        assert_eq!(verdict(true, &[10.0, 11.0], &[10.0, 11.0]), Verdict::Equal);
        assert_eq!(verdict(true, &[0.0, 0.0], &[1.0, 2.0]), Verdict::Untested);
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
    fn experiments_that_share_seeds_are_no_more_evidence_than_seeds() {
        // SciPy 1.17, with r the ratios below, a row for each experiment: `ttest_1samp(log(r).mean(axis=0), 0)` has
        // t = -2.14157 and p = 0.0989130; all fifteen as if they were independent, `ttest_1samp(log(r).ravel(), 0)`,
        // would have t = -3.80151 and p = 0.00194500. `t.interval` is 0.7230997 to 1.0427406. statsmodels'
        // `solve_power` for the same mean and deviation at 0.05: 10.635 seeds.
        let experiments: [&[&[f64]]; 3] = [
            &[&[10.0; 5], &[8.0, 9.5, 7.0, 10.2, 9.0]],
            &[&[10.0; 5], &[8.2, 9.7, 7.5, 9.9, 8.8]],
            &[&[10.0; 5], &[7.0, 9.0, 7.2, 11.0, 9.5]],
        ];
        let pair = &over_all(&results(&experiments.map(|of| (true, of))))[0];
        assert_eq!((pair.runs, pair.seeds), (15, Some(5)));
        let near = |met: Option<f64>, expected: f64| {
            assert!((met.unwrap() - expected).abs() < 1e-6, "{pair:?}");
        };
        near(pair.p, 0.098_912_970_7);
        near(pair.ratio, 0.868_334_835_9);
        near(pair.ratio_low, 0.723_099_68);
        near(pair.ratio_high, 1.042_740_59);
        near(pair.confidence, 0.95);
        assert_eq!(
            (pair.verdict, pair.seeds_needed),
            (Verdict::NotShown, Some(11))
        );
    }

    #[test]
    fn against_one_policy_there_are_fewer_tests_and_narrower_intervals() {
        let a: &[f64] = &[10.0, 10.2, 10.1, 10.3];
        let b: &[f64] = &[9.9, 10.1, 9.98, 10.19];
        let c: &[f64] = &[10.1, 10.1, 10.2, 10.2];
        let mut results = results(&[(true, &[a, b, c])]);
        let all = over_all(&results);
        results.against_reference = true;
        let against = over_all(&results);
        assert_eq!((all.len(), against.len()), (3, 2));
        assert!(against.iter().all(|pair| pair.against == "a"));
        let of_b = |pairs: &[Pair]| {
            pairs
                .iter()
                .find(|pair| pair.policy == "b")
                .cloned()
                .unwrap()
        };
        let (among, alone) = (of_b(&all), of_b(&against));
        assert!(alone.p_corrected < among.p_corrected && among.ratio_low < alone.ratio_low);
        for pair in all.iter().chain(&against) {
            let is_without_1 = pair.ratio_high < Some(1.0) || Some(1.0) < pair.ratio_low;
            let differs = matches!(pair.verdict, Verdict::Better | Verdict::Worse);
            assert_eq!(is_without_1, differs, "{pair:?}");
        }
    }

    #[test]
    fn a_seed_without_a_result_under_one_policy_is_left_out_for_its_pairs() {
        let runs: &[&[f64]] = &[&[10.0, 10.2, 10.1], &[9.9, 9.9, 10.0], &[9.0, 9.1, 9.2]];
        let mut results = results(&[(true, runs)]);
        fail(&mut results, 0, 1, 2);
        let pairs = over_all(&results);
        let runs: Vec<usize> = pairs.iter().map(|pair| pair.runs).collect();
        assert_eq!(runs, [2, 3, 2]);
        for place in [0, 1] {
            fail(&mut results, 0, 1, place);
        }
        let none = &over_all(&results)[0];
        assert_eq!(
            (none.runs, none.ratio, none.verdict),
            (0, None, Verdict::Untested)
        );
    }

    #[test]
    fn deterministic_experiments_need_no_test() {
        let verdict = |a: f64, b: f64| over_all(&results(&[(false, &[&[a], &[b]])]))[0].verdict;
        assert_eq!(verdict(10.0, 9.0), Verdict::Better);
        assert_eq!(verdict(10.0, 11.0), Verdict::Worse);
        assert_eq!(verdict(10.0, 10.0), Verdict::Equal);
        assert_eq!(verdict(0.0, 0.0), Verdict::Equal);
        assert_eq!(verdict(0.0, 1.0), Verdict::Worse);
        let pair = &over_all(&results(&[(false, &[&[0.0], &[1.0]])]))[0];
        assert_eq!((pair.ratio, pair.seeds, pair.p), (None, None, None));
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
