//! A sweep as a self-contained page.

use maud::{Markup, PreEscaped, html};

use crate::compare::failed_of;
use crate::page::{Heading, page_of};
use crate::sweep::chart::chart;
use crate::sweep::parameter::shown;
use crate::sweep::plan::seeds;
use crate::sweep::report::{Report, SweptSummary};
use crate::sweep::swept::Swept;
use crate::sweep::text::percent;
use crate::text::rounded;

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
    use crate::sweep::swept::tests::swept;

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
