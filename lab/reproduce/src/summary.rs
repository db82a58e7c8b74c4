//! Conclusions from the papers' numbers and ours, without the numbers.

use std::collections::BTreeMap;

use crate::report::Report;
use crate::text::{conclusions, percent};
use analysis::text::Layout;

/// Means by part and scenario, then gains, then migrations.
pub fn summary(report: &Report, layout: Layout) -> String {
    let parts: Vec<String> = conclusions(report, means, layout).collect();
    parts.join("\n")
}

fn means(report: &Report, layout: Layout) -> String {
    let mut rows: Vec<(&str, BTreeMap<&str, f64>)> = Vec::new();
    for mean in &report.means {
        if rows.last().is_none_or(|(over, _)| *over != mean.over) {
            rows.push((&mean.over, BTreeMap::new()));
        }
        if let Some((_, errors)) = rows.last_mut() {
            errors.insert(mean.scenario, mean.error);
        }
    }
    let mut scenarios: Vec<&str> = Vec::new();
    for mean in &report.means {
        if !scenarios.contains(&mean.scenario) {
            scenarios.push(mean.scenario);
        }
    }
    let headers: Vec<&str> = ["over"].into_iter().chain(scenarios.clone()).collect();
    let rows = rows.into_iter().map(|(over, errors)| {
        let error = |scenario: &&str| {
            errors
                .get(scenario)
                .copied()
                .map_or_else(String::new, percent)
        };
        let over = over.to_owned();
        [over]
            .into_iter()
            .chain(scenarios.iter().map(error))
            .collect()
    });
    format!(
        "Mean absolute relative errors\n\n{}",
        layout.table(&headers, rows)
    )
}
