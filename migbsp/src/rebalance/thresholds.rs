//! What a migration may cost, level by level.

use crate::rebalance::Problem;

/// How the most expensive migration allowed grows from level to level; on the last one, everything is allowed.
///
/// Chen, Wang and Lau 2008, section 4.1. Measured by what single migrations cost, of every process to every
/// machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Thresholds {
    /// By this factor, above 1, up to the highest cost: IMLP-CRS, with 2 IMLP-CRS2.
    CommonRatio(f64),
    /// By equal differences up to the highest cost: IMLP-AS.
    Arithmetic,
    /// So that on each level, equally many migrations become allowed: IMLP-count.
    Count,
}

impl Thresholds {
    /// From the first level to the last; at least one.
    #[must_use]
    pub fn of(self, problem: &Problem, levels: u32) -> Vec<f64> {
        let mut thresholds = match self {
            Self::CommonRatio(ratio) => common_ratio(cost_max(problem), ratio, levels),
            Self::Arithmetic => {
                let step = cost_max(problem) / f64::from(levels);
                (1..levels).map(|level| f64::from(level) * step).collect()
            }
            Self::Count => count(problem, levels),
        };
        thresholds.push(f64::INFINITY);
        thresholds
    }
}

fn common_ratio(cost_max: f64, ratio: f64, levels: u32) -> Vec<f64> {
    let mut threshold = cost_max;
    let mut thresholds: Vec<f64> = (1..levels)
        .map(|_| {
            threshold /= ratio;
            threshold
        })
        .collect();
    thresholds.reverse();
    thresholds
}

/// What the most expensive migration costs.
fn cost_max(problem: &Problem) -> f64 {
    let mut largest: Vec<Option<usize>> = vec![None; problem.group_count()];
    let residents = problem.residents().iter().enumerate();
    for (process, resident) in residents.filter(|(process, _)| problem.is_movable(*process)) {
        let largest = &mut largest[problem.machines()[resident.home].group];
        if largest.is_none_or(|other| problem.residents()[other].size < resident.size) {
            *largest = Some(process);
        }
    }
    let examples = two_of_each_group(problem);
    let mut cost_max: f64 = 0.0;
    for process in largest.into_iter().flatten() {
        for &machine in examples.iter().flatten() {
            cost_max = cost_max.max(problem.cost(process, machine));
        }
    }
    cost_max
}

/// The cost that a given part of all migrations does not exceed, for each level but the last.
fn count(problem: &Problem, levels: u32) -> Vec<f64> {
    let examples = two_of_each_group(problem);
    let mut sizes = vec![0.0; problem.group_count()];
    for machine in problem.machines() {
        sizes[machine.group] += 1.0;
    }
    let mut costs: Vec<(f64, f64)> = Vec::new();
    let residents = problem.residents().iter().enumerate();
    for (process, resident) in residents.filter(|(process, _)| problem.is_movable(*process)) {
        for (example, &size) in examples.iter().zip(&sizes) {
            let away = |&&machine: &&usize| machine != resident.home;
            let Some(&machine) = example.iter().find(away) else {
                continue;
            };
            let at_home =
                problem.machines()[resident.home].group == problem.machines()[machine].group;
            let machines = if at_home { size - 1.0 } else { size };
            costs.push((problem.cost(process, machine), machines));
        }
    }
    costs.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let all: f64 = costs.iter().map(|(_, machines)| machines).sum();
    let mut seen = 0.0;
    let mut thresholds = Vec::new();
    let mut level = 1;
    for (cost, machines) in costs {
        seen += machines;
        while level < levels && all * f64::from(level) <= seen * f64::from(levels) {
            thresholds.push(cost);
            level += 1;
        }
    }
    thresholds
}

/// By group, its first two machines, or all it has: one of them may be the home of one process alone.
fn two_of_each_group(problem: &Problem) -> Vec<Vec<usize>> {
    let mut examples = vec![Vec::new(); problem.group_count()];
    for (number, machine) in problem.machines().iter().enumerate() {
        if examples[machine.group].len() < 2 {
            examples[machine.group].push(number);
        }
    }
    examples
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rebalance::tests::drawn;
    use crate::rebalance::{Machine, MoveCost, Resident};

    #[test]
    fn one_level_allows_everything() {
        let problem = drawn(16, 40, 1);
        let all = [
            Thresholds::CommonRatio(2.0),
            Thresholds::Arithmetic,
            Thresholds::Count,
        ];
        for thresholds in all {
            assert_eq!(thresholds.of(&problem, 1), [f64::INFINITY]);
        }
    }

    #[test]
    fn equally_many_migrations_become_allowed() {
        let machine = |group| Machine {
            capacity: 1.0,
            group,
        };
        let resident = |size| Resident {
            workload: 1.0,
            size,
            home: 0,
        };
        let move_cost = |per_size| MoveCost {
            fixed: 0.0,
            per_size,
        };
        // Two processes on the first machine: inside its group to one other, for 1 and 2, and outside to
        // two, for 10 and 20 each.
        let problem = Problem::new(
            [0, 0, 1, 1].map(machine).to_vec(),
            [1.0, 2.0].map(resident).to_vec(),
            vec![
                vec![move_cost(1.0), move_cost(10.0)],
                vec![move_cost(10.0), move_cost(1.0)],
            ],
        )
        .unwrap();
        assert_eq!(
            Thresholds::Count.of(&problem, 3),
            [2.0, 10.0, f64::INFINITY]
        );
    }
}
