//! Results of a search, for `--format json` and `csv`.

use std::fmt;

use experiments::{CsvTable, Failure, Provenance, Published};
use migbsp::rebalance::Problem;
use serde::{Serialize, Serializer};

use crate::algorithm::Algorithm;
use crate::budget::Limit;
use crate::instance::Instance;
use crate::search::{Found, Relaxed, Search};
use crate::target::Target;
use analysis::text::rounded;

/// Results of `migbsp rebalance INSTANCE`.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The instance's name.
    pub(super) instance: String,
    /// The algorithm.
    pub(super) algorithm: String,
    /// Budget, written as text.
    #[serde(rename = "budget", serialize_with = "as_text")]
    pub(super) limit: Limit,
    /// Seed of random choices, for the text.
    #[serde(skip)]
    pub(super) seed: u64,
    /// `seconds` or `moves`: the unit of costs.
    pub(super) cost_unit: &'static str,
    /// The highest initial level.
    pub(super) dc_initial: f64,
    /// Lower bound of levels.
    pub(super) dc_ideal: f64,
    /// The names of the machines.
    pub(super) machines: Vec<String>,
    /// The names of the processes, if any has one; the others have their position.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) processes: Vec<String>,
    /// What is on each machine before any move.
    #[serde(flatten)]
    pub(super) initial: Initial,
    /// What took how long.
    #[serde(rename = "seconds")]
    pub(super) took: Seconds,
    /// By target, in the order they were given.
    pub(super) solutions: Vec<Assigned>,
}

/// The seconds that each part of the command took.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Seconds {
    /// Reading the instance.
    pub reading: f64,
    /// The searches of all targets.
    pub searching: f64,
    /// Lower bounds of the costs of all targets.
    pub bounds: f64,
}

/// What is on each machine before any move.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Initial {
    #[serde(rename = "loads_initial")]
    pub(super) loads: Vec<f64>,
    #[serde(rename = "levels_initial")]
    pub(super) levels: Vec<f64>,
    /// Bytes exchanged with other machines, if processes exchange any.
    #[serde(rename = "exchanged_initial", skip_serializing_if = "Option::is_none")]
    pub(super) exchanged: Option<Vec<f64>>,
    /// Bytes of memory, if that is limited.
    #[serde(rename = "memory_initial", skip_serializing_if = "Option::is_none")]
    pub(super) memory: Option<Vec<u64>>,
    /// Bytes of memory that each machine may hold, if that is limited.
    #[serde(rename = "memory_limits", skip_serializing_if = "Option::is_none")]
    pub(super) limits: Option<Vec<u64>>,
    /// The machines that hold more.
    #[serde(rename = "memory_exceeded", skip_serializing_if = "Vec::is_empty")]
    pub(super) exceeded: Vec<Machine>,
}

/// An assignment for a target.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Assigned {
    /// The target level; with `lowest`, the one that was reached.
    pub(super) target: f64,
    /// The target as a percentage of the ideal level, if it was given so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) percent_of_ideal: Option<f64>,
    /// Whether the target was the lowest level.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) lowest: bool,
    /// Whether it is met.
    pub(super) feasible: bool,
    /// The machine of each process.
    pub(super) assignment: Vec<Machine>,
    /// The highest level.
    pub(super) dc: f64,
    /// Total cost of the moves.
    pub(super) cost: f64,
    /// Lower bound of the cost of an assignment that meets the target; null: none meets it.
    pub(super) lower_bound: Option<f64>,
    /// Number of processes that move.
    pub(super) migrations: usize,
    /// The workload of each machine.
    pub(super) loads: Vec<f64>,
    /// The level of each machine.
    pub(super) levels: Vec<f64>,
    /// The bytes that each machine exchanges with others, if processes exchange any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) exchanged: Option<Vec<f64>>,
    /// The bytes of memory that each machine holds, if that is limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) memory: Option<Vec<u64>>,
    /// The most expensive first.
    pub(super) moves: Vec<Move>,
    /// Search time.
    pub(super) seconds: f64,
    /// Whether the search ended before the budget did.
    #[serde(skip)]
    pub(super) is_exhausted: bool,
    /// What is reached without a limit, if the target is not met.
    #[serde(skip)]
    pub(super) relaxed: Vec<Relaxed>,
}

/// A process that moves.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Move {
    /// Its position in the instance.
    pub(super) process: usize,
    /// Its name, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) name: Option<String>,
    pub(super) from: Machine,
    pub(super) to: Machine,
    pub(super) cost: f64,
}

/// A machine of the instance, which results show by its name.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub(super) struct Machine {
    name: String,
    /// Its position in the instance.
    #[serde(skip)]
    pub(super) index: usize,
}

/// A row of the CSV: a move, or a target without moves.
#[derive(Debug, Serialize)]
struct Row<'a> {
    target: f64,
    feasible: bool,
    dc: f64,
    cost: f64,
    lower_bound: Option<f64>,
    migrations: usize,
    seconds: f64,
    process: Option<usize>,
    workload: Option<f64>,
    size_mb: Option<f64>,
    from: Option<&'a Machine>,
    to: Option<&'a Machine>,
    move_cost: Option<f64>,
    name: Option<&'a str>,
}

impl Report {
    /// The report of the results `found` for each target.
    pub(super) fn new(
        instance: &Instance,
        problem: &Problem,
        (algorithm, search): (&Algorithm, Search),
        found: &[((Target, Found), Option<f64>)],
        took: Seconds,
    ) -> Self {
        let homes = problem.initial_assignment();
        let machine = |index: usize| Machine {
            name: instance.machines[index].clone(),
            index,
        };
        let memory = problem.occupied(&homes);
        let limits = problem.memory().map(|memory| memory.limits.clone());
        let pairs = memory.iter().flatten().zip(limits.iter().flatten());
        let exceeded = pairs.enumerate().filter(|(_, (held, limit))| limit < held);
        let exceeded = exceeded.map(|(index, _)| machine(index)).collect();
        let has_names = instance
            .processes
            .iter()
            .any(|process| process.name.is_some());
        let names = 0..if has_names {
            instance.processes.len()
        } else {
            0
        };
        Self {
            instance: instance.name.clone(),
            algorithm: algorithm.to_string(),
            limit: search.limit,
            seed: search.seed,
            cost_unit: search.cost.name(),
            dc_initial: problem.level(&homes),
            dc_ideal: problem.ideal(),
            machines: instance.machines.clone(),
            processes: names
                .map(|process| instance.process_name(process))
                .collect(),
            initial: Initial {
                loads: problem.loads(&homes),
                levels: problem.levels(&homes),
                exchanged: problem.exchanged(&homes),
                memory,
                limits,
                exceeded,
            },
            took,
            solutions: found
                .iter()
                .map(|found| Assigned::new(instance, problem, found))
                .collect(),
        }
    }

    /// One row per move, and one per target without moves.
    ///
    /// # Errors
    ///
    /// If the writer fails, which a buffer in memory does not.
    pub fn csv(&self, instance: &Instance, provenance: &Provenance) -> Result<String, Failure> {
        let mut table = CsvTable::new(Self::SCHEMA, provenance);
        for solution in &self.solutions {
            if solution.moves.is_empty() {
                table.push(Row::new(solution, instance, None))?;
            }
            for one in &solution.moves {
                table.push(Row::new(solution, instance, Some(one)))?;
            }
        }
        table.text()
    }
}

impl Assigned {
    fn new(
        instance: &Instance,
        problem: &Problem,
        ((target, found), lower_bound): &((Target, Found), Option<f64>),
    ) -> Self {
        let solution = &found.solution;
        let machine = |index: usize| Machine {
            name: instance.machines[index].clone(),
            index,
        };
        let places = problem.initial_assignment().into_iter().zip(&solution.assignment);
        let moved = places
            .enumerate()
            .filter(|(_, (home, place))| home != *place);
        let mut moves: Vec<Move> = moved
            .map(|(process, (from, &to))| Move {
                process,
                name: instance.processes[process].name.clone(),
                from: machine(from),
                to: machine(to),
                cost: problem.cost(process, to),
            })
            .collect();
        moves.sort_by(|left, right| right.cost.total_cmp(&left.cost));
        Self {
            target: target.level(problem.ideal()).unwrap_or(solution.level),
            percent_of_ideal: match target {
                Target::OfIdeal(percent) => Some(*percent),
                Target::Level(_) | Target::Lowest => None,
            },
            lowest: *target == Target::Lowest,
            feasible: solution.feasible,
            assignment: solution.assignment.iter().copied().map(machine).collect(),
            dc: solution.level,
            cost: solution.cost,
            lower_bound: *lower_bound,
            migrations: solution.migrations,
            loads: problem.loads(&solution.assignment),
            levels: problem.levels(&solution.assignment),
            exchanged: problem.exchanged(&solution.assignment),
            memory: problem.occupied(&solution.assignment),
            moves,
            seconds: found.seconds,
            is_exhausted: found.is_exhausted,
            relaxed: found.relaxed.clone(),
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.name)
    }
}

impl Published for Report {
    const SCHEMA: &'static str = "migbsp.rebalance/2";
}

impl<'a> Row<'a> {
    fn new(solution: &Assigned, instance: &Instance, one: Option<&'a Move>) -> Self {
        let process = one.map(|one| &instance.processes[one.process]);
        Self {
            target: solution.target,
            feasible: solution.feasible,
            dc: solution.dc,
            cost: solution.cost,
            lower_bound: solution.lower_bound,
            migrations: solution.migrations,
            seconds: solution.seconds,
            process: one.map(|one| one.process),
            workload: process.map(|process| process.workload),
            size_mb: process.map(|process| process.size),
            from: one.map(|one| &one.from),
            to: one.map(|one| &one.to),
            move_cost: one.map(|one| one.cost),
            name: one.and_then(|one| one.name.as_deref()),
        }
    }
}

fn as_text<S: Serializer>(limit: &Limit, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(limit)
}

/// A level as text.
pub(super) fn level(number: f64) -> String {
    rounded(number, 2)
}
