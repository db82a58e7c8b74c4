//! HYB: simulated annealing from where the iterated local search came.

use migbsp::rebalance::search::Draws;
use migbsp::rebalance::search::Incumbent;
use migbsp::rebalance::search::Meter;
use migbsp::rebalance::search::{Annealing, Course};
use migbsp::rebalance::{Problem, Variant};

/// Spends a part of the budget on IMLP and anneals its best with the rest: by moves, exchanges and
/// ejections of one process by another.
pub(crate) fn hyb(problem: &Problem, seed: u64, incumbent: &mut Incumbent, meter: &mut Meter<'_>) {
    meter.limit(IMLP);
    Variant::IMLP.improve(problem, incumbent, meter);
    meter.limit(100);
    let course = Course {
        hops: 2,
        sharings: 0,
        returns: 256,
        hot: 0.5,
    };
    let draws = Draws::new(seed, b"annealing after IMLP ...");
    let start = incumbent.assignment().to_vec();
    Annealing::new(problem, incumbent.target(), &start, draws, course).run(incumbent, meter);
}

/// Per cent of the budget.
const IMLP: u8 = 15;
