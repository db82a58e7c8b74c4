//! The results as tables, as text and as a page.

use analysis::chart::{Lines, Scale, Series, Style};
use analysis::document::Document;

use crate::du::{Check, ENDS, Point, RATE, Report, STARTUP};
use crate::sheet::{self, Sheet, verdict};
use crate::text;

/// Tables first, then notes on method.
pub(crate) fn document(report: &Report) -> Document {
    sheet::document(sheets(report), notes(report))
}

/// Notes on method, and on numbers of the paper that contradict each other.
fn notes(report: &Report) -> String {
    let [_, (size, high)] = ENDS;
    let megabytes = bsp::units::Bytes(size).as_f64() / 1e6;
    let formula = STARTUP.value + RATE.value * megabytes;
    let bandwidth = report.bandwidth / 1e6;
    let (alone, all) = (1.0 / bandwidth, report.line.slope);
    format!(
        "Every move is simulated: one process between two hosts with a link of {bandwidth:.1} MB/s (conf/du2007/figure1.toml).
C is the time from sending the state until it has arrived; later is by how much the run ends later than without
the move, as 3-2 defines C; α0 + μ f is what the scheduler predicts from the printed α0 and μ. The state crosses
the link with α1 times its bytes (scheduler.transfer_factor), as μ = α1 / b says: packing and unpacking that the
link waits for. The link alone needs {alone:.4} of the {all:.4} s/MB. α0 is the latency of the link; the agent of the
process goes with the state. α0 and α1 are inputs: that they come out again says how little agents and network
add to them. The printed numbers contradict each other: α0 + μ f of {megabytes} MB is {formula:.2} s, {:+.1} % of the
printed {} s.",
        (formula / high.value - 1.0) * 100.0,
        high.value,
    )
}

/// The moves, then the checks.
fn sheets(report: &Report) -> Vec<Sheet> {
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
    Sheet::new(
        "Figure 1: cost of a migration (seconds) by size of the state",
        &["MB", "C", "later", "α0 + μ f", "error", "paper", "error"],
        report.points.iter().map(row),
    )
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
            verdict(check.holds),
        ]
    };
    Sheet::new(
        "Checks: to the precision of the printed numbers",
        &["check", "of", "paper", "ours", "error", ""],
        report.checks.iter().map(row),
    )
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

fn optional(number: Option<f64>, text: impl FnOnce(f64) -> String) -> String {
    number.map_or_else(String::new, text)
}

/// The page.
pub(crate) fn page(report: &Report) -> String {
    sheet::page(
        "The cost of migration: the paper's numbers and ours",
        &notes(report),
        &sheets(report),
        &[chart(report)],
    )
}

/// Simulated, predicted and published costs by size.
fn chart(report: &Report) -> String {
    let series = |name: &str, style, cost: fn(&Point) -> Option<f64>| Series {
        name: name.to_owned(),
        points: report
            .points
            .iter()
            .filter_map(|point| Some((point.megabytes(), cost(point)?)))
            .collect(),
        style,
        ..Series::default()
    };
    let lines = Lines {
        title: "Figure 1: cost of a migration by size of the state".to_owned(),
        note: String::new(),
        x_label: "state (MB)".to_owned(),
        y_label: "cost (seconds)".to_owned(),
        x_is_log: false,
        y_scale: Scale::Linear,
        series: vec![
            series("simulated", Style::Line, |point| Some(point.seconds)),
            series("α0 + μ f", Style::Dashed, |point| {
                Some(point.predicted_seconds)
            }),
            series("paper", Style::Marks, |point| point.paper_seconds),
        ],
        ..Lines::default()
    };
    lines.svg()
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
