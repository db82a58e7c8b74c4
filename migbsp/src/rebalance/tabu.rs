//! Tabu search.

use crate::rebalance::Problem;
use crate::rebalance::budget::Meter;
use crate::rebalance::draws::Draws;
use crate::rebalance::incumbent::Incumbent;
use crate::rebalance::pair::{Exchange, Rule, below};
use crate::rebalance::state::State;

/// Takes the steps of the local search without regard to cost, never starts again, and where nothing helps,
/// does the step that harms least; a process that left a machine does not come back for a while.
///
/// Chen, Wang and Lau 2008, section 4.2. The paper leaves the duration open: here `√l + 3` steps of `l` processes and
/// up to as many more, drawn at random.
pub fn tabu(problem: &Problem, seed: u64, incumbent: &mut Incumbent, meter: &mut Meter<'_>) {
    tabu_until(|_| false, problem, seed, incumbent, meter);
}

/// [`tabu`], until what was seen is enough.
pub(super) fn tabu_until(
    is_enough: fn(&Incumbent) -> bool,
    problem: &Problem,
    seed: u64,
    incumbent: &mut Incumbent,
    meter: &mut Meter<'_>,
) {
    let mut draws = Draws::new(seed, b"tenure of taboos, search");
    let tenure = problem.residents().len().isqrt() + 3;
    let mut state = State::at_start(problem);
    let mut taboos = Taboos {
        step: 0,
        rows: vec![Vec::new(); problem.residents().len()],
    };
    while 1 < problem.machines().len() {
        let exchange = improving(&state, &taboos, meter);
        let exchange = exchange.or_else(|| least_harmful(&state, &taboos, meter));
        if meter.is_spent() || is_enough(incumbent) {
            return;
        }
        taboos.step += 1;
        let Some(exchange) = exchange else {
            continue;
        };
        exchange.make(&mut state);
        taboos.forbid(
            exchange.process,
            exchange.from,
            tenure + draws.below(tenure),
        );
        if let Some(back) = exchange.back {
            taboos.forbid(back, exchange.to, tenure + draws.below(tenure));
        }
        incumbent.see(&state, meter.steps());
    }
}

/// The best of the first pair of machines that helps the one with the highest level.
fn improving(state: &State<'_>, taboos: &Taboos, meter: &mut Meter<'_>) -> Option<Exchange> {
    let (&top, others) = state.ranking().split_first()?;
    let bound = below(state.level());
    others.iter().rev().find_map(|&other| {
        if meter.is_spent() {
            return None;
        }
        let (exchange, looked) = Exchange::best(state, (top, other), bound, taboos);
        meter.count(looked + 1);
        exchange
    })
}

/// The best of all pairs with the machine that has the highest level.
fn least_harmful(state: &State<'_>, taboos: &Taboos, meter: &mut Meter<'_>) -> Option<Exchange> {
    let (&top, others) = state.ranking().split_first()?;
    let mut least: Option<Exchange> = None;
    for &other in others.iter().rev() {
        if meter.is_spent() {
            return None;
        }
        let bound = least.map_or(f64::INFINITY, |least| least.level);
        let (exchange, looked) = Exchange::best(state, (top, other), bound, taboos);
        meter.count(looked + 1);
        least = exchange.or(least);
    }
    least
}

/// Forbidden pairs of process and machine, each up to a step.
struct Taboos {
    step: usize,
    rows: Vec<Vec<(usize, usize)>>,
}

impl Taboos {
    /// `process` may not go to `machine` for this number of steps.
    fn forbid(&mut self, process: usize, machine: usize, steps: usize) {
        let step = self.step;
        let row = &mut self.rows[process];
        row.retain(|&(_, end)| step < end);
        row.push((machine, step + steps));
    }
}

impl Rule for Taboos {
    #[inline]
    fn allows(&self, process: usize, machine: usize) -> bool {
        let is_taboo = |&(other, end): &(usize, usize)| other == machine && self.step < end;
        !self.rows[process].iter().any(is_taboo)
    }

    #[inline]
    fn penalty(&self, _process: usize, _machine: usize) -> f64 {
        0.0
    }
}
