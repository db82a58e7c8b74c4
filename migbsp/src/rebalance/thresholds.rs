//! What a migration may cost, level by level.

use crate::rebalance::Problem;

/// How the dearest migration allowed grows from level to level; on the last one, everything is allowed.
///
/// Chen, Wang and Lau 2008, section 4.1. Measured by what single migrations cost, of every process to every
/// machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Thresholds {
    /// By this factor, above 1, up to the dearest: IMLP-CRS, with 2 IMLP-CRS2.
    CommonRatio(f64),
    /// By equal differences up to the dearest: IMLP-AS.
    Arithmetic,
    /// So that on each level, equally many migrations become allowed: IMLP-count.
    Count,
}

impl Thresholds {
    /// From the first level to the last; at least one.
    pub(super) fn of(self, problem: &Problem, levels: u32) -> Vec<f64> {
        let mut thresholds = match self {
            Self::CommonRatio(ratio) => common_ratio(dearest(problem), ratio, levels),
            Self::Arithmetic => {
                let step = dearest(problem) / f64::from(levels);
                (1..levels).map(|level| f64::from(level) * step).collect()
            }
            Self::Count => count(problem, levels),
        };
        thresholds.push(f64::INFINITY);
        thresholds
    }
}

fn common_ratio(dearest: f64, ratio: f64, levels: u32) -> Vec<f64> {
    let mut threshold = dearest;
    let mut thresholds: Vec<f64> = (1..levels)
        .map(|_| {
            threshold /= ratio;
            threshold
        })
        .collect();
    thresholds.reverse();
    thresholds
}

/// What the dearest migration costs.
fn dearest(problem: &Problem) -> f64 {
    let mut largest: Vec<Option<usize>> = vec![None; groups(problem)];
    for (process, resident) in problem.residents().iter().enumerate() {
        let largest = &mut largest[problem.machines()[resident.home].group];
        if largest.is_none_or(|other| problem.residents()[other].size < resident.size) {
            *largest = Some(process);
        }
    }
    let examples = two_of_each_group(problem);
    let mut dearest: f64 = 0.0;
    for process in largest.into_iter().flatten() {
        for &machine in examples.iter().flatten() {
            dearest = dearest.max(problem.cost(process, machine));
        }
    }
    dearest
}

/// The cost that so many of all migrations cost at most, for each level but the last.
fn count(problem: &Problem, levels: u32) -> Vec<f64> {
    let examples = two_of_each_group(problem);
    let mut sizes = vec![0.0; groups(problem)];
    for machine in problem.machines() {
        sizes[machine.group] += 1.0;
    }
    let mut costs: Vec<(f64, f64)> = Vec::new();
    for (process, resident) in problem.residents().iter().enumerate() {
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

/// By group, its first two machines, or all it has: one of them is nobody's home but one's.
fn two_of_each_group(problem: &Problem) -> Vec<Vec<usize>> {
    let mut examples = vec![Vec::new(); groups(problem)];
    for (number, machine) in problem.machines().iter().enumerate() {
        if examples[machine.group].len() < 2 {
            examples[machine.group].push(number);
        }
    }
    examples
}

fn groups(problem: &Problem) -> usize {
    let groups = problem.machines().iter().map(|machine| machine.group + 1);
    groups.max().unwrap_or(0)
}
