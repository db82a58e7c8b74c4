//! Several runs beside each other.

use maud::{Markup, PreEscaped, html};

use super::reported_run::ReportedRun;
use crate::explain::{Sheet, first_difference, table};
use crate::pictures;
use crate::text::{duration, rounded};

/// A table of the runs and their superstep times in one picture; nothing for one run.
pub(super) fn comparison(runs: &[ReportedRun]) -> Markup {
    let [first, _, ..] = runs else {
        return html! {};
    };
    let named: Vec<_> = runs
        .iter()
        .map(|run| (run.name.as_str(), &run.history))
        .collect();
    html! {
        (table(&sheet(runs, first)))
        @for sentence in differences(runs, first) { p.warning role="note" { (sentence) } }
        figure.picture data-run="all" { (PreEscaped(pictures::compared(&named))) }
    }
}

fn sheet(runs: &[ReportedRun], first: &ReportedRun) -> Sheet {
    let rows = runs.iter().map(|run| {
        let against = |other: Option<f64>| match other {
            Some(other) if 0.0 < other && run.is_complete() => {
                format!("{:+.2} %", (run.seconds() / other - 1.0) * 100.0)
            }
            _ => String::new(),
        };
        let total = run.view.bins.total();
        let others =
            Some(first.seconds()).filter(|_| first.is_complete() && run.name != first.name);
        vec![
            run.name.clone(),
            run.manifest.policy().unwrap_or("none").to_owned(),
            run.history.run.scenario.clone(),
            run.history.end.supersteps.to_string(),
            if run.is_complete() {
                rounded(run.seconds(), 3)
            } else {
                format!("{}, not ended", rounded(run.seconds(), 3))
            },
            against(others),
            against(run.alone_seconds()),
            run.history.calls.len().to_string(),
            run.moves().to_string(),
            rounded(total.calls, 3),
            if total.supersteps == 0 {
                String::new()
            } else {
                duration(total.per_superstep(total.seconds))
            },
        ]
    });
    Sheet {
        caption: format!(
            "Runs (times in seconds; shares of {} and of scenario i)",
            first.name
        ),
        headers: vec![
            "run",
            "policy",
            "scenario",
            "supersteps",
            "time",
            "against the first",
            "against i",
            "calls",
            "moves",
            "calls took",
            "mean superstep",
        ],
        rows: rows.collect(),
        ..Sheet::default()
    }
}

/// Why runs cannot be compared as runs of one experiment.
fn differences(runs: &[ReportedRun], first: &ReportedRun) -> Vec<String> {
    let others = runs.iter().filter(|run| run.name != first.name);
    let differences = others.filter_map(|run| {
        let (one, other) = (&first.manifest, &run.manifest);
        if let Some([key, here, there]) = first_difference(one, other) {
            return Some(format!(
                "{} and {} are runs of different experiments: `{key}` is {here} in the one and {there} in the other.",
                first.name, run.name
            ));
        }
        (one.platform_sha256 != other.platform_sha256).then(|| {
            format!("{} and {} are runs on different platforms.", first.name, run.name)
        })
    });
    differences.collect()
}
