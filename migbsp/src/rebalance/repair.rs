//! A first assignment that meets the target, if that is easy.

use std::collections::BTreeSet;

use crate::rebalance::budget::Meter;
use crate::rebalance::incumbent::Incumbent;
use crate::rebalance::solution::highest;
use crate::rebalance::{Problem, Solution};

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
        let home = problem.machines()[problem.residents()[process].home].group;
        let move_costs = (0..problem.group_count()).map(|group| problem.move_cost(home, group));
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
    use crate::rebalance::{Machine, MoveCost, Resident};

    /// Machines of capacity 1 in groups of their own but for the first two; processes by workload, size and home.
    fn check(residents: &[(f64, f64, usize)], target: f64, expect: &[usize]) {
        let machine = |group| Machine {
            capacity: 1.0,
            group,
        };
        let resident = |&(workload, size, home): &(f64, f64, usize)| Resident {
            workload,
            size,
            home,
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
