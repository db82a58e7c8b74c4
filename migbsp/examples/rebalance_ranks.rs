//! `best` against a greedy refinement on data of the shape of measured tasks: lognormal times, some ranks with far more
//! tasks than others, every move at cost 1.
//!
//! `cargo run --release -p migbsp --example rebalance_ranks`
//!
//! For each size: the level before any move and the ideal one, the level that refinement reaches and its moves, how many
//! moves `best` needs for the same level, and the seconds that each took.

#![expect(clippy::print_stdout, reason = "a table on the terminal")]

use std::time::Instant;

use migbsp::rebalance::{Budget, Machine, Method, MoveCost, Problem, Resident, Solution, lowest};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

fn main() {
    println!("ranks   tasks  before   ideal |  refine  moves       s |    best  moves       s");
    for (ranks, tasks) in [(4, 9), (8, 200), (32, 1000), (64, 8000), (256, 466_018)] {
        let problem = draw(ranks, tasks);
        let seconds = 0.1;
        let (refined, took) = timed(|| {
            let began = Instant::now();
            let spent = || began.elapsed().as_secs_f64() / seconds;
            lowest(
                &problem,
                f64::INFINITY,
                Budget::Spent(&spent),
                |target, budget| Method::Refine.search(&problem, target, budget, 1),
            )
            .solution
        });
        let (best, of_best) = timed(|| {
            let began = Instant::now();
            let spent = || began.elapsed().as_secs_f64() / seconds;
            Method::Best.solve(&problem, refined.level, Budget::Spent(&spent), 1)
        });
        let before = problem.level(&problem.homes());
        let found = |found: &Solution, took: f64| {
            format!("{:8.3} {:6} {took:7.3}", found.level, found.migrations)
        };
        println!(
            "{ranks:5} {tasks:7} {before:7.3} {:7.3} |{} |{}",
            problem.ideal(),
            found(&refined, took),
            found(&best, of_best)
        );
    }
}

fn timed(search: impl FnOnce() -> Solution) -> (Solution, f64) {
    let began = Instant::now();
    let found = search();
    (found, began.elapsed().as_secs_f64())
}

/// As many tasks on as many ranks: the first quarter of the ranks has three quarters of them.
fn draw(ranks: usize, tasks: usize) -> Problem {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut unit = move || f64::from(random.next_u32()) / 4_294_967_296.0;
    let loaded = ranks / 4;
    let residents = (0..tasks).map(|task| {
        // A sum of twelve is near enough to the normal distribution.
        let normal = (0..12).map(|_| unit()).sum::<f64>() - 6.0;
        let of_four = task % 4;
        let home = if of_four == 0 {
            loaded + task / 4 % (ranks - loaded)
        } else {
            task % loaded
        };
        Resident {
            workload: 0.01 * normal.exp(),
            size: 1.0,
            home,
        }
    });
    let machine = Machine {
        capacity: 1.0,
        group: 0,
    };
    let move_cost = MoveCost {
        fixed: 1.0,
        per_size: 0.0,
    };
    let residents = residents.collect();
    Problem::new(vec![machine; ranks], residents, vec![vec![move_cost]])
        .unwrap_or_else(|error| unreachable!("what is drawn is a problem: {error}"))
}
