//! The best rebalancing method and the bound, on reference instances and against the others.

#![expect(clippy::unwrap_used, reason = "a failed test may panic")]

use migbsp::rebalance::{Budget, Group, Machine, Method, Problem, Resident, Solution, Way, bound};

struct Reference {
    problem: Problem,
    /// Target, best known cost and lower bound.
    rows: Vec<[f64; 3]>,
}

fn reference(text: &str) -> Reference {
    let value: serde_json::Value = serde_json::from_str(text).unwrap();
    let list = |name: &str| value[name].as_array().unwrap().clone();
    let number = |value: &serde_json::Value| value.as_f64().unwrap();
    let index = |value: &serde_json::Value| usize::try_from(value.as_u64().unwrap()).unwrap();
    let machines = list("capacities").into_iter().zip(list("cluster"));
    let machine = |(capacity, group): (serde_json::Value, serde_json::Value)| Machine {
        capacity: number(&capacity),
        group: index(&group),
    };
    let resident = |process: &serde_json::Value| Resident {
        workload: number(&process[0]),
        size: number(&process[1]),
        home: index(&process[2]),
    };
    let way = |from, to| Way {
        fixed: 0.0,
        per_size: if from == to { 0.01 } else { 0.1 },
    };
    let ways = (0..3).map(|from| (0..3).map(|to| way(from, to)).collect());
    let columns = ["targets", "best_known_cost", "lower_bound"].map(list);
    let row = |at: usize| [0, 1, 2].map(|column: usize| number(&columns[column][at]));
    Reference {
        problem: Problem::new(
            machines.map(machine).collect(),
            list("processes").iter().map(resident).collect(),
            ways.collect(),
        )
        .unwrap(),
        rows: (0..columns[0].len()).map(row).collect(),
    }
}

/// Whether every machine carries at most what `target` lets it, and the cost of all migrations.
fn weighed(problem: &Problem, target: f64, solution: &Solution) -> (bool, f64) {
    let mut rooms: Vec<f64> = problem
        .machines()
        .iter()
        .map(|machine| target * machine.capacity * (1.0 + 2e-9))
        .collect();
    let mut cost = 0.0;
    for (resident, &place) in problem.residents().iter().zip(&solution.assignment) {
        rooms[place] -= resident.workload;
        if place != resident.home {
            let [from, to] =
                [resident.home, place].map(|machine| problem.machines()[machine].group);
            cost += problem.way(from, to).fixed + problem.way(from, to).per_size * resident.size;
        }
    }
    (rooms.iter().all(|&room| 0.0 <= room), cost)
}

#[test]
fn reference_costs_are_met_within_a_few_per_cent() {
    for text in [
        include_str!("rebalancing/I1_1_s9001.json"),
        include_str!("rebalancing/I3_3_s9001.json"),
    ] {
        let Reference { problem, rows } = reference(text);
        for [target, known, lower] in rows {
            let solution = Method::Best.solve(&problem, target, Budget::Steps(40_000_000), 1);
            let (is_met, cost) = weighed(&problem, target, &solution);
            assert!(is_met && solution.feasible, "{target}");
            assert!((cost - solution.cost).abs() < 1e-9);
            assert!(lower - 1e-4 <= cost, "{target}: {cost}, bound {lower}");
            assert!(cost <= 1.04 * known, "{target}: {cost}, known {known}");
            let bound = bound(&problem, target);
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
        let problem = name.parse::<Group>().unwrap().draw(7);
        let least = bound(&problem, target);
        for (cost, method) in costs
            .iter_mut()
            .zip([Method::Best, Method::Hyb, Method::Imlp])
        {
            let solution = method.solve(&problem, target, Budget::Steps(4_000_000), 1);
            let (is_met, weighed) = weighed(&problem, target, &solution);
            assert!(is_met, "{name} {method}");
            assert!(
                least <= weighed,
                "{name} {method}: {weighed}, bound {least}"
            );
            *cost += weighed;
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
        home: number / 20,
    };
    let way = Way {
        fixed: 1.0,
        per_size: 1.0,
    };
    let problem = Problem::new(
        (0..1000).map(machine).collect(),
        (0..10_000).map(resident).collect(),
        vec![vec![way; 7]; 7],
    )
    .unwrap();
    let target = 1.1 * problem.ideal();
    let solution = Method::Best.solve(&problem, target, Budget::Steps(5_000_000), 1);
    let (is_met, cost) = weighed(&problem, target, &solution);
    assert!(
        is_met && solution.feasible,
        "{} of {target}",
        solution.level
    );
    assert!(bound(&problem, target) <= cost);
}
