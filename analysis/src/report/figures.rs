//! The pictures of a run with their data, for the script of the page.

use experiments::{Failure, Provenance};
use maud::{Markup, PreEscaped, html};
use serde::Serialize;

use super::calls::Calls;
use super::reported_run::ReportedRun;
use crate::pictures::{self, Picture};

/// A picture of the page: its place, its title, and how it is drawn; `None`: the record does not have what it shows.
pub(super) struct PageFigure {
    /// The anchor of its section.
    pub(super) id: &'static str,
    /// The title of its section.
    pub(super) title: &'static str,
    draw: fn(&ReportedRun) -> Option<Picture>,
}

/// All pictures, in the order of the page.
pub(super) const FIGURES: [PageFigure; 6] = [
    PageFigure {
        id: "timeline",
        title: "Processes over supersteps",
        draw: |run| pictures::timeline(&run.view),
    },
    PageFigure {
        id: "supersteps",
        title: "Times of supersteps",
        draw: |run| Some(pictures::supersteps(&run.history, String::new())),
    },
    PageFigure {
        id: "breakdown",
        title: "Where the time went",
        draw: |run| Some(pictures::breakdown(&run.view)),
    },
    PageFigure {
        id: "hosts",
        title: "Hosts over supersteps",
        draw: |run| Some(pictures::hosts(&run.view)),
    },
    PageFigure {
        id: "load",
        title: "Load of hosts",
        draw: |run| Some(pictures::load(&run.view)),
    },
    PageFigure {
        id: "sets",
        title: "Moves between Sets",
        draw: |run| pictures::sets(&run.view),
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
        let csv = picture.table.csv(provenance)?;
        let is_linked = self.id == "timeline";
        let moves = if is_linked {
            linked_moves(prefix, run, calls)?
        } else {
            String::new()
        };
        let file = format!("{prefix}-{}", self.id);
        Ok(html! {
            figure.picture data-run=(prefix) data-kind=(self.id) {
                (PreEscaped(picture.svg))
                @if is_linked { script.moves type="application/json" { (PreEscaped(moves)) } }
                details.data data-file=(file) {
                    summary { "Data as a table" }
                    pre.csv { (csv) }
                }
            }
        })
    }
}

fn linked_moves(prefix: &str, run: &ReportedRun, calls: &Calls) -> Result<String, Failure> {
    let mut moves = Vec::new();
    let host = |host| run.history.host(host);
    for (index, call) in run.history.calls.iter().enumerate() {
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
