//! Simulated annealing on migration cost plus a price for overload.

use super::Problem;
use super::annealing_state::{AnnealingState, PreciseSum, SampledSet};
use super::draws::Draws;
use super::solution::{Incumbent, Meter, highest};
use crate::bounded::count;

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
    temperature: f64,
    overload_price: OverloadPrice,
    best: Best,
}

/// What overload costs.
#[derive(Debug)]
struct OverloadPrice {
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
    fn mover(&mut self) -> usize {
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

    /// Where `process` may go: its initial machine half of the time, unless it is there.
    fn goal(&mut self, process: usize) -> usize {
        let initial_machine = self.state.initial_machine(process);
        if self.state.places()[process] != initial_machine && self.draws.below(2) == 0 {
            initial_machine
        } else {
            self.somewhere(process)
        }
    }

    /// A machine: of the group of the initial machine of `process` half of the time, or any; half of the time that of a process
    /// with which it exchanges bytes, if there is one.
    fn somewhere(&mut self, process: usize) -> usize {
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
            let group = &self.machines[self.state.group(self.state.initial_machine(process))];
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
            let away = processes
                .filter(|&&process| places[process] != self.state.initial_machine(process));
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

    /// Shows the best and, should it be of use that nothing reached the target, the last.
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

    /// After a chunk in which `feasible` states reached the target.
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

/// A shift, an exchange or an ejection chain that is proposed: no process has moved yet.
#[derive(Debug, Default)]
struct Chain {
    /// Processes, the machines that they leave, and their new ones.
    hops: [(usize, usize, usize); HOPS],
    hop_count: usize,
    /// By how much which machine's load changes.
    changes: [(usize, f64); HOPS + 1],
    change_count: usize,
    cost: f64,
}

impl Annealing<'_> {
    /// A process moves; a process of its new machine moves to where the first came from, to its initial machine, or elsewhere;
    /// and so on, for at most `hops` moves. Returns the number of steps evaluated.
    pub(super) fn chain(&mut self, hops: usize) -> u64 {
        let first = self.mover();
        let start = self.state.places()[first];
        let mut chain = Chain::default();
        let (mut process, mut from, mut to) = (first, start, self.goal(first));
        while to != from {
            chain.hop(&self.state, process, to);
            let overload = self.state.excess(to) + chain.change_of(to);
            let pushes = if 0.0 < overload { MUST } else { MAY };
            if chain.hop_count == hops || to == start || pushes <= self.draws.below(256) {
                break;
            }
            let members = self.state.members(to);
            if members.is_empty() {
                break;
            }
            process = members[self.draws.below(members.len())];
            if chain.has(process) {
                break;
            }
            from = to;
            let initial_machine = self.state.initial_machine(process);
            to = match self.draws.below(4) {
                0 | 1 if initial_machine != from => initial_machine,
                0 | 2 => start,
                _ => self.somewhere(process),
            };
        }
        self.decide(&chain);
        1
    }

    /// Takes `chain` if that makes nothing worse, or the temperature is high enough.
    #[inline]
    fn decide(&mut self, chain: &Chain) {
        let mut overload = 0.0;
        for &(machine, change) in &chain.changes[..chain.change_count] {
            let excess = self.state.excess(machine);
            overload += (excess + change).max(0.0) - excess.max(0.0);
        }
        let worse = chain.cost + self.overload_price.now * overload;
        let is_taken =
            worse <= 0.0 || worse <= self.temperature * self.noise.exponential(&mut self.draws);
        if is_taken && self.state.have_memory(chain.moves()) {
            for (process, _, machine) in chain.moves() {
                self.relocate(process, machine);
            }
        }
    }
}

impl Chain {
    #[inline]
    fn hop(&mut self, state: &AnnealingState<'_>, process: usize, to: usize) {
        let from = state.places()[process];
        self.cost += state.price(process, to) - state.price(process, from);
        let (left, entered) = state.added((process, from, to), |other| {
            let mut moves = self.moves();
            let moved = moves.find(|(moved, ..)| *moved == other);
            moved.map_or_else(|| state.places()[other], |(_, _, machine)| machine)
        });
        self.change(from, left);
        self.change(to, entered);
        self.hops[self.hop_count] = (process, from, to);
        self.hop_count += 1;
    }

    #[inline]
    fn change(&mut self, machine: usize, by: f64) {
        let mut changes = self.changes[..self.change_count].iter_mut();
        if let Some((_, change)) = changes.find(|(changed, _)| *changed == machine) {
            *change += by;
        } else {
            self.changes[self.change_count] = (machine, by);
            self.change_count += 1;
        }
    }

    #[inline]
    fn change_of(&self, machine: usize) -> f64 {
        let mut changes = self.changes[..self.change_count].iter();
        changes
            .find(|(changed, _)| *changed == machine)
            .map_or(0.0, |&(_, change)| change)
    }

    #[inline]
    fn has(&self, process: usize) -> bool {
        self.moves().any(|(moved, ..)| moved == process)
    }

    #[inline]
    fn moves(&self) -> impl DoubleEndedIterator<Item = (usize, usize, usize)> + Clone + '_ {
        self.hops[..self.hop_count].iter().copied()
    }
}

/// The longest chain.
const HOPS: usize = 3;

/// How many of 256 arrivals eject a process from the machine: if it is overloaded then, and if not.
const MUST: usize = 220;
const MAY: usize = 64;

/// Some processes of two machines, each of which may change over to the other.
#[derive(Debug, Default)]
struct Pool {
    processes: [usize; POOL],
    /// Where each is.
    starts: [usize; POOL],
    /// Where each would go.
    goals: [usize; POOL],
    /// The load that the first machine would get rid of; below 0 if the process is on the second.
    loads: [f64; POOL],
    /// The cost that would be added.
    costs: [f64; POOL],
    count: usize,
}

impl Annealing<'_> {
    /// Draws one of all ways to share out a few processes of two machines, each as often as its cost and
    /// overload have at this temperature (a heat bath). How much was looked at.
    fn share_out(&mut self) -> u64 {
        let process = self.mover();
        let first = self.state.places()[process];
        let second = self.goal(process);
        if first == second {
            return 1;
        }
        let pool = self.pool(process, second);
        let change = self.draw(&pool, first, second);
        for at in 0..pool.count {
            if change >> at & 1 == 1 {
                self.relocate(pool.processes[at], pool.goals[at]);
            }
        }
        1 << pool.count
    }

    /// All processes on the machine of `process` and on `second`; if that is too many, `process` and its
    /// neighbours, and some of the other machine.
    fn pool(&mut self, process: usize, second: usize) -> Pool {
        let first = self.state.places()[process];
        let counts = [first, second].map(|machine| self.state.members(machine).len());
        let most = if counts[0] + counts[1] <= POOL {
            POOL
        } else {
            FEW
        };
        let mine = counts[0].min(most - counts[1].min(most / 2));
        let theirs = counts[1].min(most - mine);
        let start = if mine == counts[0] {
            0
        } else {
            self.state.position(process)
        };
        let other_start = if theirs == counts[1] {
            0
        } else {
            self.draws.below(counts[1])
        };
        let mut pool = Pool::default();
        for (from, to, start, take, sign) in [
            (first, second, start, mine, 1.0),
            (second, first, other_start, theirs, -1.0),
        ] {
            let members = self.state.members(from);
            for &process in members.iter().cycle().skip(start).take(take) {
                let at = pool.count;
                pool.processes[at] = process;
                pool.starts[at] = from;
                pool.goals[at] = to;
                pool.loads[at] = sign * self.state.workload(process);
                pool.costs[at] = self.state.price(process, to) - self.state.price(process, from);
                pool.count += 1;
            }
        }
        pool
    }

    /// The processes of `pool` that change sides, a bit for each; in Gray code, one at a time.
    fn draw(&mut self, pool: &Pool, first: usize, second: usize) -> u32 {
        let (excess, other_excess) = (self.state.excess(first), self.state.excess(second));
        let overload = excess.max(0.0) + other_excess.max(0.0);
        let noise_max = self.temperature * self.noise.gumbel_max();
        let mut highest = self.temperature * self.noise.gumbel(&mut self.draws);
        let (mut chosen, mut change) = (0, 0_u32);
        let (mut load, mut cost) = (0.0, 0.0);
        let mut exchange = PoolExchange::new(&self.state, pool.members(), (first, second));
        for number in 1..1_u32 << pool.count {
            let bit = number & number.wrapping_neg();
            let at = usize::try_from(number.trailing_zeros()).expect("a bit of a number");
            change ^= bit;
            let sign = if change & bit == 0 { -1.0 } else { 1.0 };
            let has_memory = self.state.try_in_memory(pool.step(at, change));
            load += sign * pool.loads[at];
            cost += sign * pool.costs[at];
            let (more, other_more) = match &mut exchange {
                Some(exchange) => exchange.change_side(at),
                None => (0.0, 0.0),
            };
            let over = (excess - load + more).max(0.0)
                + (other_excess + load + other_more).max(0.0)
                - overload;
            let worse = cost + self.overload_price.now * over;
            // Most are so bad that no noise helps.
            if has_memory && highest < noise_max - worse {
                let value = self.temperature * self.noise.gumbel(&mut self.draws) - worse;
                if highest < value {
                    highest = value;
                    chosen = change;
                }
            }
        }
        for at in (0..pool.count).filter(|at| change >> at & 1 == 1) {
            self.state.try_in_memory(pool.step(at, 0));
        }
        chosen
    }
}

impl Pool {
    /// The process at `at`, and the machines that it leaves and enters when `change` has become what it is by its bit.
    #[inline]
    fn step(&self, at: usize, change: u32) -> (usize, usize, usize) {
        let (process, start, goal) = (self.processes[at], self.starts[at], self.goals[at]);
        if change >> at & 1 == 1 {
            (process, start, goal)
        } else {
            (process, goal, start)
        }
    }

    /// Its processes, and where each would go.
    fn members(&self) -> impl Iterator<Item = (usize, usize)> {
        let processes = self.processes[..self.count].iter().copied();
        processes.zip(self.goals)
    }
}

/// At most this number of processes of two machines are shared out anew: 256 ways.
const POOL: usize = 8;

/// The number of processes in a pool, if there are more: 64 ways to share them.
const FEW: usize = 6;

/// What changes on two machines when some processes of theirs change sides.
#[derive(Debug)]
struct PoolExchange {
    /// What a byte adds to the load of each machine.
    per_byte: (f64, f64),
    /// By process: whether it is on the first machine.
    sides: Vec<bool>,
    /// By process: the bytes that it exchanges with processes that stay on the first machine, on the second, and
    /// elsewhere.
    outside: Vec<[f64; 3]>,
    /// Process × process: the bytes that both exchange.
    inside: Vec<Vec<f64>>,
    /// By how much more bytes each machine exchanges with others than before.
    more: (f64, f64),
}

impl PoolExchange {
    /// For some processes of two machines, and where each would go; `None` if what processes exchange has no weight.
    pub(super) fn new(
        state: &AnnealingState<'_>,
        members: impl Iterator<Item = (usize, usize)>,
        (first, second): (usize, usize),
    ) -> Option<Self> {
        let communication = state.communication()?;
        let (processes, goals): (Vec<usize>, Vec<usize>) = members.unzip();
        let mut outside = vec![[0.0; 3]; processes.len()];
        let mut inside = vec![vec![0.0; processes.len()]; processes.len()];
        for (at, &process) in processes.iter().enumerate() {
            for (other, bytes) in communication.of(process) {
                let place = state.places()[other];
                let is_between = place == first || place == second;
                let within = processes.iter().position(|&member| member == other);
                match within.filter(|_| is_between) {
                    Some(within) => inside[at][within] += bytes,
                    None if place == first => outside[at][0] += bytes,
                    None if place == second => outside[at][1] += bytes,
                    None => outside[at][2] += bytes,
                }
            }
        }
        Some(Self {
            per_byte: (state.per_byte(first), state.per_byte(second)),
            sides: goals.iter().map(|goal| *goal == second).collect(),
            outside,
            inside,
            more: (0.0, 0.0),
        })
    }

    /// The process at `at` changes sides. Returns what the loads of both machines are higher by than before any did.
    fn change_side(&mut self, at: usize) -> (f64, f64) {
        let [mut first, mut second, elsewhere] = self.outside[at];
        for (bytes, is_on_first) in self.inside[at].iter().zip(&self.sides) {
            if *is_on_first {
                first += bytes;
            } else {
                second += bytes;
            }
        }
        // What it exchanged with its own machine becomes an exchange of both, and the other way round.
        let both = first - second;
        if self.sides[at] {
            self.more.0 += both - elsewhere;
            self.more.1 += both + elsewhere;
        } else {
            self.more.0 += elsewhere - both;
            self.more.1 -= both + elsewhere;
        }
        self.sides[at] = !self.sides[at];
        (self.per_byte.0 * self.more.0, self.per_byte.1 * self.more.1)
    }
}

/// From hot to cold, in steps that take equal shares of the budget.
///
/// A migration of price `p` is decided while the temperature falls from `hot p` to `COLD p`: above, it is made
/// and unmade at random, and below, nothing changes any more. With equal prices the temperature falls
/// by equal factors over that range. With others, each price asks for time on its own range, as much as is
/// its share: half of the budget is divided among prices by what they add to the cost, and half equally.
/// So a price that is far above the others takes no time from them, and none is passed over while the
/// temperature falls through a gap between prices.
#[derive(Debug)]
struct Cooling {
    temperatures: Vec<f64>,
}

impl Cooling {
    /// For `prices`, of which those that are 0 do not count; `hot` is above [`COLD`].
    pub(super) fn of(mut prices: Vec<f64>, hot: f64) -> Self {
        prices.retain(|price| 0.0 < *price);
        if prices.is_empty() {
            prices.push(1.0);
        }
        // Logarithms of ratios: the unit of cost does not matter.
        let unit = prices.iter().copied().fold(0.0, f64::max);
        let (mut count, mut all) = (0.0, 0.0);
        for price in &mut prices {
            *price /= unit;
            count += 1.0;
            all += *price;
        }
        let width = libm::log(hot / COLD);
        let mut events = Vec::with_capacity(2 * prices.len());
        for price in prices {
            let demand = 0.5 * (1.0 / count + price / all) / width;
            let hottest = libm::log(hot * price);
            events.push((hottest, demand));
            events.push((hottest - width, -demand));
        }
        events.sort_by(|a, b| b.0.total_cmp(&a.0));
        let temperatures = falling(&events);
        let temperatures = temperatures.map(|logarithm| unit * libm::exp(logarithm));
        Self {
            temperatures: temperatures.collect(),
        }
    }

    /// The temperature when `share` of the budget is spent: from 0 to 1.
    pub(super) fn at(&self, share: f64) -> f64 {
        let mut left = share.clamp(0.0, 1.0) / STRETCH;
        let mut temperature = self.temperatures[0];
        for &next in &self.temperatures[1..] {
            if left < 1.0 {
                return geometric(temperature, next, left);
            }
            left -= 1.0;
            temperature = next;
        }
        temperature
    }
}

/// Logarithms of temperatures at equal shares of the demand, of which `events` say by how much it changes where;
/// the hottest first.
fn falling(events: &[(f64, f64)]) -> impl Iterator<Item = f64> {
    let mut points = Vec::new();
    let (mut spent, mut demand) = (0.0, 0.0);
    let mut next = 0.0;
    for pair in events.windows(2) {
        demand += pair[0].1;
        let all = demand * (pair[0].0 - pair[1].0);
        while next < spent + all {
            points.push(pair[0].0 - (next - spent) / demand);
            next += STRETCH;
        }
        spent += all;
    }
    let coldest = events[events.len() - 1].0;
    points.truncate(POINTS);
    let missing = POINTS + 1 - points.len();
    let rest = std::iter::repeat_n(coldest, missing);
    points.into_iter().chain(rest)
}

/// The lowest temperature for a price, as a share of it.
const COLD: f64 = 0.02;

/// Temperatures but the last, and the share of the budget from each to the next.
const POINTS: usize = 64;
const STRETCH: f64 = 1.0 / 64.0;

/// Draws from the exponential and the Gumbel distribution, by quantiles in tables.
///
/// A change for the worse by at most the temperature times an exponential number is accepted as by
/// Metropolis; of many states, the one with the highest Gumbel number minus cost by temperature is drawn
/// as by Boltzmann.
#[derive(Debug)]
pub(super) struct Noise {
    exponential: Vec<f64>,
    gumbel: Vec<f64>,
}

impl Noise {
    pub(super) fn new() -> Self {
        let share = |number: u32| (f64::from(number) + 0.5) / f64::from(QUANTILES);
        let exponential = |number| -libm::log(share(number));
        let gumbel = |number| -libm::log(-libm::log(share(number)));
        Self {
            exponential: (0..QUANTILES).map(exponential).collect(),
            gumbel: (0..QUANTILES).map(gumbel).collect(),
        }
    }

    #[inline]
    pub(super) fn exponential(&self, draws: &mut Draws) -> f64 {
        self.exponential[draws.below(self.exponential.len())]
    }

    #[inline]
    fn gumbel(&self, draws: &mut Draws) -> f64 {
        self.gumbel[draws.below(self.gumbel.len())]
    }

    /// No Gumbel number that is drawn is higher.
    #[inline]
    fn gumbel_max(&self) -> f64 {
        self.gumbel[self.gumbel.len() - 1]
    }
}

/// `from` at share 0, `to` at share 1, and by equal factors between; both are above 0.
pub(super) fn geometric(from: f64, to: f64, share: f64) -> f64 {
    from * libm::pow(to / from, share.clamp(0.0, 1.0))
}

const QUANTILES: u32 = 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rebalance::tests::drawn;

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

    #[test]
    fn what_changes_is_what_moves_of_the_same_processes_change() {
        let problem = drawn(16, 40, 1);
        let processes = problem.residents().len();
        let edges: Vec<(usize, usize, f64)> = (0..processes)
            .flat_map(|from| {
                (0..from).map(move |to| (from, to, f64::from(u8::try_from(from * to % 7).unwrap())))
            })
            .collect();
        let problem = problem.with_communication(&edges, 0.5).unwrap();
        let mut state = AnnealingState::new(&problem, 90.0, &problem.initial_assignment());
        let (first, second) = (0, 1);
        let members = [first, second].map(|machine| state.members(machine).to_vec());
        // One process of the first machine stays.
        let pool: Vec<(usize, usize)> = (members[0][1..].iter().map(|process| (*process, second)))
            .chain(members[1].iter().map(|process| (*process, first)))
            .collect();
        let mut exchange =
            PoolExchange::new(&state, pool.iter().copied(), (first, second)).unwrap();
        let work = |state: &AnnealingState<'_>, machine: usize| {
            let members = state.members(machine).iter();
            state.excess(machine) - members.map(|own| state.workload(*own)).sum::<f64>()
        };
        let before = (work(&state, first), work(&state, second));
        for at in (0..pool.len()).cycle().take(3 * pool.len() + 1) {
            let more = exchange.change_side(at);
            let (process, _) = pool[at];
            let place = state.places()[process];
            state.relocate(process, first + second - place);
            assert!((work(&state, first) - before.0 - more.0).abs() < 1e-9);
            assert!((work(&state, second) - before.1 - more.1).abs() < 1e-9);
        }
    }

    fn check(prices: &[f64], expected: &[(f64, f64)]) {
        let cooling = Cooling::of(prices.to_vec(), 1.0);
        for &(share, expected) in expected {
            let found = cooling.at(share);
            assert!((found / expected - 1.0).abs() < 1e-6, "{share}: {found}");
        }
    }

    #[test]
    fn equal_prices_cool_by_equal_factors() {
        let middle = (0.02_f64).sqrt();
        check(&[3.0; 7], &[(0.0, 3.0), (0.5, 3.0 * middle), (1.0, 0.06)]);
        check(&[0.0; 3], &[(0.0, 1.0), (0.5, middle), (1.0, 0.02)]);
    }

    #[test]
    fn a_gap_between_prices_takes_no_time() {
        // Nearly half of the time for the giant, and the rest for the others.
        let mut prices = [1e-3; 1000];
        prices[0] = 1e9;
        let close = (0.02_f64).powf(0.49 / 0.5005);
        check(&prices, &[(0.0, 1e9), (1.0, 2e-5)]);
        let cooling = Cooling::of(prices.to_vec(), 1.0);
        assert!((cooling.at(0.49) / (1e9 * close) - 1.0).abs() < 0.1);
        assert!((1e-4..1e-3).contains(&cooling.at(0.55)));
    }

    #[test]
    fn temperatures_fall() {
        let prices: Vec<f64> = (0..60).map(|power| 2.0_f64.powi(power)).collect();
        let cooling = Cooling::of(prices, 0.5);
        let all: Vec<f64> = (0..=1000)
            .map(|at| cooling.at(f64::from(at) / 1e3))
            .collect();
        assert!(all.is_sorted_by(|a, b| a >= b));
        assert_eq!(cooling.temperatures.len(), POINTS + 1);
    }

    #[test]
    fn between_the_ends_factors_are_equal() {
        for (share, expected) in [(0.0, 8.0), (0.25, 4.0), (0.5, 2.0), (1.0, 0.5), (7.0, 0.5)] {
            assert!(
                (geometric(8.0, 0.5, share) - expected).abs() < 1e-12,
                "{share}"
            );
        }
    }

    #[test]
    fn means_are_those_of_the_distributions() {
        let noise = Noise::new();
        let mut draws = Draws::new(1, b"the tests of this module");
        let count = 100_000_u32;
        let exponential: f64 = (0..count).map(|_| noise.exponential(&mut draws)).sum();
        assert!((exponential / f64::from(count) - 1.0).abs() < 0.02);
        let gumbel: f64 = (0..count).map(|_| noise.gumbel(&mut draws)).sum();
        assert!((gumbel / f64::from(count) - 0.5772).abs() < 0.02);
    }
}
