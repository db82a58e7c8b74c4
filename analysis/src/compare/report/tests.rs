use super::*;
use crate::text::Layout;
use experiments::Registry;

use crate::compare::results::tests::{fail, results};
use crate::known_best::KnownBest;

fn claims(texts: &[&str]) -> Vec<Claim> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

#[test]
fn claims_are_held_against_all_experiments_or_each() {
    let results = results(&[(false, &[&[10.0], &[5.0]]), (false, &[&[10.0], &[11.0]])]);
    let report = Report::new(
        &results,
        &claims(&["b < a"]),
        &claims(&["b <= a", "b <= 1.2 * a"]),
    );
    let holds: Vec<bool> = report.claims.iter().map(|checked| checked.holds).collect();
    assert_eq!(holds, [true, true, false, true, true]);
    assert_eq!(
        report.complaint().unwrap(),
        "`b <= a` does not hold on e1: the makespans' ratio is 1.1000, its limit 1"
    );
    assert_eq!(
        Report::new(&results, &claims(&["b <= a"]), &[]).complaint(),
        None
    );
    let all = Report::new(&results, &claims(&["b <= 0.5 * a"]), &[]);
    assert_eq!(
        all.complaint().unwrap(),
        "`b <= 0.5 * a` does not hold over all experiments: the makespans' ratio is 0.7416, its limit 0.5"
    );
}

#[test]
fn csv_has_a_row_per_run() {
    let mut results = results(&[(true, &[&[10.0, 11.0], &[9.0, 8.5]])]);
    fail(&mut results, 0, 1, 0);
    let provenance = Provenance::of_program(&Registry::new()).unwrap();
    let csv = Report::new(&results, &[], &[]).csv(&provenance).unwrap();
    let lines = csv.lines().filter(|line| !line.starts_with('#'));
    let lines: Vec<&str> = lines.collect();
    assert_eq!(
        lines[0],
        "experiment,policy,seed,seconds,supersteps,calls,migrations,moved_bytes,call_seconds,attainable_seconds,imbalance_seconds,of_best_placement,error,configuration_sha256,run_sha256"
    );
    assert_eq!(lines[3], "e0,b,1,,,,,,,,,,out of road,ab12,ef56");
    assert_eq!(
        lines[4],
        "e0,b,2,8.5,10,2,1,1000000,0.1,0.5,1.0,,,ab12,ef56"
    );
    assert_eq!(lines.len(), 5);
}

#[test]
fn the_text_shows_gains_with_their_significance() {
    let results = results(&[
        (true, &[&[10.0, 20.0], &[9.0, 17.0]]),
        (false, &[&[10.0], &[10.5]]),
    ]);
    let claims = ["b <= a".parse().unwrap()];
    let each = ["b < a".parse().unwrap()];
    let text = Report::new(&results, &claims, &each)
        .document()
        .text(Layout::default());
    assert_eq!(text, EXPECTED, "{text}");
}

const EXPECTED: &str = "\
e0, 2 seeds

 policy  seconds       ±     gain        ±  of balance  of mapping  calls  moves  moved  in calls  against a
 a        15.000  63.531                                              2.0    1.0   1 MB    0.67 %
 b        13.000  50.825  12.54 %  32.46 %     75.00 %     75.00 %    2.0    1.0   1 MB    0.77 %  not shown

e1, one run: the same for all seeds

 policy  seconds  ±     gain  ±  of balance  of mapping  calls  moves  moved  in calls  against a
 a        10.000                                           2.0    1.0   1 MB    1.00 %
 b        10.500     -5.00 %        75.00 %     75.00 %    2.0    1.0   1 MB    0.95 %  worse

All 2 experiments, geometric mean

 policy  times a    gain  better on  worse on
 a        1.0000
 b        0.9583  4.17 %          0         1

Significant differences: t-tests on the logarithms of makespans, a value for each seed; p and intervals after Holm

 policy  against  seeds   ratio          interval   level       p
 b       a            2  0.9583  0.7992 to 1.1491  95.0 %  0.2062  not shown: about 5 seeds would show it

b <= a: holds (the ratio is 0.9583)
b < a on e0: holds (the ratio is 0.8746)
b < a on e1: DOES NOT HOLD (the ratio is 1.0500)

± is half of a confidence interval: of makespans 95 %, of gains the level of their test. Gains are shares of
a's makespan, paired by seed; `of balance` and `of mapping` are saved shares of the computation that
perfect balance, or the best mapping of every superstep, would have saved a. `in calls` is the share of
the makespan that calls take.
`not shown`: seeds alone make differences of this size; policies may differ or not.
";

#[test]
fn runs_that_failed_and_makespans_of_nothing_are_not_numbers() {
    let mut results = results(&[
        (true, &[&[0.002, 0.004], &[0.001, 0.002]]),
        (false, &[&[0.0], &[1.0]]),
    ]);
    fail(&mut results, 0, 1, 0);
    let claims = ["b <= a".parse().unwrap()];
    let report = Report::new(&results, &claims, &[]);
    let text = report.document().text(Layout::default());
    for words in [
        " policy     ms       ±     gain",
        " a       3.000  12.706",
        " b       2.000          50.00 %",
        "untested   1 of 2 failed\n",
        " b         1.000                 75.00 %",
        "worse\n",
        " b       a            1                             untested: one seed\n",
        "b <= a: DOES NOT HOLD (there is no ratio)",
        "Runs without a result\n\n e0, b, seed 1: out of road\n\n",
        "A makespan of 0 s has no ratio to others, and no gain.\n",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(!text.contains("inf") && !text.contains("NaN"), "{text}");
    assert_eq!(
        report.failure().unwrap(),
        "e0, b, seed 1: out of road\n  note: 1 of 6 runs failed; the others are done"
    );
}

#[test]
fn the_best_placement_has_a_column_where_it_is_known() {
    let mut results = results(&[(false, &[&[10.0], &[5.0]]), (false, &[&[8.0], &[4.0]])]);
    let known = |seconds_per_superstep| {
        Some(KnownBest {
            file: "e.best.json".to_owned(),
            seconds_per_superstep,
        })
    };
    // Ten supersteps.
    results.experiments[0].best_placement = known(Some(0.4));
    results.experiments[1].best_placement = known(None);
    let report = Report::new(&results, &[], &[]);
    let ratios: Vec<Option<f64>> = report
        .summaries
        .iter()
        .map(|of| of.of_best_placement)
        .collect();
    assert_eq!(ratios, [Some(2.5), Some(1.25), None, None]);
    let text = report.document().text(Layout::default());
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[2].ends_with("against a  of best placement"), "{text}");
    assert!(
        lines[3].ends_with("2.500") && lines[4].ends_with("1.250"),
        "{text}"
    );
    let second = text.split("e1, ").nth(1).unwrap();
    let stale = "e.best.json is of another experiment or an earlier form of this one.";
    assert!(second.contains(stale), "{text}");
    assert!(
        second.lines().nth(2).unwrap().ends_with("against a"),
        "{text}"
    );
    assert!(
        text.contains("`of best placement` is the makespan"),
        "{text}"
    );
}

#[test]
fn a_single_policy_has_no_comparison() {
    let report = Report::new(&results(&[(true, &[&[10.0]])]), &[], &[]);
    let text = report.document().text(Layout::default());
    assert!(text.starts_with("e0, seed 1\n"), "{text}");
    assert!(
        !text.contains("Significant differences") && !text.contains("All 1"),
        "{text}"
    );
}

#[test]
fn all_experiments_stand_first_and_a_policy_has_one_colour() {
    let two = results(&[(false, &[&[10.0], &[5.0]]), (false, &[&[10.0], &[11.0]])]);
    let drawn = chart(&Report::new(&two, &[], &[]));
    let names: Vec<&str> = drawn.groups.iter().map(|group| &*group.name).collect();
    assert_eq!(names, ["All 2, geometric mean", "e0", "e1"]);
    let rows: Vec<&Interval> = drawn.groups.iter().flat_map(|group| &group.rows).collect();
    assert_eq!(rows.len(), 3);
    assert!(
        rows.iter()
            .all(|row| row.name == "b" && row.colour == rows[0].colour)
    );
    assert!((rows[1].mean - 50.0).abs() < 1e-9, "{rows:?}");
    let one = results(&[(false, &[&[10.0], &[5.0]])]);
    assert_eq!(chart(&Report::new(&one, &[], &[])).groups.len(), 1);
}

#[test]
fn colours_do_not_depend_on_the_order_of_well_known_policies() {
    let policies = ["none", "adaptive", "menon", "migbsp"];
    let colours = policies.map(|policy| colour(&policies, policy));
    assert_eq!(colours, [2, 1, 3, 0]);
    assert_eq!(colour(&["migbsp"], "migbsp"), 0);
}
