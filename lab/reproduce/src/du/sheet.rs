//! Results as tables of texts.

use crate::du::check::Check;
use crate::du::report::{Point, Report};
use crate::sheet::Sheet;
use crate::text;

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
        let with_unit = |number: String| format!("{number} {}", check.unit).trim_end().to_owned();
        vec![
            check.id.to_owned(),
            check.claim.clone(),
            optional(check.paper, |paper| with_unit(paper.to_string())),
            with_unit(digits(check.ours)),
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

/// A number with four digits that say something; a whole one as it is.
fn digits(number: f64) -> String {
    if number.fract() == 0.0 {
        return format!("{number:.0}");
    }
    match number.abs() {
        1.0.. => format!("{number:.3}"),
        0.001.. => format!("{number:.5}"),
        0.000_01.. => format!("{number:.7}"),
        // Rounding.
        ..1e-12 => "0".to_owned(),
        _ => format!("{number:.1e}"),
    }
}

/// A relative error in percent; one that is shown as nothing has no sign of its own.
fn signed(error: f64) -> String {
    text::signed(if error.abs() < 5e-5 { 0.0 } else { error })
}

fn headers(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn optional(number: Option<f64>, text: impl FnOnce(f64) -> String) -> String {
    number.map_or_else(String::new, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_digits_that_say_something() {
        let numbers = [
            13.0,
            15.898_73,
            0.010_789_2,
            0.000_402_601,
            1.75e-8,
            1.754e-14,
        ];
        let texts = numbers.map(digits);
        assert_eq!(
            texts,
            ["13", "15.899", "0.01079", "0.0004026", "1.8e-8", "0"]
        );
        assert_eq!([-1e-9, -0.001].map(signed), ["+0.00 %", "-0.10 %"]);
    }
}
