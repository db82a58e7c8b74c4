//! Advice about a run, as text, JSON and CSV.

use experiments::{Failure, Provenance, Published};
use serde::Serialize;
use serde_json::Value;

use crate::compare::Verdict;
use crate::document::{Answer, Document, Table, csv};
use crate::text::{maybe, rounded};

/// Where a recorded run lost time, and which keys would shorten it.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Report {
    /// Folder of the record.
    pub(super) record: String,
    /// Its scenario.
    #[cfg_attr(feature = "schemas", schemars(extend("enum" = ["i", "ii", "iii"])))]
    pub(super) scenario: String,
    /// Name of the workload.
    pub(super) workload: String,
    /// The recorded makespan.
    pub(super) seconds: f64,
    /// What it would be without losses.
    pub(super) ideal_seconds: f64,
    /// The parts of the makespan in addition.
    pub(super) losses: Vec<Loss>,
    /// What limits the advice, in sentences.
    pub(super) notes: Vec<String>,
    /// The most valuable first.
    pub(super) recommendations: Vec<Recommendation>,
    /// Those that were not better when they were tried.
    pub(super) rejected: Vec<Recommendation>,
}

/// A part of the makespan.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(super) struct Loss {
    /// Its name.
    pub(super) part: &'static str,
    /// Its time. That of the rest is the difference to the makespan, which may be below zero.
    pub(super) seconds: f64,
    /// The part of the makespan.
    pub(super) share: f64,
}

/// A change that is predicted to shorten the run.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Recommendation {
    /// The key that it changes, `section.key`.
    pub(super) key: String,
    /// Its value in the record; null: not set.
    #[cfg_attr(feature = "schemas", schemars(extend("type" = ["boolean", "number", "string", "null"])))]
    pub(super) now: Value,
    /// The value to try.
    #[cfg_attr(feature = "schemas", schemars(extend("type" = ["boolean", "number", "string", "null"])))]
    pub(super) better: Value,
    /// The key with the better value, as `--set` takes it.
    pub(super) set: String,
    /// The most of the makespan that it can save, as a part of that.
    pub(super) predicted_gain: f64,
    /// The makespan that this leaves, in seconds.
    pub(super) predicted_seconds: f64,
    /// The evidence.
    pub(super) reason: String,
    /// The result of `--try`.
    pub(super) measured: Option<Measured>,
}

/// What a run with a recommendation took.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(super) struct Measured {
    /// The mean over seeds.
    pub(super) seconds: f64,
    /// The part of the makespan that it saved: the geometric mean over seeds. `None`: a makespan is 0.
    pub(super) gain: Option<f64>,
    /// Lower end of its confidence interval; `None` of one seed.
    pub(super) gain_low: Option<f64>,
    /// Upper end.
    pub(super) gain_high: Option<f64>,
    /// Number of seeds.
    pub(super) seeds: usize,
    /// Whether it is better than the configuration of the record.
    pub(super) verdict: Verdict,
}

impl Published for Report {
    const SCHEMA: &'static str = "migbsp.advise/1";
}

impl Loss {
    /// A part that takes `seconds` of a makespan of `of_seconds`.
    pub(super) fn new(part: &'static str, seconds: f64, of_seconds: f64) -> Self {
        let share = if 0.0 < of_seconds {
            seconds / of_seconds
        } else {
            0.0
        };
        Self {
            part,
            seconds,
            share,
        }
    }
}

/// A value as text, strings without quotes.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "not set".to_owned(),
        value => value.to_string(),
    }
}

impl Answer for Report {
    /// Where the time was lost, and what to change.
    fn document(&self) -> Document {
        let mut document = Document::default();
        document.say(format!(
            "{}: scenario {}, {}, {} s",
            self.record,
            self.scenario,
            self.workload,
            rounded(self.seconds, 3)
        ));
        document.table(losses(self));
        if !self.notes.is_empty() {
            document.say(self.notes.join("\n"));
        }
        if self.recommendations.is_empty() {
            document.say(if self.rejected.is_empty() {
                "No change is predicted to save more than 1 % of this run."
            } else {
                "No change that was tried is better."
            });
        }
        for (number, advised) in (1..).zip(&self.recommendations) {
            recommend(&mut document, number, advised);
        }
        if !self.rejected.is_empty() {
            document.table(rejected(&self.rejected));
        }
        document
    }

    /// One row per recommendation, those that were not better when they were tried last.
    fn csv(&self, provenance: &Provenance) -> Result<String, Failure> {
        let advised = self.recommendations.iter().chain(&self.rejected);
        csv::<Self, _>(
            provenance,
            (1_usize..).zip(advised),
            &[
                ("number", &|(number, _)| (*number).into()),
                ("set", &|(_, advised)| advised.set.as_str().into()),
                ("predicted_gain", &|(_, advised)| {
                    advised.predicted_gain.into()
                }),
                ("predicted_seconds", &|(_, advised)| {
                    advised.predicted_seconds.into()
                }),
                ("measured_gain", &|(_, advised)| {
                    advised.measured.and_then(|measured| measured.gain).into()
                }),
                ("measured_seconds", &|(_, advised)| {
                    advised.measured.map(|measured| measured.seconds).into()
                }),
                ("verdict", &|(_, advised)| {
                    advised
                        .measured
                        .map(|measured| measured.verdict.words())
                        .into()
                }),
                ("reason", &|(_, advised)| advised.reason.as_str().into()),
            ],
        )
    }
}

/// The changes that were tried and are not better.
fn rejected(advised: &[Recommendation]) -> Table {
    let measured = |advised: &&Recommendation| maybe(advised.measured, |of| measured_text(&of));
    let table = Table::of(
        advised,
        &[
            ("change", &|advised| advised.set.clone()),
            ("promised", &|advised| promised(advised)),
            ("measured", &measured),
            ("", &|advised| {
                maybe(advised.measured, |measured| {
                    measured.verdict.words().to_owned()
                })
            }),
        ],
    );
    table.captioned("Tried, and not better")
}

/// The bound of the gain.
fn promised(advised: &Recommendation) -> String {
    format!("at most {:.1} %", advised.predicted_gain * 100.0)
}

/// What the runs with a change gained and took.
fn measured_text(measured: &Measured) -> String {
    let percent = |gain: f64| format!("{:.1} %", gain * 100.0);
    let seconds = rounded(measured.seconds, 3);
    let gain = measured.gain.map_or_else(|| "no gain".to_owned(), percent);
    match measured.gain_low.zip(measured.gain_high) {
        Some((low, high)) => format!(
            "{gain} measured, {} to {} ({} seeds, {seconds} s)",
            percent(low),
            percent(high),
            measured.seeds
        ),
        None => format!("{gain} measured ({seconds} s)"),
    }
}

fn losses(report: &Report) -> Table {
    let losses = report.losses.iter();
    let losses = losses.filter(|loss| SHOWN < loss.seconds.abs() / report.seconds);
    let rows = std::iter::once(("ideal: mean computation", report.ideal_seconds))
        .chain(losses.map(|loss| (loss.part, loss.seconds)))
        .chain([("makespan", report.seconds)]);
    let table = Table::of(
        rows,
        &[
            ("part", &|(name, _)| (*name).to_owned()),
            ("seconds", &|(_, seconds)| rounded(*seconds, 3)),
            ("share", &|(_, seconds)| {
                format!("{:.1} %", seconds / report.seconds * 100.0)
            }),
        ],
    );
    table.captioned("Where the time went")
}

fn recommend(document: &mut Document, number: usize, advised: &Recommendation) {
    let measured = advised.measured.as_ref();
    let measured = maybe(measured, |measured| {
        format!(", {}", measured_text(measured))
    });
    let promised = promised(advised);
    document.say(format!(
        "{number}. {}: {promised}{measured}\n   {}.",
        advised.set, advised.reason
    ));
    document.table(Table::of(
        [advised],
        &[
            ("key", &|advised| advised.key.clone()),
            ("now", &|advised| shown(&advised.now)),
            ("better", &|advised| shown(&advised.better)),
        ],
    ));
    document.say(format!("   --set {}", advised.set));
}

/// The part of a makespan below which a loss is not shown.
const SHOWN: f64 = 5e-5;
