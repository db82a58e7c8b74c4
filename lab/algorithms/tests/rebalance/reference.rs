//! Reference instances, with bounds and with costs that others found.

use model::rebalance::{Machine, MoveCost, Problem, Resident};

/// A problem, and what is known of it for each target.
pub(crate) struct Reference {
    pub(crate) problem: Problem,
    pub(crate) targets: Vec<f64>,
    pub(crate) lower_bounds: Vec<f64>,
    pub(crate) best_known: Vec<f64>,
    pub(crate) imlp: Vec<f64>,
}

pub(crate) fn references() -> [Reference; 2] {
    [
        include_str!("I1_1_s9001.json"),
        include_str!("I3_3_s9001.json"),
    ]
    .map(reference)
}

/// The ways of a drawn problem: three clusters.
pub(crate) fn clusters() -> Vec<Vec<MoveCost>> {
    let move_cost = |from, to| MoveCost {
        fixed: 0.0,
        per_size: if from == to { 0.01 } else { 0.1 },
    };
    let row = |from| (0..3).map(|to| move_cost(from, to)).collect();
    (0..3).map(row).collect()
}

fn reference(text: &str) -> Reference {
    let value: serde_json::Value = serde_json::from_str(text).unwrap();
    let numbers = |value: &serde_json::Value| -> Vec<f64> {
        let all = value.as_array().unwrap().iter();
        all.map(|number| number.as_f64().unwrap()).collect()
    };
    let index = |value: &serde_json::Value| usize::try_from(value.as_u64().unwrap()).unwrap();
    let groups = value["cluster"].as_array().unwrap().iter().map(index);
    let machine = |(capacity, group)| Machine { capacity, group };
    let capacities = numbers(&value["capacities"]);
    let resident = |process: &serde_json::Value| Resident {
        workload: process[0].as_f64().unwrap(),
        size: process[1].as_f64().unwrap(),
        initial_machine: index(&process[2]),
    };
    let processes = value["processes"].as_array().unwrap().iter();
    assert_eq!(value["bandwidth"]["intra"], 100);
    assert_eq!(value["bandwidth"]["inter"], 10);
    Reference {
        problem: Problem::new(
            capacities.into_iter().zip(groups).map(machine).collect(),
            processes.map(resident).collect(),
            clusters(),
        )
        .unwrap(),
        targets: numbers(&value["targets"]),
        lower_bounds: numbers(&value["lower_bound"]),
        best_known: numbers(&value["best_known_cost"]),
        imlp: numbers(&value["imlp_cost"]),
    }
}
