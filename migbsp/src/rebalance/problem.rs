//! Workloads, machines, and what moving costs.

use std::ops::RangeInclusive;

/// An assignment that is to be balanced.
///
/// Workloads, capacities and sizes are in units of the caller's. A level is a workload divided by a capacity. The
/// cost of a move is in the unit of [`MoveCost`]: seconds, if work is per second and they are in seconds.
///
/// Invariant: at least one machine and one process; capacities, and workloads, sizes and costs unless they are
/// 0, are from 10⁻⁵⁰ to 10⁵⁰, so that no product or sum of a few leaves the range of numbers; homes and groups
/// exist.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    machines: Vec<Machine>,
    residents: Vec<Resident>,
    /// Group × group, by the group that is left.
    move_costs: Vec<Vec<MoveCost>>,
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

/// Why there is no such problem.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ProblemError {
    /// Nothing to compute on.
    #[error("no machine: must be at least one")]
    NoMachine,
    /// Nothing to move.
    #[error("no process: must be at least one")]
    NoProcess,
    /// A capacity that is none.
    #[error("machine {machine} has capacity {met}: must be a number from 1e-50 to 1e50")]
    Capacity {
        /// Which machine.
        machine: usize,
        /// What it has.
        met: f64,
    },
    /// A group without costs of moves.
    #[error("machine {machine} is in group {met}: must be one of 0..{groups}")]
    Group {
        /// Which machine.
        machine: usize,
        /// Where it is said to be.
        met: usize,
        /// How many there are.
        groups: usize,
    },
    /// A workload or a size that is none.
    #[error("process {process} has {what} {met}: must be 0 or a number from 1e-50 to 1e50")]
    Amount {
        /// Which process.
        process: usize,
        /// Its workload or its size.
        what: &'static str,
        /// What it is.
        met: f64,
    },
    /// A home that does not exist.
    #[error("process {process} is on machine {met}: must be one of 0..{machines}")]
    Home {
        /// Which process.
        process: usize,
        /// Where it is said to be.
        met: usize,
        /// How many there are.
        machines: usize,
    },
    /// Ways that are no square of numbers.
    #[error(
        "costs of moves from group {from}: must be one to each of {groups} groups, 0 or from 1e-50 to 1e50"
    )]
    MoveCost {
        /// From where.
        from: usize,
        /// How many groups there are.
        groups: usize,
    },
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
        })
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
    pub(super) const fn group_count(&self) -> usize {
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

    /// The highest level of a machine under `assignment`.
    #[must_use]
    pub fn level(&self, assignment: &[usize]) -> f64 {
        let levels = self.loads(assignment);
        let levels = levels.iter().zip(&self.machines);
        levels
            .map(|(load, machine)| load / machine.capacity)
            .fold(0.0, f64::max)
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
