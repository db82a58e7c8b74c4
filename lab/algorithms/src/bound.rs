//! What the migrations that a target takes cost at least.

mod ascent;

use crate::bound::ascent::Ascent;
use crate::conceivable::{ROUNDED, is_conceivable};
use crate::count;
use crate::knapsack::{Item, packed};
use migbsp::rebalance::search::highest;
use migbsp::rebalance::{Problem, Resident};

/// A cost that no assignment in `problem` which meets `target` is below; infinite if there is provably none.
///
/// Lagrangian relaxation: a machine may carry too much at a price per unit of workload, but the processes that stay
/// at home must fit there together. Then every machine is a knapsack of its own, packed exactly if it is
/// small, and the prices are found by subgradients. At least as high as the linear relaxation of the
/// generalised assignment problem, up to what the prices lack. Processes that may not move take their part of their
/// machine's limit; memory and what processes exchange are left out, so that they only raise what it costs. If homes exceed
/// memory, the same is done with memory in the place of workloads, and the higher bound counts. Takes time linear in processes times groups
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
        let home = problem.machines()[resident.initial_machine].group;
        let move_costs = (0..groups).map(|group| problem.move_cost(home, group));
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
    /// By machine: whose home it is.
    at_home: Vec<Vec<usize>>,
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
        let mut at_home = vec![Vec::new(); machines.len()];
        for (process, resident) in problem.residents().iter().enumerate() {
            if problem.is_movable(process) {
                at_home[resident.initial_machine].push(process);
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
            at_home,
            group_count: problem.group_count(),
            prices: vec![0.0; machines.len()],
            excess: vec![0.0; machines.len()],
            value: 0.0,
            magnitude: 0.0,
            rounding: f64::EPSILON
                * (3.0 * count(problem.residents().len()) + 2.0 * count(machines.len()) + 8.0),
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
        for home in 0..self.limits.len() {
            self.pack(home, &mut cheapest, &mut items);
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

    /// Decides which processes stay on `home` and where the others go.
    fn pack(&mut self, home: usize, cheapest: &mut [Cheapest], items: &mut Vec<Item>) {
        items.clear();
        for at in 0..self.at_home[home].len() {
            let process = self.at_home[home][at];
            let workload = self.problem.residents()[process].workload;
            let staying = self.prices[home] * workload;
            let Some((leaving, goal)) = self.leave(process, cheapest) else {
                self.value += staying;
                self.magnitude += staying;
                self.excess[home] += workload;
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
                self.send(workload, home, goal, cheapest);
            }
        }
        items.sort_by(|a, b| b.density.total_cmp(&a.density));
        for (item, share) in items.iter().zip(packed(items, self.limits[home])) {
            self.value -= share * item.profit;
            self.excess[home] += share * item.workload;
            self.send((1.0 - share) * item.workload, home, item.goal, cheapest);
        }
    }

    /// Puts `load` that leaves `home` on `goal`, or in equal parts on all machines that are as cheap.
    fn send(&mut self, load: f64, home: usize, goal: usize, cheapest: &mut [Cheapest]) {
        let machines = self.problem.machines();
        let group = &mut cheapest[machines[goal].group];
        let is_cheapest = |machine: usize| {
            machines[machine].group == machines[goal].group && self.prices[machine] <= group.price
        };
        if !is_cheapest(goal) {
            self.excess[goal] += load;
        } else if is_cheapest(home) {
            let part = load / (group.count - 1.0);
            group.load += part;
            self.excess[home] -= part;
        } else {
            group.load += load / group.count;
        }
    }

    /// What `process` costs where it is cheapest away from home, and where that is.
    fn leave(&self, process: usize, cheapest: &[Cheapest]) -> Option<(f64, usize)> {
        let resident = self.problem.residents()[process];
        let home = resident.initial_machine;
        let goals = cheapest.iter().filter_map(|cheapest| {
            let mut goals = cheapest.machines.into_iter().flatten();
            goals.find(|&goal| goal != home)
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use migbsp::rebalance::{Machine, MoveCost, Resident};

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
            let resident = |(workload, size, home): (f64, f64, usize)| Resident {
                workload,
                size,
                initial_machine: home % machines.len(),
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
            let resident = |&(workload, home): &(f64, usize)| Resident {
                workload,
                size: 1.0,
                initial_machine: home,
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
