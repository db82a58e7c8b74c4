//! The page: one file without a network or a server.

use experiments::{Failure, Registry};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::calls::Calls;
use super::comparison::comparison;
use super::configuration::configuration;
use super::figures::FIGURES;
use super::reported_run::ReportedRun;
use super::summary::summary;

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
    let sections = sections(runs, registry)?;
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

fn sections(runs: &[ReportedRun], registry: &Registry) -> Result<Vec<Section>, Failure> {
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
    for figure in &FIGURES {
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
