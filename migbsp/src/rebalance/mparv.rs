//! M-PARTITION with falling levels.

use std::cmp::Ordering;

use crate::rebalance::budget::Meter;
use crate::rebalance::incumbent::Incumbent;
use crate::rebalance::solution::highest;
use crate::rebalance::state::{Entry, State};
use crate::rebalance::{Machine, Problem};

/// Partitions for the target and for every lower level at which the partition may be another one.
///
/// Chen, Wang and Lau 2008, algorithm 3: a variant of M-PARTITION (Aggarwal, Motwani and Zhu 2006).
pub(super) fn mparv(problem: &Problem, incumbent: &mut Incumbent, meter: &mut Meter<'_>) {
    let homes = State::at_home(problem);
    let mut levels = breakpoints(&homes);
    levels.retain(|&level| level < incumbent.target());
    levels.push(incumbent.target());
    for &level in levels.iter().rev() {
        if meter.is_spent() {
            return;
        }
        let state = partition(&homes, level, meter);
        incumbent.see(&state, meter.steps());
    }
}

/// A partition that is meant to have a level of at most `level`.
///
/// Large are those that take more than half of the mean machine. Of each machine's large ones, all but the
/// smallest leave. As many machines as there are large ones are chosen to hold one, those that it costs fewest
/// more departures; from these, small ones leave until they take half of the machine, and from the others, the process that is
/// largest leaves until the rest fits. Then those that left are put, the largest first, where the
/// level is lowest with them.
fn partition<'a>(homes: &State<'a>, level: f64, meter: &mut Meter<'_>) -> State<'a> {
    let problem = homes.problem();
    let bound = level * mean_capacity(problem) / 2.0;
    let machines = 0..problem.machines().len();
    let mut departures: Vec<_> = machines
        .map(|machine| Departures::of(homes, machine, level, bound))
        .collect();
    let large = departures.iter().map(|departures| departures.large).sum();
    departures.sort_by(Departures::order);
    let mut leaving = Vec::new();
    for (place, departures) in departures.iter().enumerate() {
        leaving.extend(departures.leaving(homes, place < large).concat());
    }
    leaving.sort_unstable_by(|a, b| b.order(a));
    reinserted(homes, &leaving, meter)
}

/// Every process at home but those that leave, which go where the level is lowest with them; at home, if it is
/// lowest there, too.
fn reinserted<'a>(homes: &State<'a>, leaving: &[Entry], meter: &mut Meter<'_>) -> State<'a> {
    let problem = homes.problem();
    let mut loads: Vec<f64> = (0..problem.machines().len())
        .map(|machine| homes.load(machine))
        .collect();
    for entry in leaving {
        loads[problem.residents()[entry.process].home] -= entry.workload;
    }
    let mut assignment = homes.assignment().to_vec();
    for &Entry { workload, process } in leaving {
        let level =
            |machine: usize| (loads[machine] + workload) / problem.machines()[machine].capacity;
        let mut best = problem.residents()[process].home;
        let mut lowest = level(best);
        for machine in 0..loads.len() {
            if level(machine) < lowest {
                best = machine;
                lowest = level(machine);
            }
        }
        loads[best] += workload;
        assignment[process] = best;
        meter.count(u64::try_from(loads.len()).expect("a count fits 64 bits"));
    }
    State::of(problem, assignment)
}

/// The processes that have to leave a machine, by number: a list in ascending order, of which a part leaves.
struct Departures {
    machine: usize,
    /// How many on it are small, and how many are large.
    small: usize,
    large: usize,
    /// How many of the small ones leave for the rest to take half of the machine.
    from_half: usize,
    /// How many of the small ones and the smallest large one leave for the rest to fit.
    from_whole: usize,
}

impl Departures {
    fn of(homes: &State<'_>, machine: usize, level: f64, bound: f64) -> Self {
        let list = homes.list(machine);
        let small = list.partition_point(|entry| entry.workload <= bound);
        let kept = list.len().min(small + 1);
        let room = level * homes.problem().machines()[machine].capacity;
        Self {
            machine,
            small,
            large: list.len() - small,
            from_half: small - fitting(&list[..small], room / 2.0),
            from_whole: kept - fitting(&list[..kept], room),
        }
    }

    /// The machine with fewest further departures comes first; of equal ones, the one with a large process.
    fn order(&self, other: &Self) -> Ordering {
        let more = (self.from_half + other.from_whole).cmp(&(other.from_half + self.from_whole));
        let has_large = (0 < other.large).cmp(&(0 < self.large));
        more.then(has_large).then(self.machine.cmp(&other.machine))
    }

    /// The processes that leave, if the machine is chosen to hold a large one, or if it is not.
    fn leaving<'a>(&self, homes: &'a State<'_>, is_chosen: bool) -> [&'a [Entry]; 2] {
        let list = homes.list(self.machine);
        let kept = list.len().min(self.small + 1);
        let (kept, extra) = list.split_at(kept);
        if is_chosen {
            [extra, &kept[self.small - self.from_half..self.small]]
        } else {
            [extra, &kept[kept.len() - self.from_whole..]]
        }
    }
}

/// How many of an ascending `list` fit into `room`, from the first on.
fn fitting(list: &[Entry], room: f64) -> usize {
    let mut taken = 0.0;
    let fits = |entry: &&Entry| {
        taken += entry.workload;
        taken <= highest(room)
    };
    list.iter().take_while(fits).count()
}

/// The levels at which a process becomes large, or one more has to leave a machine, in ascending order:
/// not below that of the smallest process alone on the mean machine.
fn breakpoints(homes: &State<'_>) -> Vec<f64> {
    let problem = homes.problem();
    let mean = mean_capacity(problem);
    let mut smallest = f64::INFINITY;
    let mut levels = Vec::new();
    for (machine, &Machine { capacity, .. }) in problem.machines().iter().enumerate() {
        let mut load = 0.0;
        for entry in homes.list(machine) {
            load += entry.workload;
            smallest = smallest.min(entry.workload);
            levels.extend([
                2.0 * entry.workload / mean,
                load / capacity,
                2.0 * load / capacity,
            ]);
        }
    }
    levels.retain(|&level| smallest / mean <= level);
    levels.sort_unstable_by(f64::total_cmp);
    levels.dedup();
    levels
}

fn mean_capacity(problem: &Problem) -> f64 {
    let mut all = 0.0;
    let mut machines = 0.0;
    for machine in problem.machines() {
        all += machine.capacity;
        machines += 1.0;
    }
    all / machines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rebalance::{Budget, MoveCost, Resident};

    /// Machines of capacity 1, by the workloads on them.
    fn problem(machines: &[&[f64]]) -> Problem {
        problem_in(1.0, machines)
    }

    /// The same, with workloads and capacities in a smaller unit of work.
    fn problem_in(unit: f64, machines: &[&[f64]]) -> Problem {
        let machine = Machine {
            capacity: unit,
            group: 0,
        };
        let move_cost = MoveCost {
            fixed: 1.0,
            per_size: 0.0,
        };
        let of = |(home, workloads): (usize, &&[f64])| {
            let resident = move |&workload: &f64| Resident {
                workload: workload * unit,
                size: 1.0,
                home,
            };
            workloads.iter().map(resident).collect::<Vec<_>>()
        };
        let residents = machines.iter().enumerate().flat_map(of).collect();
        Problem::new(
            vec![machine; machines.len()],
            residents,
            vec![vec![move_cost]],
        )
        .unwrap()
    }

    fn check(machines: &[&[f64]], level: f64, expect: &[usize]) {
        let problem = problem(machines);
        let mut meter = Meter::new(Budget::Steps(u64::MAX));
        let state = partition(&State::at_home(&problem), level, &mut meter);
        assert_eq!(state.assignment(), expect);
    }

    #[test]
    fn of_two_large_ones_the_smaller_stays() {
        check(&[&[6.0, 7.0], &[2.0], &[3.0, 1.0]], 10.0, &[0, 1, 1, 2, 2]);
    }

    #[test]
    fn the_largest_process_leaves_a_machine_that_holds_too_many_small_ones() {
        check(&[&[4.0, 3.0, 4.5], &[1.0], &[6.0]], 10.0, &[0, 0, 1, 1, 2]);
    }

    #[test]
    fn who_fits_stays() {
        check(&[&[4.0, 3.0], &[9.0], &[1.0, 6.0]], 10.0, &[0, 0, 1, 2, 2]);
    }

    #[test]
    fn a_level_is_tried_wherever_the_partition_may_change() {
        let problem = problem(&[&[2.0, 4.0], &[1.0]]);
        let expect = [1.0, 2.0, 4.0, 6.0, 8.0, 12.0];
        assert_eq!(breakpoints(&State::at_home(&problem)), expect);
    }

    #[test]
    fn levels_do_not_depend_on_the_unit_of_work() {
        let machines: [&[f64]; 2] = [&[2.0, 4.0], &[1.0, 0.25]];
        let levels = |unit| breakpoints(&State::at_home(&problem_in(unit, &machines)));
        assert_eq!(levels(8.0), levels(1.0));
        assert_eq!(levels(0.5), levels(1.0));
    }
}
