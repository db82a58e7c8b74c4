//! The assignment of an annealing.

use crate::rebalance::Problem;
use crate::rebalance::precise_sum::PreciseSum;
use crate::rebalance::sampled_set::SampledSet;

/// An assignment, with what an annealing asks about it millions of times in a second.
///
/// Unlike a [`State`](super::state::State), it keeps no order among machines or processes: a move takes
/// as long whatever their number. Loads and cost are rounded by every move, until they are summed anew.
///
/// Invariant: members, positions, overloaded machines and processes away are those of `places` and `loads`.
#[derive(Debug)]
pub(super) struct AnnealingState<'a> {
    problem: &'a Problem,
    machines: Vec<MachineLoad>,
    residents: Vec<Migrant>,
    /// Group × group: what a move takes in any case, and by size.
    move_costs: Vec<(f64, f64)>,
    group_count: usize,
    places: Vec<usize>,
    /// By machine: the processes on it.
    members: Vec<Vec<usize>>,
    /// By process: where in the members of its machine it is.
    positions: Vec<usize>,
    overloaded: SampledSet,
    away: SampledSet,
    cost: PreciseSum,
}

#[derive(Debug)]
struct MachineLoad {
    load: f64,
    limit: f64,
    group: usize,
}

#[derive(Debug)]
struct Migrant {
    workload: f64,
    size: f64,
    home: usize,
    /// Of its home, times the number of groups.
    row: usize,
}

impl<'a> AnnealingState<'a> {
    /// With the processes on the machines of `assignment`; no machine should be above level `highest`.
    pub(super) fn new(problem: &'a Problem, highest: f64, assignment: &[usize]) -> Self {
        let group_count = problem.group_count();
        let pairs = (0..group_count).flat_map(|from| (0..group_count).map(move |to| (from, to)));
        let move_costs = pairs.map(|(from, to)| problem.move_cost(from, to));
        let machines = problem.machines().iter().map(|machine| MachineLoad {
            load: 0.0,
            limit: highest * machine.capacity,
            group: machine.group,
        });
        let residents = problem.residents().iter().map(|resident| Migrant {
            workload: resident.workload,
            size: resident.size,
            home: resident.home,
            row: problem.machines()[resident.home].group * group_count,
        });
        let mut state = Self {
            problem,
            machines: machines.collect(),
            residents: residents.collect(),
            move_costs: move_costs
                .map(|move_cost| (move_cost.fixed, move_cost.per_size))
                .collect(),
            group_count,
            places: assignment.to_vec(),
            members: vec![Vec::new(); problem.machines().len()],
            positions: vec![0; assignment.len()],
            overloaded: SampledSet::none_of(problem.machines().len()),
            away: SampledSet::none_of(assignment.len()),
            cost: PreciseSum::default(),
        };
        for (process, &machine) in assignment.iter().enumerate() {
            state.positions[process] = state.members[machine].len();
            state.members[machine].push(process);
            state.away.set(process, machine != state.home(process));
        }
        state.sum_anew();
        state
    }

    /// `process` goes to `machine`, where it is not.
    #[inline]
    pub(super) fn relocate(&mut self, process: usize, machine: usize) {
        let left = self.places[process];
        self.cost.add(self.price(process, machine));
        self.cost.add(-self.price(process, left));
        let position = self.positions[process];
        self.members[left].swap_remove(position);
        if let Some(&moved) = self.members[left].get(position) {
            self.positions[moved] = position;
        }
        self.positions[process] = self.members[machine].len();
        self.members[machine].push(process);
        self.places[process] = machine;
        let workload = self.workload(process);
        self.machines[left].load -= workload;
        if self.machines[left].load < workload * REST {
            let rest = self.members[left].iter();
            self.machines[left].load = rest.map(|&other| self.workload(other)).sum();
        }
        self.machines[machine].load += workload;
        for machine in [left, machine] {
            self.overloaded.set(machine, 0.0 < self.excess(machine));
        }
        self.away.set(process, machine != self.home(process));
    }

    /// Sums loads and cost from nothing.
    pub(super) fn sum_anew(&mut self) {
        for (machine, load) in self.problem.loads(&self.places).into_iter().enumerate() {
            self.machines[machine].load = load;
            self.overloaded.set(machine, 0.0 < self.excess(machine));
        }
        let mut cost = PreciseSum::default();
        for (process, &machine) in self.places.iter().enumerate() {
            cost.add(self.price(process, machine));
        }
        self.cost = cost;
    }

    pub(super) const fn problem(&self) -> &'a Problem {
        self.problem
    }

    /// What it costs that `process` is on `machine`.
    #[inline]
    pub(super) fn price(&self, process: usize, machine: usize) -> f64 {
        let resident = &self.residents[process];
        if resident.home == machine {
            return 0.0;
        }
        let (fixed, per_size) = self.move_costs[resident.row + self.machines[machine].group];
        fixed + per_size * resident.size
    }

    /// What it costs at least to move `process`.
    pub(super) fn price_min(&self, process: usize) -> f64 {
        let resident = &self.residents[process];
        let move_costs = &self.move_costs[resident.row..resident.row + self.group_count];
        let prices = move_costs
            .iter()
            .map(|(fixed, by_size)| fixed + by_size * resident.size);
        prices.fold(f64::INFINITY, f64::min)
    }

    /// By how much the load of `machine` is above what it should be; below 0, what it has room for.
    #[inline]
    pub(super) fn excess(&self, machine: usize) -> f64 {
        let loaded = &self.machines[machine];
        loaded.load - loaded.limit
    }

    #[inline]
    pub(super) fn workload(&self, process: usize) -> f64 {
        self.residents[process].workload
    }

    #[inline]
    pub(super) fn home(&self, process: usize) -> usize {
        self.residents[process].home
    }

    #[inline]
    pub(super) fn group(&self, machine: usize) -> usize {
        self.machines[machine].group
    }

    pub(super) const fn group_count(&self) -> usize {
        self.group_count
    }

    pub(super) fn machine_count(&self) -> usize {
        self.machines.len()
    }

    /// The machine of every process.
    #[inline]
    pub(super) fn places(&self) -> &[usize] {
        &self.places
    }

    /// The processes on `machine`, in no order.
    #[inline]
    pub(super) fn members(&self, machine: usize) -> &[usize] {
        &self.members[machine]
    }

    /// Where among the members of its machine `process` is.
    #[inline]
    pub(super) fn position(&self, process: usize) -> usize {
        self.positions[process]
    }

    /// The machines that are above what they should be.
    #[inline]
    pub(super) fn overloaded(&self) -> &[usize] {
        self.overloaded.list()
    }

    /// The processes that are not at home.
    #[inline]
    pub(super) fn away(&self) -> &[usize] {
        self.away.list()
    }

    #[inline]
    pub(super) fn is_feasible(&self) -> bool {
        self.overloaded().is_empty()
    }

    /// The cost of all processes away from home.
    #[inline]
    pub(super) const fn cost(&self) -> PreciseSum {
        self.cost
    }
}

/// What is left on a machine is summed anew if it is less than this share of what goes: it has lost that many
/// digits.
const REST: f64 = 1e-3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rebalance::draws::Draws;
    use crate::rebalance::{Group, Machine, MoveCost, Resident};

    #[test]
    fn a_giant_leaves_dwarfs_their_digits() {
        let machine = |capacity| Machine { capacity, group: 0 };
        let resident = |(workload, home)| Resident {
            workload,
            size: 1.0,
            home,
        };
        let move_cost = MoveCost {
            fixed: 1.0,
            per_size: 0.0,
        };
        let problem = Problem::new(
            [1e17, 1.0].map(machine).to_vec(),
            [(1e17, 0), (0.6, 1), (0.3, 1)].map(resident).to_vec(),
            vec![vec![move_cost]],
        )
        .unwrap();
        let mut state = AnnealingState::new(&problem, 1.0, &problem.homes());
        let excess = state.excess(1).to_bits();
        state.relocate(0, 1);
        assert!(!state.is_feasible());
        state.relocate(0, 0);
        assert_eq!(state.excess(1).to_bits(), excess);
    }

    #[test]
    fn moves_leave_what_a_fresh_look_finds() {
        let problem = "I2,1".parse::<Group>().unwrap().draw(1);
        let mut state = AnnealingState::new(&problem, 90.0, &problem.homes());
        let mut draws = Draws::new(1, b"the tests of this module");
        for _ in 0..1000 {
            let process = draws.below(state.places().len());
            let machine = draws.below(state.machine_count());
            if state.places()[process] != machine {
                state.relocate(process, machine);
            }
        }
        let fresh = AnnealingState::new(&problem, 90.0, state.places());
        assert!((state.cost().get() - fresh.cost().get()).abs() < 1e-9);
        let sorted = |list: &[usize]| {
            let mut list = list.to_vec();
            list.sort_unstable();
            list
        };
        assert_eq!(sorted(state.overloaded()), sorted(fresh.overloaded()));
        assert_eq!(sorted(state.away()), sorted(fresh.away()));
        for machine in 0..state.machine_count() {
            assert!((state.excess(machine) - fresh.excess(machine)).abs() < 1e-9);
            let members = state.members(machine);
            assert_eq!(sorted(members), sorted(fresh.members(machine)));
            for (position, &process) in members.iter().enumerate() {
                assert_eq!(state.position(process), position);
            }
        }
    }
}
