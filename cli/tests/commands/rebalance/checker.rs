//! What an assignment is worth, computed anew from the file.

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
            let home = usize::try_from(row[2].as_u64().unwrap()).unwrap();
            (row[0].as_f64().unwrap(), row[1].as_f64().unwrap(), home)
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
        let levels =
            (0..loads.len()).map(|machine| loads[machine] / self.number("capacities", machine));
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
            .map(|place| place.as_str().unwrap().parse().unwrap())
            .collect();
        assert_eq!(assignment.len(), self.processes().count());
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
