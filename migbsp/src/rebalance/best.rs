//! The best that is known here: simulated annealing that shares machines out two by two.

use crate::rebalance::annealing::{Annealing, Course};
use crate::rebalance::budget::Meter;
use crate::rebalance::draws::Draws;
use crate::rebalance::incumbent::Incumbent;
use crate::rebalance::refine::refine;
use crate::rebalance::repair::repair;
use crate::rebalance::tabu::tabu_until;
use crate::rebalance::{Budget, Problem, SearchResult, Variant};

/// The cheapest assignment that the best search here finds in `problem` whose level is at most `target`; if it finds none,
/// the one with the lowest level.
#[must_use]
pub fn best(problem: &Problem, target: f64, budget: Budget<'_>, seed: u64) -> SearchResult {
    SearchResult::of(problem, target, budget, |incumbent, meter| {
        improve(problem, seed, incumbent, meter);
    })
}

/// Repairs what is overloaded and, for a tenth of the budget, refines it greedily; where neither meets the target,
/// searches as IMLP and then with taboos until it is met. After a tenth for IMLP, whatever was found, it anneals from
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
    // Local searches leave out what processes exchange, so that levels that they take for met may be higher.
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
