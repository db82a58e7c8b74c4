//! The result of a bench of migrations, as `--format json` and `csv` show it.

use experiments::{CsvTable, Failure, Provenance, Published};
use migbsp::CostCoefficients;
use serde::Serialize;

use super::estimators::{self, Estimator};
use super::score::{Errors, Scored, paper_error};
use super::timeline::{TimedMove, Timeline};

/// The result of a bench of migrations.
#[derive(Debug, Serialize)]
pub struct Report {
    #[serde(flatten)]
    pub(super) settings: Settings,
    /// By kind of state.
    pub(super) kinds: Vec<KindReport>,
    /// Over all moves.
    pub(super) all: Summary,
    /// What had been learned in the end of the last kind.
    pub(super) model: Option<Model>,
    /// Estimators of bandwidth, if they are compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) estimators: Option<Vec<Estimator>>,
    /// Kinds whose outputs were equal to those of the same job without moves, and all kinds.
    pub(super) equal_outputs: [usize; 2],
}

/// What a bench was asked for.
#[derive(Clone, Debug, Serialize)]
pub struct Settings {
    /// The nodes between which states are moved.
    pub nodes: [String; 2],
    /// The least and the most bytes of a problem's data, as they were written.
    pub state: [String; 2],
    /// Levels of the link between Sets, as they were written, if the bench has set them.
    pub level: Option<String>,
    /// The mean time for which a drawn level is held.
    pub dwell_seconds: Option<f64>,
}

/// The moves of one kind of state.
#[derive(Debug, Serialize)]
pub struct KindReport {
    pub(super) kind: String,
    #[serde(flatten)]
    pub(super) summary: Summary,
    pub(super) model: Option<Model>,
    /// Every move.
    pub(super) each: Vec<Scored>,
    /// Whether the outputs were equal to those without moves.
    pub(super) is_equal: bool,
    #[serde(skip)]
    pub(super) timeline: Timeline,
}

/// How near the predictions of some moves were.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Summary {
    /// The number of moves.
    pub(super) moves: usize,
    /// Errors of the time for which processes were frozen.
    #[serde(flatten)]
    pub(super) errors: Option<Errors>,
    /// Errors of the time that moves added to the run, and the moves that they are of.
    pub(super) of_added: Option<OfAdded>,
    /// The mean error that Du, Sun and Wu (2007) report.
    pub(super) paper: Option<f64>,
}

/// Errors of the time that moves added to the run.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct OfAdded {
    /// The moves whose added time is known and above zero.
    pub(super) moves: usize,
    #[serde(flatten)]
    pub(super) errors: Errors,
}

/// Coefficients of the cost of moves.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Model {
    /// α0.
    pub(super) startup_seconds: f64,
    /// α1.
    pub(super) overlap: f64,
    /// Bytes per second of packing and unpacking; not set: no move was held up by it.
    pub(super) processing_rate: Option<f64>,
}

/// A row of the CSV.
#[derive(Serialize)]
struct Row<'a> {
    kind: &'a str,
    superstep: u64,
    bytes: u64,
    probe_seconds: Option<f64>,
    predicted_seconds: f64,
    frozen_seconds: f64,
    added_seconds: Option<f64>,
    error: f64,
}

impl Summary {
    fn of(moves: &[&Scored], kind: &str) -> Self {
        let of_added = moves.iter().filter_map(|one| one.error_of_added());
        let of_added = Errors::of(of_added.collect());
        Self {
            moves: moves.len(),
            errors: Errors::of(moves.iter().map(|one| one.error).collect()),
            of_added: of_added.map(|errors| OfAdded {
                moves: errors.number,
                errors,
            }),
            paper: paper_error(kind),
        }
    }
}

impl Model {
    fn of(learned: CostCoefficients) -> Self {
        Self {
            startup_seconds: learned.startup.get(),
            overlap: learned.overlap,
            processing_rate: Some(learned.processing.recip()).filter(|rate| rate.is_finite()),
        }
    }
}

impl KindReport {
    /// The moves of `moved`, compared with `baselines`, which are the same job without moves.
    #[must_use]
    pub fn new(kind: &str, moved: Timeline, baselines: &[Timeline], is_equal: bool) -> Self {
        let each = Scored::all(&moved, baselines);
        Self {
            kind: kind.to_owned(),
            summary: Summary::of(&each.iter().collect::<Vec<_>>(), kind),
            model: moved.learned.map(Model::of),
            each,
            is_equal,
            timeline: moved,
        }
    }
}

impl Report {
    /// The report of all kinds.
    #[must_use]
    pub fn new(settings: Settings, kinds: Vec<KindReport>) -> Self {
        let moves: Vec<&Scored> = kinds.iter().flat_map(|kind| &kind.each).collect();
        Self {
            settings,
            all: Summary::of(&moves, "all"),
            model: kinds.last().and_then(|kind| kind.model),
            estimators: None,
            equal_outputs: [
                kinds.iter().filter(|kind| kind.is_equal).count(),
                kinds.len(),
            ],
            kinds,
        }
    }

    /// The same with estimators of bandwidth side by side.
    #[must_use]
    pub fn with_estimators(self) -> Self {
        let moves = self.kinds.iter().map(|kind| &kind.timeline.moves[..]);
        let estimators = estimators::compare(&moves.collect::<Vec<&[TimedMove]>>());
        Self {
            estimators: Some(estimators),
            ..self
        }
    }

    /// One row per move.
    ///
    /// # Errors
    ///
    /// If the writer fails, which a buffer in memory does not.
    pub fn csv(&self, provenance: &Provenance) -> Result<String, Failure> {
        let mut table = CsvTable::new(Self::SCHEMA, provenance);
        for kind in &self.kinds {
            for one in &kind.each {
                table.push(Row {
                    kind: &kind.kind,
                    superstep: one.superstep,
                    bytes: one.bytes,
                    probe_seconds: one.probe_seconds,
                    predicted_seconds: one.predicted_seconds,
                    frozen_seconds: one.frozen_seconds,
                    added_seconds: one.added_seconds,
                    error: one.error,
                })?;
            }
        }
        table.text()
    }
}

impl Published for Report {
    const SCHEMA: &'static str = "migbsp.bench-migration/1";
}
