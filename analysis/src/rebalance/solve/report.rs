//! Results of a search, for `--format json` and `csv`.

use std::fmt;

use experiments::{CsvTable, Failure, Provenance, Published};
use migbsp::rebalance::Problem;
use serde::Serialize;

use crate::rebalance::algorithm::Algorithm;
use crate::rebalance::instance::Instance;
use crate::rebalance::search::{Found, Search};
use crate::text::rounded;

/// Results of `migbsp rebalance INSTANCE`.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The instance's name.
    pub(super) instance: String,
    /// The algorithm.
    pub(super) algorithm: String,
    /// Budget for each target, as text.
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
    /// The names of the machines.
    pub(super) machines: Vec<String>,
    /// The initial workload of each machine.
    pub(super) loads_initial: Vec<f64>,
    /// By target, in the order they were given.
    pub(super) solutions: Vec<Assigned>,
}

/// An assignment for a target.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Assigned {
    /// The target level.
    pub(super) target: f64,
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
    /// The most expensive first.
    pub(super) moves: Vec<Move>,
    /// Search time.
    pub(super) seconds: f64,
    /// Whether the search ended before the budget did.
    #[serde(skip)]
    is_exhausted: bool,
}

/// A process that moves.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Move {
    /// Its position in the instance.
    pub(super) process: usize,
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
}

impl Report {
    /// The report of the results `found` for each target.
    pub(super) fn new(
        instance: &Instance,
        problem: &Problem,
        algorithm: &Algorithm,
        search: Search,
        found: &[(f64, Found, Option<f64>)],
    ) -> Self {
        let homes = problem.homes();
        Self {
            instance: instance.name.clone(),
            algorithm: algorithm.to_string(),
            budget: search.limit.to_string(),
            seed: search.seed,
            cost_unit: search.cost.name(),
            dc_initial: problem.level(&homes),
            dc_ideal: problem.ideal(),
            machines: instance.machines.clone(),
            loads_initial: problem.loads(&homes),
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

    /// A message for each target that is not met, one a line; `None` if all are.
    pub fn complaint(&self) -> Option<String> {
        let missed = self.solutions.iter().filter(|solution| !solution.feasible);
        let lines: Vec<String> = missed.map(|solution| self.missed(solution)).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    fn missed(&self, solution: &Assigned) -> String {
        let target = solution.target;
        let reached = beside(solution.dc, target);
        match solution.lower_bound {
            None if target < self.dc_ideal => format!(
                "target {target} cannot be met: perfect balance is {}; {reached} was reached",
                beside(self.dc_ideal, target)
            ),
            None => {
                format!("target {target} cannot be met by any assignment; {reached} was reached")
            }
            Some(_) if solution.is_exhausted => format!(
                "target {target} is not met: {} reached {reached} and ended within {}; another --algorithm may find more",
                self.algorithm, self.budget
            ),
            Some(_) => format!(
                "target {target} is not met: {} reached {reached} within {}; a larger --budget may find more",
                self.algorithm, self.budget
            ),
        }
    }
}

impl Assigned {
    fn new(
        instance: &Instance,
        problem: &Problem,
        (target, found, lower_bound): &(f64, Found, Option<f64>),
    ) -> Self {
        let solution = &found.solution;
        let machine = |index: usize| Machine {
            name: instance.machines[index].clone(),
            index,
        };
        let places = problem.homes().into_iter().zip(&solution.assignment);
        let moved = places
            .enumerate()
            .filter(|(_, (home, place))| home != *place);
        let mut moves: Vec<Move> = moved
            .map(|(process, (from, &to))| Move {
                process,
                from: machine(from),
                to: machine(to),
                cost: problem.cost(process, to),
            })
            .collect();
        moves.sort_by(|left, right| right.cost.total_cmp(&left.cost));
        Self {
            target: *target,
            feasible: solution.feasible,
            assignment: solution.assignment.iter().copied().map(machine).collect(),
            dc: solution.level,
            cost: solution.cost,
            lower_bound: *lower_bound,
            migrations: solution.migrations,
            loads: problem.loads(&solution.assignment),
            moves,
            seconds: found.seconds,
            is_exhausted: found.is_exhausted,
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
        }
    }
}

/// A level as text.
pub(super) fn level(number: f64) -> String {
    rounded(number, 2)
}

/// A level as text, with enough digits to show on which side of `target` it is.
fn beside(number: f64, target: f64) -> String {
    let side = number.partial_cmp(&target);
    let is_distinct = |text: &String| {
        let read = text.parse::<f64>();
        read.is_ok_and(|read| read.partial_cmp(&target) == side)
    };
    let mut texts = (2..=DECIMALS_MAX).map(|decimals| rounded(number, decimals));
    texts
        .find(is_distinct)
        .unwrap_or_else(|| number.to_string())
}

/// Maximum number of digits.
const DECIMALS_MAX: u8 = 15;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shown_level_is_on_the_same_side_of_the_target() {
        for (number, target, text) in [
            (45.0, 44.0, "45.00"),
            (33.33, 33.33, "33.33"),
            (100.0 / 3.0, 33.33, "33.333"),
            (100.0 / 3.0, 33.3333, "33.33333"),
            (33.334, 33.33, "33.334"),
            (33.329, 33.33, "33.329"),
            (1.0 + f64::EPSILON, 1.0, "1.0000000000000002"),
        ] {
            assert_eq!(beside(number, target), text, "{number} {target}");
        }
    }
}
