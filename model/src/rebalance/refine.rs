//! First assignments: greedy refinement, and a repair that meets the target if that is easy.

use std::collections::BTreeSet;

use super::problem::MemoryUse;
use super::solution::{Incumbent, Meter, highest};
use super::{Problem, Solution};

/// Refines from the start at the target and then, while the budget lasts, at other thresholds.
///
/// `RefineLB` of Charm++ (`Refiner.C` of its load balancers), the rule in our words: a machine is heavy above a
/// threshold, and light below the ideal level. The heavy machine with the highest level gives, of the
/// processes that leave a light machine at or below the threshold, the one with the largest workload.
/// This goes on until no machine is heavy, or the heaviest has no such process. Its search for a
/// threshold bisects, in steps of 1 % of the ideal level, between the lowest one and the level before any
/// move; every trial begins with the initial assignment.
///
/// # Deviations
///
/// * The lowest threshold there is fixed at a few per cent above the ideal level. Here it is the target.
/// * If the target is reached, lower thresholds are tried downwards in the same steps until one fails: their
///   assignments meet the target, too, and are sometimes cheaper.
/// * A process that may not move stays, and a light machine without the memory for a process does not receive it.
/// * Of several light machines for the process, it takes the first in memory. Here it is the one where the
///   process costs least, and of equal ones the one with most room.
pub fn refine(problem: &Problem, incumbent: &mut Incumbent, meter: &mut Meter<'_>) {
    let ideal = problem.ideal();
    let step = STEP * ideal;
    let (target, initial) = (incumbent.target(), Initial::of(problem));
    if trial(&initial, target, incumbent, meter) {
        let mut threshold = target - step;
        while ideal < threshold && trial(&initial, threshold, incumbent, meter) {
            threshold -= step;
        }
        return;
    }
    let (mut fails, mut passes) = (target.max(ideal), problem.level(&initial.assignment));
    while fails + step < passes && !meter.is_spent() {
        let threshold = 0.5 * (fails + passes);
        if trial(&initial, threshold, incumbent, meter) {
            passes = threshold;
        } else {
            fails = threshold;
        }
    }
}

/// Shows what a refinement at `threshold` leads to; whether no machine is above the threshold.
fn trial(
    initial: &Initial<'_>,
    threshold: f64,
    incumbent: &mut Incumbent,
    meter: &mut Meter<'_>,
) -> bool {
    if meter.is_spent() {
        return false;
    }
    let mut refinement = Refinement::new(initial, threshold);
    let is_done = refinement.run(meter);
    if !is_done && meter.is_spent() && threshold < incumbent.target() {
        // With more steps it would not stop here, and something cheaper is lost then.
        return false;
    }
    let found = Solution::of(initial.problem, threshold, refinement.assignment);
    incumbent.see_parts(found.level, found.cost, meter.steps(), || &found.assignment);
    is_done
}

/// The initial assignment: what every trial begins with.
struct Initial<'a> {
    problem: &'a Problem,
    ideal: f64,
    assignment: Vec<usize>,
    loads: Vec<f64>,
    /// By machine: its processes that may move, in ascending order of workload and number.
    lists: Vec<Vec<usize>>,
}

impl<'a> Initial<'a> {
    fn of(problem: &'a Problem) -> Self {
        let residents = problem.residents();
        let assignment = problem.start();
        let mut lists = vec![Vec::new(); problem.machines().len()];
        for (process, &initial_machine) in assignment.iter().enumerate() {
            if problem.is_movable(process) {
                lists[initial_machine].push(process);
            }
        }
        for list in &mut lists {
            list.sort_by(|&a, &b| residents[a].workload.total_cmp(&residents[b].workload));
        }
        Self {
            problem,
            ideal: problem.ideal(),
            loads: problem.loads(&assignment),
            assignment,
            lists,
        }
    }
}

/// A trial. Light machines never become heavy, so that no process leaves a machine but its initial one.
struct Refinement<'a> {
    initial: &'a Initial<'a>,
    assignment: Vec<usize>,
    loads: Vec<f64>,
    /// The workload of each machine at the threshold.
    limits: Vec<f64>,
    /// By number of a heavy machine: which of its processes are still there.
    rests: Vec<Rest>,
    light: Vec<usize>,
    heavy: Vec<usize>,
    /// What machines hold, if their memory is limited.
    memory: Option<MemoryUse<'a>>,
}

impl<'a> Refinement<'a> {
    fn new(initial: &'a Initial<'a>, threshold: f64) -> Self {
        let level = 0.5 * (threshold + highest(threshold));
        let machines = initial.problem.machines().iter();
        let mut refinement = Self {
            initial,
            assignment: initial.assignment.clone(),
            loads: initial.loads.clone(),
            limits: machines.map(|machine| level * machine.capacity).collect(),
            rests: vec![Rest::default(); initial.loads.len()],
            light: Vec::new(),
            heavy: Vec::new(),
            memory: initial.problem.memory_use(&initial.assignment),
        };
        for machine in 0..initial.loads.len() {
            if refinement.is_light(machine) {
                refinement.light.push(machine);
            } else if refinement.is_heavy(machine) {
                refinement.heavy.push(machine);
                refinement.rests[machine] = Rest::all_of(initial.lists[machine].len());
            }
        }
        let level = |machine: usize| refinement.level(machine);
        let mut heavy = refinement.heavy.clone();
        heavy.sort_by(|&a, &b| level(a).total_cmp(&level(b)).then(b.cmp(&a)));
        refinement.heavy = heavy;
        refinement
    }

    /// Moves processes until no machine is heavy: true; or it cannot go on, or the budget is spent: false.
    fn run(&mut self, meter: &mut Meter<'_>) -> bool {
        while let Some(donor) = self.heavy.pop() {
            meter.count(u64::try_from(self.light.len() + 1).expect("a count fits 64 bits"));
            if meter.is_spent() || !self.give(donor) {
                return false;
            }
            if self.is_heavy(donor) {
                let level = self.level(donor);
                let at = self.heavy.partition_point(|&other| {
                    let order = self.level(other).total_cmp(&level);
                    order.then(donor.cmp(&other)).is_lt()
                });
                self.heavy.insert(at, donor);
            } else if self.is_light(donor) {
                self.light.push(donor);
            }
        }
        true
    }

    /// `donor` gives the largest process for which a light machine has room; whether there is any.
    fn give(&mut self, donor: usize) -> bool {
        let residents = self.initial.problem.residents();
        let room = self.light.iter().map(|&machine| self.room(machine));
        let room = room.fold(f64::NEG_INFINITY, f64::max);
        let list = &self.initial.lists[donor];
        let mut end = list.partition_point(|&process| residents[process].workload <= room);
        while let Some(at) = self.rests[donor].last_before(end) {
            let process = list[at];
            let workload = residents[process].workload;
            if workload <= 0.0 {
                return false;
            }
            let Some(best) = self.receiver(process, workload) else {
                // Its machine has the room, and not the memory.
                end = at;
                continue;
            };
            let receiver = self.light[best];
            self.rests[donor].remove(at);
            self.loads[donor] -= workload;
            self.loads[receiver] += workload;
            self.assignment[process] = receiver;
            if let Some(memory) = &mut self.memory {
                memory.relocate(process, donor, receiver);
            }
            if !self.is_light(receiver) {
                self.light.swap_remove(best);
            }
            return true;
        }
        false
    }

    /// The place among light machines of the one with room and memory for `process` where it costs least.
    fn receiver(&self, process: usize, workload: f64) -> Option<usize> {
        let has_memory = |machine| {
            let memory = self.memory.as_ref();
            memory.is_none_or(|memory| memory.fits(process, machine))
        };
        let fits = (0..self.light.len()).filter(|&at| {
            let machine = self.light[at];
            workload <= self.room(machine) && has_memory(machine)
        });
        fits.min_by(|&a, &b| {
            let [a, b] = [a, b].map(|at| self.light[at]);
            let costs = [a, b].map(|machine| self.initial.problem.cost(process, machine));
            let rooms = self.room(b).total_cmp(&self.room(a));
            costs[0].total_cmp(&costs[1]).then(rooms).then(a.cmp(&b))
        })
    }

    fn level(&self, machine: usize) -> f64 {
        self.loads[machine] / self.initial.problem.machines()[machine].capacity
    }

    fn room(&self, machine: usize) -> f64 {
        self.limits[machine] - self.loads[machine]
    }

    fn is_heavy(&self, machine: usize) -> bool {
        self.room(machine) < 0.0
    }

    fn is_light(&self, machine: usize) -> bool {
        self.level(machine) < self.initial.ideal
    }
}

/// Places on a list that are still taken; a walk over places that are not is gone once.
#[derive(Clone, Debug, Default)]
struct Rest {
    /// By place, counted from 1: itself, or a place before it.
    links: Vec<usize>,
}

impl Rest {
    fn all_of(count: usize) -> Self {
        Self {
            links: (0..=count).collect(),
        }
    }

    /// The last place that is taken of those before `end`.
    fn last_before(&mut self, end: usize) -> Option<usize> {
        let mut at = end;
        while self.links[at] != at {
            self.links[at] = self.links[self.links[at]];
            at = self.links[at];
        }
        at.checked_sub(1)
    }

    fn remove(&mut self, place: usize) {
        self.links[place + 1] = place;
    }
}

/// Between thresholds, in ideal levels.
const STEP: f64 = 0.01;

/// Shows the repaired assignment, unless nothing is left to spend. Looks at no moves, so that it takes no steps.
pub(super) fn repair(problem: &Problem, incumbent: &mut Incumbent, meter: &mut Meter<'_>) {
    if meter.is_spent() {
        return;
    }
    let target = incumbent.target();
    let found = Solution::of(problem, target, repaired(problem, target));
    incumbent.see_parts(found.level, found.cost, meter.steps(), || &found.assignment);
}

/// An assignment where as much left every overloaded machine as it takes to meet `target`, the cheapest per
/// workload first, and went, the largest first, where it is cheapest of where it fits and fits best; back if
/// it fits nowhere. To fit means by level and by memory; the level leaves out what processes exchange.
///
/// Takes time linear in processes times groups, but for sorting.
fn repaired(problem: &Problem, target: f64) -> Vec<usize> {
    let level = 0.5 * (target + highest(target));
    let limits = problem.machines().iter();
    let mut assignment = problem.start();
    let mut rooms: Vec<f64> = limits
        .zip(problem.loads(&assignment))
        .map(|(machine, load)| level * machine.capacity - load)
        .collect();
    let mut leaving = leaving(problem, &assignment, &mut rooms);
    let residents = problem.residents();
    leaving.sort_by(|&a, &b| residents[b].workload.total_cmp(&residents[a].workload));
    let mut open = vec![BTreeSet::new(); problem.group_count()];
    for (machine, &room) in rooms.iter().enumerate() {
        if 0.0 <= room {
            open[problem.machines()[machine].group].insert((order(room), machine));
        }
    }
    let mut memory = problem.memory_use(&assignment);
    for process in leaving {
        let workload = residents[process].workload;
        let has_memory = |(_, machine): &&(u64, usize)| {
            let memory = memory.as_ref();
            memory.is_none_or(|memory| memory.fits(process, *machine))
        };
        let fits = open
            .iter()
            .filter_map(|rooms| rooms.range((order(workload), 0)..).find(has_memory));
        let best = fits.min_by(|(_, a), (_, b)| {
            let costs = [a, b].map(|&machine| problem.cost(process, machine));
            costs[0].total_cmp(&costs[1])
        });
        if let Some(&(room, machine)) = best {
            let group = &mut open[problem.machines()[machine].group];
            group.remove(&(room, machine));
            rooms[machine] -= workload;
            group.insert((order(rooms[machine]), machine));
            if let Some(memory) = &mut memory {
                memory.relocate(process, assignment[process], machine);
            }
            assignment[process] = machine;
        }
    }
    assignment
}

/// The processes that leave overloaded machines; the rooms of those become what the others leave them.
fn leaving(problem: &Problem, places: &[usize], rooms: &mut [f64]) -> Vec<usize> {
    let price = |process: usize| {
        let initial_group = problem.machines()[problem.residents()[process].initial_machine].group;
        let move_costs =
            (0..problem.group_count()).map(|group| problem.move_cost(initial_group, group));
        let size = problem.residents()[process].size;
        let prices: f64 = move_costs
            .map(|move_cost| move_cost.fixed + move_cost.per_size * size)
            .fold(f64::INFINITY, f64::min);
        prices / problem.residents()[process].workload
    };
    let residents = problem.residents().iter().enumerate();
    let movable = residents.filter(|&(process, resident)| {
        rooms[places[process]] < 0.0 && 0.0 < resident.workload && problem.is_movable(process)
    });
    let mut candidates: Vec<(f64, usize)> = movable
        .map(|(process, _)| (price(process), process))
        .collect();
    candidates.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut leaving = Vec::new();
    for (_, process) in candidates {
        let room = &mut rooms[places[process]];
        if *room < 0.0 {
            *room += problem.residents()[process].workload;
            leaving.push(process);
        }
    }
    leaving
}

/// Grows with `room`, which is not negative.
fn order(room: f64) -> u64 {
    room.max(0.0).to_bits()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rebalance::{Budget, Machine, MoveCost, Resident};

    /// Machines of capacity 1, the last in a cluster of its own, by the workloads on them.
    fn check(machines: &[&[f64]], target: f64, expect: &[usize], is_met: bool) {
        let count = machines.len();
        let machine = |number| Machine {
            capacity: 1.0,
            group: usize::from(number + 1 == count),
        };
        let of = |(initial_machine, workloads): (usize, &&[f64])| {
            let resident = move |&workload: &f64| Resident {
                workload,
                size: 1.0,
                initial_machine,
            };
            workloads.iter().map(resident).collect::<Vec<_>>()
        };
        let move_cost = |from, to| MoveCost {
            fixed: 0.0,
            per_size: if from == to { 1.0 } else { 2.0 },
        };
        let problem = Problem::new(
            (0..count).map(machine).collect(),
            machines.iter().enumerate().flat_map(of).collect(),
            (0..2)
                .map(|from| (0..2).map(|to| move_cost(from, to)).collect())
                .collect(),
        )
        .unwrap();
        let initial = Initial::of(&problem);
        let mut refinement = Refinement::new(&initial, target);
        let mut meter = Meter::new(Budget::Steps(u64::MAX));
        assert_eq!(refinement.run(&mut meter), is_met);
        assert_eq!(refinement.assignment, expect);
    }

    #[test]
    fn the_most_loaded_machine_gives_its_largest_process_that_fits() {
        check(
            &[&[5.0, 2.0, 3.0], &[6.0, 1.5], &[1.0], &[3.0]],
            7.0,
            &[2, 0, 0, 1, 0, 2, 3],
            true,
        );
    }

    #[test]
    fn of_light_machines_with_room_the_nearest_receives() {
        check(&[&[4.0, 4.0], &[3.0], &[]], 7.0, &[0, 1, 1], true);
        check(&[&[4.0, 4.0], &[3.5], &[]], 7.0, &[0, 2, 1], true);
    }

    #[test]
    fn a_process_without_room_anywhere_stays_and_ends_it() {
        check(&[&[9.0], &[5.0], &[4.0, 4.5]], 8.7, &[0, 1, 2, 2], false);
    }

    #[test]
    fn places_that_are_gone_are_skipped() {
        let mut rest = Rest::all_of(4);
        assert_eq!(rest.last_before(3), Some(2));
        for place in [2, 1, 3] {
            rest.remove(place);
        }
        assert_eq!(rest.last_before(4), Some(0));
        rest.remove(0);
        assert_eq!(rest.last_before(4), None);
    }
}

#[cfg(test)]
mod repair_tests {
    use super::*;
    use crate::rebalance::{Machine, MoveCost, Resident};

    /// Machines of capacity 1 in groups of their own but for the first two; processes by workload, size and initial machine.
    fn check(residents: &[(f64, f64, usize)], target: f64, expect: &[usize]) {
        let machine = |group| Machine {
            capacity: 1.0,
            group,
        };
        let resident = |&(workload, size, initial_machine): &(f64, f64, usize)| Resident {
            workload,
            size,
            initial_machine,
        };
        let move_cost = |from, to| MoveCost {
            fixed: 0.0,
            per_size: if from == to { 1.0 } else { 2.0 },
        };
        let problem = Problem::new(
            [0, 0, 1].map(machine).to_vec(),
            residents.iter().map(resident).collect(),
            (0..2)
                .map(|from| (0..2).map(|to| move_cost(from, to)).collect())
                .collect(),
        )
        .unwrap();
        assert_eq!(repaired(&problem, target), expect);
    }

    #[test]
    fn the_cheapest_per_workload_leaves_for_the_nearest_room() {
        check(
            &[(4.0, 9.0, 0), (4.0, 1.0, 0), (1.0, 1.0, 1)],
            5.0,
            &[0, 1, 1],
        );
        check(
            &[(4.0, 9.0, 0), (4.0, 1.0, 0), (2.0, 1.0, 1)],
            5.0,
            &[0, 2, 1],
        );
    }

    #[test]
    fn who_fits_nowhere_and_who_computes_nothing_stays() {
        check(
            &[(4.0, 1.0, 0), (4.0, 1.0, 1), (4.0, 1.0, 2), (4.0, 1.0, 0)],
            5.0,
            &[0, 1, 2, 0],
        );
        check(
            &[(0.0, 1.0, 0), (6.0, 12.0, 0), (2.0, 3.0, 0)],
            6.0,
            &[0, 0, 1],
        );
    }
}
