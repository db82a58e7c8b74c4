//! Levels that are certain to be impossible.

use migbsp::rebalance::Problem;

/// Whether no single reason makes it impossible that no machine is above level `highest`: all work together, one process
/// alone, or the processes of one machine that may not move.
pub(super) fn is_conceivable(problem: &Problem, highest: f64) -> bool {
    problem.ideal() * (1.0 - ROUNDED) <= highest
        && has_room_for_each(problem, highest)
        && has_room_for_pins(problem, highest)
}

/// Whether there is a machine for each process that it would not be too much for alone.
fn has_room_for_each(problem: &Problem, highest: f64) -> bool {
    let capacities = problem.machines().iter().map(|machine| machine.capacity);
    let room = highest * capacities.fold(0.0, f64::max) * (1.0 + ROUNDED);
    let mut residents = problem.residents().iter();
    residents.all(|resident| resident.workload <= room)
}

/// Whether the processes that may not move meet the target.
fn has_room_for_pins(problem: &Problem, highest: f64) -> bool {
    let machines = problem.machines().iter();
    let mut loads = machines.zip(problem.pinned_loads());
    loads.all(|(machine, load)| load <= highest * machine.capacity * (1.0 + ROUNDED))
}

/// Levels and costs are rounded by less.
pub(super) const ROUNDED: f64 = 1e-9;
