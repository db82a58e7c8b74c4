//! The assignment of an annealing, and what it is kept in.

use super::Problem;
use super::problem::{Communication, MemoryUse};

/// An assignment, with what an annealing asks about it millions of times in a second.
///
/// Unlike a [`State`](super::state::State), it keeps no order among machines or processes: a move takes
/// as long whatever their number, but for the processes with which it exchanges bytes. A load is the workload on a
/// machine and what would take its level as far as its exchange with others does. Loads and cost are rounded by every
/// move, until they are summed anew.
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
    /// The processes that may move.
    movable: Vec<usize>,
    /// By machine: the processes on it that may move.
    members: Vec<Vec<usize>>,
    /// By process that may move: where in the members of its machine it is.
    positions: Vec<usize>,
    overloaded: SampledSet,
    away: SampledSet,
    communication: Option<&'a Communication>,
    /// What machines hold, if their memory is limited.
    memory: Option<MemoryUse<'a>>,
    cost: PreciseSum,
}

#[derive(Debug)]
struct MachineLoad {
    load: f64,
    limit: f64,
    /// What a byte that is exchanged with another machine adds to the load.
    per_byte: f64,
    group: usize,
}

#[derive(Debug)]
struct Migrant {
    workload: f64,
    size: f64,
    initial_machine: usize,
    /// Of its initial machine, times the number of groups.
    row: usize,
}

impl<'a> AnnealingState<'a> {
    /// With the processes on the machines of `assignment`; no machine should be above level `highest`.
    pub(super) fn new(problem: &'a Problem, highest: f64, assignment: &[usize]) -> Self {
        let group_count = problem.group_count();
        let pairs = (0..group_count).flat_map(|from| (0..group_count).map(move |to| (from, to)));
        let move_costs = pairs.map(|(from, to)| problem.move_cost(from, to));
        let communication = problem.communication();
        let weight = communication.map_or(0.0, Communication::weight);
        let machines = problem.machines().iter().map(|machine| MachineLoad {
            load: 0.0,
            limit: highest * machine.capacity,
            per_byte: weight * machine.capacity,
            group: machine.group,
        });
        let residents = problem.residents().iter().map(|resident| Migrant {
            workload: resident.workload,
            size: resident.size,
            initial_machine: resident.initial_machine,
            row: problem.machines()[resident.initial_machine].group * group_count,
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
            movable: (0..assignment.len())
                .filter(|&process| problem.is_movable(process))
                .collect(),
            members: vec![Vec::new(); problem.machines().len()],
            positions: vec![0; assignment.len()],
            overloaded: SampledSet::none_of(problem.machines().len()),
            away: SampledSet::none_of(assignment.len()),
            communication,
            memory: problem.memory_use(assignment),
            cost: PreciseSum::default(),
        };
        for at in 0..state.movable.len() {
            let process = state.movable[at];
            let machine = assignment[process];
            state.positions[process] = state.members[machine].len();
            state.members[machine].push(process);
            state
                .away
                .set(process, machine != state.initial_machine(process));
        }
        state.sum_anew();
        state
    }

    /// `process` goes to `machine`, where it is not.
    #[inline]
    pub(super) fn relocate(&mut self, process: usize, machine: usize) {
        let left = self.places[process];
        let (from_left, from_entered) =
            self.added((process, left, machine), |other| self.places[other]);
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
        if let Some(memory) = &mut self.memory {
            memory.relocate(process, left, machine);
        }
        self.machines[left].load += from_left;
        if self.machines[left].load < -from_left * REST {
            self.machines[left].load = self.summed(left);
        }
        self.machines[machine].load += from_entered;
        for machine in [left, machine] {
            self.overloaded.set(machine, 0.0 < self.excess(machine));
        }
        self.away
            .set(process, machine != self.initial_machine(process));
    }

    /// What is added to the loads of the machines that a process leaves and enters, where the others are on the machines
    /// that `place` says.
    #[inline]
    pub(super) fn added(
        &self,
        (process, from, to): (usize, usize, usize),
        place: impl Fn(usize) -> usize,
    ) -> (f64, f64) {
        let workload = self.workload(process);
        let Some(communication) = self.communication else {
            return (-workload, workload);
        };
        let (left, entered) = communication.change(process, (from, to), place);
        (
            self.machines[from].per_byte * left - workload,
            self.machines[to].per_byte * entered + workload,
        )
    }

    /// The load of `machine`, of which little is left.
    fn summed(&self, machine: usize) -> f64 {
        if self.communication.is_some() || self.problem.has_pins() {
            let all = self.places.iter().enumerate();
            let here = all.filter(|(_, place)| **place == machine);
            let (mut load, mut exchanged) = (0.0, 0.0);
            for (process, _) in here {
                load += self.workload(process);
                for (other, bytes) in self.communication.iter().flat_map(|all| all.of(process)) {
                    if self.places[other] != machine {
                        exchanged += bytes;
                    }
                }
            }
            return load + self.machines[machine].per_byte * exchanged;
        }
        let rest = self.members[machine].iter();
        rest.map(|&other| self.workload(other)).sum()
    }

    /// Whether `moves`, each of a process from one machine to another, leave these with the memory that they take.
    pub(super) fn have_memory(
        &mut self,
        moves: impl DoubleEndedIterator<Item = (usize, usize, usize)> + Clone,
    ) -> bool {
        for one in moves.clone() {
            self.try_in_memory(one);
        }
        let memory = self.memory.as_ref();
        let is_within = |(_, _, to)| memory.is_none_or(|memory| memory.is_within(to));
        let have_memory = moves.clone().all(is_within);
        for (process, from, to) in moves.rev() {
            self.try_in_memory((process, to, from));
        }
        have_memory
    }

    /// Moves a process between two machines in the account of their memory alone, to be taken back by the caller.
    /// Whether both have the memory that they take then.
    #[inline]
    pub(super) fn try_in_memory(&mut self, (process, from, to): (usize, usize, usize)) -> bool {
        let Some(memory) = &mut self.memory else {
            return true;
        };
        memory.relocate(process, from, to);
        memory.is_within(from) && memory.is_within(to)
    }

    /// Sums loads and cost from nothing.
    pub(super) fn sum_anew(&mut self) {
        let mut loads = self.problem.loads(&self.places);
        if let Some(communication) = self.communication {
            let exchanged = communication.exchanged(&self.places, loads.len());
            for (machine, bytes) in exchanged.into_iter().enumerate() {
                loads[machine] += self.machines[machine].per_byte * bytes;
            }
        }
        for (machine, load) in loads.into_iter().enumerate() {
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
        if resident.initial_machine == machine {
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
    pub(super) fn initial_machine(&self, process: usize) -> usize {
        self.residents[process].initial_machine
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

    /// The processes that may move.
    #[inline]
    pub(super) fn movable(&self) -> &[usize] {
        &self.movable
    }

    /// What processes exchange, if that has a weight.
    #[inline]
    pub(super) const fn communication(&self) -> Option<&'a Communication> {
        self.communication
    }

    /// What a byte that `machine` exchanges with another adds to its load.
    #[inline]
    pub(super) fn per_byte(&self, machine: usize) -> f64 {
        self.machines[machine].per_byte
    }

    /// The processes on `machine` that may move, in no order.
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

    /// The processes that are not on their initial machine.
    #[inline]
    pub(super) fn away(&self) -> &[usize] {
        self.away.list()
    }

    #[inline]
    pub(super) fn is_feasible(&self) -> bool {
        self.overloaded().is_empty()
    }

    /// The cost of all processes that are not on their initial machine.
    #[inline]
    pub(super) const fn cost(&self) -> PreciseSum {
        self.cost
    }
}

/// What is left on a machine is summed anew if it is less than this share of what goes: it has lost that many
/// digits.
const REST: f64 = 1e-3;

/// A sum with twice the digits of a number: what a large term that came and went leaves is exact.
///
/// The error of each addition is kept beside the sum (Knuth's two-sum).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PreciseSum {
    high: f64,
    low: f64,
}

impl PreciseSum {
    /// Of `number` alone.
    pub(super) const fn of(number: f64) -> Self {
        Self {
            high: number,
            low: 0.0,
        }
    }

    #[inline]
    pub(super) const fn add(&mut self, term: f64) {
        let sum = self.high + term;
        let added = sum - self.high;
        self.low += (self.high - (sum - added)) + (term - added);
        self.high = sum;
    }

    /// Rounded to a number.
    #[inline]
    pub(super) const fn get(self) -> f64 {
        self.high + self.low
    }

    /// Whether it is less than `other`, which may be infinite.
    #[inline]
    pub(super) fn is_less(self, other: Self) -> bool {
        (self.high - other.high) + (self.low - other.low) < 0.0
    }
}

/// Some of the numbers below a count; putting in and taking out take as long for many as for few.
///
/// Invariant: `places` says where in `list` every number is.
#[derive(Clone, Debug)]
pub(super) struct SampledSet {
    list: Vec<usize>,
    places: Vec<usize>,
}

impl SampledSet {
    /// None of the numbers below `count`.
    pub(super) fn none_of(count: usize) -> Self {
        Self {
            list: Vec::new(),
            places: vec![ABSENT; count],
        }
    }

    /// Puts `number` in or takes it out.
    #[inline]
    pub(super) fn set(&mut self, number: usize, is_chosen: bool) {
        let place = self.places[number];
        if is_chosen == (place != ABSENT) {
            return;
        }
        if is_chosen {
            self.places[number] = self.list.len();
            self.list.push(number);
        } else {
            self.list.swap_remove(place);
            self.places[number] = ABSENT;
            if let Some(&moved) = self.list.get(place) {
                self.places[moved] = place;
            }
        }
    }

    /// Those that are in, in the order that putting in and taking out left.
    #[inline]
    pub(super) fn list(&self) -> &[usize] {
        &self.list
    }

    /// Takes all out.
    pub(super) fn clear(&mut self) {
        for &number in &self.list {
            self.places[number] = ABSENT;
        }
        self.list.clear();
    }
}

const ABSENT: usize = usize::MAX;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::rebalance::draws::Draws;
    use crate::rebalance::tests::drawn;
    use crate::rebalance::{Machine, MoveCost, Resident};

    #[test]
    fn a_giant_leaves_dwarfs_their_digits() {
        let machine = |capacity| Machine { capacity, group: 0 };
        let resident = |(workload, initial_machine)| Resident {
            workload,
            size: 1.0,
            initial_machine,
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
        let mut state = AnnealingState::new(&problem, 1.0, &problem.initial_assignment());
        let excess = state.excess(1).to_bits();
        state.relocate(0, 1);
        assert!(!state.is_feasible());
        state.relocate(0, 0);
        assert_eq!(state.excess(1).to_bits(), excess);
    }

    #[test]
    fn moves_leave_what_a_fresh_look_finds() {
        let problem = drawn(16, 40, 1);
        check_moves(&problem);
        let processes = problem.residents().len();
        let edges: Vec<(usize, usize, f64)> = (0..processes)
            .flat_map(|from| {
                [
                    (from, (from + 1) % processes, 3.5),
                    (from, 7 * from % processes, 0.25),
                ]
            })
            .collect();
        let pins = (0..processes).map(|process| process % 5 == 0).collect();
        let problem = problem.with_communication(&edges, 0.125).unwrap();
        check_moves(&problem.with_pins(pins).unwrap());
    }

    fn check_moves(problem: &Problem) {
        let mut state = AnnealingState::new(problem, 90.0, &problem.initial_assignment());
        let mut draws = Draws::new(1, b"the tests of this module");
        for _ in 0..1000 {
            let process = state.movable()[draws.below(state.movable().len())];
            let machine = draws.below(state.machine_count());
            let left = state.places()[process];
            if left != machine {
                let added = state.added((process, left, machine), |other| state.places()[other]);
                let before = (state.excess(left), state.excess(machine));
                state.relocate(process, machine);
                assert!((state.excess(left) - before.0 - added.0).abs() < 1e-9);
                assert!((state.excess(machine) - before.1 - added.1).abs() < 1e-9);
            }
        }
        let levels = problem.levels(state.places());
        let fresh = AnnealingState::new(problem, 90.0, state.places());
        for (machine, level) in levels.into_iter().enumerate() {
            let capacity = problem.machines()[machine].capacity;
            assert!((fresh.excess(machine) - (level - 90.0) * capacity).abs() < 1e-9);
        }
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

    #[test]
    fn a_large_term_leaves_small_ones_their_digits() {
        let mut sum = PreciseSum::of(0.1);
        for term in [1e17, 0.2, -1e17, 1e10, -1e10] {
            sum.add(term);
        }
        assert!((sum.get() - 0.3).abs() < 1e-15);
    }

    #[test]
    fn a_small_difference_of_large_sums_is_one() {
        let [mut less, mut more] = [PreciseSum::of(1e17); 2];
        less.add(0.1);
        more.add(0.2);
        assert!(less.is_less(more) && !more.is_less(less) && !less.is_less(less));
        assert!(less.is_less(PreciseSum::of(f64::INFINITY)));
    }

    proptest! {
        #[test]
        fn what_is_put_in_and_not_taken_out_is_in(
            changes in prop::collection::vec((0..9_usize, any::<bool>()), 0..50),
        ) {
            let mut chosen = SampledSet::none_of(9);
            let mut expected = BTreeSet::new();
            for (number, is_chosen) in changes {
                chosen.set(number, is_chosen);
                if is_chosen {
                    expected.insert(number);
                } else {
                    expected.remove(&number);
                }
            }
            let mut found = chosen.list().to_vec();
            found.sort_unstable();
            prop_assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
            chosen.clear();
            prop_assert!(chosen.list().is_empty());
            prop_assert!(chosen.places.iter().all(|&place| place == ABSENT));
        }
    }
}
