//! A start within the limits of memory, where the initial assignment exceeds them.

use std::collections::BTreeSet;

use bsp::numbers::real;

use super::problem::{Memory, MemoryUse};
use super::solution::{Incumbent, Meter};
use crate::rebalance::annealing::{Annealing, Course};
use crate::rebalance::draws::Draws;
use crate::rebalance::{Budget, Problem, ProblemError, Solution};

/// An assignment within the limits of memory, if the initial assignment exceeds them, as cheap as a short search finds; levels do not
/// count. `None`: it is within them.
///
/// To fit things into several boxes is as hard as rebalancing itself. If there are few assignments, the cheapest is found, or
/// that there is none. Otherwise, what leaves full machines is put where it is cheapest; if that fails, everything is put anew;
/// if that fails, processes are moved and exchanged at random as long as that makes the excess no larger. What is found is
/// annealed.
///
/// # Errors
///
/// If there is no such assignment, or none was found.
pub(super) fn mended(problem: &Problem) -> Result<Option<Vec<usize>>, ProblemError> {
    let Some(memory) = problem.memory() else {
        return Ok(None);
    };
    let initial = problem.initial_assignment();
    let held = MemoryUse::new(memory, &initial);
    let Some(machine) = (0..memory.limits.len()).find(|&machine| !held.is_within(machine)) else {
        return Ok(None);
    };
    check(problem, memory)?;
    let start = match Exhaustive::new(problem, memory).run() {
        Searched::Whole(cheapest) => cheapest,
        Searched::Part(cheapest) => {
            let anew = |rule| Packing::new(problem, memory, |_| true).filled(rule);
            let found = relieved(problem, memory).or_else(|_| anew(Rule::Cheapest));
            let found = found.or_else(|_| anew(Rule::Tightest));
            let found = found.map_or_else(|rest| Exchanges::new(problem, memory, rest).run(), Some);
            found.map(|found| cheapened(problem, &found)).or(cheapest)
        }
    };
    let exceeded = || ProblemError::MemoryExceeded {
        machine,
        occupied: held.occupied(machine),
        limit: memory.limits[machine],
    };
    start.map(Some).ok_or_else(exceeded)
}

/// What makes every assignment exceed a limit, if that is plain.
fn check(problem: &Problem, memory: &Memory) -> Result<(), ProblemError> {
    let pinned = Packing::new(problem, memory, |process| problem.is_movable(process));
    let machines = 0..memory.limits.len();
    if let Some(machine) = machines.clone().find(|&one| !pinned.held.is_within(one)) {
        return Err(ProblemError::MemoryOfPinned {
            machine,
            occupied: pinned.held.occupied(machine),
            limit: memory.limits[machine],
        });
    }
    let limit = memory.limits.iter().copied().max().unwrap_or(0);
    for process in 0..memory.uses.len() {
        let occupied = memory.with_blocks(process);
        if limit < occupied {
            return Err(ProblemError::MemoryOfProcess {
                process,
                occupied,
                limit,
            });
        }
    }
    let sum = |numbers: &[u64]| numbers.iter().copied().map(u128::from).sum::<u128>();
    let (occupied, limit) = (sum(&memory.uses), sum(&memory.limits));
    if limit < occupied {
        return Err(ProblemError::MemoryOfAll { occupied, limit });
    }
    Ok(())
}

/// Of each machine above its limit, the cheapest processes per byte leave until the rest fits, and of those the most
/// expensive return for which there is room.
fn relieved(problem: &Problem, memory: &Memory) -> Result<Vec<usize>, Vec<usize>> {
    let initial = problem.initial_assignment();
    let mut held = MemoryUse::new(memory, &initial);
    let price = |process: usize| {
        let initial_group = problem.machines()[initial[process]].group;
        let size = problem.residents()[process].size;
        let costs = (0..problem.group_count()).map(|group| {
            let cost = problem.move_cost(initial_group, group);
            cost.fixed + cost.per_size * size
        });
        costs.fold(f64::INFINITY, f64::min)
    };
    let mut leaves = vec![false; initial.len()];
    let mut on = vec![Vec::new(); memory.limits.len()];
    for (process, &initial_machine) in initial.iter().enumerate() {
        let occupied = memory.with_blocks(process);
        if problem.is_movable(process) && 0 < occupied && !held.is_within(initial_machine) {
            on[initial_machine].push((price(process), real(occupied), process));
        }
    }
    for (machine, mut candidates) in on.into_iter().enumerate() {
        candidates.sort_by(|a, b| (a.0 * b.1).total_cmp(&(b.0 * a.1)).then(a.2.cmp(&b.2)));
        let mut leaving = Vec::new();
        for candidate in candidates {
            if held.is_within(machine) {
                break;
            }
            held.leave(candidate.2, machine);
            leaving.push(candidate);
        }
        leaving.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.2.cmp(&b.2)));
        for (_, _, process) in leaving {
            if held.fits(process, machine) {
                held.enter(process, machine);
            } else {
                leaves[process] = true;
            }
        }
    }
    Packing::new(problem, memory, |process| leaves[process]).filled(Rule::Cheapest)
}

/// Machines without the processes that are to be placed.
struct Packing<'a> {
    problem: &'a Problem,
    memory: &'a Memory,
    held: MemoryUse<'a>,
    leaving: Vec<usize>,
}

/// Where a process goes, of the machines that have room for it.
#[derive(Clone, Copy)]
enum Rule {
    /// Where it costs least, and of such machines to the fullest.
    Cheapest,
    /// To the fullest.
    Tightest,
}

impl<'a> Packing<'a> {
    fn new(problem: &'a Problem, memory: &'a Memory, leaves: impl Fn(usize) -> bool) -> Self {
        let mut held = MemoryUse::new(memory, &problem.initial_assignment());
        let processes = 0..problem.residents().len();
        let leaving = processes.filter(|&process| problem.is_movable(process) && leaves(process));
        let leaving: Vec<usize> = leaving.collect();
        for &process in &leaving {
            held.leave(process, problem.residents()[process].initial_machine);
        }
        Self {
            problem,
            memory,
            held,
            leaving,
        }
    }

    /// Every process is placed, the largest first.
    ///
    /// # Errors
    ///
    /// If a process fits nowhere: the assignment with such processes on their initial machine.
    fn filled(mut self, rule: Rule) -> Result<Vec<usize>, Vec<usize>> {
        let memory = self.memory;
        let mut leaving = std::mem::take(&mut self.leaving);
        leaving.sort_by_key(|&process| (std::cmp::Reverse(memory.with_blocks(process)), process));
        let mut assignment = self.problem.initial_assignment();
        let mut rooms = vec![BTreeSet::new(); self.problem.group_count()];
        for machine in 0..memory.limits.len() {
            rooms[self.group(machine)].insert((self.room(machine), machine));
        }
        let mut is_whole = true;
        for process in leaving {
            let initial_machine = assignment[process];
            let has_room =
                matches!(rule, Rule::Cheapest) && self.held.fits(process, initial_machine);
            let fits = rooms.iter().filter_map(|group| {
                let least = (memory.uses[process], 0);
                let mut by_room = group.range(least..);
                by_room.find(|(_, machine)| self.held.fits(process, *machine))
            });
            let best = fits.min_by(|a, b| {
                let costs = [a, b].map(|&&(_, machine)| self.problem.cost(process, machine));
                match rule {
                    Rule::Cheapest => costs[0].total_cmp(&costs[1]).then(a.cmp(b)),
                    Rule::Tightest => a.cmp(b),
                }
            });
            let Some(machine) = has_room
                .then_some(initial_machine)
                .or_else(|| best.map(|(_, machine)| *machine))
            else {
                is_whole = false;
                continue;
            };
            let group = self.group(machine);
            rooms[group].remove(&(self.room(machine), machine));
            self.held.enter(process, machine);
            rooms[group].insert((self.room(machine), machine));
            assignment[process] = machine;
        }
        if is_whole {
            Ok(assignment)
        } else {
            Err(assignment)
        }
    }

    fn room(&self, machine: usize) -> u64 {
        self.memory.limits[machine].saturating_sub(self.held.occupied(machine))
    }

    fn group(&self, machine: usize) -> usize {
        self.problem.machines()[machine].group
    }
}

/// Every assignment of the processes that may move, but for those that cannot be cheaper than one that was found: the
/// largest process first, each to the cheapest machine first, and to its initial one before others that cost as much.
struct Exhaustive<'a> {
    held: MemoryUse<'a>,
    /// The processes, each with the cost of each machine, the cheapest first.
    order: Vec<(usize, Vec<(f64, usize)>)>,
    /// What the processes of `order` from each on cost at least.
    least: Vec<f64>,
    assignment: Vec<usize>,
    cheapest: Option<(f64, Vec<usize>)>,
    /// Places that were tried.
    tried: u32,
}

/// Whether all assignments were considered.
enum Searched {
    /// All: the cheapest within the limits, if there is one.
    Whole(Option<Vec<usize>>),
    /// There are too many: the cheapest so far, if one was found.
    Part(Option<Vec<usize>>),
}

impl<'a> Exhaustive<'a> {
    fn new(problem: &'a Problem, memory: &'a Memory) -> Self {
        let packing = Packing::new(problem, memory, |_| true);
        let mut order = packing.leaving;
        order.sort_by_key(|&process| (std::cmp::Reverse(memory.with_blocks(process)), process));
        let by_cost = |process: usize| {
            let machines = 0..memory.limits.len();
            let costs = machines.map(|machine| (problem.cost(process, machine), machine));
            let mut costs: Vec<(f64, usize)> = costs.collect();
            let initial = problem.residents()[process].initial_machine;
            costs.sort_by(|a, b| {
                let is_elsewhere = |machine: usize| (machine != initial, machine);
                let by_machine = is_elsewhere(a.1).cmp(&is_elsewhere(b.1));
                a.0.total_cmp(&b.0).then(by_machine)
            });
            (process, costs)
        };
        let order: Vec<_> = order.into_iter().map(by_cost).collect();
        let mut least = vec![0.0];
        for (_, costs) in order.iter().rev() {
            least.push(least[least.len() - 1] + costs[0].0);
        }
        least.reverse();
        Self {
            held: packing.held,
            order,
            least,
            assignment: problem.initial_assignment(),
            cheapest: None,
            tried: 0,
        }
    }

    fn run(mut self) -> Searched {
        let is_whole = self.order.len() <= EXHAUSTIVE_PROCESSES && self.place(0, 0.0);
        let found = self.cheapest.map(|(_, assignment)| assignment);
        if is_whole {
            Searched::Whole(found)
        } else {
            Searched::Part(found)
        }
    }

    /// Places the processes of `order` from `at` on, where those before it cost `cost`. `false`: too much was tried.
    fn place(&mut self, at: usize, cost: f64) -> bool {
        let cheapest = self.cheapest.as_ref().map_or(f64::INFINITY, |best| best.0);
        if cheapest <= cost + self.least[at] {
            return true;
        }
        if at == self.order.len() {
            self.cheapest = Some((cost, self.assignment.clone()));
            return true;
        }
        for place in 0..self.order[at].1.len() {
            let (process, (more, machine)) = (self.order[at].0, self.order[at].1[place]);
            self.tried += 1;
            if EXHAUSTIVE_TRIES < self.tried {
                return false;
            }
            if !self.held.fits(process, machine) {
                continue;
            }
            self.held.enter(process, machine);
            self.assignment[process] = machine;
            let is_whole = self.place(at + 1, cost + more);
            self.held.leave(process, machine);
            if !is_whole {
                return false;
            }
        }
        true
    }
}

/// Moves and exchanges that are drawn, of which those remain that make the excess no larger.
struct Exchanges<'a> {
    memory: &'a Memory,
    held: MemoryUse<'a>,
    assignment: Vec<usize>,
    movable: Vec<usize>,
    draws: Draws,
}

impl<'a> Exchanges<'a> {
    fn new(problem: &'a Problem, memory: &'a Memory, assignment: Vec<usize>) -> Self {
        let processes = 0..assignment.len();
        Self {
            memory,
            held: MemoryUse::new(memory, &assignment),
            movable: processes.filter(|&one| problem.is_movable(one)).collect(),
            assignment,
            draws: Draws::new(0, b"exchanges for memory ..."),
        }
    }

    fn run(mut self) -> Option<Vec<usize>> {
        let machines = self.memory.limits.len();
        let mut excess: u128 = (0..machines).map(|machine| self.held.excess(machine)).sum();
        if self.movable.is_empty() {
            return None;
        }
        for _ in 0..EXCHANGES {
            let process = self.movable[self.draws.below(self.movable.len())];
            let from = self.assignment[process];
            let other = self.movable[self.draws.below(self.movable.len())];
            let (to, back) = match self.draws.below(2) {
                0 => (self.draws.below(machines), None),
                _ => (self.assignment[other], Some(other)),
            };
            if from == to {
                continue;
            }
            let before = self.held.excess(from) + self.held.excess(to);
            self.exchange((process, from, to), back);
            let after = self.held.excess(from) + self.held.excess(to);
            if before < after {
                self.exchange((process, to, from), back);
                continue;
            }
            excess = excess - before + after;
            if excess == 0 {
                return Some(self.assignment);
            }
        }
        None
    }

    fn exchange(&mut self, (process, from, to): (usize, usize, usize), back: Option<usize>) {
        let moves = [Some((process, from, to)), back.map(|back| (back, to, from))];
        for (process, from, to) in moves.into_iter().flatten() {
            self.held.relocate(process, from, to);
            self.assignment[process] = to;
        }
    }
}

/// `start`, or a cheaper assignment within the limits of memory, at whatever level.
fn cheapened(problem: &Problem, start: &[usize]) -> Vec<usize> {
    let course = Course {
        hops: 3,
        sharings: 64,
        returns: 160,
        hot: 1.0,
    };
    let problem = problem.clone().without_communication();
    // Of every assignment.
    let machines = problem.machines().iter();
    let slowest = machines
        .map(|machine| machine.capacity)
        .fold(f64::INFINITY, f64::min);
    let work: f64 = problem
        .residents()
        .iter()
        .map(|resident| resident.workload)
        .sum();
    let level = 1.0 + 2.0 * work / slowest;
    let draws = Draws::new(0, b"annealing for memory ...");
    let found = Solution::of(&problem, level, start.to_vec());
    let mut incumbent = Incumbent::of(found, level);
    let mut meter = Meter::new(Budget::Steps(STEPS));
    Annealing::new(&problem, level, start, draws, course).run(&mut incumbent, &mut meter);
    incumbent.assignment().to_vec()
}

/// Steps of the annealing: some milliseconds.
const STEPS: u64 = 200_000;

/// Places that an exhaustive search tries before it is given up: some milliseconds.
const EXHAUSTIVE_TRIES: u32 = 100_000;

/// The most processes that are placed by an exhaustive search, which recurses once for each.
const EXHAUSTIVE_PROCESSES: usize = 24;

/// Exchanges that are drawn.
const EXCHANGES: u32 = 400_000;
