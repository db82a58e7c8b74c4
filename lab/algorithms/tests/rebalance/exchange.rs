//! What minding the exchange between machines gains.

use model::rebalance::{Budget, Problem};
use rebalancing_algorithms::{Exchanging, Method, lowest};

/// The slowest machine, computation and exchange together, is at least a fifth lower than if the search leaves the
/// exchange out.
#[test]
fn minding_the_exchange_makes_the_slowest_machine_faster() {
    let lowest_level = |problem: &Problem, searched: &Problem| {
        let budget = Budget::Steps(600_000);
        let found = lowest(searched, f64::INFINITY, budget, |target, budget| {
            Method::Best.search(searched, target, budget, 1)
        });
        problem.level(&found.solution.assignment)
    };
    for group in Exchanging::all().filter(|group| group.machines() <= 16) {
        for seed in 1..4 {
            let problem = group.draw(seed);
            let minded = lowest_level(&problem, &problem);
            let ignored = lowest_level(&problem, &problem.clone().without_communication());
            assert!(
                minded <= 0.8 * ignored,
                "{group}, seed {seed}: {minded} against {ignored}"
            );
            assert!(minded < problem.level(&problem.initial_assignment()));
        }
    }
}

#[test]
fn a_third_of_the_time_before_any_move_is_exchange() {
    for group in Exchanging::all() {
        let problem = group.draw(3);
        let initial = problem.initial_assignment();
        let all: f64 = problem.levels(&initial).iter().sum();
        let work: f64 = problem.loads(&initial).iter().sum();
        assert!(((all - work) / all - 1.0 / 3.0).abs() < 1e-9, "{group}");
        assert_eq!(group.to_string().parse(), Ok(group));
        assert_eq!(problem, group.draw(3));
    }
}
