//! What the migrations that a target takes cost at least: a Lagrangian relaxation with a knapsack for each machine.

use bsp::numbers::{length, real};
use model::rebalance::search::highest;
use model::rebalance::{Problem, Resident};

/// A cost that no assignment in `problem` which meets `target` is below; infinite if there is provably none.
///
/// Lagrangian relaxation: a machine may carry too much at a price per unit of workload, but the processes that stay
/// must fit on their machine together. Then every machine is a knapsack of its own, packed exactly if it is
/// small, and the prices are found by subgradients. At least as high as the linear relaxation of the
/// generalised assignment problem, up to what the prices lack. Processes that may not move take their part of their
/// machine's limit; memory and what processes exchange are left out, so that they only raise what it costs. If the initial
/// assignment exceeds memory, the same is done with memory in the place of workloads, and the higher bound counts. Takes time linear in processes times groups
/// and in machines, with the fewer iterations the more they are.
#[must_use]
pub fn bound(problem: &Problem, target: f64) -> f64 {
    bound_while(problem, target, &|| true)
}

/// [`bound`], with fewer iterations if there is no time for more, so that it is lower.
#[must_use]
pub fn bound_while(problem: &Problem, target: f64, has_time: &dyn Fn() -> bool) -> f64 {
    let of_level = bound_of_level(problem, target, has_time);
    if problem.begins_within_memory() {
        return of_level;
    }
    let memory = problem.memory_as_level();
    let of_memory = memory.map_or(0.0, |memory| bound_of_level(&memory, 1.0, has_time));
    // Rounding aside, there is an assignment within the limits of memory.
    of_level.max(if of_memory.is_finite() {
        of_memory
    } else {
        0.0
    })
}

fn bound_of_level(problem: &Problem, target: f64, has_time: &dyn Fn() -> bool) -> f64 {
    let highest = highest(target);
    if !is_conceivable(problem, highest) {
        return f64::INFINITY;
    }
    let mut relaxation = Relaxation::new(problem, highest);
    let value = relaxation.solve();
    if value <= 0.0 {
        return 0.0;
    }
    let mut ascent = Ascent::new(&relaxation);
    let cost_max = cost_max(problem) * (1.0 + ROUNDED);
    for _ in 0..iterations(problem) {
        let goes_on = ascent.step(&mut relaxation);
        if cost_max < ascent.value {
            return f64::INFINITY;
        }
        if !goes_on || !has_time() {
            break;
        }
    }
    (ascent.value * (1.0 - ROUNDED)).max(0.0)
}

/// No assignment costs more: every process goes where that costs most.
fn cost_max(problem: &Problem) -> f64 {
    let groups = problem.group_count();
    let cost = |(process, resident): (usize, &Resident)| {
        if !problem.is_movable(process) {
            return 0.0;
        }
        let initial = problem.machines()[resident.initial_machine].group;
        let move_costs = (0..groups).map(|group| problem.move_cost(initial, group));
        move_costs
            .map(|move_cost| move_cost.fixed + move_cost.per_size * resident.size)
            .fold(0.0, f64::max)
    };
    problem.residents().iter().enumerate().map(cost).sum()
}

/// How often the prices of `problem` are mended.
fn iterations(problem: &Problem) -> usize {
    let processes = problem.residents().len();
    let terms =
        (processes.saturating_mul(problem.group_count())).saturating_add(problem.machines().len());
    (TERMS / terms).clamp(ITERATIONS_MIN, ITERATIONS_MAX)
}

/// The relaxed problem, and what its solution is at the present prices.
struct Relaxation<'a> {
    problem: &'a Problem,
    limits: Vec<f64>,
    /// By machine: the processes that may leave it.
    residents: Vec<Vec<usize>>,
    group_count: usize,
    /// By machine: what a unit of workload on it costs.
    prices: Vec<f64>,
    /// By machine: by how much its load is above its limit.
    excess: Vec<f64>,
    value: f64,
    /// The terms of the value, without their signs.
    magnitude: f64,
    /// The share of their magnitude that they may be rounded by, each and in their sum.
    rounding: f64,
}

/// The machines of a group with the lowest price.
#[derive(Clone, Copy)]
struct Cheapest {
    /// One of them, and the cheapest other machine of the group; the same price is possible.
    machines: [Option<usize>; 2],
    price: f64,
    /// How many have this price.
    count: f64,
    /// The share of each in the processes that leave for any of them.
    load: f64,
}

impl<'a> Relaxation<'a> {
    fn new(problem: &'a Problem, highest: f64) -> Self {
        let machines = problem.machines();
        let mut residents = vec![Vec::new(); machines.len()];
        for (process, resident) in problem.residents().iter().enumerate() {
            if problem.is_movable(process) {
                residents[resident.initial_machine].push(process);
            }
        }
        let pinned = problem.pinned_loads();
        let limits = machines.iter().zip(&pinned).map(|(machine, pinned)| {
            // A process that fits by level should not be too much by load, however both are rounded.
            (highest * machine.capacity * (1.0 + ROUNDED) - pinned).max(0.0)
        });
        Self {
            problem,
            limits: limits.collect(),
            residents,
            group_count: problem.group_count(),
            prices: vec![0.0; machines.len()],
            excess: vec![0.0; machines.len()],
            value: 0.0,
            magnitude: 0.0,
            rounding: f64::EPSILON
                * real(3 * length(problem.residents().len()) + 2 * length(machines.len()) + 8),
        }
    }

    /// The cheapest assignment at the present prices: its value, which is a bound.
    fn solve(&mut self) -> f64 {
        let mut cheapest = self.cheapest();
        (self.value, self.magnitude) = (0.0, 0.0);
        for machine in 0..self.limits.len() {
            self.excess[machine] = -self.limits[machine];
            let refund = self.prices[machine] * self.limits[machine];
            self.value -= refund;
            self.magnitude += refund;
        }
        let mut items = Vec::new();
        for initial in 0..self.limits.len() {
            self.pack(initial, &mut cheapest, &mut items);
        }
        for (machine, &price) in self.prices.iter().enumerate() {
            let group = &cheapest[self.problem.machines()[machine].group];
            if price <= group.price {
                self.excess[machine] += group.load;
            }
        }
        // Whatever the order of this many terms, their sum is above this.
        self.value -= self.rounding * self.magnitude;
        self.value
    }

    /// Decides which processes stay on `initial` and where the others go.
    fn pack(&mut self, initial: usize, cheapest: &mut [Cheapest], items: &mut Vec<Item>) {
        items.clear();
        for at in 0..self.residents[initial].len() {
            let process = self.residents[initial][at];
            let workload = self.problem.residents()[process].workload;
            let staying = self.prices[initial] * workload;
            let Some((leaving, goal)) = self.leave(process, cheapest) else {
                self.value += staying;
                self.magnitude += staying;
                self.excess[initial] += workload;
                continue;
            };
            self.value += leaving;
            self.magnitude += leaving + staying;
            let profit = leaving - staying;
            if 0.0 < profit {
                items.push(Item {
                    workload,
                    profit,
                    density: profit / workload,
                    goal,
                });
            } else {
                self.send(workload, initial, goal, cheapest);
            }
        }
        items.sort_by(|a, b| b.density.total_cmp(&a.density));
        for (item, share) in items.iter().zip(packed(items, self.limits[initial])) {
            self.value -= share * item.profit;
            self.excess[initial] += share * item.workload;
            self.send((1.0 - share) * item.workload, initial, item.goal, cheapest);
        }
    }

    /// Puts `load` that leaves `initial` on `goal`, or in equal parts on all machines that are as cheap.
    fn send(&mut self, load: f64, initial: usize, goal: usize, cheapest: &mut [Cheapest]) {
        let machines = self.problem.machines();
        let group = &mut cheapest[machines[goal].group];
        let is_cheapest = |machine: usize| {
            machines[machine].group == machines[goal].group && self.prices[machine] <= group.price
        };
        if !is_cheapest(goal) {
            self.excess[goal] += load;
        } else if is_cheapest(initial) {
            let part = load / (group.count - 1.0);
            group.load += part;
            self.excess[initial] -= part;
        } else {
            group.load += load / group.count;
        }
    }

    /// What `process` costs where it is cheapest away from its initial machine, and where that is.
    fn leave(&self, process: usize, cheapest: &[Cheapest]) -> Option<(f64, usize)> {
        let resident = self.problem.residents()[process];
        let initial = resident.initial_machine;
        let goals = cheapest.iter().filter_map(|cheapest| {
            let mut goals = cheapest.machines.into_iter().flatten();
            goals.find(|&goal| goal != initial)
        });
        let costs = goals.map(|goal| {
            let load = self.prices[goal] * resident.workload;
            (self.problem.cost(process, goal) + load, goal)
        });
        costs.min_by(|a, b| a.0.total_cmp(&b.0))
    }

    /// By group: its cheapest machines.
    fn cheapest(&self) -> Vec<Cheapest> {
        let none = Cheapest {
            machines: [None; 2],
            price: f64::INFINITY,
            count: 0.0,
            load: 0.0,
        };
        let mut all = vec![none; self.group_count];
        for (machine, &price) in self.prices.iter().enumerate() {
            let group = &mut all[self.problem.machines()[machine].group];
            let [first, second] = group.machines;
            if price < group.price {
                group.machines = [Some(machine), first];
                (group.price, group.count) = (price, 1.0);
                continue;
            }
            if price <= group.price {
                group.count += 1.0;
            }
            if second.is_none_or(|other| price < self.prices[other]) {
                group.machines = [first, Some(machine)];
            }
        }
        all
    }
}

/// The number of terms that are summed, as far as the number of iterations allows.
const TERMS: usize = 40_000_000;
const ITERATIONS_MIN: usize = 30;
const ITERATIONS_MAX: usize = 1000;

/// The volume algorithm (Barahona, Anbil 2000): from the best prices on, along the excess that the solutions of
/// all iterations have in the mean, the later ones more than the earlier.
struct Ascent {
    /// The best value, and its prices.
    value: f64,
    prices: Vec<f64>,
    direction: Vec<f64>,
    /// A value that is thought to be in reach.
    aim: f64,
    /// The share of the way to the aim that a step would go, were all linear.
    pace: f64,
    fruitless: u32,
}

impl Ascent {
    /// At the prices and the solution of `relaxation`.
    fn new(relaxation: &Relaxation<'_>) -> Self {
        Self {
            value: relaxation.value,
            prices: relaxation.prices.clone(),
            direction: relaxation.excess.clone(),
            aim: AIM * relaxation.value,
            pace: 0.1,
            fruitless: 0,
        }
    }

    /// Whether there is anywhere to go.
    fn step(&mut self, relaxation: &mut Relaxation<'_>) -> bool {
        let is_free = |(price, excess): &(&f64, &f64)| 0.0 < **price || 0.0 < **excess;
        let free = self.prices.iter().zip(&self.direction).filter(is_free);
        let square: f64 = free.map(|(_, excess)| excess * excess).sum();
        if square <= 0.0 {
            return false;
        }
        let step = self.pace * (self.aim - self.value) / square;
        let changes = self.prices.iter().zip(&self.direction);
        for (price, (center, excess)) in relaxation.prices.iter_mut().zip(changes) {
            *price = (center + step * excess).max(0.0);
        }
        let value = relaxation.solve();
        let pairs = self.direction.iter().zip(&relaxation.excess);
        let agreement: f64 = pairs.map(|(mean, excess)| mean * excess).sum();
        for (mean, excess) in self.direction.iter_mut().zip(&relaxation.excess) {
            *mean += RECENT * (excess - *mean);
        }
        if self.value < value {
            self.value = value;
            self.prices.clone_from(&relaxation.prices);
            self.fruitless = 0;
            if 0.0 <= agreement {
                self.pace = (self.pace * FASTER).min(2.0);
            }
        } else {
            self.fruitless += 1;
            if self.fruitless == PATIENCE {
                self.fruitless = 0;
                self.pace *= SLOWER;
            }
        }
        if self.aim < NEAR * self.value {
            self.aim = AIM * self.value;
        }
        true
    }
}

/// How far the aim is above the best value, and how near that may come before there is a new one.
const AIM: f64 = 1.2;
const NEAR: f64 = 1.05;

/// The share of the last solution in the mean.
const RECENT: f64 = 0.03;

const FASTER: f64 = 1.1;
const SLOWER: f64 = 0.66;
const PATIENCE: u32 = 20;

/// A process that stays on its machine or leaves.
struct Item {
    workload: f64,
    /// By how much staying is cheaper than leaving, which is above 0.
    profit: f64,
    /// Profit per workload: infinite if it computes nothing.
    density: f64,
    /// Where it goes if it leaves.
    goal: usize,
}

/// Which share of each of `items`, by falling density, makes the most profit within `limit`: all or nothing,
/// if they are few and it does not take long to find out.
fn packed(items: &[Item], limit: f64) -> Vec<f64> {
    let mut shares = vec![0.0; items.len()];
    if items.len() <= EXACTLY {
        let mut packing = Packing {
            items,
            best: 0.0,
            best_set: 0,
            looks: LOOKS,
        };
        packing.extend(0, limit, 0.0, 0);
        if 0 < packing.looks {
            for (at, share) in shares.iter_mut().enumerate() {
                *share = f64::from(packing.best_set >> at & 1);
            }
            return shares;
        }
    }
    let mut room = limit;
    for (item, share) in items.iter().zip(&mut shares) {
        if room < 0.0 {
            break;
        }
        *share = if item.workload <= room {
            1.0
        } else {
            room / item.workload
        };
        room -= item.workload;
    }
    shares
}

/// A knapsack, packed by branch and bound.
struct Packing<'a> {
    items: &'a [Item],
    best: f64,
    best_set: u32,
    /// How many sets may be looked at yet; if none, there may be better ones.
    looks: u32,
}

impl Packing<'_> {
    /// Looks at all ways to pack the items from `at` on, beside those of `set`.
    fn extend(&mut self, at: usize, room: f64, profit: f64, set: u32) {
        if self.best < profit {
            self.best = profit;
            self.best_set = set;
        }
        self.looks = self.looks.saturating_sub(1);
        let Some(item) = self.items.get(at) else {
            return;
        };
        if self.looks == 0 || profit + self.rest(at, room) <= self.best {
            return;
        }
        if item.workload <= room {
            let (room, profit) = (room - item.workload, profit + item.profit);
            self.extend(at + 1, room, profit, set | 1 << at);
        }
        self.extend(at + 1, room, profit, set);
    }

    /// No more profit than this fits into `room` from `at` on.
    fn rest(&self, at: usize, mut room: f64) -> f64 {
        let mut profit = 0.0;
        for item in &self.items[at..] {
            if room < item.workload {
                return profit + item.density * room;
            }
            room -= item.workload;
            profit += item.profit;
        }
        profit
    }
}

/// Up to this number of processes of a machine are packed exactly, unless that takes too many evaluations: many that are alike
/// are one as good as the other.
const EXACTLY: usize = 14;
const LOOKS: u32 = 400;

/// Whether no single reason makes it impossible that no machine is above level `highest`: all work together, one process
/// alone, or the processes of one machine that may not move.
fn is_conceivable(problem: &Problem, highest: f64) -> bool {
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
const ROUNDED: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use model::rebalance::{Machine, MoveCost, Resident};
    use proptest::prelude::*;

    use super::*;

    /// The least cost of all assignments that meet `target`.
    fn cheapest(problem: &Problem, target: f64) -> f64 {
        let machines = problem.machines().len();
        let processes = problem.residents().len();
        let mut assignment = vec![0; processes];
        let mut cheapest = f64::INFINITY;
        loop {
            if problem.level(&assignment) <= highest(target) {
                let places = assignment.iter().enumerate();
                let cost = places.map(|(process, &machine)| problem.cost(process, machine));
                cheapest = cheapest.min(cost.sum());
            }
            let Some(at) = assignment
                .iter()
                .position(|&machine| machine + 1 < machines)
            else {
                return cheapest;
            };
            assignment[..at].fill(0);
            assignment[at] += 1;
        }
    }

    proptest! {
        #[test]
        fn no_assignment_is_cheaper(
            machines in prop::collection::vec((0.5..3.0, 0..2_usize), 1..5),
            residents in prop::collection::vec((0.0..9.0, 0.0..50.0, 0..5_usize), 1..7),
            share in 0.0..1.1,
        ) {
            let machine = |&(capacity, group): &(f64, usize)| Machine { capacity, group };
            let resident = |(workload, size, initial): (f64, f64, usize)| Resident {
                workload,
                size,
                initial_machine: initial % machines.len(),
            };
            let move_cost = |fixed, per_size| MoveCost { fixed, per_size };
            let problem = Problem::new(
                machines.iter().map(machine).collect(),
                residents.into_iter().map(resident).collect(),
                vec![vec![move_cost(0.1, 1.0), move_cost(3.0, 2.0)], vec![move_cost(5.0, 0.0), move_cost(0.0, 1.0)]],
            )
            .unwrap();
            let (ideal, initial) = (problem.ideal(), problem.level(&problem.initial_assignment()));
            let target = ideal + share * (initial - ideal);
            prop_assert!(bound(&problem, target) <= cheapest(&problem, target));
        }
    }

    #[test]
    fn what_is_certainly_impossible_has_no_bound() {
        let problem = |capacities: &[f64], residents: &[(f64, usize)]| {
            let machine = |&capacity: &f64| Machine { capacity, group: 0 };
            let resident = |&(workload, initial): &(f64, usize)| Resident {
                workload,
                size: 1.0,
                initial_machine: initial,
            };
            let move_cost = MoveCost {
                fixed: 0.0,
                per_size: 1.0,
            };
            Problem::new(
                capacities.iter().map(machine).collect(),
                residents.iter().map(resident).collect(),
                vec![vec![move_cost]],
            )
            .unwrap()
        };
        // A process that is too much for any machine.
        let large = problem(&[1.0; 3], &[(10.0, 0), (1.0, 1)]);
        assert!(bound(&large, 9.5).is_infinite());
        assert!(bound(&large, 10.0).is_finite());
        // Two that only one machine has room for, one at a time.
        let two = problem(&[4.0, 1.0, 1.0], &[(10.0, 0), (10.0, 0), (1.0, 1)]);
        assert!(bound(&two, 4.0).is_infinite());
        assert!(bound(&two, 5.0).is_finite());
    }

    #[test]
    fn who_has_to_leave_has_to_pay() {
        let machine = Machine {
            capacity: 1.0,
            group: 0,
        };
        let resident = |workload, size| Resident {
            workload,
            size,
            initial_machine: 0,
        };
        let move_cost = MoveCost {
            fixed: 0.0,
            per_size: 1.0,
        };
        let problem = Problem::new(
            vec![machine; 2],
            vec![resident(3.0, 5.0), resident(3.0, 7.0), resident(1.0, 9.0)],
            vec![vec![move_cost]],
        )
        .unwrap();
        assert!((bound(&problem, 4.0) - 5.0).abs() < 1e-6);
        assert!((bound(&problem, 7.0)).abs() < 1e-6);
        assert!(bound(&problem, 3.0).is_infinite());
    }
}
