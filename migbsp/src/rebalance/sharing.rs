//! Two machines whose processes are shared out anew.

use crate::rebalance::annealing::Annealing;
use crate::rebalance::pool_exchange::PoolExchange;

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
    pub(super) fn share_out(&mut self) -> u64 {
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
pub(super) const POOL: usize = 8;

/// The number of processes in a pool, if there are more: 64 ways to share them.
const FEW: usize = 6;
