//! What each level costs, for several algorithms.

use analysis::chart::{Lines, Scale, Series, Style};
use analysis::document::{Answer, Document, Table, csv_of_fields};
use analysis::text::rounded;
use experiments::batch::Batch;
use experiments::{Failure, Provenance, Published};
use model::rebalance::Problem;
use serde::Serialize;

use crate::algorithm::Algorithm;
use crate::instance::Instance;
use crate::search::{Found, Search, Target, lower_bound};

/// What every one of `algorithms` finds for every one of `levels`.
pub(crate) fn sweep(
    instance: &Instance,
    levels: Levels,
    algorithms: &[Algorithm],
    search: Search,
    batch: Batch<'_>,
) -> Result<Report, Failure> {
    let problem = instance.problem(search.cost);
    let targets = levels.rising(&problem);
    let of_bound = search
        .of_each(targets.len(), batch.threads(targets.len()))
        .limit;
    let bounds = batch.run(&targets, |target| {
        Ok(lower_bound(&problem, *target, Some(of_bound)))
    })?;
    let levels = targets.iter().zip(bounds);
    let cases: Vec<(f64, Option<f64>, &Algorithm)> = levels
        .flat_map(|(target, bound)| {
            algorithms
                .iter()
                .map(move |algorithm| (*target, bound, algorithm))
        })
        .collect();
    let each = search.of_each(cases.len(), batch.threads(cases.len()));
    let points = batch.run(&cases, |(target, bound, algorithm)| {
        let found = each.find(algorithm, &problem, Target::Level(*target));
        Ok(Point::new((*target, *bound), algorithm, &found))
    })?;
    Ok(Report::new(instance, &problem, algorithms, search, points))
}

/// The levels of a sweep.
#[derive(Clone, Debug)]
pub(crate) enum Levels {
    /// These.
    Given(Vec<Target>),
    /// At most this many, from the one before any process moves down to nearly the ideal one.
    Spread(u32),
}

impl Levels {
    /// The levels of a sweep over `problem`, each once, the lowest first.
    fn rising(self, problem: &Problem) -> Vec<f64> {
        let mut levels = match self {
            Self::Given(targets) => {
                let levels = targets.into_iter();
                levels
                    .filter_map(|target| target.level(problem.ideal()))
                    .collect()
            }
            Self::Spread(points) => spread(problem, points),
        };
        levels.sort_by(f64::total_cmp);
        levels.dedup();
        levels
    }
}

/// At most this number of levels, rising: from just above the ideal one to the initial one, each further
/// from the ideal one than the one before by the same factor. The cost rises faster at lower levels.
fn spread(problem: &Problem, points: u32) -> Vec<f64> {
    let ideal = problem.ideal();
    let before = problem.level(&problem.initial_assignment());
    let (nearest, furthest) = (ideal * NEAREST, before - ideal);
    if furthest <= nearest || points == 1 {
        return vec![before];
    }
    let factor = (furthest / nearest).powf(1.0 / f64::from(points - 1));
    let gaps = (0..points - 1).map(|number| nearest * factor.powf(f64::from(number)));
    let mut levels: Vec<f64> = gaps.map(|gap| with_four_digits(ideal + gap)).collect();
    levels.push(before);
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    levels
}

/// `level` with four digits.
fn with_four_digits(level: f64) -> f64 {
    format!("{level:.3e}").parse().unwrap_or(level)
}

/// Distance of the lowest level from the ideal one, as a part of it.
const NEAREST: f64 = 0.02;

/// Results of `migbsp rebalance sweep`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(crate) struct Report {
    /// The instance's name.
    instance: String,
    /// In the order they were given.
    algorithms: Vec<String>,
    /// Budget, as text.
    budget: String,
    /// Seed of random choices, for the text.
    #[serde(skip)]
    seed: u64,
    /// `seconds` or `moves`: the unit of costs.
    #[cfg_attr(feature = "schemas", schemars(extend("enum" = ["seconds", "moves"])))]
    cost_unit: &'static str,
    /// The highest initial level.
    dc_initial: f64,
    /// Lower bound of levels.
    dc_ideal: f64,
    /// By level, the lowest first, then by algorithm.
    points: Vec<Point>,
}

/// The result of an algorithm for a level.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct Point {
    /// The target level.
    target: f64,
    /// The algorithm.
    algorithm: String,
    /// Whether it is met.
    feasible: bool,
    /// The level that was reached.
    dc: f64,
    /// Cost of the moves.
    cost: f64,
    /// Lower bound of the cost of an assignment that meets the target; null: none meets it.
    lower_bound: Option<f64>,
    /// Number of processes that move.
    migrations: usize,
    /// Search time.
    seconds: f64,
}

impl Point {
    /// The result `found` for a target with a lower bound.
    fn new(
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
    fn new(
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
    fn levels(&self) -> impl Iterator<Item = &[Point]> {
        self.points.chunks(self.algorithms.len())
    }

    /// Cost against level, on a logarithmic axis if costs span more than a decade; where an algorithm did not meet a level, its line has a gap.
    pub(crate) fn chart(&self) -> Lines {
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
            ..Lines::default()
        }
    }
}

impl Published for Report {
    const SCHEMA: &'static str = "migbsp.rebalance-sweep/1";
}

impl Answer for Report {
    /// A row for each level, the lowest first, and a column for each algorithm.
    fn document(&self) -> Document {
        let mut headers = vec!["target"];
        headers.extend(self.algorithms.iter().map(String::as_str));
        headers.push("at least");
        headers.extend(["moves", "spared"]);
        let name = names(self);
        let rows = self.levels().map(|level| {
            let best = best(level);
            let mut row = vec![name(level[0].target)];
            row.extend(level.iter().map(cost));
            row.push(
                level[0]
                    .lower_bound
                    .map_or_else(|| "impossible".to_owned(), |bound| rounded(bound, 3)),
            );
            row.push(best.map_or_else(String::new, |best| best.migrations.to_string()));
            row.push(best.map_or_else(String::new, |best| spared(self, best.dc)));
            row
        });
        let what = match self.cost_unit {
            "moves" => "number of moves",
            _ => "cost in seconds of migration",
        };
        let mut document = Document::default();
        document.say(format!(
            "{}: {what}, by highest allowed level of a machine",
            self.instance
        ));
        document.table(Table::new(headers, rows));
        document.paragraph(legend(self));
        document
    }

    fn csv(&self, provenance: &Provenance) -> Result<String, Failure> {
        csv_of_fields::<Self, _>(provenance, &self.points)
    }
}

fn cost(point: &Point) -> String {
    if point.feasible {
        rounded(point.cost, 3)
    } else {
        String::new()
    }
}

/// The cheapest that meets the level.
fn best(level: &[Point]) -> Option<&Point> {
    let reached = level.iter().filter(|point| point.feasible);
    reached.min_by(|left, right| left.cost.total_cmp(&right.cost))
}

/// The part of the possible gain that a level reaches.
fn spared(report: &Report, reached: f64) -> String {
    let most = report.dc_initial - report.dc_ideal;
    let part = (report.dc_initial - reached) / most;
    if 0.0 < most && part.is_finite() {
        format!("{:.0} %", (part * 100.0).clamp(0.0, 100.0))
    } else {
        String::new()
    }
}

fn legend(report: &Report) -> String {
    format!(
        "The initial highest level is {}, perfect balance {}. `at least` is a lower\n\
         bound, `moves` are those of the cheapest, `spared` is the part of the imbalance that goes. \
         An empty place: not met.\n\
         Budget: {} for {} number{}; seed {}.",
        rounded(report.dc_initial, 2),
        rounded(report.dc_ideal, 2),
        report.budget,
        if report.budget.ends_with("steps") {
            "each"
        } else {
            "all"
        },
        if report.budget.ends_with("steps") {
            ""
        } else {
            "s together"
        },
        report.seed
    )
}

/// The labels of the rows: as given if two would look the same.
fn names(report: &Report) -> fn(f64) -> String {
    let texts: Vec<String> = report
        .levels()
        .map(|level| short(level[0].target))
        .collect();
    if texts.windows(2).any(|pair| pair[0] == pair[1]) {
        |level: f64| level.to_string()
    } else {
        short
    }
}

fn short(level: f64) -> String {
    rounded(level, 2)
}

#[cfg(test)]
mod tests {
    use model::rebalance::{Machine, MoveCost, Resident};

    use super::*;

    fn problem(workloads: &[f64]) -> Problem {
        let machine = Machine {
            capacity: 1.0,
            group: 0,
        };
        let move_cost = MoveCost {
            fixed: 1.0,
            per_size: 0.0,
        };
        let resident = |(initial, &workload)| Resident {
            workload,
            size: 0.0,
            initial_machine: initial,
        };
        let residents = workloads.iter().enumerate().map(resident).collect();
        Problem::new(
            vec![machine; workloads.len()],
            residents,
            vec![vec![move_cost]],
        )
        .unwrap()
    }

    #[test]
    fn levels_are_closer_where_they_are_low() {
        let found = spread(&problem(&[100.0, 300.0]), 5);
        assert_eq!(found, [204.0, 208.9, 220.0, 244.7, 300.0]);
    }

    #[test]
    fn a_balanced_instance_has_one_level() {
        assert_eq!(spread(&problem(&[100.0, 100.0]), 5), [100.0]);
        assert_eq!(spread(&problem(&[0.0]), 5), [0.0]);
    }
}
