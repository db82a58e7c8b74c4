//! The tables of Chen, Wang and Lau 2008, "Load rebalancing", and ours beside them.
//!
//! Their instances are drawn anew, group by group, so that means are compared; their clock is a machine of
//! 2008.

mod figures;
mod show;
mod table3;
mod table4;

use bsp::numbers::real;
use experiments::batch::Batch;
use experiments::{CsvTable, Failure, Provenance, Published};
use model::rebalance::{Budget, MoveCost, Problem};
use rebalancing::{Algorithm, Limit};
use rebalancing_algorithms::{Group, Method};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub(crate) use crate::chen::show::{document, page};

/// A part of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Levels of the initial placement.
    Table2,
    /// Cost and search time of algorithms, and their order.
    Table3,
    /// Number of moves, where all moves cost the same.
    Table4,
    /// Costs against targets.
    Figures,
}

impl Part {
    /// All of them, in the order of the paper.
    pub(crate) const ALL: [Self; 4] = [Self::Table2, Self::Table3, Self::Table4, Self::Figures];

    /// Its name on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Table2 => "chen2008-table2",
            Self::Table3 => "chen2008-table3",
            Self::Table4 => "chen2008-table4",
            Self::Figures => "chen2008-figures",
        }
    }

    /// Its name in results, which name the paper elsewhere.
    fn short_name(self) -> &'static str {
        self.name().trim_start_matches("chen2008-")
    }

    /// Default number of instances drawn from each group; the paper has 100.
    const fn instances(self) -> u32 {
        match self {
            Self::Table2 | Self::Table3 => 100,
            Self::Table4 | Self::Figures => 20,
        }
    }
}

/// Draws what `part` needs, runs it and sets it beside the paper.
///
/// Means are taken over this many `instances` of each group; none: over as many as are worth waiting for.
pub(crate) fn reproduce(
    part: Part,
    instances: Option<u32>,
    batch: Batch<'_>,
) -> Result<Report, Failure> {
    let instances = instances.unwrap_or_else(|| part.instances());
    let (cells, claims) = match part {
        Part::Table2 => initial_levels(instances),
        Part::Table3 => table3::compare(instances, batch)?,
        Part::Table4 => table4::compare(instances, batch)?,
        Part::Figures => figures::compare(instances, batch)?,
    };
    Ok(Report {
        part: part.short_name(),
        instances,
        cells,
        claims,
    })
}

/// Results of a comparison.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(crate) struct Report {
    /// `table2`, `table3`, `table4`, `figures`.
    #[cfg_attr(feature = "schemas", schemars(extend("enum" = Part::ALL.map(Part::short_name))))]
    part: &'static str,
    /// Number of instances in a mean.
    instances: u32,
    /// In the paper's order.
    cells: Vec<Cell>,
    /// The paper's claims.
    claims: Vec<Claim>,
}

/// A number, with the published one if there is one.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct Cell {
    /// The number of the figure, if it is one.
    figure: Option<u8>,
    /// `I3,5`.
    group: String,
    /// The target level.
    target: Option<f64>,
    /// The algorithm.
    algorithm: Option<String>,
    /// The quantity.
    quantity: Quantity,
    /// The published value.
    paper: Option<f64>,
    /// Our value; none: the mean of no values.
    ours: Option<f64>,
    /// `ours / paper - 1`.
    error: Option<f64>,
}

/// A quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
enum Quantity {
    /// The highest initial level.
    DcInitial,
    /// The part of the instances, in percent, for which the target is met.
    Success,
    /// Cost of the migrations, in seconds.
    Cost,
    /// Lower bound of the cost, in seconds.
    LowerBound,
    /// Number of migrations.
    Migrations,
    /// Search time, in seconds.
    SecondsTotal,
    /// Time until the best assignment was found, in seconds.
    SecondsToBest,
}

/// A claim of the paper, and the number of cases in which it holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct Claim {
    /// The text of the claim.
    claim: String,
    /// Number of cases in which it holds here.
    holds: usize,
    /// Number of cases.
    of: usize,
}

impl Cell {
    /// A number of `group`, without a published value.
    fn new(group: Group, quantity: Quantity, ours: Option<f64>) -> Self {
        Self {
            figure: None,
            group: group.to_string(),
            target: None,
            algorithm: None,
            quantity,
            paper: None,
            ours,
            error: None,
        }
    }

    /// For `algorithm` and `target`.
    fn of(mut self, algorithm: &impl ToString, target: f64) -> Self {
        self.algorithm = Some(algorithm.to_string());
        self.target = Some(target);
        self
    }

    /// Of figure `number`.
    const fn in_figure(mut self, number: u8) -> Self {
        self.figure = Some(number);
        self
    }

    /// With the published value, if there is one.
    fn beside(mut self, paper: Option<f64>) -> Self {
        self.paper = paper;
        let pair = paper.filter(|paper| *paper != 0.0).zip(self.ours);
        self.error = pair.map(|(paper, ours)| ours / paper - 1.0);
        self
    }
}

impl Claim {
    /// A claim that holds in those of `cases` that are true.
    fn new(claim: impl Into<String>, cases: impl IntoIterator<Item = bool>) -> Self {
        let cases: Vec<bool> = cases.into_iter().collect();
        Self {
            claim: claim.into(),
            holds: cases.iter().filter(|holds| **holds).count(),
            of: cases.len(),
        }
    }
}

impl Report {
    /// One row per number.
    pub(crate) fn csv(&self, provenance: &Provenance) -> Result<String, Failure> {
        let mut table = CsvTable::new(Self::SCHEMA, provenance);
        for cell in &self.cells {
            table.push(cell)?;
        }
        table.text()
    }
}

impl Published for Report {
    const SCHEMA: &'static str = "migbsp.reproduce-chen2008/1";
}

/// A row of Table 2.
#[derive(Clone, Debug, Deserialize)]
struct Level {
    group: String,
    dc_initial: f64,
}

/// A row of Table 3, in seconds.
#[derive(Clone, Debug, Deserialize)]
struct Times {
    group: String,
    total: f64,
    imlp: f64,
    islp: f64,
    mlp: f64,
    tabu: f64,
}

/// A third of a row of Table 4: one algorithm and one target.
#[derive(Clone, Debug, Deserialize)]
struct Uniform {
    group: String,
    target: f64,
    algorithm: String,
    /// Percent.
    success: f64,
    /// None where the paper has no legible value.
    migrations: Option<f64>,
    milliseconds: Option<f64>,
}

/// Table 2.
fn printed_levels() -> Vec<(Group, Level)> {
    rows(TABLE2, |row: &Level| &row.group)
}

/// Table 3.
fn printed_times() -> Vec<(Group, Times)> {
    rows(TABLE3, |row: &Times| &row.group)
}

/// Table 4, the three algorithms of a target one after the other.
fn printed_uniform() -> Vec<(Group, Uniform)> {
    rows(TABLE4, |row: &Uniform| &row.group)
}

fn rows<Row: DeserializeOwned>(text: &str, group: fn(&Row) -> &String) -> Vec<(Group, Row)> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let rows = reader.deserialize().map(|row: Result<Row, _>| {
        let row = row.expect("the table in the binary is right");
        let group = group(&row).parse().expect("the table names groups");
        (group, row)
    });
    rows.collect()
}

const TABLE2: &str = include_str!("../data/chen2008/table2.csv");
const TABLE3: &str = include_str!("../data/chen2008/table3.csv");
const TABLE4: &str = include_str!("../data/chen2008/table4.csv");

/// Result of an algorithm.
#[derive(Clone, Copy, Debug)]
struct Trial {
    is_met: bool,
    cost: f64,
    migrations: usize,
    /// Search time, in seconds: the mean over many runs, if it is short.
    seconds: f64,
    /// Time until the best assignment was found, in seconds.
    seconds_to_best: f64,
}

/// The result of `algorithm` within this number of steps.
fn trial(algorithm: &Algorithm, problem: &Problem, target: f64, steps: u64, seed: u64) -> Trial {
    let search = |budget: Budget<'_>| algorithm.search(problem, target, budget, seed);
    let (found, mut all) = Limit::Steps(steps).spend(search);
    // Searches of microseconds are timed over many runs.
    let mut runs = 1.0;
    while all < TIMED_MIN {
        all += Limit::Steps(steps).spend(search).1;
        runs += 1.0;
    }
    let seconds = all / runs;
    let share = real(found.steps_to_best) / real(found.steps).max(1.0);
    Trial {
        is_met: found.solution.feasible,
        cost: found.solution.cost,
        migrations: found.solution.migrations,
        seconds,
        seconds_to_best: seconds * share,
    }
}

/// Budget of algorithms that do not end by themselves: the steps of sixteen first iterations of IMLP, which
/// match the paper's total times.
fn budget(problem: &Problem, target: f64) -> u64 {
    let first = Method::Mlp.search(problem, target, Budget::Steps(u64::MAX), 0);
    first.steps.saturating_mul(ITERATIONS).max(STEPS_MIN)
}

/// `problem` with moves that cost 1 each.
fn uniform(problem: &Problem) -> Problem {
    let move_cost = MoveCost {
        fixed: 1.0,
        per_size: 0.0,
    };
    let machines = problem.machines().to_vec();
    let groups = machines.iter().map(|machine| machine.group + 1).max();
    let groups = groups.unwrap_or(1);
    Problem::new(
        machines,
        problem.residents().to_vec(),
        vec![vec![move_cost; groups]; groups],
    )
    .expect("only what moves cost was changed")
}

/// The mean of `numbers`; none if there are none.
fn mean(numbers: impl IntoIterator<Item = f64>) -> Option<f64> {
    let numbers: Vec<f64> = numbers.into_iter().collect();
    let count = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
    (0 < count).then(|| numbers.iter().sum::<f64>() / f64::from(count))
}

const ITERATIONS: u64 = 16;

/// Minimum total time of the runs of a mean, in seconds; a shorter one would measure caches.
const TIMED_MIN: f64 = 2e-3;

/// Minimum steps, for a first iteration that takes almost none.
const STEPS_MIN: u64 = 1000;

fn initial_levels(instances: u32) -> (Vec<Cell>, Vec<Claim>) {
    let cells = printed_levels().into_iter().map(|(group, printed)| {
        let level = |seed| {
            let problem = group.draw(seed);
            problem.level(&problem.initial_assignment())
        };
        let ours = mean((1..=u64::from(instances)).map(level));
        Cell::new(group, Quantity::DcInitial, ours).beside(Some(printed.dc_initial))
    });
    (cells.collect(), Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_tables_parse() {
        let groups: Vec<Group> = printed_levels().iter().map(|(group, _)| *group).collect();
        assert_eq!(groups, Group::all().collect::<Vec<_>>());
        let groups: Vec<Group> = printed_times().iter().map(|(group, _)| *group).collect();
        assert_eq!(groups, Group::all().skip(10).collect::<Vec<_>>());
        let uniform = printed_uniform();
        assert_eq!(uniform.len(), 10 * 2 * 3);
        for three in uniform.chunks(3) {
            let names: Vec<&str> = three
                .iter()
                .map(|(_, row)| row.algorithm.as_str())
                .collect();
            assert_eq!(names, ["islp", "mparv", "tabu"]);
            assert!(three.iter().all(|(group, row)| {
                *group == three[0].0 && (row.target - three[0].1.target).abs() < 1e-9
            }));
        }
        let migrations = uniform.iter().filter(|(_, row)| row.migrations.is_none());
        assert_eq!(migrations.count(), 4 + 1, "four never met, one illegible");
    }
}
