//! The best that is known here: simulated annealing that shares machines out two by two.

use crate::rebalance::Problem;
use crate::rebalance::annealing::{Annealing, Course};
use crate::rebalance::budget::Meter;
use crate::rebalance::draws::Draws;
use crate::rebalance::incumbent::Incumbent;

/// Anneals from home, a quarter of the steps by ejection chains and the others by drawing how two machines share their
/// processes.
pub(super) fn best(problem: &Problem, seed: u64, incumbent: &mut Incumbent, meter: &mut Meter<'_>) {
    let course = Course {
        hops: 3,
        sharings: 192,
        returns: 160,
        hot: 1.0,
    };
    let draws = Draws::new(seed, b"annealing by sharing ...");
    let start = problem.homes();
    Annealing::new(problem, incumbent.target(), &start, draws, course).run(incumbent, meter);
}
