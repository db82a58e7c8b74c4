//! The paper's numbers and ours as a self-contained page.

use crate::du::report::{Point, Report};
use crate::du::sheet::sheets;
use crate::du::text::notes;
use crate::sheet;
use analysis::chart::{Lines, Scale, Series, Style};

/// The page.
pub fn page(report: &Report) -> String {
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
    };
    lines.svg()
}
