//! Workloads, machines, and what moving costs.

mod limits;

use std::ops::RangeInclusive;

use crate::rebalance::ProblemError;
use crate::rebalance::communication::Communication;
use crate::rebalance::memory::Memory;

/// An assignment that is to be balanced.
///
/// Workloads, capacities and sizes are in units of the caller's. A level is a workload divided by a capacity, and what
/// the machine's exchange with others adds. The cost of a move is in the unit of [`MoveCost`]: seconds, if work is
/// per second and they are in seconds.
///
/// Without more, every process may go to every machine. [`with_pins`](Problem::with_pins) and
/// [`with_memory`](Problem::with_memory) limit that, and [`with_communication`](Problem::with_communication) adds what
/// processes exchange.
///
/// Invariant: at least one machine and one process; capacities, and workloads, sizes and costs unless they are
/// 0, are from 10⁻⁵⁰ to 10⁵⁰, so that no product or sum of a few leaves the range of numbers; homes and groups
/// exist; with every process where searches begin, no machine's memory is exceeded.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    machines: Vec<Machine>,
    residents: Vec<Resident>,
    /// Group × group, by the group that is left.
    move_costs: Vec<Vec<MoveCost>>,
    /// By process: whether it stays at home; empty if all may move.
    pins: Vec<bool>,
    memory: Option<Memory>,
    /// By process: where searches begin, if homes exceed the memory of a machine.
    mended: Option<Vec<usize>>,
    communication: Option<Communication>,
}

/// A machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// The workload that it computes in a unit of time.
    pub capacity: f64,
    /// Its group of machines: a cluster, or a Set.
    pub group: usize,
}

/// A process before any migration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resident {
    /// Its workload.
    pub workload: f64,
    /// The size of its image.
    pub size: f64,
    /// The machine on which it is.
    pub home: usize,
}

/// The cost of a move, by the groups of the machines that the process leaves and enters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MoveCost {
    /// Of every process.
    pub fixed: f64,
    /// Of every unit of its size.
    pub per_size: f64,
}

impl Problem {
    /// Processes on machines; `move_costs` by the groups that are left and entered.
    ///
    /// # Errors
    ///
    /// If it contradicts the invariant; the first place where it does is named.
    pub fn new(
        machines: Vec<Machine>,
        residents: Vec<Resident>,
        move_costs: Vec<Vec<MoveCost>>,
    ) -> Result<Self, ProblemError> {
        let groups = move_costs.len();
        for (from, row) in move_costs.iter().enumerate() {
            let numbers =
                |move_cost: &MoveCost| is_amount(move_cost.fixed) && is_amount(move_cost.per_size);
            if row.len() != groups || !row.iter().all(numbers) {
                return Err(ProblemError::MoveCost { from, groups });
            }
        }
        if machines.is_empty() {
            return Err(ProblemError::NoMachine);
        }
        for (machine, &Machine { capacity, group }) in machines.iter().enumerate() {
            if !RANGE.contains(&capacity) {
                let met = capacity;
                return Err(ProblemError::Capacity { machine, met });
            }
            if groups <= group {
                let met = group;
                return Err(ProblemError::Group {
                    machine,
                    met,
                    groups,
                });
            }
        }
        if residents.is_empty() {
            return Err(ProblemError::NoProcess);
        }
        for (process, resident) in residents.iter().enumerate() {
            for (what, met) in [("workload", resident.workload), ("size", resident.size)] {
                if !is_amount(met) {
                    return Err(ProblemError::Amount { process, what, met });
                }
            }
            let (met, machines) = (resident.home, machines.len());
            if machines <= met {
                return Err(ProblemError::Home {
                    process,
                    met,
                    machines,
                });
            }
        }
        Ok(Self {
            machines,
            residents,
            move_costs,
            pins: Vec::new(),
            memory: None,
            mended: None,
            communication: None,
        })
    }

    /// The same with processes that exchange bytes: for each of `edges`, two processes and the bytes of a superstep,
    /// both ways together. A byte adds `weight` to the level of each of two machines between which it is exchanged.
    ///
    /// # Errors
    ///
    /// If an edge is of a process that does not exist, or bytes or weight are not 0 or a number from 10⁻⁵⁰ to 10⁵⁰.
    pub fn with_communication(
        mut self,
        edges: &[(usize, usize, f64)],
        weight: f64,
    ) -> Result<Self, ProblemError> {
        let processes = self.residents.len();
        for (edge, &(one, other, met)) in edges.iter().enumerate() {
            if let Some(met) = [one, other].into_iter().find(|end| processes <= *end) {
                return Err(ProblemError::Edge {
                    edge,
                    met,
                    processes,
                });
            }
            if !is_amount(met) {
                let what = "an exchange";
                return Err(ProblemError::Bytes { what, met });
            }
        }
        if !is_amount(weight) {
            let (what, met) = ("a weight", weight);
            return Err(ProblemError::Bytes { what, met });
        }
        let has_any = !edges.is_empty();
        self.communication = has_any.then(|| Communication::new(processes, edges, weight));
        Ok(self)
    }

    /// The same with processes that exchange nothing.
    #[must_use]
    pub fn without_communication(mut self) -> Self {
        self.communication = None;
        self
    }

    /// A machine.
    #[must_use]
    pub fn machines(&self) -> &[Machine] {
        &self.machines
    }

    /// The computation before any migration.
    #[must_use]
    pub fn residents(&self) -> &[Resident] {
        &self.residents
    }

    /// What it costs that `process` ends on `machine`: nothing at home.
    #[must_use]
    pub fn cost(&self, process: usize, machine: usize) -> f64 {
        let Resident { size, home, .. } = self.residents[process];
        if home == machine {
            return 0.0;
        }
        let move_cost = self.move_costs[self.machines[home].group][self.machines[machine].group];
        move_cost.fixed + move_cost.per_size * size
    }

    /// What moving takes from a machine of group `from` to another machine of group `to`.
    #[must_use]
    pub fn move_cost(&self, from: usize, to: usize) -> MoveCost {
        self.move_costs[from][to]
    }

    /// How many groups there are, with or without machines.
    pub const fn group_count(&self) -> usize {
        self.move_costs.len()
    }

    /// The home of every process.
    #[must_use]
    pub fn homes(&self) -> Vec<usize> {
        self.residents
            .iter()
            .map(|resident| resident.home)
            .collect()
    }

    /// What processes exchange, if that has a weight.
    pub(super) fn communication(&self) -> Option<&Communication> {
        let communication = self.communication.as_ref();
        communication.filter(|communication| 0.0 < communication.weight())
    }

    /// The bytes that two processes exchange, for each pair that does, and what a byte adds to a level.
    #[must_use]
    pub fn exchange(&self) -> (Vec<(usize, usize, f64)>, f64) {
        let communication = self.communication.as_ref();
        communication.map_or((Vec::new(), 0.0), |communication| {
            (communication.edges().collect(), communication.weight())
        })
    }

    /// Whether what processes exchange adds to levels.
    #[must_use]
    pub fn weighs_exchange(&self) -> bool {
        self.communication().is_some()
    }

    /// The bytes that each machine exchanges with others in a superstep under `assignment`; `None` if no process
    /// exchanges anything.
    #[must_use]
    pub fn exchanged(&self, assignment: &[usize]) -> Option<Vec<f64>> {
        let communication = self.communication.as_ref()?;
        Some(communication.exchanged(assignment, self.machines.len()))
    }

    /// The level that no assignment can be below: all work on all machines, divisible at will.
    #[must_use]
    pub fn ideal(&self) -> f64 {
        let work: f64 = self
            .residents
            .iter()
            .map(|resident| resident.workload)
            .sum();
        let capacity: f64 = self.machines.iter().map(|machine| machine.capacity).sum();
        work / capacity
    }

    /// The workload of each machine under `assignment`.
    #[must_use]
    pub fn loads(&self, assignment: &[usize]) -> Vec<f64> {
        let mut loads = vec![0.0; self.machines.len()];
        for (resident, &machine) in self.residents.iter().zip(assignment) {
            loads[machine] += resident.workload;
        }
        loads
    }

    /// The workload of each machine of the processes that may not move.
    #[must_use]
    pub fn pinned_loads(&self) -> Vec<f64> {
        let mut loads = vec![0.0; self.machines.len()];
        for (process, resident) in self.residents.iter().enumerate() {
            if !self.is_movable(process) {
                loads[resident.home] += resident.workload;
            }
        }
        loads
    }

    /// The level of each machine under `assignment`: its workload divided by its capacity, and what it exchanges with
    /// others times the weight of a byte.
    #[must_use]
    pub fn levels(&self, assignment: &[usize]) -> Vec<f64> {
        let mut levels = self.loads(assignment);
        for (level, machine) in levels.iter_mut().zip(&self.machines) {
            *level /= machine.capacity;
        }
        if let Some(communication) = self.communication() {
            let exchanged = communication.exchanged(assignment, self.machines.len());
            for (level, bytes) in levels.iter_mut().zip(exchanged) {
                *level += communication.weight() * bytes;
            }
        }
        levels
    }

    /// The highest level of a machine under `assignment`.
    #[must_use]
    pub fn level(&self, assignment: &[usize]) -> f64 {
        self.levels(assignment).into_iter().fold(0.0, f64::max)
    }
}

fn check_count(what: &'static str, met: usize, expected: usize) -> Result<(), ProblemError> {
    if met == expected {
        Ok(())
    } else {
        Err(ProblemError::Count {
            what,
            met,
            expected,
        })
    }
}

fn is_amount(number: f64) -> bool {
    RANGE.contains(&number) || (0.0..=0.0).contains(&number)
}

const RANGE: RangeInclusive<f64> = 1e-50..=1e50;

#[cfg(test)]
mod tests {
    use super::*;

    /// The first number a capacity, the others workload, size and what a move takes.
    fn problem([capacity, workload, size, fixed]: [f64; 4]) -> Result<Problem, ProblemError> {
        Problem::new(
            vec![Machine { capacity, group: 0 }],
            vec![Resident {
                workload,
                size,
                home: 0,
            }],
            vec![vec![MoveCost {
                fixed,
                per_size: 1.0,
            }]],
        )
    }

    #[test]
    fn numbers_of_which_products_would_be_none_are_refused() {
        assert!(problem([1.0, 0.0, 0.0, 0.0]).is_ok());
        assert!(problem([1e-50, 1e50, 1e-50, 1e50]).is_ok());
        for at in 0..4 {
            for number in [-1.0, 1e-300, 1e300, f64::INFINITY, f64::NAN] {
                let mut numbers = [1.0; 4];
                numbers[at] = number;
                assert!(problem(numbers).is_err(), "{numbers:?}");
            }
        }
        assert!(problem([0.0; 4]).is_err());
    }
}
