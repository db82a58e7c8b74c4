//! A drawn rebalancing problem as JSON, with what the best method finds and the bound, for exact solvers.
//!
//! `cargo run --release -p migbsp-rebalancing-algorithms --example rebalance_instance -- group seed milliseconds target..`

#![expect(clippy::print_stdout, reason = "an instance for a file")]
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "an example may take the time"
)]

use std::time::Instant;

use model::rebalance::{Budget, Solution};
use rebalancing_algorithms::{Group, Method, bound};
use serde_json::json;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [group, seed, milliseconds, targets @ ..] = &arguments[..] else {
        panic!("expected a group, a seed, milliseconds and targets");
    };
    let drawn: Group = group.parse().expect("a group");
    let problem = drawn.draw(seed.parse().expect("a seed"));
    let milliseconds: f64 = milliseconds.parse().expect("milliseconds");
    let targets = targets
        .iter()
        .map(|target| target.parse().expect("a target"));
    let targets: Vec<f64> = targets.collect();
    let solutions: Vec<Solution> = targets
        .iter()
        .map(|&target| {
            let start = Instant::now();
            let spent = || start.elapsed().as_secs_f64() * 1e3 / milliseconds;
            Method::Best.solve(&problem, target, Budget::Spent(&spent), 0)
        })
        .collect();
    let machines = problem.machines().iter();
    let residents = problem.residents().iter();
    let costs = solutions
        .iter()
        .map(|found| found.feasible.then_some(found.cost));
    let instance = json!({
        "name": format!("{group} {seed}"),
        "capacities": machines.clone().map(|machine| machine.capacity).collect::<Vec<_>>(),
        "cluster": machines.map(|machine| machine.group).collect::<Vec<_>>(),
        "bandwidth": {"intra": 100, "inter": 10},
        "processes": residents
            .map(|resident| json!([resident.workload, resident.size, resident.initial_machine]))
            .collect::<Vec<_>>(),
        "targets": targets,
        "best_cost": costs.collect::<Vec<_>>(),
        "bound": targets.iter().map(|&target| bound(&problem, target)).collect::<Vec<_>>(),
    });
    println!("{instance}");
}
