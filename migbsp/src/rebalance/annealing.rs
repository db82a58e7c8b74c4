//! Simulated annealing on migration cost plus a price for overload.

use crate::bounded::count;
use crate::rebalance::Problem;
use crate::rebalance::annealing_state::Crowd;
use crate::rebalance::budget::Meter;
use crate::rebalance::draws::Draws;
use crate::rebalance::incumbent::Incumbent;
use crate::rebalance::noise::{Noise, geometric};
use crate::rebalance::sampled_set::Chosen;
use crate::rebalance::solution::highest;

/// A walk among assignments that takes less and less of what makes them worse.
///
/// Worse is by cost, and by workload above the target at a price that rises while no assignment meets it and
/// falls while most do.
#[derive(Debug)]
pub(super) struct Annealing<'a> {
    pub(super) crowd: Crowd<'a>,
    pub(super) draws: Draws,
    pub(super) noise: Noise,
    /// By group: its machines.
    machines: Vec<Vec<usize>>,
    course: Course,
    /// Cost that is as good as nothing.
    pub(super) temperature: f64,
    pub(super) toll: Toll,
    best: Best,
}

/// What overload costs.
#[derive(Debug)]
pub(super) struct Toll {
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
pub(super) struct Course {
    /// How many processes move in a chain, at most: from 1 to 3.
    pub(super) hops: usize,
    /// How many steps of 256 share two machines out anew; the others are chains.
    pub(super) sharings: usize,
    /// How many steps of 256 without an overloaded machine begin with a process that is away; the others
    /// with any.
    pub(super) returns: usize,
    /// The temperature at the beginning, in costs of a migration.
    pub(super) hot: f64,
}

/// The cheapest assignment seen that meets the target.
#[derive(Debug)]
struct Best {
    places: Vec<usize>,
    /// Infinite before there is any.
    cost: f64,
    seen_at: u64,
    /// Who moved since.
    moved: Chosen,
}

impl<'a> Annealing<'a> {
    /// From `assignment` on.
    pub(super) fn new(
        problem: &'a Problem,
        target: f64,
        assignment: &[usize],
        draws: Draws,
        course: Course,
    ) -> Self {
        // What loads are rounded by does not count.
        let level = 0.5 * (target + highest(target));
        let crowd = Crowd::new(problem, level, assignment);
        let mut machines = vec![Vec::new(); crowd.group_count()];
        for machine in 0..crowd.machine_count() {
            machines[crowd.group(machine)].push(machine);
        }
        let best = Best {
            places: assignment.to_vec(),
            cost: if crowd.is_feasible() {
                crowd.cost()
            } else {
                f64::INFINITY
            },
            seen_at: 0,
            moved: Chosen::none_of(assignment.len()),
        };
        Self {
            crowd,
            draws,
            noise: Noise::new(),
            machines,
            course,
            temperature: 0.0,
            toll: Toll::new(0.0, assignment.len()),
            best,
        }
    }

    /// Cools down over what is left of the budget.
    pub(super) fn run(mut self, incumbent: &mut Incumbent, meter: &mut Meter<'_>) {
        if self.crowd.machine_count() == 1 {
            return;
        }
        let processes = self.crowd.places().len();
        let scale = self.scale();
        let (hot, cold) = (self.course.hot * scale, COLD * scale);
        self.toll = Toll::new(TOLL * scale / self.workload_mean(), processes);
        let begin = meter.spent();
        let mut until_sum = processes;
        while !meter.is_spent() && 0.0 < self.best.cost {
            self.temperature = geometric(hot, cold, (meter.spent() - begin) / (1.0 - begin));
            let mut feasible = 0;
            for _ in 0..CHUNK {
                meter.count(self.step());
                feasible += usize::from(self.crowd.is_feasible());
                self.best.see(&self.crowd, meter);
            }
            self.toll.follow(feasible);
            until_sum = until_sum.saturating_sub(CHUNK);
            if until_sum == 0 {
                self.crowd.sum_anew();
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
        let overloaded = self.crowd.overloaded();
        if !overloaded.is_empty() && self.draws.below(256) < HELPS {
            let machine = overloaded[self.draws.below(overloaded.len())];
            let members = self.crowd.members(machine);
            if !members.is_empty() {
                return members[self.draws.below(members.len())];
            }
        }
        let away = self.crowd.away();
        if !away.is_empty() && self.draws.below(256) < self.course.returns {
            return away[self.draws.below(away.len())];
        }
        self.draws.below(self.crowd.places().len())
    }

    /// Where `process` may go: home half of the time, unless it is there.
    pub(super) fn goal(&mut self, process: usize) -> usize {
        let home = self.crowd.home(process);
        if self.crowd.places()[process] != home && self.draws.below(2) == 0 {
            home
        } else {
            self.somewhere(process)
        }
    }

    /// A machine: of the group `process` is at home in half of the time, or any.
    pub(super) fn somewhere(&mut self, process: usize) -> usize {
        if self.draws.below(2) == 0 {
            let group = &self.machines[self.crowd.group(self.crowd.home(process))];
            group[self.draws.below(group.len())]
        } else {
            self.draws.below(self.crowd.machine_count())
        }
    }

    #[inline]
    pub(super) fn relocate(&mut self, process: usize, machine: usize) {
        self.crowd.relocate(process, machine);
        self.best.moved.set(process, true);
    }

    /// What a migration costs: in the mean of those who are away, if the target is met, or else of all if each
    /// took its cheapest way.
    fn scale(&self) -> f64 {
        let away = self.crowd.away().len();
        let scale = if self.crowd.is_feasible() && 0 < away {
            self.crowd.cost() / count(away)
        } else {
            let processes = self.crowd.places().len();
            let prices = (0..processes).map(|process| self.crowd.price_min(process));
            prices.sum::<f64>() / count(processes)
        };
        if 0.0 < scale { scale } else { 1.0 }
    }

    fn workload_mean(&self) -> f64 {
        let processes = self.crowd.places().len();
        let workloads = (0..processes).map(|process| self.crowd.workload(process));
        let mean = workloads.sum::<f64>() / count(processes);
        if 0.0 < mean { mean } else { 1.0 }
    }

    /// Shows the best and, should it be of use that nothing met the target, the last.
    fn report(&self, incumbent: &mut Incumbent, meter: &Meter<'_>) {
        let problem = self.crowd.problem();
        for (places, seen_at) in [
            (&self.best.places[..], self.best.seen_at),
            (self.crowd.places(), meter.steps()),
        ] {
            let prices = places.iter().enumerate();
            let cost = prices
                .map(|(process, &machine)| self.crowd.price(process, machine))
                .sum();
            incumbent.see_parts(problem.level(places), cost, seen_at, || places);
        }
    }
}

impl Toll {
    fn new(start: f64, processes: usize) -> Self {
        Self {
            now: start,
            min: TOLL_MIN * start,
            max: TOLL_MAX * start,
            patience: (processes / PATIENCE).max(1),
            fruitless: 0,
        }
    }

    /// After a chunk in which so many states met the target.
    fn follow(&mut self, feasible: usize) {
        self.fruitless = if 0 < feasible { 0 } else { self.fruitless + 1 };
        if self.patience < self.fruitless {
            self.now = (self.now * DEARER).min(self.max);
            self.fruitless = 0;
        } else if CHUNK / 2 < feasible {
            self.now = (self.now * CHEAPER).max(self.min);
        }
    }
}

impl Best {
    #[inline]
    fn see(&mut self, crowd: &Crowd<'_>, meter: &Meter<'_>) {
        if crowd.cost() < self.cost - ROUNDED * self.cost.min(1.0) && crowd.is_feasible() {
            for &process in self.moved.list() {
                self.places[process] = crowd.places()[process];
            }
            self.moved.clear();
            self.cost = crowd.cost();
            self.seen_at = meter.steps();
        }
    }
}

/// The temperature at the end, in costs of a migration.
const COLD: f64 = 0.02;

/// What a mean workload above the target costs at the beginning, in costs of a migration, and the multiples of
/// it that it stays between.
const TOLL: f64 = 30.0;
const TOLL_MIN: f64 = 0.01;
const TOLL_MAX: f64 = 1e9;

/// Steps between looks at budget, temperature and penalty.
const CHUNK: usize = 256;

/// One chunk per so many processes, and at least one, may meet the target never before overload gets dearer.
const PATIENCE: usize = 16;
const DEARER: f64 = 2.0;
const CHEAPER: f64 = 0.93;

/// How many steps of 256 begin on an overloaded machine, if there is any.
const HELPS: usize = 200;

/// A cost that is lower by less may be so by rounding.
const ROUNDED: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_toll_follows_success_within_its_limits() {
        let mut toll = Toll::new(3.0, 40);
        for _ in 0..100_000 {
            toll.follow(0);
        }
        assert_eq!(toll.now.to_bits(), 3e9_f64.to_bits());
        toll.follow(CHUNK / 2);
        assert_eq!(toll.now.to_bits(), 3e9_f64.to_bits());
        for _ in 0..100_000 {
            toll.follow(CHUNK);
        }
        assert_eq!(toll.now.to_bits(), (0.01 * 3.0_f64).to_bits());
        for _ in 0..3 {
            toll.follow(0);
        }
        assert_eq!(toll.now.to_bits(), (2.0 * 0.01 * 3.0_f64).to_bits());
    }

    #[test]
    fn a_toll_of_few_processes_is_patient_too() {
        let mut toll = Toll::new(3.0, 5);
        toll.follow(0);
        assert_eq!(toll.now.to_bits(), 3.0_f64.to_bits());
        toll.follow(0);
        assert_eq!(toll.now.to_bits(), 6.0_f64.to_bits());
    }
}
