//! What an assignment is worth, computed anew from the file.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

/// An instance, as far as it is needed.
pub(crate) struct Instance {
    json: Value,
}

impl Instance {
    pub(crate) fn read(path: &Path) -> Self {
        let json = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        Self { json }
    }

    fn number(&self, key: &str, index: usize) -> f64 {
        self.json[key][index].as_f64().unwrap()
    }

    fn machines(&self) -> usize {
        self.json["capacities"].as_array().unwrap().len()
    }

    fn processes(&self) -> impl Iterator<Item = (f64, f64, usize)> {
        let rows = self.json["processes"].as_array().unwrap().iter();
        rows.map(|row| {
            let value = |key: &str, position: usize| {
                if row.is_array() {
                    &row[position]
                } else {
                    &row[key]
                }
            };
            let number = |key: &str, position: usize| value(key, position).as_f64().unwrap();
            let home = usize::try_from(value("machine", 2).as_u64().unwrap()).unwrap();
            (number("workload", 0), number("size", 1), home)
        })
    }

    /// The position of the machine that results call `name`.
    fn machine(&self, name: &str) -> usize {
        match self.json["machines"].as_array() {
            Some(machines) => machines.iter().position(|machine| machine == name).unwrap(),
            None => name.parse().unwrap(),
        }
    }

    /// What each machine exchanges with others adds to its level.
    fn exchange(&self, assignment: &[usize]) -> Vec<f64> {
        let mut levels = vec![0.0; self.machines()];
        let weight = self.json["weight"].as_f64().unwrap_or(0.0);
        for edge in self.json["edges"].as_array().into_iter().flatten() {
            let end = |at: usize| assignment[usize::try_from(edge[at].as_u64().unwrap()).unwrap()];
            if end(0) != end(1) {
                levels[end(0)] += weight * edge[2].as_f64().unwrap();
                levels[end(1)] += weight * edge[2].as_f64().unwrap();
            }
        }
        levels
    }

    /// Whether no process that has to stay moves, and no machine's memory is exceeded.
    fn keeps_limits(&self, assignment: &[usize]) -> bool {
        let rows = self.json["processes"].as_array().unwrap();
        let homes = self.processes().map(|(_, _, home)| home);
        let mut homes = homes.zip(rows).zip(assignment);
        let stay = homes.all(|((home, row), place)| row["movable"] != false || home == *place);
        let Some(limits) = self.json["memory"].as_array() else {
            return stay;
        };
        stay && limits.iter().enumerate().all(|(machine, limit)| {
            let here = rows
                .iter()
                .zip(assignment)
                .filter(|(_, place)| **place == machine);
            let mut blocks = BTreeSet::new();
            let mut held = 0.0;
            for (row, _) in here {
                held += row["memory"].as_f64().unwrap_or(0.0);
                blocks.extend(
                    row["blocks"]
                        .as_array()
                        .into_iter()
                        .flatten()
                        .map(Value::as_u64),
                );
            }
            let sizes = blocks.into_iter().flatten();
            let sizes = sizes.map(|block| self.number("blocks", usize::try_from(block).unwrap()));
            held + sizes.sum::<f64>() <= limit.as_f64().unwrap()
        })
    }

    /// The highest level, the cost and how many move.
    pub(crate) fn worth(&self, assignment: &[usize], unit: &str) -> (f64, f64, usize) {
        let mut loads = vec![0.0; self.machines()];
        let (mut cost, mut moves) = (0.0, 0);
        for ((workload, size, home), &machine) in self.processes().zip(assignment) {
            loads[machine] += workload;
            if machine != home {
                moves += 1;
                let clusters = &self.json["cluster"];
                let way = if clusters[home] == clusters[machine] {
                    "intra"
                } else {
                    "inter"
                };
                let bandwidth = self.json["bandwidth"][way].as_f64().unwrap();
                cost += if unit == "moves" {
                    1.0
                } else {
                    size / bandwidth
                };
            }
        }
        let exchange = self.exchange(assignment);
        let levels = (0..loads.len())
            .map(|machine| loads[machine] / self.number("capacities", machine) + exchange[machine]);
        (levels.fold(0.0, f64::max), cost, moves)
    }

    /// What it takes that no machine is above `target`, all assignments tried.
    pub(crate) fn cheapest(&self, target: f64) -> f64 {
        let (machines, processes) = (self.machines(), self.processes().count());
        let all = machines.pow(u32::try_from(processes).unwrap());
        let assignment = |mut number: usize| {
            let mut places = Vec::new();
            for _ in 0..processes {
                places.push(number % machines);
                number /= machines;
            }
            places
        };
        let worth = (0..all).map(|number| self.worth(&assignment(number), "seconds"));
        let met = worth.filter(|(level, _, _)| *level <= target);
        met.map(|(_, cost, _)| cost).fold(f64::INFINITY, f64::min)
    }

    /// Holds what is said of a solution against what its assignment is.
    #[track_caller]
    pub(crate) fn check(&self, solution: &Value, unit: &str) {
        let places = solution["assignment"].as_array().unwrap();
        let assignment: Vec<usize> = places
            .iter()
            .map(|place| self.machine(place.as_str().unwrap()))
            .collect();
        assert_eq!(assignment.len(), self.processes().count());
        assert!(self.keeps_limits(&assignment), "{assignment:?}");
        let (level, cost, moves) = self.worth(&assignment, unit);
        let near = |key: &str, value: f64| {
            let said = solution[key].as_f64().unwrap();
            assert!(
                (said - value).abs() <= 1e-9 * value.abs(),
                "{key}: {said}, {value}"
            );
        };
        near("dc", level);
        near("cost", cost);
        assert_eq!(solution["migrations"], moves);
        assert_eq!(solution["moves"].as_array().unwrap().len(), moves);
        let target = solution["target"].as_f64().unwrap();
        let is_feasible = level <= target * (1.0 + 1e-9);
        assert_eq!(solution["feasible"], is_feasible, "{level} for {target}");
        if let (true, Some(bound)) = (is_feasible, solution["lower_bound"].as_f64()) {
            assert!(bound <= cost + 1e-9 * cost.max(1.0), "{bound} above {cost}");
        }
        assert!(0.0 <= solution["seconds"].as_f64().unwrap());
    }
}
