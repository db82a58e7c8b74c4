//! The assignment of a search.

use super::problem::MemoryUse;
use crate::rebalance::Problem;

/// An assignment, with what a search asks about it all the time.
///
/// Levels are of workloads: what processes exchange is left out. Memory is linear in processes and machines. Loads are sums in the order of the lists, so that they depend on
/// the assignment alone and not on how the search came there.
///
/// Invariant: lists, loads, levels and ranking are those of the assignment.
#[derive(Debug)]
pub struct State<'a> {
    problem: &'a Problem,
    assignment: Vec<usize>,
    /// By machine: the processes on it that may move, in ascending order.
    lists: Vec<Vec<Entry>>,
    /// By machine: the workload of those that may not.
    pinned_loads: Vec<f64>,
    loads: Vec<f64>,
    levels: Vec<f64>,
    /// The machines from the highest level to the lowest; of equal ones, the first comes first.
    ranking: Vec<usize>,
    cost: f64,
    /// What machines hold, if their memory is limited.
    memory: Option<MemoryUse<'a>>,
}

/// A process on the list of its machine, which is in ascending order of workload and number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// Its workload.
    pub workload: f64,
    /// Its number.
    pub process: usize,
}

impl<'a> State<'a> {
    /// With every process where searches begin.
    pub fn at_start(problem: &'a Problem) -> Self {
        Self::of(problem, problem.start())
    }

    /// With the processes on the machines of `assignment`.
    pub fn of(problem: &'a Problem, assignment: Vec<usize>) -> Self {
        let machines = problem.machines().len();
        let mut lists = vec![Vec::new(); machines];
        let mut cost = 0.0;
        for (process, &machine) in assignment.iter().enumerate() {
            let workload = problem.residents()[process].workload;
            if problem.is_movable(process) {
                lists[machine].push(Entry { workload, process });
            }
            cost += problem.cost(process, machine);
        }
        for list in &mut lists {
            list.sort_unstable_by(Entry::order);
        }
        let mut state = Self {
            problem,
            pinned_loads: problem.pinned_loads(),
            memory: problem.memory_use(&assignment),
            assignment,
            lists,
            loads: vec![0.0; machines],
            levels: vec![0.0; machines],
            ranking: (0..machines).collect(),
            cost,
        };
        for machine in 0..machines {
            state.weigh(machine);
        }
        let levels = &state.levels;
        state
            .ranking
            .sort_unstable_by(|&a, &b| levels[b].total_cmp(&levels[a]).then(a.cmp(&b)));
        state
    }

    /// Becomes equal to `other`, which is of the same problem; takes no memory.
    pub(super) fn become_like(&mut self, other: &Self) {
        self.assignment.clone_from(&other.assignment);
        self.lists.clone_from(&other.lists);
        self.loads.clone_from(&other.loads);
        self.levels.clone_from(&other.levels);
        self.ranking.clone_from(&other.ranking);
        self.cost = other.cost;
        if let (Some(memory), Some(other)) = (&mut self.memory, &other.memory) {
            memory.become_like(other);
        }
    }

    /// `process` goes to `machine`, unless it is there.
    pub(super) fn relocate(&mut self, process: usize, machine: usize) {
        let left = self.assignment[process];
        if left == machine {
            return;
        }
        self.cost += self.problem.cost(process, machine) - self.problem.cost(process, left);
        self.assignment[process] = machine;
        if let Some(memory) = &mut self.memory {
            memory.relocate(process, left, machine);
        }
        let workload = self.problem.residents()[process].workload;
        let entry = Entry { workload, process };
        let at = self.lists[left]
            .binary_search_by(|other| other.order(&entry))
            .expect("a process is on the list of its machine");
        self.lists[left].remove(at);
        let at = self.lists[machine].partition_point(|other| other.order(&entry).is_lt());
        self.lists[machine].insert(at, entry);
        self.rank(left);
        self.rank(machine);
    }

    /// The problem.
    #[must_use]
    pub const fn problem(&self) -> &'a Problem {
        self.problem
    }

    /// The machine of every process.
    pub fn assignment(&self) -> &[usize] {
        &self.assignment
    }

    /// Whether `machine` has the memory for `process`, which is not there, once `back` has left it.
    #[inline]
    pub(super) fn fits(&self, process: usize, back: Option<usize>, machine: usize) -> bool {
        let memory = self.memory.as_ref();
        memory.is_none_or(|memory| memory.fits_instead(process, back, machine))
    }

    /// The processes on `machine` that may move, in ascending order.
    #[inline]
    pub fn list(&self, machine: usize) -> &[Entry] {
        &self.lists[machine]
    }

    /// The workload on `machine` of processes that may not move.
    pub fn pinned_load(&self, machine: usize) -> f64 {
        self.pinned_loads[machine]
    }

    /// The workload on `machine`.
    #[inline]
    pub fn load(&self, machine: usize) -> f64 {
        self.loads[machine]
    }

    /// The level of `machine`.
    #[inline]
    pub(super) fn level_of(&self, machine: usize) -> f64 {
        self.levels[machine]
    }

    /// The highest level of a machine.
    #[inline]
    pub(super) fn level(&self) -> f64 {
        self.levels[self.ranking[0]]
    }

    /// The machines from the highest level to the lowest.
    #[inline]
    pub(super) fn ranking(&self) -> &[usize] {
        &self.ranking
    }

    /// What all that are not on their initial machine cost, to the last digits but a few.
    pub(super) const fn cost(&self) -> f64 {
        self.cost
    }

    fn weigh(&mut self, machine: usize) {
        let load: f64 = self.lists[machine].iter().map(|entry| entry.workload).sum();
        let load = self.pinned_loads[machine] + load;
        self.loads[machine] = load;
        self.levels[machine] = load / self.problem.machines()[machine].capacity;
    }

    /// Weighs `machine` anew and brings it to its place in the ranking.
    fn rank(&mut self, machine: usize) {
        let old = self.place(machine);
        let before = self.levels[machine];
        self.weigh(machine);
        let levels = &self.levels;
        let key = levels[machine];
        let is_above = |&other: &usize| {
            levels[other]
                .total_cmp(&key)
                .reverse()
                .then(other.cmp(&machine))
                .is_lt()
        };
        if before < key {
            let new = self.ranking[..old].partition_point(is_above);
            self.ranking[new..=old].rotate_right(1);
        } else {
            let new = old + self.ranking[old + 1..].partition_point(is_above);
            self.ranking[old..=new].rotate_left(1);
        }
    }

    fn place(&self, machine: usize) -> usize {
        let key = self.levels[machine];
        self.ranking
            .binary_search_by(|&other| {
                let order = self.levels[other].total_cmp(&key).reverse();
                order.then(other.cmp(&machine))
            })
            .expect("every machine has its place")
    }
}

impl Entry {
    /// By workload, then by number.
    #[must_use]
    pub fn order(&self, other: &Self) -> std::cmp::Ordering {
        let workloads = self.workload.total_cmp(&other.workload);
        workloads.then(self.process.cmp(&other.process))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::rebalance::{Machine, MoveCost, Resident};

    fn problem(workloads: &[f64], machines: usize) -> Problem {
        let machine = |capacity| Machine { capacity, group: 0 };
        let resident = |(process, &workload): (usize, &f64)| Resident {
            workload,
            size: 1.0,
            initial_machine: process % machines,
        };
        let move_cost = MoveCost {
            fixed: 0.5,
            per_size: 1.0,
        };
        let capacities = [1.0, 2.5, 0.7, 1.0, 4.0];
        Problem::new(
            capacities[..machines]
                .iter()
                .copied()
                .map(machine)
                .collect(),
            workloads.iter().enumerate().map(resident).collect(),
            vec![vec![move_cost]],
        )
        .unwrap()
    }

    proptest! {
        #[test]
        fn a_state_depends_on_its_assignment_alone(
            workloads in prop::collection::vec(0.0..9.0, 1..30),
            machines in 1..6_usize,
            moves in prop::collection::vec((0..30_usize, 0..5_usize), 0..60),
        ) {
            let problem = problem(&workloads, machines);
            let mut state = State::at_start(&problem);
            for (process, machine) in moves {
                state.relocate(process % workloads.len(), machine % machines);
            }
            let fresh = State::of(&problem, state.assignment().to_vec());
            prop_assert_eq!(&state.lists, &fresh.lists);
            prop_assert_eq!(&state.loads, &fresh.loads);
            prop_assert_eq!(&state.levels, &fresh.levels);
            prop_assert_eq!(&state.ranking, &fresh.ranking);
            prop_assert!((state.cost() - fresh.cost()).abs() < 1e-9);
            let mut again = State::at_start(&problem);
            again.become_like(&state);
            prop_assert_eq!(again.ranking(), fresh.ranking());
            prop_assert_eq!(again.assignment(), fresh.assignment());
        }
    }
}
