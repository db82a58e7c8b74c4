//! The results as tables, as text and as a page.

use analysis::chart::{Lines, Scale, Series, Style};
use analysis::document::Document;

use crate::santana::checks::{Check, Source};
use crate::santana::{CurveReport, Report};
use crate::sheet::{self, Sheet};

/// A table for each set of rules, then the checks, then notes on method.
pub fn document(report: &Report) -> Document {
    sheet::document(sheets(report), notes(report))
}

fn sheets(report: &Report) -> Vec<Sheet> {
    vec![
        speedups(
            report,
            "Speedups with block-cyclic dealing; hosts join while all wait",
            |curve| &curve.block_cyclic,
        ),
        speedups(
            report,
            "Speedups with weighted dealing; hosts are prepared beside the computation, if that pays",
            |curve| &curve.weighted,
        ),
        checks(report),
    ]
}

fn speedups(report: &Report, title: &str, of: fn(&CurveReport) -> &[f64]) -> Sheet {
    let sizes = report.sizes.map(|size| format!("N = {size}"));
    let headers = [
        &["machines", "power"][..],
        &sizes.each_ref().map(String::as_str),
    ]
    .concat();
    let row = |curve: &CurveReport| {
        let mut cells = vec![curve.machines.to_owned(), format!("{:.2}", curve.power)];
        cells.extend(of(curve).iter().map(|speedup| format!("{speedup:.2}")));
        cells
    };
    Sheet::new(title, &headers, report.curves.iter().map(row))
}

fn checks(report: &Report) -> Sheet {
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.3}"));
    let row = |check: &Check| {
        let verdict = match (check.holds, check.source) {
            (None, _) => "not checkable",
            (Some(true), Source::Inferred) => "holds (inferred)",
            (Some(false), Source::Inferred) => "missed (inferred)",
            (Some(true), _) => "holds",
            (Some(false), _) => "missed",
        };
        vec![
            check.id.to_owned(),
            check.claim.to_owned(),
            number(check.limit),
            number(check.value),
            verdict.to_owned(),
        ]
    };
    Sheet::new(
        "Checks: C, S and D are statements of the paper, W are ours",
        &["check", "of", "limit", "ours", ""],
        report.checks.iter().map(row),
    )
}

fn notes(report: &Report) -> String {
    let constants = &report.calibration;
    let [first, second, third] = constants.creation;
    format!(
        "A speedup is the time of worker02 alone by that of the run. Machines are counted with the master, which deals and
does not compute; they are added in the order of the paper. Power is the sum of the powers of the workers in Table 3.
The paper prints curves without numbers, so its statements are checked and not its values. Not in the paper, and our
calibration: blocks of {} rows, thresholds of {} %, hosts that join after {} % of the rows, {first}, {second} and {third} s to create a process on
worker03, worker05 and worker04, a network of 8.26 MB/s, and the orders between 600 and 2000.
`cargo run --release -p integration-tests --example santana` tries others. The experiments are conf/santana/hnow.toml and
conf/santana/weighted.toml. S3b is not stated: the paper names five machines as the exception at N = 600, and not six.",
        constants.block,
        100.0 * constants.threshold,
        100.0 * constants.part,
    )
}

/// The page.
#[must_use]
pub fn page(report: &Report) -> String {
    sheet::page(
        "Hosts that join a task farm: the paper's rules and ours",
        &notes(report),
        &sheets(report),
        &[chart(report), ours(report)],
    )
}

/// Figure 7 of the paper with its rules: the speedups of all clusters by the order of the matrices.
#[must_use]
pub fn chart(report: &Report) -> String {
    lines(
        report,
        "Figures 4 to 7: block-cyclic dealing, hosts join while all wait",
        |curve| &curve.block_cyclic,
    )
}

fn ours(report: &Report) -> String {
    lines(
        report,
        "The same with weighted dealing and hosts that are prepared beside the computation",
        |curve| &curve.weighted,
    )
}

fn lines(report: &Report, title: &str, of: fn(&CurveReport) -> &[f64]) -> String {
    let series = |curve: &CurveReport| Series {
        name: format!("{} machines", curve.machines),
        points: report
            .sizes
            .iter()
            .map(|size| f64::from(*size))
            .zip(of(curve).iter().copied())
            .collect(),
        style: if curve.machines.contains('+') {
            Style::Dashed
        } else {
            Style::Line
        },
        ..Series::default()
    };
    let lines = Lines {
        title: title.to_owned(),
        note: "Machines are counted with the master; 3 + 2 means that two join three.".to_owned(),
        x_label: "order of the matrices".to_owned(),
        y_label: "speedup against worker02".to_owned(),
        x_is_log: false,
        y_scale: Scale::Linear,
        series: report.curves.iter().map(series).collect(),
        ..Lines::default()
    };
    lines.svg()
}
