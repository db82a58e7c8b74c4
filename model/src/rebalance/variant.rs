//! Iterated multi-level local search, and what may be varied about it.

use std::cell::Cell;

use super::pair::{Exchange, Rule, below};
use super::solution::{Incumbent, Meter};
use super::state::State;
use super::{Budget, Problem, SearchResult};

/// How IMLP looks: the defaults are those that its authors found best.
///
/// Chen, Wang and Lau 2008, algorithms 1 and 2. Each iteration starts with every process on its initial machine and brings
/// down the highest level, pair by pair of machines, until the target is reached or nothing helps. Expensive
/// migrations are considered only where cheap ones fail, and earlier solutions are penalised, so that others are found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variant {
    /// How many levels there are of what a migration may cost: at least 1; with 1 it is ISLP.
    pub levels: u32,
    /// What it may cost on each.
    pub thresholds: Thresholds,
    /// What is discouraged.
    pub penalised: Penalised,
    /// By how much, in units of level, whenever it was found: γ.
    pub gamma: f64,
    /// When two processes change places.
    pub exchanges: Exchanges,
    /// After how many iterations to stop even if there is budget left; with 1 it is MLP.
    pub iterations: u64,
}

/// What of an assignment that was found is discouraged from then on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Penalised {
    /// Every migration.
    Full,
    /// Every migration to a machine with the highest level.
    Limit,
    /// Nothing.
    None,
}

/// When two processes change places, where one might move alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exchanges {
    /// Whenever that brings the higher level of the two machines further down.
    Always,
    /// Only where the best move of one process leaves one of the two machines above the target. The paper does
    /// not say so, but the numbers of moves in its Table 4 do.
    Needed,
}

impl Default for Variant {
    fn default() -> Self {
        Self::IMLP
    }
}

impl Variant {
    /// IMLP-CRS2-level6-full-1.
    pub const IMLP: Self = Self {
        levels: 6,
        thresholds: Thresholds::CommonRatio(2.0),
        penalised: Penalised::Full,
        gamma: 1.0,
        exchanges: Exchanges::Always,
        iterations: u64::MAX,
    };
    /// Without regard to what a migration costs, but for the choice among what is found.
    pub const ISLP: Self = Self {
        levels: 1,
        ..Self::IMLP
    };
    /// The first iteration alone.
    pub const MLP: Self = Self {
        iterations: 1,
        ..Self::IMLP
    };

    /// The cheapest assignment it finds in `problem` whose level is at most `target`; if it finds none, the
    /// one with the lowest level.
    #[must_use]
    pub fn search(&self, problem: &Problem, target: f64, budget: Budget<'_>) -> SearchResult {
        SearchResult::of(problem, target, budget, |incumbent, meter| {
            self.improve(problem, incumbent, meter);
        })
    }

    /// Iterates until the budget is spent, or everything from there on would be the same again.
    pub fn improve(&self, problem: &Problem, incumbent: &mut Incumbent, meter: &mut Meter<'_>) {
        self.improve_until(|_| false, problem, incumbent, meter);
    }

    /// [`Variant::improve`] that ends after an iteration when what was seen is `enough`, too.
    pub(super) fn improve_until(
        &self,
        enough: impl Fn(&Incumbent) -> bool,
        problem: &Problem,
        incumbent: &mut Incumbent,
        meter: &mut Meter<'_>,
    ) {
        if meter.is_spent() {
            return;
        }
        let thresholds = self.thresholds.of(problem, self.levels.max(1));
        let mut penalties = Penalties::none(problem.residents().len());
        let machines = u64::try_from(problem.machines().len()).expect("a count fits 64 bits");
        let start = State::at_start(problem);
        let mut state = State::at_start(problem);
        for _ in 0..self.iterations {
            let descent = Descent {
                thresholds: &thresholds,
                penalties: &penalties,
                gamma: self.gamma,
                exchanges: self.exchanges,
                refused: Vec::new(),
            };
            descent.run(&mut state, incumbent, meter);
            incumbent.see(&state, meter.steps());
            if enough(incumbent)
                || meter.is_spent()
                || !self.penalise(&state, &start, &mut penalties)
            {
                return;
            }
            state.become_like(&start);
            meter.count(machines);
        }
    }

    /// Discourages what `state` has and `start` has not; whether that is anything.
    fn penalise(&self, state: &State<'_>, start: &State<'_>, penalties: &mut Penalties) -> bool {
        let highest = below(state.level());
        let mut is_any = false;
        let places = state.assignment().iter().zip(start.assignment());
        for (process, (&machine, &before)) in places.enumerate() {
            let is_penalised = match self.penalised {
                Penalised::Full => true,
                Penalised::Limit => highest < state.level_of(machine),
                Penalised::None => false,
            };
            if is_penalised && machine != before {
                penalties.add(process, machine);
                is_any = true;
            }
        }
        is_any
    }
}

/// One iteration.
struct Descent<'a> {
    thresholds: &'a [f64],
    penalties: &'a Penalties,
    gamma: f64,
    exchanges: Exchanges,
    /// The cheapest migration that was refused for its price with each machine that did not help, from the
    /// lowest level on: below that price, it does not help now either.
    refused: Vec<f64>,
}

impl Descent<'_> {
    /// Brings `state`'s level down until it meets the target, nothing helps, or the budget is spent.
    fn run(mut self, state: &mut State<'_>, incumbent: &Incumbent, meter: &mut Meter<'_>) {
        while !incumbent.meets(state.level()) {
            let Some(exchange) = self.step(state, incumbent, meter) else {
                return;
            };
            exchange.make(state);
        }
    }

    /// What helps the machine with the highest level, at the lowest price level at which anything does.
    fn step(
        &mut self,
        state: &State<'_>,
        incumbent: &Incumbent,
        meter: &mut Meter<'_>,
    ) -> Option<Exchange> {
        let (&top, others) = state.ranking().split_first()?;
        let bound = below(state.level());
        self.refused.clear();
        for &threshold in self.thresholds {
            for (place, &other) in others.iter().rev().enumerate() {
                let refused = self.refused.get(place);
                if refused.is_some_and(|&refused| threshold < refused) {
                    continue;
                }
                if meter.is_spent() {
                    return None;
                }
                let rule = Within {
                    problem: state.problem(),
                    threshold,
                    penalties: self.penalties,
                    gamma: self.gamma,
                    refused_least: Cell::new(f64::INFINITY),
                };
                if self.exchanges == Exchanges::Needed {
                    let (alone, looked) = Exchange::one_way(state, (top, other), bound, &rule);
                    meter.count(looked);
                    if alone.is_some_and(|alone| incumbent.meets(alone.level)) {
                        return alone;
                    }
                }
                let (exchange, looked) = Exchange::best(state, (top, other), bound, &rule);
                meter.count(looked + 1);
                if exchange.is_some() {
                    return exchange;
                }
                let refused = rule.refused_least.get();
                match self.refused.get_mut(place) {
                    Some(before) => *before = refused,
                    None => self.refused.push(refused),
                }
            }
        }
        None
    }
}

/// A move costs no more than the threshold; to go back costs nothing.
struct Within<'a> {
    problem: &'a Problem,
    threshold: f64,
    penalties: &'a Penalties,
    gamma: f64,
    /// The least cost of a move that was refused.
    refused_least: Cell<f64>,
}

impl Rule for Within<'_> {
    #[inline]
    fn allows(&self, process: usize, machine: usize) -> bool {
        let cost = self.problem.cost(process, machine);
        if self.threshold < cost {
            self.refused_least.set(self.refused_least.get().min(cost));
            return false;
        }
        true
    }

    #[inline]
    fn penalty(&self, process: usize, machine: usize) -> f64 {
        self.gamma * self.penalties.of(process, machine)
    }
}

/// By process and machine, how often it was found there and not on its initial machine: the matrix `B`.
///
/// Memory is linear in processes and in what is not 0.
#[derive(Clone, Debug)]
struct Penalties {
    /// By process, in ascending order of machines.
    rows: Vec<Vec<(usize, f64)>>,
}

impl Penalties {
    /// Before anything was found.
    pub(super) fn none(processes: usize) -> Self {
        Self {
            rows: vec![Vec::new(); processes],
        }
    }

    /// `process` was found on `machine`.
    pub(super) fn add(&mut self, process: usize, machine: usize) {
        let row = &mut self.rows[process];
        match row.binary_search_by_key(&machine, |&(machine, _)| machine) {
            Ok(at) => row[at].1 += 1.0,
            Err(at) => row.insert(at, (machine, 1.0)),
        }
    }

    /// How often `process` was found on `machine`.
    #[inline]
    pub(super) fn of(&self, process: usize, machine: usize) -> f64 {
        let row = &self.rows[process];
        row.binary_search_by_key(&machine, |&(machine, _)| machine)
            .map_or(0.0, |at| row[at].1)
    }
}

/// How the most expensive migration allowed grows from level to level; on the last one, everything is allowed.
///
/// Chen, Wang and Lau 2008, section 4.1. Measured by what single migrations cost, of every process to every
/// machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Thresholds {
    /// By this factor, above 1, up to the highest cost: IMLP-CRS, with 2 IMLP-CRS2.
    CommonRatio(f64),
    /// By equal differences up to the highest cost: IMLP-AS.
    Arithmetic,
    /// So that on each level, equally many migrations become allowed: IMLP-count.
    Count,
}

impl Thresholds {
    /// From the first level to the last; at least one.
    #[must_use]
    pub fn of(self, problem: &Problem, levels: u32) -> Vec<f64> {
        let mut thresholds = match self {
            Self::CommonRatio(ratio) => common_ratio(cost_max(problem), ratio, levels),
            Self::Arithmetic => {
                let step = cost_max(problem) / f64::from(levels);
                (1..levels).map(|level| f64::from(level) * step).collect()
            }
            Self::Count => count(problem, levels),
        };
        thresholds.push(f64::INFINITY);
        thresholds
    }
}

fn common_ratio(cost_max: f64, ratio: f64, levels: u32) -> Vec<f64> {
    let mut threshold = cost_max;
    let mut thresholds: Vec<f64> = (1..levels)
        .map(|_| {
            threshold /= ratio;
            threshold
        })
        .collect();
    thresholds.reverse();
    thresholds
}

/// What the most expensive migration costs.
fn cost_max(problem: &Problem) -> f64 {
    let mut largest: Vec<Option<usize>> = vec![None; problem.group_count()];
    let residents = problem.residents().iter().enumerate();
    for (process, resident) in residents.filter(|(process, _)| problem.is_movable(*process)) {
        let largest = &mut largest[problem.machines()[resident.initial_machine].group];
        if largest.is_none_or(|other| problem.residents()[other].size < resident.size) {
            *largest = Some(process);
        }
    }
    let examples = two_of_each_group(problem);
    let mut cost_max: f64 = 0.0;
    for process in largest.into_iter().flatten() {
        for &machine in examples.iter().flatten() {
            cost_max = cost_max.max(problem.cost(process, machine));
        }
    }
    cost_max
}

/// The cost that a given part of all migrations does not exceed, for each level but the last.
fn count(problem: &Problem, levels: u32) -> Vec<f64> {
    let examples = two_of_each_group(problem);
    let mut sizes = vec![0.0; problem.group_count()];
    for machine in problem.machines() {
        sizes[machine.group] += 1.0;
    }
    let mut costs: Vec<(f64, f64)> = Vec::new();
    let residents = problem.residents().iter().enumerate();
    for (process, resident) in residents.filter(|(process, _)| problem.is_movable(*process)) {
        for (example, &size) in examples.iter().zip(&sizes) {
            let away = |&&machine: &&usize| machine != resident.initial_machine;
            let Some(&machine) = example.iter().find(away) else {
                continue;
            };
            let at_home = problem.machines()[resident.initial_machine].group
                == problem.machines()[machine].group;
            let machines = if at_home { size - 1.0 } else { size };
            costs.push((problem.cost(process, machine), machines));
        }
    }
    costs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let all: f64 = costs.iter().map(|(_, machines)| machines).sum();
    let mut seen = 0.0;
    let mut thresholds = Vec::new();
    let mut level = 1;
    for (cost, machines) in costs {
        seen += machines;
        while level < levels && all * f64::from(level) <= seen * f64::from(levels) {
            thresholds.push(cost);
            level += 1;
        }
    }
    thresholds
}

/// By group, its first two machines, or all it has: one of them may be the initial machine of one process alone.
fn two_of_each_group(problem: &Problem) -> Vec<Vec<usize>> {
    let mut examples = vec![Vec::new(); problem.group_count()];
    for (number, machine) in problem.machines().iter().enumerate() {
        if examples[machine.group].len() < 2 {
            examples[machine.group].push(number);
        }
    }
    examples
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rebalance::tests::drawn;
    use crate::rebalance::{Machine, MoveCost, Resident};

    /// Every pair of machines at every level of prices.
    fn by_force(
        state: &State<'_>,
        thresholds: &[f64],
        penalties: &Penalties,
        gamma: f64,
    ) -> Option<Exchange> {
        let (&top, others) = state.ranking().split_first()?;
        let pairs = thresholds
            .iter()
            .flat_map(|&threshold| others.iter().rev().map(move |&other| (threshold, other)));
        pairs.into_iter().find_map(|(threshold, other)| {
            let rule = Within {
                problem: state.problem(),
                threshold,
                penalties,
                gamma,
                refused_least: Cell::new(0.0),
            };
            Exchange::best(state, (top, other), below(state.level()), &rule).0
        })
    }

    #[test]
    fn whom_prices_keep_away_is_found_when_they_are_allowed() {
        for ((machines, processes), seed) in [(16, 40), (16, 160), (64, 160)].into_iter().zip(1..) {
            let problem = drawn(machines, processes, seed);
            let variant = Variant::IMLP;
            let thresholds = variant.thresholds.of(&problem, variant.levels);
            let mut penalties = Penalties::none(problem.residents().len());
            let mut meter = Meter::new(Budget::Steps(u64::MAX));
            let incumbent = Incumbent::at_start(&problem, problem.ideal());
            for _ in 0..20 {
                let mut state = State::at_start(&problem);
                let mut descent = Descent {
                    thresholds: &thresholds,
                    penalties: &penalties,
                    gamma: variant.gamma,
                    exchanges: variant.exchanges,
                    refused: Vec::new(),
                };
                loop {
                    let exchange = descent.step(&state, &incumbent, &mut meter);
                    assert_eq!(
                        exchange,
                        by_force(&state, &thresholds, &penalties, variant.gamma)
                    );
                    let Some(exchange) = exchange else {
                        break;
                    };
                    exchange.make(&mut state);
                }
                let start = State::at_start(&problem);
                variant.penalise(&state, &start, &mut penalties);
            }
        }
    }

    /// One machine does 9 and 7, the other 4 and 2: a move of the 7 leaves 13 there, and an exchange of 9 and
    /// 4, or of 7 and 2, leaves 11 on both.
    fn two_machines() -> Problem {
        let move_cost = MoveCost {
            fixed: 1.0,
            per_size: 0.0,
        };
        let machine = Machine {
            capacity: 1.0,
            group: 0,
        };
        let resident = |(workload, initial_machine)| Resident {
            workload,
            size: 1.0,
            initial_machine,
        };
        let residents = [(9.0, 0), (7.0, 0), (4.0, 1), (2.0, 1)].map(resident);
        Problem::new(vec![machine; 2], residents.into(), vec![vec![move_cost]]).unwrap()
    }

    #[test]
    fn all_that_is_looked_at_is_counted() {
        // No move alone meets the target, so that the search for one comes on top of the same search for an exchange.
        let steps = |exchanges| {
            let variant = Variant {
                exchanges,
                iterations: 1,
                ..Variant::ISLP
            };
            let found = variant.search(&two_machines(), 12.0, Budget::Steps(1000));
            (found.solution, found.steps)
        };
        let (always, needed) = (steps(Exchanges::Always), steps(Exchanges::Needed));
        assert_eq!(always.0, needed.0);
        // Two processes that may leave the upper machine.
        assert!(always.1 + 2 <= needed.1, "{} and {}", always.1, needed.1);
    }

    #[test]
    fn where_a_move_meets_the_target_no_exchange_is_needed() {
        let problem = two_machines();
        for (exchanges, target, migrations) in [
            (Exchanges::Always, 13.0, 2),
            (Exchanges::Needed, 13.0, 1),
            (Exchanges::Needed, 12.0, 2),
        ] {
            let variant = Variant {
                exchanges,
                iterations: 1,
                ..Variant::ISLP
            };
            let found = variant.search(&problem, target, Budget::Steps(1000));
            assert!(found.solution.feasible, "{exchanges:?}");
            assert_eq!(found.solution.migrations, migrations, "{exchanges:?}");
        }
    }

    #[test]
    fn each_time_counts_where_it_was_found() {
        let mut penalties = Penalties::none(2);
        for machine in [7, 3, 7, 5, 7] {
            penalties.add(1, machine);
        }
        let row = |process| {
            [3, 5, 6, 7]
                .map(|machine| penalties.of(process, machine))
                .to_vec()
        };
        assert_eq!(row(0), [0.0; 4]);
        assert_eq!(row(1), [1.0, 1.0, 0.0, 3.0]);
    }

    #[test]
    fn one_level_allows_everything() {
        let problem = drawn(16, 40, 1);
        let all = [
            Thresholds::CommonRatio(2.0),
            Thresholds::Arithmetic,
            Thresholds::Count,
        ];
        for thresholds in all {
            assert_eq!(thresholds.of(&problem, 1), [f64::INFINITY]);
        }
    }

    #[test]
    fn equally_many_migrations_become_allowed() {
        let machine = |group| Machine {
            capacity: 1.0,
            group,
        };
        let resident = |size| Resident {
            workload: 1.0,
            size,
            initial_machine: 0,
        };
        let move_cost = |per_size| MoveCost {
            fixed: 0.0,
            per_size,
        };
        // Two processes on the first machine: inside its group to one other, for 1 and 2, and outside to
        // two, for 10 and 20 each.
        let problem = Problem::new(
            [0, 0, 1, 1].map(machine).to_vec(),
            [1.0, 2.0].map(resident).to_vec(),
            vec![
                vec![move_cost(1.0), move_cost(10.0)],
                vec![move_cost(10.0), move_cost(1.0)],
            ],
        )
        .unwrap();
        assert_eq!(
            Thresholds::Count.of(&problem, 3),
            [2.0, 10.0, f64::INFINITY]
        );
    }
}
