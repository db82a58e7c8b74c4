//! Levels of a sweep.

use migbsp::rebalance::Problem;

use crate::target::Target;

/// The levels of a sweep.
#[derive(Clone, Debug)]
pub enum Levels {
    /// These.
    Given(Vec<Target>),
    /// At most this many, from the one before any process moves down to nearly the ideal one.
    Spread(u32),
}

impl Levels {
    /// The levels of a sweep over `problem`, each once, the lowest first.
    pub(super) fn rising(self, problem: &Problem) -> Vec<f64> {
        let mut levels = match self {
            Self::Given(targets) => {
                let levels = targets.into_iter();
                levels
                    .filter_map(|target| target.level(problem.ideal()))
                    .collect()
            }
            Self::Spread(points) => spread(problem, points),
        };
        levels.sort_by(f64::total_cmp);
        levels.dedup();
        levels
    }
}

/// At most this number of levels, rising: from just above the ideal one to the initial one, each further
/// from the ideal one than the one before by the same factor. The cost rises faster at lower levels.
fn spread(problem: &Problem, points: u32) -> Vec<f64> {
    let ideal = problem.ideal();
    let before = problem.level(&problem.initial_assignment());
    let (nearest, furthest) = (ideal * NEAREST, before - ideal);
    if furthest <= nearest || points == 1 {
        return vec![before];
    }
    let factor = (furthest / nearest).powf(1.0 / f64::from(points - 1));
    let gaps = (0..points - 1).map(|number| nearest * factor.powf(f64::from(number)));
    let mut levels: Vec<f64> = gaps.map(|gap| short(ideal + gap)).collect();
    levels.push(before);
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    levels
}

/// `level` with four digits.
fn short(level: f64) -> f64 {
    format!("{level:.3e}").parse().unwrap_or(level)
}

/// Distance of the lowest level from the ideal one, as a part of it.
const NEAREST: f64 = 0.02;

#[cfg(test)]
mod tests {
    use migbsp::rebalance::{Machine, MoveCost, Resident};

    use super::*;

    fn problem(workloads: &[f64]) -> Problem {
        let machine = Machine {
            capacity: 1.0,
            group: 0,
        };
        let move_cost = MoveCost {
            fixed: 1.0,
            per_size: 0.0,
        };
        let resident = |(home, &workload)| Resident {
            workload,
            size: 0.0,
            initial_machine: home,
        };
        let residents = workloads.iter().enumerate().map(resident).collect();
        Problem::new(
            vec![machine; workloads.len()],
            residents,
            vec![vec![move_cost]],
        )
        .unwrap()
    }

    #[test]
    fn levels_are_closer_where_they_are_low() {
        let found = spread(&problem(&[100.0, 300.0]), 5);
        assert_eq!(found, [204.0, 208.9, 220.0, 244.7, 300.0]);
    }

    #[test]
    fn a_balanced_instance_has_one_level() {
        assert_eq!(spread(&problem(&[100.0, 100.0]), 5), [100.0]);
        assert_eq!(spread(&problem(&[0.0]), 5), [0.0]);
    }
}
