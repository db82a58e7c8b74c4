//! Charts of a sweep, and the page that has them.

use std::collections::BTreeMap;

use experiments::Failure;
use maud::{Markup, PreEscaped, html};
use settings::{list, nearest};

use crate::chart::{Group, HeatMap, HeatPanel, Interval, Intervals, Lines, Scale, Series, Style};
use crate::compare::statistics::mean;
use crate::compare::{Results, failed_of};
use crate::page::{Heading, page_of};
use crate::sweep::grid::{Grid, Point};
use crate::sweep::parameter::{Parameter, shown};
use crate::sweep::plan::seeds;
use crate::sweep::report::{Report, Swept, SweptSummary, percent};
use crate::text::{counted, rounded};

/// The places of the one or two parameters that a chart shows: those that are `named`, else those that vary.
///
/// # Errors
///
/// If a name is no parameter that varies or is given twice, or there are none or more than two.
pub fn chart_parameters(grid: &Grid, named: &[String]) -> Result<Vec<usize>, Failure> {
    let varying: Vec<(usize, &str)> = grid
        .varying()
        .map(|(place, parameter)| (place, parameter.key()))
        .collect();
    let keys: Vec<&str> = varying.iter().map(|(_, key)| *key).collect();
    let known = || {
        if keys.is_empty() {
            "none".to_owned()
        } else {
            list(&keys)
        }
    };
    let mut places = Vec::new();
    for name in named {
        let Some((place, _)) = varying.iter().find(|(_, key)| key == name) else {
            let help = match nearest(name, &keys) {
                Some(nearest) => format!("did you mean `{nearest}`?"),
                None => format!("parameters with several values: {}", known()),
            };
            let problem =
                format!("--over {name}: no parameter with several values\n  help: {help}");
            return Err(Failure::Usage(problem));
        };
        if places.contains(place) {
            return Err(Failure::Usage(format!("--over {name} is given twice")));
        }
        places.push(*place);
    }
    if named.is_empty() {
        places = varying.iter().map(|(place, _)| *place).collect();
    }
    match places.len() {
        1 | 2 => Ok(places),
        0 => Err(Failure::Usage(
            "--svg shows one or two parameters, and none has several values".to_owned(),
        )),
        count => Err(Failure::Usage(format!(
            "--svg shows one or two parameters, not {count}\n  \
             help: choose with --over KEY, or --over KEY --over KEY: {}",
            known()
        ))),
    }
}

/// The chart over the parameters at these one or two places, as SVG: the others are averaged.
pub fn chart(swept: &Swept, over: &[usize]) -> String {
    match over {
        [x, y, ..] => heat_map(swept, *x, *y).svg(),
        [x] => match swept.plan.grid.parameters[*x].numbers() {
            Some(numbers) => lines(swept, *x, &numbers).svg(),
            None => intervals(swept, *x).svg(),
        },
        [] => Lines::default().svg(),
    }
}

/// Makespans over a parameter whose values are numbers, a line for each policy.
fn lines(swept: &Swept, over: usize, numbers: &[f64]) -> Lines {
    let parameter = &swept.plan.grid.parameters[over];
    let groups = groups(&swept.points, &[over]);
    let mut by_number: Vec<(f64, &Vec<usize>)> = groups
        .iter()
        .map(|(place, points)| (numbers[place[0]], points))
        .collect();
    by_number.sort_by(|left, right| left.0.total_cmp(&right.0));
    let results = &swept.results;
    let (mut series, mut heights) = (Vec::new(), Vec::new());
    for (policy, name) in results.policies.iter().enumerate() {
        let point = |(x, points): &(f64, &Vec<usize>)| (*x, makespan(results, points, policy));
        let points: Vec<(f64, f64)> = by_number.iter().map(point).collect();
        heights.extend(points.iter().map(|(_, height)| *height));
        series.push(Series {
            name: name.clone(),
            points,
            ..Series::default()
        });
        let ends = by_number.iter().filter_map(|(x, points)| {
            let (low, high) = spread(results, points, policy)?;
            Some([(*x, low), (*x, high)])
        });
        series.push(Series {
            points: ends.flatten().collect(),
            style: Style::Spread,
            is_paired: true,
            ..Series::default()
        });
    }
    Lines {
        title: format!("Makespan over {}", parameter.key()),
        note: note(swept, &[over], "Bars: the least and the greatest over"),
        x_label: parameter.key().to_owned(),
        y_label: "seconds".to_owned(),
        x_is_log: is_log(by_number.iter().map(|(x, _)| *x)),
        y_scale: Scale::of(&heights),
        series,
    }
}

/// Whether ascending numbers are positive and further and further apart, as 1, 2, 4, 8 are.
fn is_log(numbers: impl Iterator<Item = f64>) -> bool {
    let numbers: Vec<f64> = numbers.collect();
    let ([first, second, ..], [.., before, last]) = (&numbers[..], &numbers[..]) else {
        return false;
    };
    0.0 < *first && APART * (second - first) <= last - before
}

/// Makespans over a parameter whose values are no numbers, a bar for each policy.
fn intervals(swept: &Swept, over: usize) -> Intervals {
    let parameter = &swept.plan.grid.parameters[over];
    let results = &swept.results;
    let groups = groups(&swept.points, &[over]).into_iter();
    let group = |(place, points): (Vec<usize>, Vec<usize>)| {
        let row = |(policy, name): (usize, &String)| {
            let (low, high) = spread(results, &points, policy).unwrap_or((f64::NAN, f64::NAN));
            Interval {
                name: name.clone(),
                colour: policy,
                mean: makespan(results, &points, policy),
                low,
                high,
            }
        };
        Group {
            name: shown(&parameter.values()[place[0]]),
            rows: results.policies.iter().enumerate().map(row).collect(),
        }
    };
    Intervals {
        title: format!(
            "Makespan over {}, least and greatest over seeds",
            parameter.key()
        ),
        unit: "seconds".to_owned(),
        groups: groups.map(group).collect(),
    }
}

/// Gains over two parameters, or makespans if there is no scenario i; a panel for each policy.
fn heat_map(swept: &Swept, x: usize, y: usize) -> HeatMap {
    let grid = &swept.plan.grid;
    let results = &swept.results;
    let groups = groups(&swept.points, &[x, y]);
    let reference = swept.plan.reference.as_ref();
    let count = |parameter: usize| grid.parameters[parameter].values().len();
    let panel = |(policy, name): (usize, &String)| {
        let cell = |row: usize, column: usize| match groups.get(&vec![column, row]) {
            None => f64::NAN,
            Some(points) if reference.is_some() => 100.0 * gain(results, points, policy),
            Some(points) => makespan(results, points, policy),
        };
        let cells = |row| (0..count(x)).map(|column| cell(row, column)).collect();
        HeatPanel {
            name: name.clone(),
            cells: (0..count(y)).map(cells).collect(),
        }
    };
    let shown_policies = results.policies.iter().enumerate();
    let shown_policies = shown_policies.filter(|(_, name)| Some(*name) != reference);
    let names = |parameter: &Parameter| parameter.values().iter().map(shown).collect();
    let (x_label, y_label) = (grid.parameters[x].key(), grid.parameters[y].key());
    let (what, unit) = match reference {
        Some(reference) => (
            format!("Gain against {reference}"),
            format!("gain, % of the makespan of {reference}"),
        ),
        None => ("Makespan".to_owned(), "makespan in seconds".to_owned()),
    };
    HeatMap {
        title: what,
        note: note(swept, &[x, y], "Geometric mean over"),
        unit,
        x_label: x_label.to_owned(),
        y_label: y_label.to_owned(),
        columns: names(&grid.parameters[x]),
        rows: names(&grid.parameters[y]),
        panels: shown_policies.map(panel).collect(),
        is_around_zero: reference.is_some(),
    }
}

/// What is averaged in a chart over these parameters; `of_seeds` is said of the seeds, if there are several.
fn note(swept: &Swept, over: &[usize], of_seeds: &str) -> String {
    let grid = &swept.plan.grid;
    let mut sentences = Vec::new();
    if let [experiment] = &grid.experiments[..] {
        sentences.push(format!("{experiment}."));
    }
    let others = grid.varying().filter(|(place, _)| !over.contains(place));
    let mut others: Vec<&str> = others.map(|(_, parameter)| parameter.key()).collect();
    if 1 < grid.experiments.len() {
        others.push("experiments");
    }
    if !others.is_empty() {
        sentences.push(format!("Geometric mean over {}.", others.join(", ")));
    }
    if swept
        .results
        .experiments
        .iter()
        .any(|subject| 1 < subject.seeds.len())
    {
        sentences.push(format!("{of_seeds} {}.", counted(grid.seeds.len(), "seed")));
    }
    sentences.join(" ")
}

/// By how much larger the last distance of numbers on a logarithmic axis is than the first.
const APART: f64 = 3.0;

/// Combinations, as places in a list, by the places of their values of the parameters `over`.
pub(super) fn groups(points: &[Point], over: &[usize]) -> BTreeMap<Vec<usize>, Vec<usize>> {
    let mut groups: BTreeMap<Vec<usize>, Vec<usize>> = BTreeMap::new();
    for (place, point) in points.iter().enumerate() {
        let key = over
            .iter()
            .map(|parameter| point.choice[*parameter])
            .collect();
        groups.entry(key).or_default().push(place);
    }
    groups
}

/// The geometric mean of makespans under `policy` over seeds and then over those of `points` with results, all of the
/// same weight; NaN if there are none.
pub(super) fn makespan(results: &Results, points: &[usize], policy: usize) -> f64 {
    let of = |point: &usize| {
        let logarithms = logarithms(results, *point, policy);
        let logarithms: Vec<f64> = logarithms.into_iter().map(|(_, value)| value).collect();
        (!logarithms.is_empty()).then(|| mean(&logarithms))
    };
    let means: Vec<f64> = points.iter().filter_map(of).collect();
    if means.is_empty() {
        f64::NAN
    } else {
        mean(&means).exp()
    }
}

/// The least and the greatest geometric mean over `points` of the makespans with the same seed; `None`: there is one
/// seed, or points have different ones.
pub(super) fn spread(results: &Results, points: &[usize], policy: usize) -> Option<(f64, f64)> {
    let all: Vec<Vec<(u64, f64)>> = points
        .iter()
        .map(|point| logarithms(results, *point, policy))
        .collect();
    let seeds = |of: &[(u64, f64)]| of.iter().map(|(seed, _)| *seed).collect::<Vec<u64>>();
    let first = seeds(all.first()?);
    if first.len() < 2 || all.iter().any(|other| seeds(other) != first) {
        return None;
    }
    let of = |seed: usize| mean(&all.iter().map(|of| of[seed].1).collect::<Vec<f64>>()).exp();
    let means = || (0..first.len()).map(of);
    Some((
        means().fold(f64::INFINITY, f64::min),
        means().fold(f64::NEG_INFINITY, f64::max),
    ))
}

/// Gain of `policy` over the reference, as a part of its makespan: the geometric mean over seeds and then over those of
/// `points` with a gain; NaN if there are none.
pub(super) fn gain(results: &Results, points: &[usize], policy: usize) -> f64 {
    let of = |point: &usize| {
        let ratio = results.blocks(&[*point], policy, results.reference).ratio();
        ratio.map(f64::ln)
    };
    let logarithms: Vec<f64> = points.iter().filter_map(of).collect();
    if logarithms.is_empty() {
        f64::NAN
    } else {
        1.0 - mean(&logarithms).exp()
    }
}

/// The logarithms of makespans, with their seeds.
fn logarithms(results: &Results, point: usize, policy: usize) -> Vec<(u64, f64)> {
    let runs = results.of(point, policy);
    runs.map(|run| (run.seed, run.seconds.ln())).collect()
}

/// The page: what was run, charts over every parameter and every two of the first ones, and a table.
pub fn page(swept: &Swept) -> String {
    let report = Report::new(swept);
    let headings = [
        Heading::new("sweep", "Sweep"),
        Heading::new("charts", "Charts"),
        Heading::new("results", "Results"),
    ];
    let [sweep, charts, results] = &headings;
    let sections = html! {
        (sweep)
        (planned(swept))
        (charts)
        @for svg in drawn(swept) { figure { (PreEscaped(svg)) } }
        (results)
        (table(&report))
    };
    let title = format!("Sweep of {}", swept.plan.grid.experiments.join(", "));
    page_of(&title, PREFACE, &headings, &sections)
}

/// Charts over every parameter that varies, then over every two of the first ones.
fn drawn(swept: &Swept) -> Vec<String> {
    let varying: Vec<usize> = swept.plan.grid.varying().map(|(place, _)| place).collect();
    let first = &varying[..varying.len().min(PAIRED)];
    let pairs = first.iter().enumerate().flat_map(|(place, x)| {
        let others = first[place + 1..].iter();
        others.map(move |y| vec![*x, *y])
    });
    let single = varying.iter().map(|place| vec![*place]);
    single
        .chain(pairs)
        .map(|over| chart(swept, &over))
        .collect()
}

fn planned(swept: &Swept) -> Markup {
    let (plan, grid) = (&swept.plan, &swept.plan.grid);
    html! {
        table {
            tr { th { "parameter" } th { "values" } }
            tr { td { "experiment" } td { (grid.experiments.join(", ")) } }
            @for parameter in &grid.parameters {
                tr { td { (parameter.key()) } td { (parameter.list()) } }
            }
            tr { td { "policy" } td { (plan.policies.join(", ")) } }
            tr { td { "seed" } td { (seeds(&grid.seeds)) } }
            @if let Some(shard) = grid.shard { tr { td { "shard" } td { (shard) } } }
            tr { td { "runs" } td { (swept.runs()) " of " (plan.runs) } }
            tr { td { "program" } td { (swept.version) ", build " code { (swept.build) } } }
        }
    }
}

fn table(report: &Report) -> Markup {
    let varying: Vec<usize> = (0..report.parameters.len())
        .filter(|place| report.parameters[*place].varies())
        .collect();
    let has_files = 1 < report.experiments.len();
    let has_failures = !report.failures.is_empty();
    let shown_rows = &report.summaries[..report.summaries.len().min(ROWS)];
    let row = |summary: &SweptSummary| {
        html! {
            tr {
                @if has_files { td { (summary.experiment) } }
                @for place in &varying { td { (shown(&summary.values[*place])) } }
                td { (summary.policy) }
                td.number { (summary.runs) }
                td.number { @if let Some(seconds) = summary.seconds { (rounded(seconds, 3)) } }
                td.number { @if let Some(margin) = summary.seconds_margin { (rounded(margin, 3)) } }
                td.number { @if let Some(gain) = summary.gain { (unbroken(gain)) } }
                td.number { @if let Some(calls) = summary.calls { (rounded(calls, 1)) } }
                td.number { @if let Some(moves) = summary.migrations { (rounded(moves, 1)) } }
                td.number { @if let Some(overhead) = summary.overhead { (unbroken(overhead)) } }
                @if has_failures { td { (failed_of(summary.failed, summary.runs)) } }
            }
        }
    };
    html! {
        table {
            tr {
                @if has_files { th { "experiment" } }
                @for place in &varying { th { (report.parameters[*place].key()) } }
                th { "policy" } th { "runs" } th { "seconds" } th { "±" } th { "gain" } th { "calls" }
                th { "moves" } th { "in calls" }
                @if has_failures { th { "error" } }
            }
            @for summary in shown_rows { (row(summary)) }
        }
        @if shown_rows.len() < report.summaries.len() {
            p { (report.summaries.len() - shown_rows.len()) " more rows are in runs.csv." }
        }
    }
}

/// A percentage, number and sign in one line.
fn unbroken(part: f64) -> String {
    percent(part).replace(' ', "\u{a0}")
}

const PREFACE: &str = "Every combination of values under every policy. Makespans are means over the seeds of experiments \
    that draw random numbers, ± half of a 95 % confidence interval; gains are parts of the makespan of scenario i, \
    geometric means over pairs of runs with the same seed. In charts over one or two parameters the others are averaged.";

/// Parameters of which every two have a chart.
const PAIRED: usize = 3;
/// Rows of the table.
const ROWS: usize = 2000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::fail;
    use crate::sweep::grid::tests::grid;
    use crate::sweep::report::tests::swept;

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
        let note =
            "a.toml. Geometric mean over a.y. Bars: the least and the greatest over 2 seeds.";
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
}
