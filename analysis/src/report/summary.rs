//! What a run was and what rescheduling saved.

use maud::{Markup, html};

use super::reported_run::ReportedRun;
use crate::explain::about_run;
use crate::text::{counted, duration, rounded};

/// The headline of a run: its figures, and what there is to say about it.
pub(super) fn summary(run: &ReportedRun) -> Markup {
    let said = about_run(&run.history);
    let headline = run.verdict();
    html! {
        @if !run.is_complete() {
            p.warning role="note" { strong { "Not the whole run. " } (headline) }
        } @else if !headline.is_empty() {
            p.headline { (headline) }
        }
        dl.figures {
            @for (name, value) in figures(run) {
                div { dt { (name) } dd { (value) } }
            }
        }
        @for sentence in said.sentences() {
            @if sentence != &headline { p { (sentence) } }
        }
    }
}

/// Names of figures with their values.
fn figures(run: &ReportedRun) -> Vec<(&'static str, String)> {
    let total = run.view.bins.total();
    let mut figures = vec![
        ("scenario", run.history.run.scenario.clone()),
        ("policy", run.manifest.policy().unwrap_or("none").to_owned()),
        ("processes", run.history.run.placement.len().to_string()),
        ("supersteps", run.history.end.supersteps.to_string()),
        ("time", duration(run.seconds())),
    ];
    if let Some(alone) = run.alone_seconds().filter(|_| run.is_complete()) {
        figures.push(("scenario i", duration(alone)));
        // One pair of runs on real hosts does not tell a saving from noise.
        if !run.is_measured() {
            figures.push(("saved", duration(alone - run.seconds())));
        }
    }
    if let Some(could) = run.attainable_seconds() {
        figures.push(("could be saved, of computing", duration(could)));
    }
    let calls = run.history.calls.len();
    figures.push(("calls", format!("{calls} in {}", duration(total.calls))));
    figures.push(("moves", run.moves().to_string()));
    if 0 < total.supersteps {
        let mean = total.per_superstep(total.seconds);
        figures.push(("mean superstep", duration(mean)));
        let busy = total.mean.filter(|_| 0.0 < total.computation);
        if let Some(mean) = busy {
            let share = 100.0 * mean / total.computation;
            figures.push(("balance of computation", format!("{} %", rounded(share, 1))));
        }
    }
    let joins = run.history.joins.iter().filter(|join| join.joined).count();
    if 0 < joins {
        figures.push(("joined", counted(joins, "host")));
    }
    figures
}
