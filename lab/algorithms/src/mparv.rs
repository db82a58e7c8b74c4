//! M-PARTITION with falling levels.

use std::cmp::Ordering;

use bsp::numbers::length;
use model::rebalance::search::{Entry, Incumbent, Meter, State, highest};
use model::rebalance::{Budget, Machine, Problem, SearchResult};

/// M-PARTITION with falling levels: partitions for the target and for every lower level at which the partition may be
/// another one.
///
/// Chen, Wang and Lau 2008, algorithm 3: a variant of M-PARTITION (Aggarwal, Motwani and Zhu 2006).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Partition {
    /// What a level is compared with.
    pub opt: Opt,
}

/// What the level of a partition, OPT, is compared with to find large processes and the last level. M-PARTITION is for
/// machines of capacity 1; algorithm 3 compares OPT with the least workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Opt {
    /// The level of a process alone on the mean machine.
    #[default]
    Level,
    /// The workload of a process, as algorithm 3 is written.
    Workload,
}

impl Partition {
    /// The cheapest assignment it finds in `problem` whose level is at most `target`; if it finds none, the
    /// one with the lowest level.
    #[must_use]
    pub fn search(self, problem: &Problem, target: f64, budget: Budget<'_>) -> SearchResult {
        SearchResult::of(problem, target, budget, |incumbent, meter| {
            self.improve(problem, incumbent, meter);
        })
    }

    /// Tries one level after the other, from the target on.
    pub(crate) fn improve(
        self,
        problem: &Problem,
        incumbent: &mut Incumbent,
        meter: &mut Meter<'_>,
    ) {
        let start = State::at_start(problem);
        let unit = self.opt.unit(problem);
        let mut levels = breakpoints(&start, unit);
        levels.retain(|&level| level < incumbent.target());
        levels.push(incumbent.target());
        for &level in levels.iter().rev() {
            if meter.is_spent() {
                return;
            }
            if let Some(state) = partition(&start, level, unit, meter) {
                incumbent.see(&state, meter.steps());
            }
        }
    }
}

impl Opt {
    /// The workload that a level of 1 is compared with.
    fn unit(self, problem: &Problem) -> f64 {
        match self {
            Self::Level => mean_capacity(problem),
            Self::Workload => 1.0,
        }
    }
}

/// A partition that is meant to have a level of at most `level`; `None` if the memory of a machine would be exceeded.
///
/// Large are those whose workload is more than half of the level, in a `unit` of work. Of each machine's large ones, all but the
/// smallest leave. As many machines as there are large ones are chosen to hold one, those that it costs fewest
/// more departures; from these, small ones leave until they take half of the machine, and from the others, the process that is
/// largest leaves until the rest fits. Then those that left are put, the largest first, where the
/// level is lowest with them.
fn partition<'a>(
    start: &State<'a>,
    level: f64,
    unit: f64,
    meter: &mut Meter<'_>,
) -> Option<State<'a>> {
    let problem = start.problem();
    let bound = level * unit / 2.0;
    let machines = 0..problem.machines().len();
    let mut departures: Vec<_> = machines
        .map(|machine| Departures::of(start, machine, level, bound))
        .collect();
    let large = departures.iter().map(|departures| departures.large).sum();
    departures.sort_by(Departures::order);
    let mut leaving = Vec::new();
    for (place, departures) in departures.iter().enumerate() {
        leaving.extend(departures.leaving(start, place < large).concat());
    }
    leaving.sort_unstable_by(|a, b| b.order(a));
    reinserted(start, &leaving, meter)
}

/// Every process where the search begins but those that leave, which go where the level is lowest with them; back, if
/// it is lowest there, too.
fn reinserted<'a>(
    start: &State<'a>,
    leaving: &[Entry],
    meter: &mut Meter<'_>,
) -> Option<State<'a>> {
    let problem = start.problem();
    let mut loads: Vec<f64> = (0..problem.machines().len())
        .map(|machine| start.load(machine))
        .collect();
    let mut memory = problem.memory_use(start.assignment());
    for entry in leaving {
        let initial = start.assignment()[entry.process];
        loads[initial] -= entry.workload;
        if let Some(memory) = &mut memory {
            memory.leave(entry.process, initial);
        }
    }
    let mut assignment = start.assignment().to_vec();
    for &Entry { workload, process } in leaving {
        let level =
            |machine: usize| (loads[machine] + workload) / problem.machines()[machine].capacity;
        let memory = memory.as_mut();
        let fits = |machine| {
            memory
                .as_ref()
                .is_none_or(|held| held.fits(process, machine))
        };
        let initial = start.assignment()[process];
        let mut best = fits(initial).then_some(initial);
        let mut lowest = best.map_or(f64::INFINITY, level);
        for machine in 0..loads.len() {
            if level(machine) < lowest && fits(machine) {
                best = Some(machine);
                lowest = level(machine);
            }
        }
        let best = best?;
        if let Some(memory) = memory {
            memory.enter(process, best);
        }
        loads[best] += workload;
        assignment[process] = best;
        meter.count(length(loads.len()));
    }
    Some(State::of(problem, assignment))
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
    fn of(start: &State<'_>, machine: usize, level: f64, bound: f64) -> Self {
        let list = start.list(machine);
        let small = list.partition_point(|entry| entry.workload <= bound);
        let kept = list.len().min(small + 1);
        let room = level * start.problem().machines()[machine].capacity;
        let pinned = start.pinned_load(machine);
        Self {
            machine,
            small,
            large: list.len() - small,
            from_half: small - fitting(&list[..small], pinned, room / 2.0),
            from_whole: kept - fitting(&list[..kept], pinned, room),
        }
    }

    /// The machine with fewest further departures comes first; of equal ones, the one with a large process.
    fn order(&self, other: &Self) -> Ordering {
        let more = (self.from_half + other.from_whole).cmp(&(other.from_half + self.from_whole));
        let has_large = (0 < other.large).cmp(&(0 < self.large));
        more.then(has_large).then(self.machine.cmp(&other.machine))
    }

    /// The processes that leave, if the machine is chosen to hold a large one, or if it is not.
    fn leaving<'a>(&self, start: &'a State<'_>, is_chosen: bool) -> [&'a [Entry]; 2] {
        let list = start.list(self.machine);
        let kept = list.len().min(self.small + 1);
        let (kept, extra) = list.split_at(kept);
        if is_chosen {
            [extra, &kept[self.small - self.from_half..self.small]]
        } else {
            [extra, &kept[kept.len() - self.from_whole..]]
        }
    }
}

/// How many of an ascending `list` fit into `room`, of which some is `taken`, from the first on.
fn fitting(list: &[Entry], mut taken: f64, room: f64) -> usize {
    let fits = |entry: &&Entry| {
        taken += entry.workload;
        taken <= highest(room)
    };
    list.iter().take_while(fits).count()
}

/// The levels at which a process becomes large, or one more has to leave a machine, in ascending order:
/// not below that of the smallest process, in a `unit` of work.
fn breakpoints(start: &State<'_>, unit: f64) -> Vec<f64> {
    let problem = start.problem();
    let mut smallest = f64::INFINITY;
    let mut levels = Vec::new();
    for (machine, &Machine { capacity, .. }) in problem.machines().iter().enumerate() {
        let mut load = start.pinned_load(machine);
        for entry in start.list(machine) {
            load += entry.workload;
            smallest = smallest.min(entry.workload);
            levels.extend([
                2.0 * entry.workload / unit,
                load / capacity,
                2.0 * load / capacity,
            ]);
        }
    }
    levels.retain(|&level| smallest / unit <= level);
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
    use model::rebalance::{Budget, MoveCost, Resident};

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
        let of = |(initial, workloads): (usize, &&[f64])| {
            let resident = move |&workload: &f64| Resident {
                workload: workload * unit,
                size: 1.0,
                initial_machine: initial,
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
        let state = partition(&State::at_start(&problem), level, 1.0, &mut meter);
        assert_eq!(state.unwrap().assignment(), expect);
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
        assert_eq!(breakpoints(&State::at_start(&problem), 1.0), expect);
    }

    #[test]
    fn levels_do_not_depend_on_the_unit_of_work() {
        let machines: [&[f64]; 2] = [&[2.0, 4.0], &[1.0, 0.25]];
        let levels = |unit| {
            let problem = problem_in(unit, &machines);
            breakpoints(&State::at_start(&problem), Opt::Level.unit(&problem))
        };
        assert_eq!(levels(8.0), levels(1.0));
        assert_eq!(levels(0.5), levels(1.0));
    }

    #[test]
    fn more_processes_are_large_where_a_level_is_compared_with_workloads() {
        // On machines of capacity 8, a level of 10 is a workload of 80: 12 is small beside it, and large beside 10.
        let machines: [&[f64]; 2] = [&[1.5, 1.5, 1.5], &[]];
        let problem = problem_in(8.0, &machines);
        let partition = |opt: Opt| {
            let mut meter = Meter::new(Budget::Steps(u64::MAX));
            let start = State::at_start(&problem);
            let state = partition(&start, 10.0, opt.unit(&problem), &mut meter);
            let away = state
                .as_ref()
                .unwrap()
                .assignment()
                .iter()
                .filter(|machine| **machine == 1);
            away.count()
        };
        assert_eq!(partition(Opt::Level), 0);
        // Two leave; the second is as well off where it is.
        assert_eq!(partition(Opt::Workload), 1);
    }

    #[test]
    fn units_make_no_difference_on_machines_of_capacity_1() {
        let problem = problem(&[&[6.0, 7.0], &[2.0], &[3.0, 1.0]]);
        let search = |opt| Partition { opt }.search(&problem, 8.0, Budget::Steps(u64::MAX));
        let [level, workload] = [Opt::Level, Opt::Workload].map(search);
        assert_eq!(level.solution.assignment, workload.solution.assignment);
    }
}
