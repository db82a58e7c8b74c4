//! The best that is known here: simulated annealing that shares machines out two by two, and tabu search.

use super::annealing::{Annealing, Course};
use super::draws::Draws;
use super::pair::{Exchange, Rule, below};
use super::refine::{refine, repair};
use super::solution::{Incumbent, Meter};
use super::state::State;
use super::{Budget, Problem, SearchResult, Variant};

/// The cheapest assignment that the best search here finds in `problem` whose level is at most `target`; if it finds none,
/// the one with the lowest level.
#[must_use]
pub fn best(problem: &Problem, target: f64, budget: Budget<'_>, seed: u64) -> SearchResult {
    SearchResult::of(problem, target, budget, |incumbent, meter| {
        improve(problem, seed, incumbent, meter);
    })
}

/// Repairs what is overloaded and, for a tenth of the budget, refines it greedily; where neither meets the target,
/// searches as IMLP and then with taboos until it is reached. After a tenth for IMLP, whatever was found, it anneals from
/// the cheapest: a quarter of the steps by ejection chains and the others by drawing how two machines share
/// their processes.
///
/// So it meets what IMLP meets in a quarter of the steps, and taboo search in half, and never costs more than refinement
/// in a tenth, nor than IMLP unless the target is hard to meet: annealing is worse at meeting targets, and
/// better at cost. Where what processes exchange has a weight, it anneals after refinement.
pub fn improve(problem: &Problem, seed: u64, incumbent: &mut Incumbent, meter: &mut Meter<'_>) {
    repair(problem, incumbent, meter);
    meter.limit(SLICE);
    refine(problem, incumbent, meter);
    // Local searches leave out what processes exchange, so that levels that they take for reached may be higher.
    if !problem.weighs_exchange() {
        search_locally(problem, seed, incumbent, meter);
    }
    meter.limit(100);
    if meter.is_spent() {
        return;
    }
    let start = if incumbent.is_feasible() {
        incumbent.assignment().to_vec()
    } else {
        problem.start()
    };
    let course = Course {
        hops: 3,
        sharings: 192,
        returns: 160,
        hot: 1.0,
    };
    let draws = Draws::new(seed, b"annealing by sharing ...");
    Annealing::new(problem, incumbent.target(), &start, draws, course).run(incumbent, meter);
}

fn search_locally(problem: &Problem, seed: u64, incumbent: &mut Incumbent, meter: &mut Meter<'_>) {
    if !incumbent.is_feasible() {
        meter.limit_from_here(25);
        Variant::IMLP.improve_until(Incumbent::is_feasible, problem, incumbent, meter);
    }
    // Where memory is scarce, several processes may have to change places together, which only annealing does.
    meter.limit(if problem.memory().is_some() { 50 } else { 100 });
    if !incumbent.is_feasible() {
        tabu_until(Incumbent::is_feasible, problem, seed, incumbent, meter);
    }
    meter.limit_from_here(SLICE);
    Variant::IMLP.improve(problem, incumbent, meter);
}

/// Per cent of the budget for refinement, and for IMLP, whatever they find.
const SLICE: u8 = 10;

/// Takes the steps of the local search without regard to cost, never starts again, and where nothing helps,
/// does the step that harms least; a process that left a machine does not come back for a while.
///
/// Chen, Wang and Lau 2008, section 4.2. The paper leaves the duration open: here `√l + 3` steps of `l` processes and
/// up to as many more, drawn at random.
pub fn tabu(problem: &Problem, seed: u64, incumbent: &mut Incumbent, meter: &mut Meter<'_>) {
    tabu_until(|_| false, problem, seed, incumbent, meter);
}

/// [`tabu`], until what was seen is enough.
fn tabu_until(
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
