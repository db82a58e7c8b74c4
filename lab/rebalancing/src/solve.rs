//! An assignment for each target.

mod text;

use std::fmt;
use std::time::Instant;

use analysis::document::csv_of_fields;
use analysis::text::rounded;
use experiments::batch::Batch;
use experiments::{Failure, Provenance, Published};
use model::rebalance::Problem;
use serde::{Serialize, Serializer};

use crate::algorithm::Algorithm;
use crate::instance::Instance;
use crate::search::{Found, Limit, Relaxed, Search, Target, lower_bound};

pub(crate) use crate::solve::text::{complaint, document};

/// The assignments that `algorithm` finds for `targets`, in their order. Reading `instance` took `reading` seconds.
pub(crate) fn solve(
    (instance, reading): (&Instance, f64),
    targets: &[Target],
    algorithm: &Algorithm,
    search: Search,
    batch: Batch<'_>,
) -> Result<Report, Failure> {
    let problem = instance.problem(search.cost);
    let began = Instant::now();
    let each = search.of_each(targets.len(), batch.threads(targets.len()));
    let found = batch.run(targets, |target| {
        Ok((*target, each.find(algorithm, &problem, *target)))
    })?;
    let searching = began.elapsed().as_secs_f64();
    let bounds = batch.run(&found, |(target, found)| {
        let level = target.level(problem.ideal());
        let level = level.unwrap_or(found.solution.level);
        Ok(lower_bound(&problem, level, Some(each.limit)))
    })?;
    let seconds = Seconds {
        reading,
        searching,
        bounds: began.elapsed().as_secs_f64() - searching,
    };
    let found: Vec<_> = found.into_iter().zip(bounds).collect();
    Ok(Report::new(
        instance,
        &problem,
        (algorithm, search),
        &found,
        seconds,
    ))
}

/// Results of `migbsp rebalance INSTANCE`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(crate) struct Report {
    /// The instance's name.
    instance: String,
    /// The algorithm.
    algorithm: String,
    /// Budget, written as text.
    #[cfg_attr(feature = "schemas", schemars(with = "String"))]
    #[serde(rename = "budget", serialize_with = "as_text")]
    limit: Limit,
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
    /// The names of the machines.
    machines: Vec<String>,
    /// The names of the processes, if any has one; the others have their position.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    processes: Vec<String>,
    /// What is on each machine before any move.
    #[serde(flatten)]
    initial: Initial,
    /// What took how long.
    #[serde(rename = "seconds")]
    took: Seconds,
    /// By target, in the order they were given.
    solutions: Vec<Assigned>,
}

/// The seconds that each part of the command took.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub(crate) struct Seconds {
    /// Reading the instance.
    pub reading: f64,
    /// The searches of all targets.
    pub searching: f64,
    /// Lower bounds of the costs of all targets.
    pub bounds: f64,
}

/// What is on each machine before any move.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct Initial {
    /// The workload of each machine.
    #[serde(rename = "loads_initial")]
    loads: Vec<f64>,
    /// The level of each machine.
    #[serde(rename = "levels_initial")]
    levels: Vec<f64>,
    /// Bytes exchanged with other machines, if processes exchange any.
    #[serde(rename = "exchanged_initial", skip_serializing_if = "Option::is_none")]
    exchanged: Option<Vec<f64>>,
    /// Bytes of memory, if that is limited.
    #[serde(rename = "memory_initial", skip_serializing_if = "Option::is_none")]
    memory: Option<Vec<u64>>,
    /// Bytes of memory that each machine may hold, if that is limited.
    #[serde(rename = "memory_limits", skip_serializing_if = "Option::is_none")]
    limits: Option<Vec<u64>>,
    /// The machines that hold more.
    #[serde(rename = "memory_exceeded", skip_serializing_if = "Vec::is_empty")]
    exceeded: Vec<Machine>,
}

/// An assignment for a target.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct Assigned {
    /// The target level; with `lowest`, the one that was reached.
    target: f64,
    /// The target as a percentage of the ideal level, if it was given so.
    #[serde(skip_serializing_if = "Option::is_none")]
    percent_of_ideal: Option<f64>,
    /// Whether the target was the lowest level.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    lowest: bool,
    /// Whether it is met.
    feasible: bool,
    /// The machine of each process.
    assignment: Vec<Machine>,
    /// The highest level.
    dc: f64,
    /// Total cost of the moves.
    cost: f64,
    /// Lower bound of the cost of an assignment that meets the target; null: none meets it.
    lower_bound: Option<f64>,
    /// Number of processes that move.
    migrations: usize,
    /// The workload of each machine.
    loads: Vec<f64>,
    /// The level of each machine.
    levels: Vec<f64>,
    /// The bytes that each machine exchanges with others, if processes exchange any.
    #[serde(skip_serializing_if = "Option::is_none")]
    exchanged: Option<Vec<f64>>,
    /// The bytes of memory that each machine holds, if that is limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<Vec<u64>>,
    /// The most expensive first.
    moves: Vec<Move>,
    /// Search time.
    seconds: f64,
    /// Whether the search ended before the budget did.
    #[serde(skip)]
    is_exhausted: bool,
    /// What is reached without a limit, if the target is not met.
    #[serde(skip)]
    relaxed: Vec<Relaxed>,
}

/// A process that moves.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct Move {
    /// Its position in the instance.
    process: usize,
    /// Its name, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// The machine that it leaves.
    from: Machine,
    /// The machine that it goes to.
    to: Machine,
    /// What that costs.
    cost: f64,
}

/// A machine of the instance, which results show by its name.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(transparent)]
struct Machine {
    name: String,
    /// Its position in the instance.
    #[serde(skip)]
    index: usize,
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
    fn new(
        instance: &Instance,
        problem: &Problem,
        (algorithm, search): (&Algorithm, Search),
        found: &[((Target, Found), Option<f64>)],
        took: Seconds,
    ) -> Self {
        let initial = problem.initial_assignment();
        let machine = |index: usize| Machine {
            name: instance.machines[index].clone(),
            index,
        };
        let memory = problem.occupied(&initial);
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
            dc_initial: problem.level(&initial),
            dc_ideal: problem.ideal(),
            machines: instance.machines.clone(),
            processes: names
                .map(|process| instance.process_name(process))
                .collect(),
            initial: Initial {
                loads: problem.loads(&initial),
                levels: problem.levels(&initial),
                exchanged: problem.exchanged(&initial),
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
    pub(crate) fn csv(
        &self,
        instance: &Instance,
        provenance: &Provenance,
    ) -> Result<String, Failure> {
        let rows = self.solutions.iter().flat_map(|solution| {
            let none = solution.moves.is_empty().then_some(None);
            let moves = none.into_iter().chain(solution.moves.iter().map(Some));
            moves.map(move |one| Row::new(solution, instance, one))
        });
        csv_of_fields::<Self, _>(provenance, rows)
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
        let places = problem
            .initial_assignment()
            .into_iter()
            .zip(&solution.assignment);
        let moved = places
            .enumerate()
            .filter(|(_, (initial, place))| initial != *place);
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
    const SCHEMA: &'static str = "migbsp.rebalance/1";
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
fn level(number: f64) -> String {
    rounded(number, 2)
}
