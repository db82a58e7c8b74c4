//! The published methods, on drawn problems and on reference instances.

use model::rebalance::{
    Budget, Machine, MoveCost, Penalised, Problem, Resident, SearchResult, Solution, Thresholds,
    Variant,
};
use proptest::prelude::*;
use rebalancing_algorithms::{Group, Method};

use crate::checked::check;
use crate::reference::{clusters, references};
use crate::size;

/// The methods that are there to be compared.
const PUBLISHED: [Method; 6] = [
    Method::Imlp,
    Method::Islp,
    Method::Mlp,
    Method::Tabu,
    Method::Mparv,
    Method::Refine,
];

/// The same problem with every migration at cost 1.
fn uniform(problem: &Problem) -> Problem {
    let move_cost = MoveCost {
        fixed: 1.0,
        per_size: 0.0,
    };
    let (machines, residents) = (problem.machines().to_vec(), problem.residents().to_vec());
    Problem::new(machines, residents, vec![vec![move_cost; 3]; 3]).unwrap()
}

/// `times` times the steps of the first iteration.
fn times_first_iteration(problem: &Problem, target: f64, times: u64) -> Budget<'static> {
    let first = Method::Mlp.search(problem, target, Budget::Steps(u64::MAX), 0);
    Budget::Steps(times * first.steps)
}

#[test]
fn reference_instances_are_solved_above_their_bounds_and_near_their_costs() {
    const STEPS: u64 = size(1_000_000, 200_000);
    for reference in references() {
        let problem = &reference.problem;
        for (at, &target) in reference.targets.iter().enumerate() {
            for method in Method::ALL {
                let solution = method.solve(problem, target, Budget::Steps(STEPS), 5);
                check(problem, target, &solution, &clusters());
                let bound = reference.lower_bounds[at] - 1e-6;
                assert!(!solution.feasible || bound <= solution.cost, "{method}");
            }
            let solution = Method::Imlp.solve(problem, target, Budget::Steps(1_000_000), 5);
            assert!(solution.feasible, "{target}");
            let of_best = solution.cost / reference.best_known[at];
            let of_imlp = solution.cost / reference.imlp[at];
            assert!(of_best < 3.0, "{target}: {of_best} of the best known");
            assert!(
                (0.5..1.1).contains(&of_imlp),
                "{target}: {of_imlp} of IMLP's"
            );
        }
    }
}

#[test]
fn cheap_moves_first_and_many_iterations_both_pay() {
    let groups = [
        ("I3,1", 90.0),
        ("I3,2", 77.0),
        ("I3,3", 85.0),
        ("I4,1", 85.0),
        ("I4,2", 78.0),
        ("I4,3", 94.4),
    ];
    for (name, target) in groups {
        let group: Group = name.parse().unwrap();
        let mut costs = [0.0; 4];
        let mut compared = 0;
        for seed in 0..15 {
            let problem = group.draw(seed);
            let budget = times_first_iteration(&problem, target, 16);
            let methods = [Method::Imlp, Method::Mlp, Method::Islp, Method::Tabu];
            let found = methods.map(|method| method.solve(&problem, target, budget, seed));
            if found.iter().all(|solution| solution.feasible) {
                compared += 1;
                for (cost, solution) in costs.iter_mut().zip(&found) {
                    *cost += solution.cost;
                }
            }
        }
        assert!(5 <= compared, "{name}: {compared}");
        assert!(costs.is_sorted_by(|a, b| a < b), "{name}: {costs:?}");
    }
}

/// Table 4 of Chen, Wang and Lau 2008, in rows that agree with themselves.
#[test]
fn as_few_processes_migrate_as_printed() {
    for (name, target, printed, instances) in [
        ("I1,1", 79.3, 11.8, 100_u32),
        ("I1,3", 76.4, 70.8, 20),
        ("I1,5", 78.0, 235.9, 10),
        ("I4,4", 79.7, 97.5, 10),
    ] {
        let group: Group = name.parse().unwrap();
        let problems = (0..instances).map(|seed| uniform(&group.draw(u64::from(seed))));
        let migrations: Vec<f64> = problems
            .map(|problem| {
                let first = Variant {
                    iterations: 1,
                    ..Variant::ISLP
                };
                let first = first.search(&problem, target, Budget::Steps(u64::MAX));
                let budget = Budget::Steps(32 * first.steps);
                let solution = Method::Islp.solve(&problem, target, budget, 0);
                assert!(solution.feasible, "{name} {target}");
                solution.cost
            })
            .collect();
        let mean = migrations.iter().sum::<f64>() / f64::from(instances);
        assert!(
            (mean / printed - 1.0).abs() < 0.05,
            "{name} {target}: {mean}, printed {printed}"
        );
    }
}

#[test]
fn who_meets_the_target_stays() {
    let problem = "I2,1".parse::<Group>().unwrap().draw(1);
    let initial = problem.level(&problem.initial_assignment());
    for method in Method::ALL {
        let found = method.search(&problem, initial, Budget::Steps(1000), 0);
        let expected = SearchResult {
            solution: Solution::of(&problem, initial, problem.initial_assignment()),
            steps: 0,
            steps_to_best: 0,
        };
        assert_eq!(found, expected, "{method}");
    }
}

#[test]
fn one_machine_and_a_target_out_of_reach_end() {
    let machine = Machine {
        capacity: 1.0,
        group: 0,
    };
    let resident = Resident {
        workload: 3.0,
        size: 1.0,
        initial_machine: 0,
    };
    let move_cost = MoveCost {
        fixed: 1.0,
        per_size: 0.0,
    };
    for machines in [1, 2] {
        let problem = Problem::new(
            vec![machine; machines],
            vec![resident; 2],
            vec![vec![move_cost]],
        )
        .unwrap();
        for method in Method::ALL {
            let solution = method.solve(&problem, 1.0, Budget::Steps(10_000), 0);
            check(&problem, 1.0, &solution, &[vec![move_cost]]);
            assert!(!solution.feasible, "{method}");
        }
    }
}

#[test]
fn a_budget_in_time_is_kept() {
    let problem = "I3,3".parse::<Group>().unwrap().draw(1);
    let asked = std::cell::Cell::new(0);
    let spent = || {
        asked.set(asked.get() + 1);
        f64::from(asked.get()) / 40.0
    };
    for method in PUBLISHED {
        asked.set(0);
        let solution = method.solve(&problem, 85.0, Budget::Spent(&spent), 1);
        check(&problem, 85.0, &solution, &clusters());
        assert!(asked.get() <= 41, "{method}: {}", asked.get());
    }
}

#[test]
fn every_variant_finds_something_that_is_checked() {
    let problem = "I3,1".parse::<Group>().unwrap().draw(2);
    let thresholds = [
        Thresholds::CommonRatio(2.0),
        Thresholds::CommonRatio(3.0),
        Thresholds::Arithmetic,
        Thresholds::Count,
    ];
    for thresholds in thresholds {
        for penalised in [Penalised::Full, Penalised::Limit, Penalised::None] {
            for levels in [1, 3, 9] {
                let variant = Variant {
                    levels,
                    thresholds,
                    penalised,
                    ..Variant::IMLP
                };
                let found = variant.search(&problem, 90.0, Budget::Steps(20_000));
                check(&problem, 90.0, &found.solution, &clusters());
                assert!(found.solution.feasible, "{variant:?}");
            }
        }
    }
}

fn problems() -> impl Strategy<Value = Problem> {
    let machine = (0.5..3.0, 0..3_usize).prop_map(|(capacity, group)| Machine { capacity, group });
    let machines = prop::collection::vec(machine, 1..7);
    let residents = prop::collection::vec((0.0..9.0, 0.0..50.0, 0..7_usize), 1..25);
    (machines, residents).prop_map(|(machines, residents)| {
        let resident = |(workload, size, initial): (f64, f64, usize)| Resident {
            workload,
            size,
            initial_machine: initial % machines.len(),
        };
        let residents = residents.into_iter().map(resident).collect();
        Problem::new(machines, residents, clusters()).unwrap()
    })
}

/// The same problem with all prices times `factor`.
fn in_currency(problem: &Problem, factor: f64) -> Problem {
    let (machines, residents) = (problem.machines().to_vec(), problem.residents().to_vec());
    let mut prices = clusters();
    for price in prices.iter_mut().flatten() {
        *price = MoveCost {
            fixed: factor * price.fixed,
            per_size: factor * price.per_size,
        };
    }
    Problem::new(machines, residents, prices).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(50))]

    #[test]
    fn the_currency_of_prices_does_not_matter(
        problem in problems(),
        share in 0.0..1.0,
        steps in 0..6000_u64,
        exponent in -8..20,
        seed: u64,
    ) {
        let (ideal, initial) = (problem.ideal(), problem.level(&problem.initial_assignment()));
        let target = ideal + share * (initial - ideal);
        // A power of two changes no digit.
        let other = in_currency(&problem, 2.0_f64.powi(exponent));
        for method in Method::ALL {
            let places = |problem: &Problem| {
                let solution = method.solve(problem, target, Budget::Steps(steps), seed);
                (solution.assignment, solution.feasible)
            };
            prop_assert_eq!(places(&other), places(&problem), "{}", method);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_solution_is_what_it_claims_and_the_same_again(
        problem in problems(),
        share in 0.0..1.1,
        steps in 0..5000_u64,
        seed: u64,
    ) {
        let (ideal, initial) = (problem.ideal(), problem.level(&problem.initial_assignment()));
        let target = ideal + share * (initial - ideal);
        for method in Method::ALL {
            let solution = method.solve(&problem, target, Budget::Steps(steps), seed);
            check(&problem, target, &solution, &clusters());
            let again = method.solve(&problem, target, Budget::Steps(steps), seed);
            prop_assert_eq!(solution, again);
        }
    }

    #[test]
    fn more_steps_are_never_worse(
        problem in problems(),
        share in 0.0..1.0,
        fewer in 0..3000_u64,
        more in 0..3000_u64,
    ) {
        let (ideal, initial) = (problem.ideal(), problem.level(&problem.initial_assignment()));
        let target = ideal + share * (initial - ideal);
        for method in PUBLISHED {
            let [fewer, more] = [fewer, fewer + more]
                .map(|steps| method.solve(&problem, target, Budget::Steps(steps), 1));
            if fewer.feasible {
                prop_assert!(more.feasible, "{}", method);
                prop_assert!(more.cost <= fewer.cost * (1.0 + 1e-9), "{}", method);
            } else if !more.feasible {
                prop_assert!(more.level <= fewer.level * (1.0 + 1e-9), "{}", method);
            }
        }
    }
}

/// Chen, Wang and Lau 2008, section 4.1, "average values"; the last level allows everything.
#[test]
fn thresholds_are_the_printed_ones_in_the_mean() {
    let printed = [
        (Thresholds::CommonRatio(2.0), [0.312, 0.625, 1.25, 2.5, 5.0]),
        (Thresholds::Arithmetic, [1.666, 3.333, 5.0, 6.666, 8.333]),
        (Thresholds::Count, [0.082, 0.292, 0.555, 0.814, 3.873]),
    ];
    const WITHIN: [f64; 5] = [0.06, 0.06, 0.06, 0.06, 0.15];
    let group: Group = "I3,3".parse().unwrap();
    for (thresholds, printed) in printed {
        let mut means = [0.0; 5];
        for seed in 0..50 {
            let found = thresholds.of(&group.draw(seed), 6);
            assert_eq!(found.len(), 6);
            assert_eq!(found[5].to_bits(), f64::INFINITY.to_bits());
            for (mean, threshold) in means.iter_mut().zip(found) {
                *mean += threshold / 50.0;
            }
        }
        // The last one printed is beyond what the printed shares of costs allow: 3.25.
        for ((mean, printed), within) in means.iter().zip(printed).zip(WITHIN) {
            let ratio = mean / printed;
            assert!((ratio - 1.0).abs() < within, "{thresholds:?}: {means:.3?}");
        }
    }
}
