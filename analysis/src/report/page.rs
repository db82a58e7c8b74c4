//! The page: one file without a network or a server.

use std::collections::BTreeMap;

use experiments::{Failure, Provenance, Registry};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde::Serialize;
use serde_json::Value;

use crate::document::Table;
use crate::explain::{CallAnswers, about_run, answers, call_line};
use crate::pictures;
use crate::pictures::{JobViews, Picture};
use crate::report::ReportedRun;
use crate::run::{RunCall, first_difference};
use crate::text::{counted, duration, maybe, rounded};

/// What a page is for.
#[derive(Clone, Copy, Debug)]
pub(super) enum PageKind<'a> {
    /// A file, which has all that it needs.
    File,
    /// A server, which has its scripts at these paths and says what the page may do. The parts of the page are replaced
    /// while the run goes on.
    Live(&'a [&'a str]),
}

/// The page about `runs`.
///
/// # Errors
///
/// If a record is no longer readable.
pub(super) fn page(
    runs: &[ReportedRun],
    registry: &Registry,
    kind: PageKind<'_>,
) -> Result<String, Failure> {
    let names: Vec<&str> = runs.iter().map(|run| run.name.as_str()).collect();
    let title = format!("Report on {}", names.join(", "));
    let sections = sections(runs, registry, kind)?;
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                @if let PageKind::File = kind {
                    meta http-equiv="Content-Security-Policy" content=(POLICY);
                }
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#summary" { "Skip to the summary" }
                header {
                    h1 { (title) }
                    nav aria-label="Contents" {
                        ul {
                            @for section in &sections {
                                li { a href=(format!("#{}", section.id)) { (section.title) } }
                            }
                        }
                    }
                }
                main {
                    @for section in &sections {
                        section aria-labelledby=(section.id) {
                            h2 id=(section.id) { (section.title) }
                            (section.content)
                        }
                    }
                }
                div #tip role="status" aria-live="polite" hidden {}
                @match kind {
                    PageKind::File => script { (PreEscaped(SCRIPT)) },
                    PageKind::Live(scripts) => @for script in scripts { script src=(script) {} },
                }
            }
        }
    };
    Ok(page.into_string() + "\n")
}

/// A part of the page.
struct Section {
    id: &'static str,
    title: &'static str,
    content: Markup,
}

fn sections(
    runs: &[ReportedRun],
    registry: &Registry,
    kind: PageKind<'_>,
) -> Result<Vec<Section>, Failure> {
    let mut sections = vec![Section {
        id: "summary",
        title: "Summary",
        content: html! {
            (comparison(runs))
            (beside(runs, |_, run| Ok(summary(run)))?)
        },
    }];
    let calls: Vec<Calls> = runs.iter().map(Calls::of).collect();
    let made = runs.iter().map(|run| run.provenance(registry));
    let made: Vec<_> = made.collect::<Result<_, _>>()?;
    if let PageKind::File = kind {
        sections.extend(views(runs, &made)?);
    }
    // The parts of a page that grows are there from the beginning.
    let is_live = matches!(kind, PageKind::Live(_));
    let has_notes = is_live || runs.iter().any(|run| !run.model.notes.curves().is_empty());
    for figure in FIGURES
        .iter()
        .filter(|figure| has_notes || figure.id != NOTES)
    {
        sections.push(Section {
            id: figure.id,
            title: figure.title,
            content: beside(runs, |index, run| {
                let data = (&calls[index], &made[index]);
                figure.figure(&prefix(index), run, data)
            })?,
        });
    }
    sections.push(Section {
        id: "calls",
        title: "Calls",
        content: beside(runs, |index, run| {
            calls[index].section(&prefix(index), run, &made[index])
        })?,
    });
    sections.push(Section {
        id: "configuration",
        title: "Configuration and provenance",
        content: beside(runs, |_, run| configuration(run, registry))?,
    });
    Ok(sections)
}

/// How the jobs of runs went on when nodes were lost, if one was.
fn views(runs: &[ReportedRun], made: &[Provenance]) -> Result<Option<Section>, Failure> {
    let views = runs.iter().map(ReportedRun::job_views);
    let views: Vec<JobViews> = views.collect::<Result<_, _>>()?;
    if !views.iter().any(JobViews::has_later) {
        return Ok(None);
    }
    let content = beside(runs, |index, run| {
        let views = &views[index];
        let own = run.model.run.view.as_ref().map_or(1, |view| view.number);
        let drawn = views.picture();
        let drawn =
            drawn.map(|picture| drawn_figure((VIEWS, picture), &prefix(index), None, &made[index]));
        Ok(html! {
            @if views.has_later() {
                @for sentence in views.sentences() { p { (sentence) } }
                @if let Some(missing) = views.missing() {
                    p { "The record of view " (missing) " is not beside the others." }
                }
                @if let Some(figure) = drawn.transpose()? { (figure) }
                p { "All else on this page is about view " (own) "." }
            } @else {
                p { (run.name) ": the job had one view." }
            }
        })
    })?;
    Ok(Some(Section {
        id: VIEWS,
        title: "Views of the job",
        content,
    }))
}

/// A part of every run, beside each other.
fn beside(
    runs: &[ReportedRun],
    part: impl Fn(usize, &ReportedRun) -> Result<Markup, Failure>,
) -> Result<Markup, Failure> {
    let parts = runs
        .iter()
        .enumerate()
        .map(|(index, run)| Ok((run, part(index, run)?)));
    let parts: Vec<_> = parts.collect::<Result<_, Failure>>()?;
    Ok(html! {
        div.runs {
            @for (run, part) in &parts {
                div.run {
                    @if 1 < parts.len() { h3 { (run.name) } }
                    (part)
                }
            }
        }
    })
}

/// What the anchors of a run begin with.
fn prefix(index: usize) -> String {
    format!("r{}", index + 1)
}

/// Nothing is fetched from anywhere.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";
const STYLE: &str = include_str!("report.css");
pub(super) const SCRIPT: &str = include_str!("report.js");

/// The headline of a run: its figures, and what there is to say about it.
pub(super) fn summary(run: &ReportedRun) -> Markup {
    let said = about_run(&run.model);
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
    let total = run.model.bins.total();
    let mut figures = vec![
        ("scenario", run.model.run.scenario.clone()),
        (
            "policy",
            run.model.manifest.policy().unwrap_or("none").to_owned(),
        ),
        ("processes", run.model.run.placement.len().to_string()),
        ("supersteps", run.model.end.supersteps.to_string()),
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
    let calls = run.model.calls.len();
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
    let joins = run
        .model
        .joins
        .iter()
        .filter(|join| join.summary.joined)
        .count();
    if 0 < joins {
        figures.push(("joined", counted(joins, "host")));
    }
    figures
}

/// A table of the runs and their superstep times in one picture; nothing for one run.
pub(super) fn comparison(runs: &[ReportedRun]) -> Markup {
    let [first, _, ..] = runs else {
        return html! {};
    };
    let named: Vec<_> = runs
        .iter()
        .map(|run| (run.name.as_str(), &run.model))
        .collect();
    html! {
        (table(runs, first).page())
        @for sentence in differences(runs, first) { p.warning role="note" { (sentence) } }
        figure.picture data-run="all" { (PreEscaped(pictures::compared(&named))) }
    }
}

fn table(runs: &[ReportedRun], first: &ReportedRun) -> Table {
    let against = |run: &ReportedRun, other: Option<f64>| match other {
        Some(other) if 0.0 < other && run.is_complete() => {
            format!("{:+.2} %", (run.seconds() / other - 1.0) * 100.0)
        }
        _ => String::new(),
    };
    let caption = format!(
        "Runs (times in seconds; shares of {} and of scenario i)",
        first.name
    );
    let table = Table::of(
        runs,
        &[
            ("run", &|run| run.name.clone()),
            ("policy", &|run| {
                run.model.manifest.policy().unwrap_or("none").to_owned()
            }),
            ("scenario", &|run| run.model.run.scenario.clone()),
            ("supersteps", &|run| run.model.end.supersteps.to_string()),
            ("time", &|run| {
                let ended = if run.is_complete() { "" } else { ", not ended" };
                format!("{}{ended}", rounded(run.seconds(), 3))
            }),
            ("against the first", &|run| {
                let is_other = first.is_complete() && run.name != first.name;
                against(run, is_other.then(|| first.seconds()))
            }),
            ("against i", &|run| against(run, run.alone_seconds())),
            ("calls", &|run| run.model.calls.len().to_string()),
            ("moves", &|run| run.moves().to_string()),
            ("calls took", &|run| {
                rounded(run.model.bins.total().calls, 3)
            }),
            ("mean superstep", &|run| {
                let total = run.model.bins.total();
                let has_any = 0 < total.supersteps;
                maybe(
                    has_any.then(|| total.per_superstep(total.seconds)),
                    duration,
                )
            }),
        ],
    );
    table.captioned(caption)
}

/// Why runs cannot be compared as runs of one experiment.
fn differences(runs: &[ReportedRun], first: &ReportedRun) -> Vec<String> {
    let others = runs.iter().filter(|run| run.name != first.name);
    let differences = others.filter_map(|run| {
        let (one, other) = (&first.model.manifest, &run.model.manifest);
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

/// A picture of the page: its place, its title, and how it is drawn; `None`: the record does not have what it shows.
struct PageFigure {
    /// The anchor of its section.
    pub(super) id: &'static str,
    /// The title of its section.
    pub(super) title: &'static str,
    draw: fn(&ReportedRun) -> Option<Picture>,
}

/// The anchor of the notes, which many programs do not have.
const NOTES: &str = "notes";

/// The anchor of the views, which a job has that lost nodes.
const VIEWS: &str = "views";

/// All other pictures, in the order of the page.
const FIGURES: [PageFigure; 7] = [
    PageFigure {
        id: "timeline",
        title: "Processes over supersteps",
        draw: |run| pictures::timeline(&run.model),
    },
    PageFigure {
        id: "supersteps",
        title: "Times of supersteps",
        draw: |run| Some(pictures::supersteps(&run.model, String::new())),
    },
    PageFigure {
        id: NOTES,
        title: "Notes of the program",
        draw: |run| pictures::notes(&run.model),
    },
    PageFigure {
        id: "breakdown",
        title: "Where the time went",
        draw: |run| Some(pictures::breakdown(&run.model)),
    },
    PageFigure {
        id: "hosts",
        title: "Hosts over supersteps",
        draw: |run| Some(pictures::hosts(&run.model)),
    },
    PageFigure {
        id: "load",
        title: "Load of hosts",
        draw: |run| Some(pictures::load(&run.model)),
    },
    PageFigure {
        id: "sets",
        title: "Moves between Sets",
        draw: |run| pictures::sets(&run.model),
    },
];

/// A move, for the script: it links the picture with the explanation.
#[derive(Serialize)]
struct LinkedMove {
    superstep: u64,
    process: String,
    from: String,
    to: String,
    /// The anchor of the explanation, if the page has one.
    anchor: Option<String>,
}

impl PageFigure {
    /// The picture of the run whose anchors begin with `prefix`, and its data.
    pub(super) fn figure(
        &self,
        prefix: &str,
        run: &ReportedRun,
        (calls, provenance): (&Calls, &Provenance),
    ) -> Result<Markup, Failure> {
        let Some(picture) = (self.draw)(run) else {
            return Ok(html! { p { (run.name) ": the record does not have what this shows." } });
        };
        let moves = match self.id {
            "timeline" => Some(linked_moves(prefix, run, calls)?),
            _ => None,
        };
        drawn_figure((self.id, picture), prefix, moves, provenance)
    }
}

/// A picture of the section `id`, its data, and the moves that it is linked with.
fn drawn_figure(
    (id, picture): (&str, Picture),
    prefix: &str,
    moves: Option<String>,
    provenance: &Provenance,
) -> Result<Markup, Failure> {
    let csv = picture.table.csv(pictures::SCHEMA, provenance)?;
    Ok(html! {
        figure.picture data-run=(prefix) data-kind=(id) {
            (PreEscaped(picture.svg))
            @if let Some(moves) = moves {
                script.moves type="application/json" { (PreEscaped(moves)) }
            }
            details.data data-file=(format!("{prefix}-{id}")) {
                summary { "Data as a table" }
                pre.csv { (csv) }
            }
        }
    })
}

fn linked_moves(prefix: &str, run: &ReportedRun, calls: &Calls) -> Result<String, Failure> {
    let mut moves = Vec::new();
    let host = |host| run.model.host(host);
    for (index, call) in run.model.calls.iter().enumerate() {
        for (place, moved) in call.migrations.iter().enumerate() {
            moves.push(LinkedMove {
                superstep: call.summary.superstep,
                process: moved.rank.to_string(),
                from: host(moved.from),
                to: host(moved.to),
                anchor: calls.anchor(prefix, run, (index, place)),
            });
        }
    }
    if MOVES < moves.len() {
        moves.clear();
    }
    let json = serde_json::to_string(&moves).map_err(Failure::run)?;
    // Nothing in it ends the element.
    Ok(json.replace('<', "\\u003c"))
}

/// The most moves that are linked.
const MOVES: usize = 2_000;

/// The calls of a run that are explained.
#[derive(Debug)]
pub(super) struct Calls {
    /// For each call by its position, the number of processes that are explained.
    explained: BTreeMap<usize, usize>,
}

impl Calls {
    /// Chooses the calls: those that moved processes come first, and all have the same right to explanations of processes.
    pub(super) fn of(run: &ReportedRun) -> Self {
        let calls = &run.model.calls;
        let moved = |index: &usize| !calls[*index].migrations.is_empty();
        let known = || (0..calls.len()).filter(|index| run.model.has_findings(*index));
        let moving = known().filter(moved);
        let quiet = known().filter(|index| !moved(index));
        let chosen: Vec<usize> = moving.chain(quiet).take(CALLS).collect();
        let movers = chosen.iter().filter(|index| moved(index)).count();
        let each = (PROCESSES / movers.max(1)).clamp(1, PROCESSES_OF_A_CALL);
        let processes = |index: usize| (index, calls[index].migrations.len().min(each));
        Self {
            explained: chosen.into_iter().map(processes).collect(),
        }
    }

    /// The anchor of the explanation of the process at `place` of the moves of the call at `index`, or of the call.
    pub(super) fn anchor(
        &self,
        prefix: &str,
        run: &ReportedRun,
        (index, place): (usize, usize),
    ) -> Option<String> {
        let processes = *self.explained.get(&index)?;
        let call = &run.model.calls[index];
        let anchor = anchor(prefix, call);
        Some(match call.migrations.get(place) {
            Some(moved) if place < processes => format!("{anchor}-{}", moved.rank),
            _ => anchor,
        })
    }

    /// The calls, closed.
    pub(super) fn section(
        &self,
        prefix: &str,
        run: &ReportedRun,
        provenance: &Provenance,
    ) -> Result<Markup, Failure> {
        let calls = &run.model.calls;
        let mut charts = CHARTS;
        let mut parts = Vec::new();
        answers(&run.model, &self.explained, |found| {
            let call = &calls[found.index];
            parts.push(part(&anchor(prefix, call), call, &found, &mut charts));
        })?;
        let csv = all_calls(run).csv(pictures::SCHEMA, provenance)?;
        let left_out = calls.len() - parts.len();
        Ok(html! {
            @if calls.is_empty() { p { "No call was held." } }
            @for part in parts { (part) }
            @if 0 < left_out {
                p {
                    (counted(left_out, "more call")) " without an explanation here: "
                    code { (provenance.build().program()) " explain " (run.model.folder.display()) " --superstep N" }
                }
            }
            @if !calls.is_empty() {
                details.data data-file=(format!("{prefix}-calls")) {
                    summary { "All calls as a table" }
                    pre.csv { (csv) }
                }
            }
        })
    }
}

fn anchor(prefix: &str, call: &RunCall) -> String {
    format!("{prefix}-call-{}", call.summary.superstep)
}

/// A call and the processes that moved in it.
fn part(anchor: &str, call: &RunCall, found: &CallAnswers, charts: &mut usize) -> Markup {
    let mut has_chart = || {
        let is_left = 0 < *charts;
        *charts = charts.saturating_sub(1);
        is_left
    };
    let more = call.migrations.len() - found.processes.len();
    let moves = call.migrations.iter().zip(&found.processes);
    let moves = moves.map(|(moved, answer)| (moved.rank, answer.findings(has_chart()).page()));
    let moves: Vec<_> = moves.collect();
    // The head of the list, where no process moved.
    let has_head = moves.is_empty() && has_chart();
    html! {
        details.call id=(anchor) {
            summary { (call_line(&found.call)) }
            (found.call.findings(has_head).page())
            @for (rank, answer) in moves {
                details.process id=(format!("{anchor}-{rank}")) {
                    summary { "Why " (rank) " moved" }
                    (answer)
                }
            }
            @if 0 < more { p { (counted(more, "more process")) " moved." } }
        }
    }
}

/// All calls.
fn all_calls(run: &ReportedRun) -> Table {
    Table::of(
        run.model.calls.iter().take(ROWS),
        &[
            ("superstep", &|call| call.summary.superstep.to_string()),
            ("at_seconds", &|call| call.summary.at.to_string()),
            ("cost_seconds", &|call| {
                call.summary.cost_seconds.to_string()
            }),
            ("interval", &|call| {
                maybe(call.summary.interval, |interval| interval.to_string())
            }),
            ("processes", &|call| call.listed.to_string()),
            ("candidates", &|call| call.candidates.to_string()),
            ("moves", &|call| call.migrations.len().to_string()),
        ],
    )
}

/// The most calls that are explained.
const CALLS: usize = 200;
/// About how many processes are explained, over all calls.
const PROCESSES: usize = 300;
/// The most processes that are explained for a call.
const PROCESSES_OF_A_CALL: usize = 12;
/// The most charts of potentials.
const CHARTS: usize = 24;
/// The most rows of the table.
const ROWS: usize = 20_000;

/// What made the record of a run, and every value of its configuration.
pub(super) fn configuration(run: &ReportedRun, registry: &Registry) -> Result<Markup, Failure> {
    let provenance = serde_json::to_value(run.provenance(registry)?).map_err(Failure::run)?;
    Ok(html! {
        (values("What made it", &provenance, true))
        (values("Configuration", &run.model.manifest.configuration, false))
    })
}

fn values(title: &str, of: &Value, is_open: bool) -> Markup {
    let mut rows = Vec::new();
    flatten(String::new(), of, &mut rows);
    html! {
        details open[is_open] {
            summary { (title) }
            div.scroll {
                table {
                    thead { tr { th scope="col" { "key" } th scope="col" { "value" } } }
                    tbody {
                        @for (key, value) in rows {
                            tr { th scope="row" { (key) } td { code { (value) } } }
                        }
                    }
                }
            }
        }
    }
}

/// The values of objects by their paths.
fn flatten(path: String, value: &Value, rows: &mut Vec<(String, String)>) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                let separator = if path.is_empty() { "" } else { "." };
                flatten(format!("{path}{separator}{key}"), value, rows);
            }
        }
        Value::String(text) => rows.push((path, text.clone())),
        Value::Array(items) if LONG < items.len() => {
            let first = Value::Array(items[..LONG].to_vec());
            let shown = first.to_string();
            let shown = shown.trim_end_matches(']');
            rows.push((path, format!("{shown},… {} in all]", items.len())));
        }
        other => rows.push((path, other.to_string())),
    }
}

/// The most values of a list that are shown.
const LONG: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_have_their_paths_and_long_lists_are_cut() {
        let mut rows = Vec::new();
        let list: Vec<u32> = (0..100).collect();
        let value = json!({"run": {"seed": 1, "note": "a\"b"}, "list": list, "none": null});
        flatten(String::new(), &value, &mut rows);
        let find = |key: &str| rows.iter().find(|row| row.0 == key).unwrap().1.as_str();
        assert_eq!(find("run.seed"), "1");
        assert_eq!(find("run.note"), "a\"b");
        assert_eq!(find("none"), "null");
        assert!(find("list").ends_with(",39,… 100 in all]"), "{rows:?}");
    }
}
