//! `best` against a greedy refinement on data of the shape of measured tasks: lognormal times and sizes, a quarter of the
//! ranks with three quarters of the tasks.
//!
//! `cargo run --release -p migbsp-rebalancing-algorithms --example rebalance_ranks`
//!
//! For each size, the level before any move, and what both need for a level 5 % above the ideal one, within a second: the
//! number of moves where each costs 1, and the seconds of transfer at 1000 MB/s where they cost that.

#![expect(clippy::print_stdout, reason = "a table on the terminal")]
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "an example has the time that a budget is of"
)]

use std::time::Instant;

use model::rebalance::{Budget, Machine, MoveCost, Problem, Resident};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rebalancing_algorithms::Method;

fn main() {
    println!("ranks   tasks  before/ideal | moves: refine    best | seconds: refine      best");
    for (ranks, tasks) in [(4, 40), (8, 200), (32, 1000), (64, 8000), (256, 466_018)] {
        let found = [(1.0, 0.0), (0.0, 1e-3)].map(|(fixed, per_size)| {
            let problem = draw(ranks, tasks, MoveCost { fixed, per_size });
            [Method::Refine, Method::Best].map(|method| cost(&problem, method))
        });
        let problem = draw(
            ranks,
            tasks,
            MoveCost {
                fixed: 1.0,
                per_size: 0.0,
            },
        );
        let before = problem.level(&problem.initial_assignment()) / problem.ideal();
        let [[refine_moves, best_moves], [refine_seconds, best_seconds]] = found;
        println!(
            "{ranks:5} {tasks:7}         {before:5.2} |       {refine_moves:7} {best_moves:7} |       \
             {refine_seconds:9.4} {best_seconds:9.4}"
        );
    }
}

/// The cost of what `method` finds; infinite if it misses the target.
fn cost(problem: &Problem, method: Method) -> f64 {
    let began = Instant::now();
    let spent = || began.elapsed().as_secs_f64();
    let found = method.solve(problem, 1.05 * problem.ideal(), Budget::Spent(&spent), 1);
    if found.feasible {
        found.cost
    } else {
        f64::INFINITY
    }
}

/// As many tasks on as many ranks: the first quarter of the ranks has three quarters of them.
fn draw(ranks: usize, tasks: usize, move_cost: MoveCost) -> Problem {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut unit = move || f64::from(random.next_u32()) / 4_294_967_296.0;
    let loaded = ranks / 4;
    let residents = (0..tasks).map(|task| {
        // A sum of twelve is near enough to the normal distribution.
        let mut normal = || (0..12).map(|_| unit()).sum::<f64>() - 6.0;
        let of_four = task % 4;
        let initial = if of_four == 0 {
            loaded + task / 4 % (ranks - loaded)
        } else {
            task % loaded
        };
        Resident {
            workload: 0.01 * normal().exp(),
            size: (1.5 * normal()).exp(),
            initial_machine: initial,
        }
    });
    let machine = Machine {
        capacity: 1.0,
        group: 0,
    };
    let residents = residents.collect();
    Problem::new(vec![machine; ranks], residents, vec![vec![move_cost]])
        .unwrap_or_else(|error| unreachable!("what is drawn is a problem: {error}"))
}
