//! The cost of each level, for `--format json` and `csv`.

use experiments::{CsvTable, Failure, Provenance, Published};
use migbsp::rebalance::Problem;
use serde::Serialize;

use crate::algorithm::Algorithm;
use crate::instance::Instance;
use crate::search::{Found, Search};
use analysis::chart::{Lines, Scale, Series, Style};

/// Results of `migbsp rebalance sweep`.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The instance's name.
    pub(super) instance: String,
    /// In the order they were given.
    pub(super) algorithms: Vec<String>,
    /// Budget, as text.
    pub(super) budget: String,
    /// Seed of random choices, for the text.
    #[serde(skip)]
    pub(super) seed: u64,
    /// `seconds` or `moves`: the unit of costs.
    pub(super) cost_unit: &'static str,
    /// The highest initial level.
    pub(super) dc_initial: f64,
    /// Lower bound of levels.
    pub(super) dc_ideal: f64,
    /// By level, the lowest first, then by algorithm.
    pub(super) points: Vec<Point>,
}

/// The result of an algorithm for a level.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Point {
    /// The target level.
    pub(super) target: f64,
    /// The algorithm.
    pub(super) algorithm: String,
    /// Whether it is met.
    pub(super) feasible: bool,
    /// The level that was reached.
    pub(super) dc: f64,
    /// Cost of the moves.
    pub(super) cost: f64,
    /// Lower bound of the cost of an assignment that meets the target; null: none meets it.
    pub(super) lower_bound: Option<f64>,
    /// Number of processes that move.
    pub(super) migrations: usize,
    /// Search time.
    pub(super) seconds: f64,
}

impl Point {
    /// The result `found` for a target with a lower bound.
    pub(super) fn new(
        (target, lower_bound): (f64, Option<f64>),
        algorithm: &Algorithm,
        found: &Found,
    ) -> Self {
        let solution = &found.solution;
        Self {
            target,
            algorithm: algorithm.to_string(),
            feasible: solution.feasible,
            dc: solution.level,
            cost: solution.cost,
            lower_bound,
            migrations: solution.migrations,
            seconds: found.seconds,
        }
    }
}

impl Report {
    pub(super) fn new(
        instance: &Instance,
        problem: &Problem,
        algorithms: &[Algorithm],
        search: Search,
        points: Vec<Point>,
    ) -> Self {
        Self {
            instance: instance.name.clone(),
            algorithms: algorithms.iter().map(ToString::to_string).collect(),
            budget: search.limit.to_string(),
            seed: search.seed,
            cost_unit: search.cost.name(),
            dc_initial: problem.level(&problem.initial_assignment()),
            dc_ideal: problem.ideal(),
            points,
        }
    }

    /// The points of each level, the lowest level first.
    pub(super) fn levels(&self) -> impl Iterator<Item = &[Point]> {
        self.points.chunks(self.algorithms.len())
    }

    /// One row per level and algorithm.
    ///
    /// # Errors
    ///
    /// If the writer fails, which a buffer in memory does not.
    pub fn csv(&self, provenance: &Provenance) -> Result<String, Failure> {
        let mut table = CsvTable::new(Self::SCHEMA, provenance);
        for point in &self.points {
            table.push(point)?;
        }
        table.text()
    }

    /// Cost against level, on a logarithmic axis if costs span more than a decade; where an algorithm did not meet a level, its line has a gap.
    pub fn chart(&self) -> Lines {
        let bound = |level: &[Point]| (level[0].target, level[0].lower_bound.unwrap_or(f64::NAN));
        let mut series: Vec<Series> = self
            .algorithms
            .iter()
            .enumerate()
            .map(|(index, algorithm)| Series {
                name: algorithm.clone(),
                points: self
                    .levels()
                    .map(|level| {
                        let point = &level[index];
                        let cost = if point.feasible { point.cost } else { f64::NAN };
                        (point.target, cost)
                    })
                    .collect(),
                style: Style::Line,
                ..Series::default()
            })
            .collect();
        series.push(Series {
            name: "lower bound".to_owned(),
            points: self.levels().map(bound).collect(),
            style: Style::Dashed,
            ..Series::default()
        });
        let costs = series.iter().flat_map(|series| &series.points);
        let costs: Vec<f64> = costs.map(|(_, cost)| *cost).collect();
        Lines {
            title: format!("{}: cost of each level", self.instance),
            note: String::new(),
            x_label: "highest level of a machine (target)".to_owned(),
            y_label: match self.cost_unit {
                "moves" => "moves".to_owned(),
                unit => format!("cost of migration ({unit})"),
            },
            x_is_log: false,
            y_scale: Scale::of(&costs),
            series,
        }
    }
}

impl Published for Report {
    const SCHEMA: &'static str = "migbsp.rebalance-sweep/1";
}
