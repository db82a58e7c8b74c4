//! A sweep as text.

use crate::compare::{Subject, failed_of, failures};
use crate::sweep::limit::factors;
use crate::sweep::parameter::{Parameter, shown};
use crate::sweep::plan::{Plan, seeds};
use crate::sweep::report::{Report, SweptSummary};
use crate::text::{Layout, TimeUnit, counted, rounded};

/// What a sweep will do: the number of runs, and what it goes through.
pub fn planned(plan: &Plan, subjects: &[Subject], layout: Layout) -> String {
    let grid = &plan.grid;
    let runs = usize::try_from(plan.runs).unwrap_or(usize::MAX);
    let part = grid
        .shard
        .map_or_else(String::new, |shard| format!(" in shard {shard}"));
    let mut text = format!(
        "{}{part}: {}\n\n",
        counted(runs, "run"),
        factors(grid, plan.policies.len())
    );
    let row = |parameter: &Parameter| vec![parameter.key().to_owned(), parameter.list()];
    let mut rows = vec![vec!["experiment".to_owned(), grid.experiments.join(", ")]];
    rows.extend(grid.parameters.iter().map(row));
    rows.push(vec!["policy".to_owned(), plan.policies.join(", ")]);
    rows.push(vec!["seed".to_owned(), seeds(&grid.seeds)]);
    text.push_str(&layout.table(&["parameter", "values"], rows));
    let still = subjects.iter().filter(|subject| !subject.draws).count();
    if 0 < still && 1 < grid.seeds.len() {
        let what = counted(still, "combination");
        let first = grid.seeds[0];
        text.push_str(&format!(
            "\n{what} of {} without random numbers: run with seed {first} alone.\n",
            subjects.len()
        ));
    }
    text
}

/// The results.
pub fn text(report: &Report, layout: Layout) -> String {
    let varying: Vec<usize> = (0..report.parameters.len())
        .filter(|place| report.parameters[*place].varies())
        .collect();
    let has_files = 1 < report.experiments.len();
    let mut headers: Vec<&str> = Vec::new();
    if has_files {
        headers.push("experiment");
    }
    headers.extend(varying.iter().map(|place| report.parameters[*place].key()));
    let first = headers.len();
    let unit = TimeUnit::of(
        report
            .summaries
            .iter()
            .filter_map(|summary| summary.seconds),
    );
    headers.extend(["policy", "runs", unit.heading(), "±"]);
    if report.reference.is_some() {
        headers.extend(["gain", "gain, 95 %"]);
    }
    headers.extend(["calls", "moves", "in calls"]);
    if !report.failures.is_empty() {
        headers.push("error");
    }
    // The counts and the interval first, then what the makespan shows, too.
    let dispensable: Vec<usize> = ["runs", "gain, 95 %", "in calls", "±", "calls", "moves"]
        .iter()
        .filter_map(|name| headers.iter().skip(first).position(|header| header == name))
        .map(|place| first + place)
        .collect();
    let row = |summary: &SweptSummary| {
        let mut row: Vec<String> = Vec::new();
        if has_files {
            row.push(summary.experiment.clone());
        }
        row.extend(varying.iter().map(|place| shown(&summary.values[*place])));
        row.extend(cells(report, summary, unit));
        row
    };
    let (kept, left_out) = layout.cut(report.summaries.len(), ROWS);
    let rows = report.summaries[..kept].iter().map(row);
    let mut text = layout.reduced_table(&headers, rows, &dispensable);
    if 0 < left_out {
        text.push_str(&format!(
            "… {} more: --all shows them\n",
            counted(left_out, "row")
        ));
    }
    if let Some(best) = best(report, unit, layout) {
        text.push_str(&format!("\n{best}"));
    }
    if !report.failures.is_empty() {
        text.push_str(&format!("\n{}", failures(&report.failures)));
    }
    text
}

/// The cells after those of the combination.
fn cells(report: &Report, summary: &SweptSummary, unit: TimeUnit) -> Vec<String> {
    let time = |seconds: Option<f64>| seconds.map_or_else(String::new, |time| unit.text(time, 3));
    let mean = |mean: Option<f64>| mean.map_or_else(String::new, |mean| rounded(mean, 1));
    let mut cells = vec![
        summary.policy.clone(),
        summary.runs.to_string(),
        time(summary.seconds),
        time(summary.seconds_margin),
    ];
    if let Some(reference) = &report.reference {
        let is_compared = summary.policy != *reference;
        let compared = |text: Option<String>| text.filter(|_| is_compared).unwrap_or_default();
        cells.push(compared(summary.gain.map(percent)));
        let ends = summary.gain_low.zip(summary.gain_high);
        cells.push(compared(ends.map(|(low, high)| {
            format!("{} to {}", percent(low), percent(high))
        })));
    }
    cells.extend([
        mean(summary.calls),
        mean(summary.migrations),
        summary.overhead.map_or_else(String::new, percent),
    ]);
    if !report.failures.is_empty() {
        cells.push(failed_of(summary.failed, summary.runs));
    }
    cells
}

/// The combination that is best for each policy: the one with the largest gain, or the shortest makespan.
fn best(report: &Report, unit: TimeUnit, layout: Layout) -> Option<String> {
    let has_choice = report.parameters.iter().any(Parameter::varies);
    if !has_choice && report.experiments.len() < 2 {
        return None;
    }
    let compared = |policy: &&String| Some(*policy) != report.reference.as_ref();
    let of = |policy: &String| -> Option<Vec<String>> {
        let summaries = report.summaries.iter();
        let summaries = summaries.filter(|summary| summary.policy == *policy);
        let size = |summary: &SweptSummary| match &report.reference {
            Some(_) => summary.gain,
            None => summary.seconds.map(|seconds| -seconds),
        };
        let known = summaries.filter_map(|summary| Some((summary, size(summary)?)));
        // The first of equals.
        let (best, size) = known
            .rev()
            .max_by(|(_, left), (_, right)| left.total_cmp(right))?;
        let value = match &report.reference {
            Some(_) => percent(size),
            None => unit.text(-size, 3),
        };
        Some(vec![policy.clone(), value, combination(report, best)])
    };
    let rows: Vec<Vec<String>> = report
        .policies
        .iter()
        .filter(compared)
        .filter_map(of)
        .collect();
    if rows.is_empty() {
        return None;
    }
    let (title, column) = match &report.reference {
        Some(reference) => (format!("Largest gains against {reference}"), "gain"),
        None => ("Shortest makespans".to_owned(), unit.heading()),
    };
    let table = layout.table(&["policy", column, "with"], rows);
    Some(format!("{title}\n\n{table}"))
}

/// The experiment, if there are several, and the values that vary.
pub(super) fn combination(report: &Report, summary: &SweptSummary) -> String {
    let varying = report.parameters.iter().zip(&summary.values);
    let varying = varying.filter(|(parameter, _)| parameter.varies());
    let values = varying.map(|(parameter, value)| format!("{}={}", parameter.key(), shown(value)));
    let file = (1 < report.experiments.len()).then(|| summary.experiment.clone());
    file.into_iter()
        .chain(values)
        .collect::<Vec<String>>()
        .join(" ")
}

/// A part as a percentage; values near zero have no sign.
pub(super) fn percent(part: f64) -> String {
    let text = format!("{:.2} %", part * 100.0);
    match text.strip_prefix("-0.00") {
        Some(_) => "0.00 %".to_owned(),
        None => text,
    }
}

/// Rows that are shown of a long table.
const ROWS: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::swept::tests::swept;

    const MAKESPANS: [&[&[f64]]; 2] = [
        &[&[10.0, 20.0], &[9.0, 18.0]],
        &[&[10.0, 20.0], &[8.0, 16.0]],
    ];

    #[test]
    fn the_text_shows_every_combination_and_the_best_one() {
        let report = Report::new(&swept(&["a.x=2,4", "a.y=7"], &MAKESPANS));
        let text = text(&report, Layout::default());
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
        let text = text(&Report::new(&swept), Layout::default());
        assert!(!text.contains("gain"), "{text}");
        assert!(text.contains("Shortest makespans"), "{text}");
        assert!(text.contains(" none       15.000  a.x=2\n"), "{text}");
    }

    #[test]
    fn long_tables_are_cut_unless_they_are_asked_for() {
        let makespans = vec![MAKESPANS[0]; 30];
        let report = Report::new(&swept(&["a.x=1..30"], &makespans));
        let cut = text(&report, Layout::default());
        assert!(cut.contains("… 20 rows more: --all shows them"), "{cut}");
        let is_whole = true;
        let whole = text(
            &report,
            Layout {
                is_whole,
                ..Layout::default()
            },
        );
        assert!(
            60 < whole.lines().count() && !whole.contains("--all"),
            "{whole}"
        );
    }

    #[test]
    fn a_plan_shows_what_it_goes_through() {
        let mut swept = swept(&["a.x=2,4", "a.y=7"], &MAKESPANS);
        swept.results.experiments[0].draws = false;
        let text = planned(&swept.plan, &swept.results.experiments, Layout::default());
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
}
