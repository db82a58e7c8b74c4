//! The best rebalancing method and the bound, on reference instances and against the others.

use model::rebalance::{Budget, Machine, MoveCost, Problem, Resident, Solution};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use rebalancing_algorithms::{Group, Method, bound};

use crate::checked::check;
use crate::reference::{clusters, references};
use crate::size;

#[test]
fn reference_costs_are_met_within_two_per_cent_in_the_mean() {
    const SEEDS: u32 = size(4, 1);
    for reference in references().into_iter().take(size(2, 1)) {
        let problem = &reference.problem;
        for (at, &target) in reference.targets.iter().enumerate() {
            let (known, lower) = (reference.best_known[at], reference.lower_bounds[at]);
            let mut mean = 0.0;
            for seed in 1..=SEEDS {
                let budget = Budget::Steps(size(40_000_000, 10_000_000));
                let solution = Method::Best.solve(problem, target, budget, seed.into());
                check(problem, target, &solution, &clusters());
                assert!(solution.feasible, "{target}");
                let cost = solution.cost;
                assert!(lower - 1e-4 <= cost, "{target}: {cost}, bound {lower}");
                mean += cost / f64::from(SEEDS);
            }
            assert!(mean <= 1.02 * known, "{target}: {mean}, known {known}");
            let bound = bound(problem, target);
            assert!(bound <= known, "{target}: {bound}, known {known}");
            assert!(0.1 * known <= bound, "{target}: {bound}, known {known}");
        }
    }
}

#[test]
fn at_equal_steps_the_best_is_cheaper_than_annealing_and_that_than_local_search() {
    let mut costs = [0.0; 3];
    for (name, target) in [
        ("I1,3", 80.0),
        ("I2,1", 80.0),
        ("I2,3", 77.0),
        ("I3,3", 77.0),
    ] {
        for seed in 7..size(11, 8) {
            let problem = name.parse::<Group>().unwrap().draw(seed);
            let least = bound(&problem, target);
            let methods = [Method::Best, Method::Hyb, Method::Imlp];
            for (cost, method) in costs.iter_mut().zip(methods) {
                let solution = method.solve(
                    &problem,
                    target,
                    Budget::Steps(size(4_000_000, 2_000_000)),
                    1,
                );
                check(&problem, target, &solution, &clusters());
                assert!(solution.feasible, "{name} {seed} {method}");
                let found = solution.cost;
                assert!(
                    least <= found,
                    "{name} {seed} {method}: {found}, bound {least}"
                );
                *cost += found;
            }
        }
    }
    let [best, hyb, imlp] = costs;
    assert!(best < hyb && hyb < 0.8 * imlp, "{costs:?}");
}

#[test]
fn a_small_budget_does_for_many_processes() {
    let machine = |number: usize| Machine {
        capacity: if number.is_multiple_of(3) { 1.0 } else { 2.0 },
        group: number % 7,
    };
    let resident = |number: usize| Resident {
        workload: if number.is_multiple_of(2) { 3.0 } else { 1.0 },
        size: 1.0,
        initial_machine: number / 20,
    };
    let move_cost = MoveCost {
        fixed: 1.0,
        per_size: 1.0,
    };
    let move_costs = vec![vec![move_cost; 7]; 7];
    let machines: usize = size(1000, 500);
    let problem = Problem::new(
        (0..machines).map(machine).collect(),
        (0..10 * machines).map(resident).collect(),
        move_costs.clone(),
    )
    .unwrap();
    let target = 1.1 * problem.ideal();
    let solution = Method::Best.solve(
        &problem,
        target,
        Budget::Steps(size(5_000_000, 2_500_000)),
        1,
    );
    check(&problem, target, &solution, &move_costs);
    assert!(solution.feasible, "{} of {target}", solution.level);
    assert!(bound(&problem, target) <= solution.cost);
}

/// The least cost of all assignments that meet `target`; infinite if none does.
fn cheapest(problem: &Problem, target: f64) -> f64 {
    let (machines, processes) = (problem.machines().len(), problem.residents().len());
    let all = machines.pow(u32::try_from(processes).unwrap());
    let solutions = (0..all).map(|number| {
        let digit = |process| number / machines.pow(process) % machines;
        let processes = u32::try_from(processes).unwrap();
        Solution::of(problem, target, (0..processes).map(digit).collect())
    });
    let feasible = solutions.filter(|solution| solution.feasible);
    feasible
        .map(|solution| solution.cost)
        .fold(f64::INFINITY, f64::min)
}

/// Few processes on few machines; equal workloads, none, and costs of nothing are frequent.
fn tiny() -> impl Strategy<Value = (Problem, Vec<Vec<MoveCost>>)> {
    let amount = || prop_oneof![Just(0.0), Just(3.0), 0.1..9.0];
    let machine = (prop_oneof![Just(1.0), 0.5..3.0], 0..2_usize);
    let machine = machine.prop_map(|(capacity, group)| Machine { capacity, group });
    let machines = prop::collection::vec(machine, 1..=3);
    let residents = prop::collection::vec((amount(), amount(), 0..3_usize), 1..=6);
    let move_costs = prop::collection::vec((amount(), amount()), 4);
    (machines, residents, move_costs).prop_map(|(machines, residents, move_costs)| {
        let resident = |(workload, size, initial): (f64, f64, usize)| Resident {
            workload,
            size,
            initial_machine: initial % machines.len(),
        };
        let residents = residents.into_iter().map(resident).collect();
        let move_cost = |&(fixed, per_size): &(f64, f64)| MoveCost { fixed, per_size };
        let move_costs = move_costs
            .chunks(2)
            .map(|row| row.iter().map(move_cost).collect());
        let move_costs: Vec<Vec<MoveCost>> = move_costs.collect();
        let problem = Problem::new(machines, residents, move_costs.clone());
        (problem.unwrap(), move_costs)
    })
}

/// On tiny problems, the best method finds the optimum but in one of a hundred at most; no method goes below it.
#[test]
fn tiny_problems_are_solved_as_by_looking_at_all_assignments() {
    const CASES: u32 = size(1000, 150);
    let mut runner = TestRunner::deterministic();
    let mut missed = 0;
    for _ in 0..CASES {
        let tree = (tiny(), 0.0..1.1, any::<u64>()).new_tree(&mut runner);
        let ((problem, move_costs), share, seed) = tree.unwrap().current();
        let (ideal, initial) = (
            problem.ideal(),
            problem.level(&problem.initial_assignment()),
        );
        let target = ideal + share * (initial - ideal);
        let optimum = cheapest(&problem, target);
        let least = bound(&problem, target);
        assert!(
            least <= optimum,
            "{least}, {optimum}: {problem:?} at {target}"
        );
        for method in Method::ALL {
            let solution = method.solve(&problem, target, Budget::Steps(20_000), seed);
            check(&problem, target, &solution, &move_costs);
            let cost = solution.cost;
            let is_possible = !solution.feasible || optimum <= cost * (1.0 + 1e-9);
            assert!(is_possible, "{method}: {cost} of {optimum}");
            if method == Method::Best {
                let is_optimal = if solution.feasible {
                    cost <= optimum * (1.0 + 1e-9)
                } else {
                    optimum.is_infinite()
                };
                missed += u32::from(!is_optimal);
            }
        }
    }
    assert!(missed <= CASES / 100, "{missed} of {CASES}");
}

#[test]
fn a_budget_that_is_too_short_to_anneal_meets_an_easy_target() {
    let problem = "I3,5".parse::<Group>().unwrap().draw(1);
    let solution = Method::Best.solve(&problem, 95.0, Budget::Steps(1), 1);
    assert!(solution.feasible);
    assert!(solution.cost < 1.5 * bound(&problem, 95.0));
}

#[test]
fn the_best_meets_what_local_search_meets_in_a_quarter_of_its_steps_and_taboos_in_half() {
    let groups = [
        ("I1,1", 75.5),
        ("I4,1", 79.3),
        ("I2,4", 74.3),
        ("I3,5", 76.0),
        ("I4,3", 82.0),
    ];
    let mut reached = [0; 3];
    for (name, target) in groups {
        for seed in 0..size(5, 2) {
            let problem = name.parse::<Group>().unwrap().draw(seed);
            for steps in [4, 400, 4000, 20_000, 80_000, 400_000] {
                let is_met = |method: Method, steps| {
                    let budget = Budget::Steps(steps);
                    method.solve(&problem, target, budget, seed).feasible
                };
                // Repairing takes some steps, too.
                let imlp = is_met(Method::Imlp, steps / 5);
                let tabu = is_met(Method::Tabu, steps / 2);
                let best = is_met(Method::Best, steps);
                assert!(best || !(imlp || tabu), "{name} {seed} {steps}");
                let all = reached.iter_mut().zip([imlp, tabu, best]);
                all.for_each(|(count, is_met)| *count += u32::from(is_met));
            }
        }
    }
    let [imlp, tabu, best] = reached;
    let [fewest, most] = size([30, 120], [12, 48]);
    assert!(
        fewest < imlp && imlp < tabu && tabu <= best && best < most,
        "{reached:?}"
    );
}

#[test]
fn equal_processes_are_bounded_in_no_time() {
    /// Half of the machines have fourteen processes each, the others none.
    const HALF: usize = size(1000, 500);
    let machine = Machine {
        capacity: 1.0,
        group: 0,
    };
    let resident = |number: usize| Resident {
        workload: 1.0,
        size: 1.0,
        initial_machine: number / 14,
    };
    let move_cost = MoveCost {
        fixed: 1.0,
        per_size: 0.0,
    };
    let problem = Problem::new(
        vec![machine; 2 * HALF],
        (0..14 * HALF).map(resident).collect(),
        vec![vec![move_cost]],
    )
    .unwrap();
    let least = bound(&problem, 7.5);
    let least = least / HALF as f64;
    assert!((6.499..=7.0).contains(&least), "{least}");
}
