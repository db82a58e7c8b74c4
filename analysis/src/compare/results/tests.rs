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

fn near(found: Option<f64>, expected: f64) {
    let found = found.unwrap();
    assert!(
        (found - expected).abs() < 1e-12,
        "{found} is not {expected}"
    );
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
    let overall = overall(&results, &on_each(&results));
    near(overall[1].ratio, 1.0);
    assert_eq!((overall[1].better, overall[1].worse), (1, 1));
    assert_eq!((overall[0].better, overall[0].worse), (0, 0));
}

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
    let verdict = |draws, a: &[f64], b: &[f64]| over_all(&results(&[(draws, &[a, b])]))[0].verdict;
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
    let near = |found: Option<f64>, expected: f64| {
        assert!((found.unwrap() - expected).abs() < 1e-6, "{pair:?}");
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
