//! The results as tables.

use super::checks::{Check, Source};
use super::report::{CurveReport, Report};
use crate::sheet::{self, Sheet};
use analysis::text::Layout;

/// A table for each set of rules, then the checks, then notes on method.
pub fn text(report: &Report, layout: Layout) -> String {
    sheet::text(sheets(report), &notes(report), layout)
}

pub(super) fn sheets(report: &Report) -> Vec<Sheet> {
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
    let mut headers = vec!["machines".to_owned(), "power".to_owned()];
    headers.extend(report.sizes.iter().map(|size| format!("N = {size}")));
    let row = |curve: &CurveReport| {
        let mut cells = vec![curve.machines.to_owned(), format!("{:.2}", curve.power)];
        cells.extend(of(curve).iter().map(|speedup| format!("{speedup:.2}")));
        cells
    };
    Sheet {
        title: title.to_owned(),
        headers,
        rows: report.curves.iter().map(row).collect(),
    }
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
    Sheet {
        title: "Checks: C, S and D are statements of the paper, W are ours".to_owned(),
        headers: ["check", "of", "limit", "ours", ""]
            .map(str::to_owned)
            .to_vec(),
        rows: report.checks.iter().map(row).collect(),
    }
}

pub(super) fn notes(report: &Report) -> String {
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
