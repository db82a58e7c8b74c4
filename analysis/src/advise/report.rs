//! Advice about a run, as text, JSON and CSV.

use bsp::numbers::position;
use experiments::{Failure, Provenance, Published};
use serde::Serialize;
use serde_json::Value;

use crate::compare::Verdict;
use crate::text::{Layout, counted, csv, maybe, rounded};

/// Where a recorded run lost time, and which keys would shorten it.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Folder of the record.
    pub(super) record: String,
    pub(super) scenario: String,
    pub(super) workload: String,
    /// The recorded makespan.
    pub(super) seconds: f64,
    /// What it would be without losses.
    pub(super) ideal_seconds: f64,
    /// The parts of the makespan in addition.
    pub(super) losses: Vec<Loss>,
    /// What the record says about a task farm; none of other programs.
    pub(super) farm: Option<FarmReport>,
    /// What limits the advice, in sentences.
    pub(super) notes: Vec<String>,
    /// The most valuable first.
    pub(super) recommendations: Vec<Recommendation>,
    /// Those that were not better when they were tried.
    pub(super) rejected: Vec<Recommendation>,
}

/// A part of the makespan.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Loss {
    pub(super) part: &'static str,
    pub(super) seconds: f64,
    /// The part of the makespan.
    pub(super) share: f64,
}

/// What a record says about a task farm.
#[derive(Debug, Serialize)]
pub(super) struct FarmReport {
    pub(super) tasks: u64,
    pub(super) interactions: usize,
    /// The rule of the record, with all its keys.
    pub(super) dealing: Value,
    pub(super) workers: Vec<WorkerReport>,
    /// The relative standard deviation of the time per task of a worker between interactions.
    pub(super) noise: f64,
    pub(super) deal_seconds: f64,
    pub(super) deal_seconds_per_task: f64,
    pub(super) outcomes_seconds: f64,
    pub(super) outcomes_seconds_per_task: f64,
    pub(super) tell_seconds: f64,
    /// The makespan that the replay of the rule of the record predicts.
    pub(super) replayed_seconds: f64,
    /// Its difference from the recorded one, as a part of that.
    pub(super) replay_error: f64,
}

/// A worker of a task farm.
#[derive(Debug, Serialize)]
pub(super) struct WorkerReport {
    pub(super) process: String,
    pub(super) tasks: u64,
    pub(super) seconds: f64,
    /// Tasks per second; none of a worker that executed no task.
    pub(super) rate: Option<f64>,
}

/// A change that is predicted to shorten the run.
#[derive(Clone, Debug, Serialize)]
pub struct Recommendation {
    /// What it changes, in a word: a key, the kind or the policy.
    pub(super) change: String,
    /// The keys with their values, as `--set` takes them.
    pub(super) set: Vec<String>,
    /// A table whose other keys have to be removed from the experiment, because the new kind does not take them.
    pub(super) replaces: Option<String>,
    /// The part of the makespan that is predicted to be saved.
    pub(super) predicted_gain: f64,
    /// The makespan that it leaves, in seconds.
    pub(super) predicted_seconds: f64,
    /// Whether the gain is an upper bound.
    pub(super) is_bound: bool,
    /// The evidence.
    pub(super) reason: String,
    /// The keys one by one.
    pub(super) keys: Vec<KeyChange>,
    /// The result of `--try`.
    pub(super) measured: Option<Measured>,
}

/// A key with another value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct KeyChange {
    /// `section.key`.
    pub(super) key: String,
    /// Its value in the record; null: not set.
    pub(super) now: Value,
    pub(super) better: Value,
    /// The gain that is predicted for this key alone; null where it cannot be changed alone.
    pub(super) predicted_gain: Option<f64>,
}

/// What a run with a recommendation took.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
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
    const SCHEMA: &'static str = "migbsp.advise/2";
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

impl FarmReport {
    /// The greatest part of the recorded makespan by which its replay may differ from it.
    pub(super) const MOST_ERROR: f64 = 0.05;

    /// Whether the replay of the rule is near enough to the record for predictions of other rules.
    pub(super) fn is_faithful(&self) -> bool {
        self.replay_error.abs() <= Self::MOST_ERROR
    }
}

impl KeyChange {
    /// The value as `--set` takes it.
    pub(super) fn assignment(&self) -> String {
        format!("{}={}", self.key, shown(&self.better))
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

impl Report {
    /// One row per recommendation, those that were not better when they were tried last.
    ///
    /// # Errors
    ///
    /// If the writer fails, which a buffer in memory does not.
    pub fn csv(&self, provenance: &Provenance) -> Result<String, Failure> {
        let advised = self.recommendations.iter().chain(&self.rejected);
        csv(
            (Self::SCHEMA, provenance),
            (1_usize..).zip(advised),
            &[
                ("number", &|(number, _)| (*number).into()),
                ("change", &|(_, advised)| advised.change.as_str().into()),
                ("set", &|(_, advised)| advised.set.join(" ").into()),
                ("replaces", &|(_, advised)| {
                    advised.replaces.as_deref().into()
                }),
                ("predicted_gain", &|(_, advised)| {
                    advised.predicted_gain.into()
                }),
                ("predicted_seconds", &|(_, advised)| {
                    advised.predicted_seconds.into()
                }),
                ("is_bound", &|(_, advised)| advised.is_bound.into()),
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

/// Where the time was lost, and what to change.
pub fn text(report: &Report, layout: Layout) -> String {
    let mut text = format!(
        "{}: scenario {}, {}, {} s\n",
        report.record,
        report.scenario,
        report.workload,
        rounded(report.seconds, 3)
    );
    if let Some(farm) = &report.farm {
        text.push_str(&workers(farm, layout));
    }
    text.push_str(&losses(report, layout));
    for note in &report.notes {
        text.push_str(&format!("\n{note}"));
    }
    if !report.notes.is_empty() {
        text.push('\n');
    }
    let is_predicted = report.farm.as_ref().is_none_or(FarmReport::is_faithful);
    if report.recommendations.is_empty() && is_predicted {
        text.push_str(if report.rejected.is_empty() {
            "\nNo change is predicted to save more than 1 % of this run.\n"
        } else {
            "\nNo change that was tried is better.\n"
        });
    }
    for (index, advised) in report.recommendations.iter().enumerate() {
        text.push_str(&recommendation(index + 1, advised, layout));
    }
    if !report.rejected.is_empty() {
        let measured = |advised: &&Recommendation| maybe(advised.measured, |of| measured_text(&of));
        let table = layout.columns(
            &report.rejected,
            &[
                ("change", &|advised| advised.change.clone()),
                ("promised", &|advised| promised(advised)),
                ("measured", &measured),
                ("", &|advised| {
                    maybe(advised.measured, |measured| {
                        measured.verdict.words().to_owned()
                    })
                }),
            ],
            &[],
        );
        text.push_str(&format!("\nTried, and not better:\n\n{table}"));
    }
    text
}

/// The gain that is predicted, or its bound.
fn promised(advised: &Recommendation) -> String {
    let gain = advised.predicted_gain * 100.0;
    if advised.is_bound {
        format!("at most {gain:.1} %")
    } else {
        format!("{gain:.1} % predicted")
    }
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

fn workers(farm: &FarmReport, layout: Layout) -> String {
    let table = layout.columns(
        &farm.workers,
        &[
            ("worker", &|worker| worker.process.clone()),
            ("tasks", &|worker| worker.tasks.to_string()),
            ("seconds", &|worker| rounded(worker.seconds, 3)),
            ("tasks/s", &|worker| {
                maybe(worker.rate, |rate| rounded(rate, 3))
            }),
        ],
        &[],
    );
    let tasks = position(farm.tasks);
    // Adding zero turns -0.0 into 0.0.
    let error = (farm.replay_error * 1e3).round() / 10.0 + 0.0;
    format!(
        "\n{} in {}; the time of a task varied by {:.2} % between them:\n\n{table}\nThe replay of the rule of the \
         record predicts {} s ({error:+.1} %).\n",
        counted(tasks, "task"),
        counted(farm.interactions, "interaction"),
        farm.noise * 100.0,
        rounded(farm.replayed_seconds, 3),
    )
}

fn losses(report: &Report, layout: Layout) -> String {
    let ideal = if report.farm.is_some() {
        "ideal: all workers are busy"
    } else {
        "ideal: mean computation"
    };
    let losses = report.losses.iter();
    let losses = losses.filter(|loss| SHOWN < loss.seconds.abs() / report.seconds);
    let rows = std::iter::once((ideal, report.ideal_seconds))
        .chain(losses.map(|loss| (loss.part, loss.seconds)))
        .chain([("makespan", report.seconds)]);
    let table = layout.columns(
        rows,
        &[
            ("part", &|(name, _)| (*name).to_owned()),
            ("seconds", &|(_, seconds)| rounded(*seconds, 3)),
            ("share", &|(_, seconds)| {
                format!("{:.1} %", seconds / report.seconds * 100.0)
            }),
        ],
        &[],
    );
    format!("\nWhere the time went:\n\n{table}")
}

fn recommendation(number: usize, advised: &Recommendation, layout: Layout) -> String {
    let measured = advised.measured.as_ref();
    let measured = maybe(measured, |measured| {
        format!(", {}", measured_text(measured))
    });
    let promised = promised(advised);
    let mut text = format!("\n{number}. {}: {promised}{measured}\n", advised.change);
    text.push_str(&format!("   {}.\n\n", advised.reason));
    text.push_str(&layout.columns(
        &advised.keys,
        &[
            ("key", &|change| change.key.clone()),
            ("now", &|change| shown(&change.now)),
            ("better", &|change| shown(&change.better)),
            ("alone", &|change| {
                maybe(change.predicted_gain, |gain| {
                    format!("{:.1} %", gain * 100.0)
                })
            }),
        ],
        &[],
    ));
    match &advised.replaces {
        None => {
            let set: Vec<String> = advised
                .set
                .iter()
                .map(|set| format!("--set {set}"))
                .collect();
            text.push_str(&format!("\n   {}\n", set.join(" ")));
        }
        Some(table) => text.push_str(&replacement(table, &advised.keys)),
    }
    text
}

/// The table that replaces the present one in the experiment.
fn replacement(table: &str, keys: &[KeyChange]) -> String {
    let lines = keys.iter().map(|change| {
        let name = change.key.rsplit('.').next().unwrap_or_default();
        format!("   {name} = {}\n", change.better)
    });
    let lines: String = lines.collect();
    format!(
        "\n   [{table}]   # in place of the present table: the other keys belong to the present kind\n{lines}"
    )
}

/// The part of a makespan below which a loss is not shown.
const SHOWN: f64 = 5e-5;
