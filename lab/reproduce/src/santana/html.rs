//! The curves of figures 4 to 7 as pictures, and a page with them.

use super::report::{CurveReport, Report};
use super::text::{notes, sheets};
use crate::sheet;
use analysis::chart::{Lines, Scale, Series, Style};

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
    };
    lines.svg()
}
