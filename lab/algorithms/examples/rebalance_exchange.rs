//! How much lower the slowest machine is if the search minds what processes exchange.
//!
//! `cargo run --release -p migbsp-rebalancing-algorithms --example rebalance_exchange [STEPS]`

#![expect(clippy::print_stdout, reason = "a table on the terminal")]
#![expect(clippy::expect_used, reason = "an invalid argument ends the example")]

use model::rebalance::{Budget, Problem};
use rebalancing_algorithms::{Exchanging, Method, lowest};

fn main() {
    let steps = std::env::args()
        .nth(1)
        .map_or(Ok(4_000_000), |text| text.parse());
    let steps = steps.expect("a number of steps");
    println!("group   before  ignored  minded  ratio  moves");
    for group in Exchanging::all() {
        let mut sums = [0.0; 5];
        for seed in 100..105 {
            let problem = group.draw(seed);
            let ignoring = problem.clone().without_communication();
            let level = |searched: &Problem| {
                let budget = Budget::Steps(steps);
                let found = lowest(searched, f64::INFINITY, budget, |target, budget| {
                    Method::Best.search(searched, target, budget, 1)
                });
                let assignment = found.solution.assignment;
                (problem.level(&assignment), found.solution.migrations)
            };
            let (ignored, _) = level(&ignoring);
            let (minded, moves) = level(&problem);
            let before = problem.level(&problem.initial_assignment());
            let values = [
                before,
                ignored,
                minded,
                (minded / ignored).ln(),
                moves as f64,
            ];
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum += value / 5.0;
            }
        }
        let [before, ignored, minded, ratio, moves] = sums;
        println!(
            "{group:<6} {before:7.2} {ignored:8.2} {minded:7.2} {:6.3} {moves:6.1}",
            ratio.exp()
        );
    }
}
