//! Prices over many orders of magnitude, and greedy refinement.

use model::rebalance::{Budget, Machine, MoveCost, Problem, Resident, Solution};
use rebalancing_algorithms::{Group, Method, bound};

use crate::checked::check;
use crate::reference::clusters;
use crate::size;

/// Costs that differ by less do so by rounding.
const ROUNDED: f64 = 1e-12;

#[test]
fn the_best_is_not_dearer_than_local_search_or_refinement_in_equal_time() {
    let names = [
        "I1,1", "I2,3", "I3,2", "I4,2", "S1,3", "S2,1", "S3,4", "S4,2", "S5,2", "S6,2", "S6,4",
        "S7,1", "S7,3", "S8,2", "S8,4",
    ];
    let (mut compared, mut refined) = (0, 0);
    for (name, seed) in names.into_iter().zip(900..).step_by(size(1, 5)) {
        let problem = name.parse::<Group>().unwrap().draw(seed);
        let (ideal, initial) = (
            problem.ideal(),
            problem.level(&problem.initial_assignment()),
        );
        for share in [0.02, 0.1, 0.4] {
            let target = ideal + share * (initial - ideal);
            // These take the same time.
            let methods = [
                (Method::Best, 4_000_000),
                (Method::Imlp, 1_200_000),
                (Method::Refine, 1_200_000),
            ];
            let solutions = methods.map(|(method, steps)| {
                let solution = method.solve(&problem, target, Budget::Steps(steps), seed);
                check(&problem, target, &solution, &clusters());
                solution
            });
            let [best, imlp, refine] = solutions.map(|solution| cost(&solution));
            let case = format!("{name} {seed} {target}: {best}, {imlp}, {refine}");
            assert!(best <= (1.0 + ROUNDED) * imlp.min(refine), "{case}");
            compared += u32::from(imlp.is_finite());
            refined += u32::from(refine.is_finite());
        }
    }
    let (least, least_refined) = size((40, 25), (8, 4));
    assert!(
        least <= compared && least_refined <= refined,
        "{compared}, {refined}"
    );
}

#[test]
fn a_tenth_of_the_steps_is_for_local_search_and_another_for_refinement() {
    for name in ["I1,3", "S5,4", "S7,2"] {
        for seed in 910..913 {
            let problem = name.parse::<Group>().unwrap().draw(seed);
            let (ideal, initial) = (
                problem.ideal(),
                problem.level(&problem.initial_assignment()),
            );
            for (share, steps) in [(0.1, 20_000), (0.3, 100_000)] {
                let target = ideal + share * (initial - ideal);
                let found = |method: Method, steps| {
                    cost(&method.solve(&problem, target, Budget::Steps(steps), seed))
                };
                let best = found(Method::Best, steps);
                for method in [Method::Imlp, Method::Refine] {
                    let other = found(method, steps / 10);
                    assert!(
                        best <= (1.0 + ROUNDED) * other,
                        "{name} {seed} {method}: {best}, {other}"
                    );
                }
            }
        }
    }
}

fn cost(solution: &Solution) -> f64 {
    if solution.feasible {
        solution.cost
    } else {
        f64::INFINITY
    }
}

/// A giant has to move; the others are to be as cheap as without it.
#[test]
fn a_giant_that_moves_does_not_make_other_moves_free() {
    let machine = |number| Machine {
        capacity: if number == 0 { 0.4 } else { 1.0 },
        group: 0,
    };
    let ordinary = |process: usize| Resident {
        workload: 1.0,
        size: if process.is_multiple_of(4) { 1.0 } else { 2.0 },
        // Machine 1 has 20 of them and is to keep 11; the others have 6.
        initial_machine: if process < 20 {
            1
        } else {
            2 + (process - 20) / 6
        },
    };
    let giant = Resident {
        workload: 5.0,
        size: 1e9,
        initial_machine: 0,
    };
    let residents = [giant].into_iter().chain((0..200).map(ordinary));
    let move_cost = MoveCost {
        fixed: 0.0,
        per_size: 1.0,
    };
    let problem = Problem::new(
        (0..32).map(machine).collect(),
        residents.collect(),
        vec![vec![move_cost]],
    )
    .unwrap();
    for seed in 0..4 {
        let best = Method::Best.solve(&problem, 11.5, Budget::Steps(400_000), seed);
        assert!(best.feasible);
        // Of the nine ordinary processes that leave, five are small.
        assert_eq!(best.migrations, 10);
        assert!(
            (best.cost - (1e9 + 5.0 + 4.0 * 2.0)).abs() < 1e-3,
            "{}",
            best.cost
        );
    }
    let refined = Method::Refine.solve(&problem, 11.5, Budget::Steps(400_000), 0);
    assert!(refined.feasible);
    assert_eq!(refined.migrations, 10);
}

#[test]
fn refinement_ends_by_itself_and_its_steps_are_counted() {
    for name in ["I1,2", "I3,3", "S4,1"] {
        let problem = name.parse::<Group>().unwrap().draw(1);
        let (ideal, initial) = (
            problem.ideal(),
            problem.level(&problem.initial_assignment()),
        );
        let target = 0.5 * (ideal + initial);
        let all = Method::Refine.search(&problem, target, Budget::Steps(u64::MAX), 0);
        check(&problem, target, &all.solution, &clusters());
        assert!(all.solution.feasible, "{name}");
        assert!(bound(&problem, target) <= all.solution.cost);
        assert!(0 < all.steps_to_best && all.steps_to_best <= all.steps);
        let again = Method::Refine.search(&problem, target, Budget::Steps(all.steps + 1), 7);
        assert_eq!(again, all);
        let none = Method::Refine.search(&problem, target, Budget::Steps(0), 0);
        assert_eq!(none.steps, 0);
        assert_eq!(none.solution.migrations, 0);
    }
}
