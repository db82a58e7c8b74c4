//! Simulated annealing on migration cost plus a price for overload.

use crate::bounded::count;
use crate::rebalance::Problem;
use crate::rebalance::annealing_state::AnnealingState;
use crate::rebalance::budget::Meter;
use crate::rebalance::cooling::Cooling;
use crate::rebalance::draws::Draws;
use crate::rebalance::incumbent::Incumbent;
use crate::rebalance::noise::Noise;
use crate::rebalance::precise_sum::PreciseSum;
use crate::rebalance::sampled_set::SampledSet;
use crate::rebalance::solution::highest;

/// A walk among assignments that takes less and less of what makes them worse.
///
/// Worse is by cost, and by workload above the target at a price that rises while no assignment meets it and
/// falls while most do.
#[derive(Debug)]
pub struct Annealing<'a> {
    pub(super) state: AnnealingState<'a>,
    pub(super) draws: Draws,
    pub(super) noise: Noise,
    /// By group: its machines.
    machines: Vec<Vec<usize>>,
    course: Course,
    /// Cost that is as good as nothing.
    pub(super) temperature: f64,
    pub(super) overload_price: OverloadPrice,
    best: Best,
}

/// What overload costs.
#[derive(Debug)]
pub(super) struct OverloadPrice {
    /// Cost of a unit of workload above the target.
    pub(super) now: f64,
    min: f64,
    max: f64,
    /// How many chunks in a row may not meet the target before it rises, and how many did not.
    patience: usize,
    fruitless: usize,
}

/// What kind of steps an annealing takes.
#[derive(Clone, Copy, Debug)]
pub struct Course {
    /// How many processes move in a chain, at most: from 1 to 3.
    pub hops: usize,
    /// How many steps of 256 share two machines out anew; the others are chains.
    pub sharings: usize,
    /// How many steps of 256 without an overloaded machine begin with a process that is away; the others
    /// with any.
    pub returns: usize,
    /// The highest temperature for the cost of a migration, as a multiple of it.
    pub hot: f64,
}

/// The cheapest assignment seen that meets the target.
#[derive(Debug)]
struct Best {
    places: Vec<usize>,
    /// Infinite before there is any.
    cost: PreciseSum,
    seen_at: u64,
    /// The processes that moved since.
    moved: SampledSet,
}

impl<'a> Annealing<'a> {
    /// From `assignment` on.
    pub fn new(
        problem: &'a Problem,
        target: f64,
        assignment: &[usize],
        draws: Draws,
        course: Course,
    ) -> Self {
        // What loads are rounded by does not count.
        let level = 0.5 * (target + highest(target));
        let state = AnnealingState::new(problem, level, assignment);
        let mut machines = vec![Vec::new(); state.group_count()];
        for machine in 0..state.machine_count() {
            machines[state.group(machine)].push(machine);
        }
        let best = Best {
            places: assignment.to_vec(),
            cost: if state.is_feasible() {
                state.cost()
            } else {
                PreciseSum::of(f64::INFINITY)
            },
            seen_at: 0,
            moved: SampledSet::none_of(assignment.len()),
        };
        Self {
            state,
            draws,
            noise: Noise::new(),
            machines,
            course,
            temperature: 0.0,
            overload_price: OverloadPrice::new(0.0, assignment.len()),
            best,
        }
    }

    /// Cools down over what is left of the budget.
    pub fn run(mut self, incumbent: &mut Incumbent, meter: &mut Meter<'_>) {
        if self.state.machine_count() == 1 || self.state.movable().is_empty() {
            return;
        }
        let processes = self.state.places().len();
        let begin = meter.spent();
        let mut cooling = self.cooling();
        let mut look_at = LOOK;
        self.temperature = cooling.at(0.0);
        let unit = OVERLOAD_PRICE / self.workload_mean();
        self.overload_price = OverloadPrice::new(unit * self.temperature, processes);
        let mut until_sum = processes;
        while !meter.is_spent() && 0.0 < self.best.cost.get() {
            let share = (meter.spent() - begin) / (1.0 - begin);
            if look_at <= share {
                cooling = self.cooling();
                look_at += LOOK;
            }
            self.temperature = self.temperature.min(cooling.at(share));
            self.overload_price.lower_min(unit * self.temperature);
            let mut feasible = 0;
            for _ in 0..CHUNK {
                meter.count(self.step());
                feasible += usize::from(self.state.is_feasible());
                self.best.see(&self.state, meter);
            }
            self.overload_price.follow(feasible);
            until_sum = until_sum.saturating_sub(CHUNK);
            if until_sum == 0 {
                self.state.sum_anew();
                until_sum = processes;
            }
        }
        self.report(incumbent, meter);
    }

    /// One proposal, taken or not; how much was looked at.
    fn step(&mut self) -> u64 {
        if self.draws.below(256) < self.course.sharings {
            self.share_out()
        } else {
            self.chain(self.course.hops)
        }
    }

    /// A process that should move.
    pub(super) fn mover(&mut self) -> usize {
        let overloaded = self.state.overloaded();
        if !overloaded.is_empty() && self.draws.below(256) < HELPS {
            let machine = overloaded[self.draws.below(overloaded.len())];
            let members = self.state.members(machine);
            if !members.is_empty() {
                return members[self.draws.below(members.len())];
            }
        }
        let away = self.state.away();
        if !away.is_empty() && self.draws.below(256) < self.course.returns {
            return away[self.draws.below(away.len())];
        }
        let movable = self.state.movable();
        movable[self.draws.below(movable.len())]
    }

    /// Where `process` may go: home half of the time, unless it is there.
    pub(super) fn goal(&mut self, process: usize) -> usize {
        let home = self.state.home(process);
        if self.state.places()[process] != home && self.draws.below(2) == 0 {
            home
        } else {
            self.somewhere(process)
        }
    }

    /// A machine: of the group `process` is at home in half of the time, or any; half of the time that of a process
    /// with which it exchanges bytes, if there is one.
    pub(super) fn somewhere(&mut self, process: usize) -> usize {
        if let Some(communication) = self.state.communication() {
            let count = communication.of(process).count();
            if 0 < count && self.draws.below(2) == 0 {
                let drawn = self.draws.below(count);
                let other = communication.of(process).nth(drawn);
                let (other, _) = other.expect("it is one of them");
                return self.state.places()[other];
            }
        }
        if self.draws.below(2) == 0 {
            let group = &self.machines[self.state.group(self.state.home(process))];
            group[self.draws.below(group.len())]
        } else {
            self.draws.below(self.state.machine_count())
        }
    }

    #[inline]
    pub(super) fn relocate(&mut self, process: usize, machine: usize) {
        self.state.relocate(process, machine);
        self.best.moved.set(process, true);
    }

    /// For what the migrations of the best cost or, before any meets the target, for the cheapest move of each
    /// process that may move; for a sample, if they are many.
    fn cooling(&self) -> Cooling {
        let places = &self.best.places;
        let processes = self.state.movable().iter();
        let prices: Vec<f64> = if self.best.cost.get() < f64::INFINITY {
            let away = processes.filter(|&&process| places[process] != self.state.home(process));
            away.map(|&process| self.state.price(process, places[process]))
                .collect()
        } else {
            processes
                .map(|&process| self.state.price_min(process))
                .collect()
        };
        let every = prices.len().div_ceil(SAMPLE).max(1);
        Cooling::of(prices.into_iter().step_by(every).collect(), self.course.hot)
    }

    fn workload_mean(&self) -> f64 {
        let processes = self.state.places().len();
        let workloads = (0..processes).map(|process| self.state.workload(process));
        let mean = workloads.sum::<f64>() / count(processes);
        if 0.0 < mean { mean } else { 1.0 }
    }

    /// Shows the best and, should it be of use that nothing met the target, the last.
    fn report(&self, incumbent: &mut Incumbent, meter: &Meter<'_>) {
        let problem = self.state.problem();
        for (places, seen_at) in [
            (&self.best.places[..], self.best.seen_at),
            (self.state.places(), meter.steps()),
        ] {
            let prices = places.iter().enumerate();
            let cost = prices
                .map(|(process, &machine)| self.state.price(process, machine))
                .sum();
            incumbent.see_parts(problem.level(places), cost, seen_at, || places);
        }
    }
}

impl OverloadPrice {
    fn new(start: f64, processes: usize) -> Self {
        Self {
            now: start,
            min: PRICE_MIN * start,
            max: PRICE_MAX * start,
            patience: (processes / PATIENCE).max(1),
            fruitless: 0,
        }
    }

    /// It may fall as low as a price of `start` at the beginning could.
    fn lower_min(&mut self, start: f64) {
        self.min = self.min.min(PRICE_MIN * start);
    }

    /// After a chunk in which `feasible` states met the target.
    fn follow(&mut self, feasible: usize) {
        self.fruitless = if 0 < feasible { 0 } else { self.fruitless + 1 };
        if self.patience < self.fruitless {
            self.now = (self.now * COSTLIER).min(self.max);
            self.fruitless = 0;
        } else if CHUNK / 2 < feasible {
            self.now = (self.now * CHEAPER).max(self.min);
        }
    }
}

impl Best {
    #[inline]
    fn see(&mut self, state: &AnnealingState<'_>, meter: &Meter<'_>) {
        if state.cost().is_less(self.cost) && state.is_feasible() {
            for &process in self.moved.list() {
                self.places[process] = state.places()[process];
            }
            self.moved.clear();
            self.cost = state.cost();
            self.seen_at = meter.steps();
        }
    }
}

/// The share of the budget after which temperatures are adapted to the best.
const LOOK: f64 = 1.0 / 16.0;

/// Prices that determine temperatures, at most.
const SAMPLE: usize = 4096;

/// The initial price of a mean workload above the target, in costs of a migration.
const OVERLOAD_PRICE: f64 = 30.0;
/// The lowest and highest price, as multiples of the initial one.
const PRICE_MIN: f64 = 0.01;
const PRICE_MAX: f64 = 1e9;

/// Steps between looks at budget, temperature and penalty.
const CHUNK: usize = 256;

/// One chunk per this number of processes, and at least one, may never meet the target before overload becomes more expensive.
const PATIENCE: usize = 16;
const COSTLIER: f64 = 2.0;
const CHEAPER: f64 = 0.93;

/// How many steps of 256 begin on an overloaded machine, if there is any.
const HELPS: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_price_of_overload_follows_success_within_its_limits() {
        let mut overload_price = OverloadPrice::new(3.0, 40);
        for _ in 0..100_000 {
            overload_price.follow(0);
        }
        assert_eq!(overload_price.now.to_bits(), 3e9_f64.to_bits());
        overload_price.follow(CHUNK / 2);
        assert_eq!(overload_price.now.to_bits(), 3e9_f64.to_bits());
        for _ in 0..100_000 {
            overload_price.follow(CHUNK);
        }
        assert_eq!(overload_price.now.to_bits(), (0.01 * 3.0_f64).to_bits());
        for _ in 0..3 {
            overload_price.follow(0);
        }
        assert_eq!(
            overload_price.now.to_bits(),
            (2.0 * 0.01 * 3.0_f64).to_bits()
        );
    }

    #[test]
    fn the_price_of_overload_is_patient_with_few_processes() {
        let mut overload_price = OverloadPrice::new(3.0, 5);
        overload_price.follow(0);
        assert_eq!(overload_price.now.to_bits(), 3.0_f64.to_bits());
        overload_price.follow(0);
        assert_eq!(overload_price.now.to_bits(), 6.0_f64.to_bits());
    }
}
