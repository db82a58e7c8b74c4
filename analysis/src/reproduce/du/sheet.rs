//! Results as tables of texts.

use crate::reproduce::du::check::Check;
use crate::reproduce::du::report::{Point, Report};
use crate::reproduce::sheet::Sheet;
use crate::reproduce::text::signed;
use crate::text::rounded;

/// The moves, then the checks.
pub(super) fn sheets(report: &Report) -> Vec<Sheet> {
    vec![moves(report), checks(report)]
}

fn moves(report: &Report) -> Sheet {
    let row = |point: &Point| {
        vec![
            format!("{:.3}", point.megabytes()),
            format!("{:.4}", point.seconds),
            format!("{:.4}", point.later_seconds),
            format!("{:.4}", point.predicted_seconds),
            signed(point.predicted_error),
            optional(point.paper_seconds, |paper| format!("{paper:.2}")),
            optional(point.paper_error, signed),
        ]
    };
    Sheet {
        title: "Figure 1: cost of a migration (seconds) by size of the state".to_owned(),
        headers: headers(&["MB", "C", "later", "α0 + μ f", "error", "paper", "error"]),
        rows: report.points.iter().map(row).collect(),
    }
}

fn checks(report: &Report) -> Sheet {
    let row = |check: &Check| {
        let number = |number: f64| {
            let digits = if number.fract() == 0.0 { 0 } else { 4 };
            let text = match digits {
                0 => format!("{number:.0}"),
                digits => rounded(number, digits),
            };
            format!("{text} {}", check.unit).trim_end().to_owned()
        };
        vec![
            check.id.to_owned(),
            check.claim.clone(),
            optional(check.paper, number),
            number(check.ours),
            optional(check.error, signed),
            if check.holds { "holds" } else { "missed" }.to_owned(),
        ]
    };
    Sheet {
        title: "Checks: to the precision of the printed numbers".to_owned(),
        headers: headers(&["check", "of", "paper", "ours", "error", ""]),
        rows: report.checks.iter().map(row).collect(),
    }
}

fn headers(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn optional(number: Option<f64>, text: impl FnOnce(f64) -> String) -> String {
    number.map_or_else(String::new, text)
}
