use super::*;
use crate::text::Layout;
use experiments::Registry;

use crate::compare::{fail, results_of};
use crate::sweep::grid::tests::grid;
use crate::sweep::plan::tests::plan;

/// Policies `none` and `adaptive` on the combinations of `set`: their makespans by seed.
pub(crate) fn swept(set: &[&str], makespans: &[&[&[f64]]]) -> Swept {
    let seeds = makespans.first().map_or(1, |policies| policies[0].len());
    let plan = plan(set, u64::try_from(seeds).unwrap());
    let points: Vec<Point> = plan
        .grid
        .points()
        .into_iter()
        .take(makespans.len())
        .collect();
    let drawn: Vec<(bool, &[&[f64]])> = makespans.iter().map(|of| (true, *of)).collect();
    let mut results = results_of(&drawn);
    results.policies.clone_from(&plan.policies);
    for (subject, point) in results.experiments.iter_mut().zip(&points) {
        subject.name.clone_from(&point.name);
    }
    Swept {
        plan,
        version: "migbsp 0.1.0".to_owned(),
        build: "cd34".to_owned(),
        points,
        results,
    }
}

#[test]
fn a_sweep_is_complete_with_all_runs_of_its_plan() {
    let all: &[&[&[f64]]] = &[&[&[10.0], &[9.0]], &[&[10.0], &[9.0]]];
    assert!(swept(&["a.x=1,2"], all).is_complete());
    let part = swept(&["a.x=1,2"], &all[..1]);
    assert_eq!((part.runs(), part.is_complete()), (2, false));
}

#[test]
fn without_scenario_i_there_are_no_gains() {
    let mut swept = swept(&["a.x=1"], &[&[&[10.0, 20.0], &[9.0, 15.0]]]);
    assert_eq!(Report::new(&swept).summaries[0].gain, Some(0.0));
    swept.plan.reference = None;
    let report = Report::new(&swept);
    assert!(report.runs.iter().all(|row| row.gain.is_none()));
    assert!(report.summaries.iter().all(|summary| summary.gain.is_none()
        && summary.gain_low.is_none()
        && summary.gain_high.is_none()));
}

#[test]
fn a_sweep_without_runs_has_an_empty_report() {
    let report = Report::new(&swept(&["a.x=1"], &[]));
    assert!(report.runs.is_empty() && report.summaries.is_empty());
}

#[test]
fn a_table_has_a_row_per_run_and_a_column_per_parameter() {
    let set = ["a.x=1,\"u, v\"", "a.y=7"];
    let mut swept = swept(
        &set,
        &[&[&[10.0, 20.0], &[9.0, 15.0]], &[&[0.0, 4.0], &[0.0, 5.0]]],
    );
    fail(&mut swept.results, 0, 1, 0);
    let provenance = Provenance::of_program(&Registry::new()).unwrap();
    let csv = Report::new(&swept).csv(&provenance).unwrap();
    let lines: Vec<&str> = csv.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(
        lines[0],
        "experiment,a.x,a.y,policy,seed,seconds,supersteps,calls,migrations,moved_bytes,call_seconds,gain,attainable_seconds,imbalance_seconds,error,version,build_sha256,configuration_sha256,run_sha256"
    );
    assert_eq!(lines.len(), 1 + 8);
    assert_eq!(
        lines[3],
        "a.toml,1,7,adaptive,1,,,,,,,,,,out of road,migbsp 0.1.0,cd34,ab12,ef56"
    );
    assert_eq!(
        lines[4],
        "a.toml,1,7,adaptive,2,15.0,10,2,1,1000000,0.1,0.25,0.5,1.0,,migbsp 0.1.0,cd34,ab12,ef56"
    );
    assert!(
        lines[5].starts_with("a.toml,\"u, v\",7,none,1,0.0,"),
        "{}",
        lines[5]
    );
    assert!(lines[7].contains(",0.1,0.0,0.5,"), "{}", lines[7]);
}

const MAKESPANS: [&[&[f64]]; 2] = [
    &[&[10.0, 20.0], &[9.0, 18.0]],
    &[&[10.0, 20.0], &[8.0, 16.0]],
];

#[test]
fn the_text_shows_every_combination_and_the_best_one() {
    let report = Report::new(&swept(&["a.x=2,4", "a.y=7"], &MAKESPANS));
    let text = report.document().text(Layout::default());
    assert_eq!(format!("\n{text}"), EXPECTED, "{text}");
}

const EXPECTED: &str = "
 a.x  policy    runs  seconds       ±     gain          gain, 95 %  calls  moves  in calls
   2  none         2   15.000  63.531                                 2.0    1.0    0.67 %
   2  adaptive     2   13.500  57.178  10.00 %  10.00 % to 10.00 %    2.0    1.0    0.74 %
   4  none         2   15.000  63.531                                 2.0    1.0    0.67 %
   4  adaptive     2   12.000  50.825  20.00 %  20.00 % to 20.00 %    2.0    1.0    0.83 %

Largest gains against none

 policy       gain  with
 adaptive  20.00 %  a.x=4
";

#[test]
fn without_scenario_i_the_shortest_makespan_is_the_best() {
    let mut swept = swept(&["a.x=2,4"], &MAKESPANS);
    swept.plan.reference = None;
    let text = Report::new(&swept).document().text(Layout::default());
    assert!(!text.contains("gain"), "{text}");
    assert!(text.contains("Shortest makespans"), "{text}");
    assert!(text.contains(" none       15.000  a.x=2\n"), "{text}");
}

#[test]
fn long_tables_are_cut_unless_they_are_asked_for() {
    let makespans = vec![MAKESPANS[0]; 30];
    let report = Report::new(&swept(&["a.x=1..30"], &makespans));
    let cut = report.document().text(Layout::default());
    assert!(cut.contains("… 20 rows more: --all shows them"), "{cut}");
    let is_whole = true;
    let whole = report.document().text(Layout {
        is_whole,
        ..Layout::default()
    });
    assert!(
        60 < whole.lines().count() && !whole.contains("--all"),
        "{whole}"
    );
}

#[test]
fn a_plan_shows_what_it_goes_through() {
    let mut swept = swept(&["a.x=2,4", "a.y=7"], &MAKESPANS);
    swept.results.experiments[0].draws = false;
    let text = planned(&swept.plan, &swept.results.experiments).text(Layout::default());
    let expected = "\
8 runs: 2 combinations, 2 policies, 2 seeds

 parameter   values
 experiment  a.toml
 a.x         2, 4
 a.y         7
 policy      none, adaptive
 seed        1..2

1 combination of 2 without random numbers: run with seed 1 alone.
";
    assert_eq!(text, expected, "{text}");
}

const TWO: [&[&[f64]]; 4] = [
    &[&[10.0, 12.0], &[9.0, 10.0]],
    &[&[10.0, 12.0], &[8.0, 9.0]],
    &[&[10.0, 12.0], &[7.0, 8.0]],
    &[&[10.0, 12.0], &[11.0, 13.0]],
];

#[test]
fn a_chart_shows_one_or_two_parameters() {
    let three = grid(&["a.toml"], &["a.x=1,2", "a.y=1", "a.z=1,2", "a.w=1,2"], 1);
    let named = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        chart_parameters(&three, &names).map_err(|failure| failure.to_string())
    };
    assert_eq!(named(&["a.w", "a.x"]), Ok(vec![3, 0]));
    let fault = |names: &[&str]| named(names).unwrap_err();
    assert!(fault(&[]).contains("not 3\n  help: choose with --over KEY"));
    assert!(fault(&["other"]).contains("with several values: `a.x`, `a.z`, `a.w`"));
    assert!(fault(&["a.x", "a.x"]).contains("--over a.x is given twice"));
    assert!(fault(&["a.x", "a.w", "a.z"]).contains("not 3"));
    let one = grid(&["a.toml"], &["scheduler.interval=1,2"], 1);
    assert_eq!(chart_parameters(&one, &[]).unwrap(), [0]);
    let problem = chart_parameters(&one, &["scheduler.intervall".to_owned()]);
    let problem = problem.unwrap_err().to_string();
    assert!(
        problem.contains("did you mean `scheduler.interval`?"),
        "{problem}"
    );
    let none = chart_parameters(&grid(&["a.toml"], &["a.x=1"], 1), &[]);
    assert!(
        none.unwrap_err()
            .to_string()
            .contains("none has several values")
    );
}

#[test]
fn numbers_are_lines_with_their_spread() {
    let swept = swept(&["a.x=8,2", "a.y=1,2"], &TWO);
    let drawn = lines(&swept, 0, &[8.0, 2.0]);
    assert_eq!(drawn.title, "Makespan over a.x");
    let note = "a.toml. Geometric mean over a.y. Bars: the least and the greatest over 2 seeds.";
    assert_eq!(drawn.note, note);
    let adaptive = &drawn.series[2];
    assert_eq!(adaptive.name, "adaptive");
    // By ascending x: the values 2 come last in the list.
    let expected = [
        (2.0, (7.0 * 8.0 * 11.0 * 13.0_f64).powf(0.25)),
        (8.0, (9.0 * 10.0 * 8.0 * 9.0_f64).powf(0.25)),
    ];
    for ((x, y), (expected_x, expected_y)) in adaptive.points.iter().zip(expected) {
        assert!((x - expected_x).abs() < 1e-9 && (y - expected_y).abs() < 1e-9);
    }
    assert_eq!(drawn.series[3].points.len(), 4);
    assert!(chart(&swept, &[0]).contains("Makespan over a.x"));
}

#[test]
fn powers_have_a_logarithmic_axis() {
    let is_log = |numbers: &[f64]| is_log(numbers.iter().copied());
    assert!(is_log(&[2.0, 4.0, 8.0, 16.0]) && is_log(&[1.0, 10.0, 100.0]));
    for numbers in [
        &[][..],
        &[1.0],
        &[1.0, 100.0],
        &[2.0, 4.0, 8.0],
        &[0.0, 1.0, 10.0],
    ] {
        assert!(!is_log(numbers), "{numbers:?}");
    }
    assert!(!is_log(&[16.0, 32.0, 48.0, 64.0]));
}

#[test]
fn texts_are_bars() {
    let svg = chart(&swept(&["a.x=1 s,t", "a.y=1,2"], &TWO), &[0]);
    assert!(
        svg.contains("\n&quot;1 s&quot;\n") && svg.contains("\nt\n"),
        "{svg}"
    );
    assert!(svg.contains("\nadaptive\n"), "{svg}");
}

#[test]
fn two_parameters_are_a_map_of_gains() {
    let mut swept = swept(&["a.x=1,2", "a.y=u,v"], &TWO);
    let map = heat_map(&swept, 0, 1);
    assert_eq!(map.panels.len(), 1, "none is the reference");
    let gain = |left: f64, right: f64| 100.0 * (1.0 - (left * right / 120.0).sqrt());
    let expected = [
        [gain(9.0, 10.0), gain(7.0, 8.0)],
        [gain(8.0, 9.0), gain(11.0, 13.0)],
    ];
    for (row, expected) in map.panels[0].cells.iter().zip(expected) {
        for (cell, expected) in row.iter().zip(expected) {
            assert!((cell - expected).abs() < 1e-9, "{map:?}");
        }
    }
    assert_eq!((&*map.x_label, &*map.y_label), ("a.x", "a.y"));
    swept.plan.reference = None;
    let map = heat_map(&swept, 0, 1);
    assert_eq!(map.panels.len(), 2);
    assert!((map.panels[0].cells[0][0] - 120.0_f64.sqrt()).abs() < 1e-9);
}

#[test]
fn a_sweep_without_runs_has_an_empty_chart() {
    let empty = swept(&["a.x=1,2", "a.y=u,v"], &[]);
    for over in [&[0][..], &[1], &[0, 1]] {
        assert!(chart(&empty, over).ends_with("</svg>\n"));
    }
}

const ONE: &[&[f64]] = &[&[1.0], &[1.0]];
const PAIR: &[&[f64]] = &[&[1.0, 2.0], &[1.0, 2.0]];

fn near(left: f64, right: f64) {
    assert!((left - right).abs() < 1e-12, "{left} is not {right}");
}

#[test]
fn combinations_are_grouped_by_some_of_their_values() {
    let points = swept(&["a.x=1,2", "a.y=1,2,3"], &[ONE; 6]).points;
    let by_y = groups(&points, &[1]);
    assert_eq!(by_y[&vec![2]], [2, 5]);
    assert_eq!(groups(&points, &[1, 0])[&vec![2, 1]], [5]);
    assert_eq!(groups(&points, &[]).len(), 1);
}

#[test]
fn means_are_geometric_and_pair_seeds() {
    let of: &[&[&[f64]]] = &[&[&[1.0, 4.0], &[0.5, 1.0]], &[&[16.0, 64.0], &[8.0, 16.0]]];
    let results = swept(&["a.x=1,2"], of).results;
    near(makespan(&results, &[0], 0), 2.0);
    near(makespan(&results, &[0, 1], 0), 8.0);
    let (low, high) = spread(&results, &[0, 1], 0).unwrap();
    near(low, 4.0);
    near(high, 16.0);
    near(gain(&results, &[0, 1], 1), 1.0 - 0.125_f64.sqrt());
    near(gain(&results, &[0, 1], 0), 0.0);
}

#[test]
fn one_seed_and_different_seeds_have_no_spread() {
    let one = swept(&["a.x=1"], &[ONE]).results;
    assert_eq!(spread(&one, &[0], 0), None);
    let mut two = swept(&["a.x=1,2"], &[PAIR; 2]).results;
    assert!(spread(&two, &[0, 1], 0).is_some());
    fail(&mut two, 1, 0, 1);
    assert_eq!(spread(&two, &[0, 1], 0), None);
    fail(&mut two, 1, 0, 0);
    near(makespan(&two, &[0, 1], 0), makespan(&two, &[0], 0));
    near(gain(&two, &[0, 1], 1), 0.0);
    assert!(makespan(&two, &[1], 0).is_nan() && gain(&two, &[1], 1).is_nan());
}

#[test]
fn the_page_has_charts_over_parameters_and_pairs() {
    let makespans: &[&[f64]] = &[&[10.0, 12.0], &[9.0, 10.0]];
    let page = page(&swept(&["a.x=1,2", "a.y=u,v", "a.z=3"], &[makespans; 4]));
    assert_eq!(page.matches("<svg").count(), 3, "{page}");
    for text in [
        "<title>Sweep of a.toml</title>",
        "1, 2",
        "16 of 16",
        "migbsp 0.1.0",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
}

#[test]
fn names_are_escaped() {
    let makespans: &[&[f64]] = &[&[1.0], &[1.0]];
    let mut swept = swept(&["a.x=1,\"<b>\""], &[makespans; 2]);
    swept.plan.grid.experiments[0] = "<i>.toml".to_owned();
    let page = page(&swept);
    assert!(!page.contains("<b>") && !page.contains("<i>"), "{page}");
}
