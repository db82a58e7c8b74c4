//! What the supersteps of an interaction take beside the execution of tasks, from a record.

use migbsp::median;

use super::interactions::TimedInteraction;
use crate::compare::statistics::mean;

/// What the supersteps of an interaction take beside the execution of tasks, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Costs {
    /// A superstep in which tasks are dealt.
    pub(super) deal: Line,
    /// The outcomes: they reach the master one after the other, those of each worker when it has executed its tasks.
    pub(super) outcomes: Line,
    /// The superstep in which workers send their times.
    pub(super) tell: f64,
    /// Whether dealing is known only together with the sharing before it, and is assumed to take what outcomes take.
    pub(super) is_deal_assumed: bool,
}

/// `base` seconds, and `per_task` for each task.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Line {
    pub(super) base: f64,
    pub(super) per_task: f64,
}

impl Line {
    /// The seconds for this number of tasks.
    pub(super) fn at(self, tasks: u64) -> f64 {
        self.base + self.per_task * tasks as f64
    }
}

impl Costs {
    /// The costs that `interactions` show.
    pub(super) fn of(interactions: &[TimedInteraction]) -> Self {
        let tells: Vec<f64> = interactions.iter().map(|one| one.tell).collect();
        let tell = if tells.is_empty() { 0.0 } else { mean(&tells) };
        let outcomes = outcomes(interactions);
        // Workers pass on what they share while the first interaction is dealt.
        let later = interactions.get(1..).unwrap_or_default();
        let points: Vec<(f64, f64)> = later
            .iter()
            .map(|one| (one.tasks() as f64, one.deal))
            .collect();
        let is_deal_assumed = points.is_empty();
        let deal = if is_deal_assumed {
            Line {
                base: tell,
                per_task: outcomes.per_task,
            }
        } else {
            line(&points, tell)
        };
        Self {
            deal,
            outcomes,
            tell,
            is_deal_assumed,
        }
    }

    /// How long a superstep takes in which workers execute `dealt` tasks in `took` seconds.
    pub(super) fn execute(&self, dealt: &[u64], took: &[f64]) -> f64 {
        received(dealt, took, self.outcomes.per_task) + self.outcomes.base
    }
}

/// The time when the master has all outcomes, if each takes `per_task`.
fn received(dealt: &[u64], took: &[f64], per_task: f64) -> f64 {
    let mut workers: Vec<(f64, u64)> = took.iter().copied().zip(dealt.iter().copied()).collect();
    workers.sort_by(|one, other| one.0.total_cmp(&other.0));
    workers.iter().fold(0.0, |clock: f64, (took, dealt)| {
        clock.max(*took) + per_task * *dealt as f64
    })
}

/// The line of outcomes with the least absolute errors.
fn outcomes(interactions: &[TimedInteraction]) -> Line {
    let bound = |one: &TimedInteraction| {
        let longest = one.longest();
        let shares = one.took.iter().zip(&one.dealt);
        let last = shares.filter(|(took, _)| longest <= **took);
        let tasks: u64 = last.map(|(_, dealt)| *dealt).sum();
        (one.execute - longest).max(0.0) / tasks.max(1) as f64
    };
    let mut most = interactions.iter().map(bound).fold(0.0, f64::max);
    let mut least = 0.0;
    let mut best = (f64::INFINITY, Line::default());
    for _ in 0..REFINEMENTS {
        let step = (most - least) / f64::from(STEPS);
        for number in 0..=STEPS {
            let per_task = least + step * f64::from(number);
            let rests: Vec<f64> = interactions
                .iter()
                .map(|one| one.execute - received(&one.dealt, &one.took, per_task))
                .collect();
            let base = median(rests.clone()).unwrap_or_default().max(0.0);
            let error: f64 = rests.iter().map(|rest| (rest - base).abs()).sum();
            if error < best.0 {
                best = (error, Line { base, per_task });
            }
        }
        let found = best.1.per_task;
        (least, most) = ((found - step).max(0.0), found + step);
    }
    best.1
}

/// A line through `points`: the median of the slopes between any two, by the distance of the two, and the median of what
/// is left. Without two different numbers of tasks, through `base`.
fn line(points: &[(f64, f64)], base: f64) -> Line {
    let few = spread(points);
    let mut slopes = Vec::new();
    for (index, (tasks, seconds)) in few.iter().enumerate() {
        for (other_tasks, other_seconds) in &few[..index] {
            let distance = tasks - other_tasks;
            if 0.5 < distance.abs() {
                slopes.push(((seconds - other_seconds) / distance, distance.abs()));
            }
        }
    }
    let per_task = if slopes.is_empty() {
        let slope = |(tasks, seconds): &(f64, f64)| (seconds - base) / tasks.max(1.0);
        median(few.iter().map(slope).collect()).unwrap_or_default()
    } else {
        weighted_median(slopes)
    };
    let per_task = per_task.max(0.0);
    let rest = |(tasks, seconds): &(f64, f64)| seconds - per_task * tasks;
    Line {
        base: median(points.iter().map(rest).collect())
            .unwrap_or_default()
            .max(0.0),
        per_task,
    }
}

/// At most some hundred of `points`, evenly taken.
fn spread(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let step = points.len().div_ceil(POINTS).max(1);
    let mut few: Vec<_> = points.iter().copied().step_by(step).collect();
    // The last interaction is the one that differs most.
    few.extend(points.last().filter(|_| 1 < step));
    few
}

/// The least value below and at which half of the weight is; 0 of nothing.
fn weighted_median(mut values: Vec<(f64, f64)>) -> f64 {
    values.sort_by(|one, other| one.0.total_cmp(&other.0));
    let half: f64 = values.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
    let mut weight = 0.0;
    let found = values.iter().find(|(_, more)| {
        weight += more;
        half <= weight
    });
    found
        .or_else(|| values.last())
        .map_or(0.0, |(value, _)| *value)
}

/// How many values of a range are tried.
const STEPS: u32 = 64;

/// How often the range around the best value is divided again.
const REFINEMENTS: usize = 3;

/// The most points whose slopes are compared.
const POINTS: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    /// An interaction whose supersteps take what these costs say.
    fn interaction(dealt: &[u64], took: &[f64], costs: &Costs) -> TimedInteraction {
        TimedInteraction {
            superstep: 1,
            began: 0.0,
            deal: costs.deal.at(dealt.iter().sum()),
            execute: costs.execute(dealt, took),
            tell: costs.tell,
            dealt: dealt.to_vec(),
            took: took.to_vec(),
        }
    }

    #[test]
    fn costs_are_found_again() {
        let costs = Costs {
            deal: Line {
                base: 1e-4,
                per_task: 5e-4,
            },
            outcomes: Line {
                base: 2e-4,
                per_task: 6e-4,
            },
            tell: 1e-4,
            is_deal_assumed: false,
        };
        let mut all = vec![
            interaction(&[8, 8, 8], &[0.4, 0.41, 1.6], &costs),
            interaction(&[30, 30, 8], &[1.5, 1.54, 1.6], &costs),
            interaction(&[20, 0, 0], &[1.0, 0.0, 0.0], &costs),
        ];
        all[0].deal += 3.0;
        let found = Costs::of(&all);
        let near = |one: f64, other: f64| (one - other).abs() < 1e-6;
        assert!(near(found.deal.per_task, 5e-4), "{found:?}");
        assert!(near(found.deal.base, 1e-4), "{found:?}");
        assert!(near(found.outcomes.per_task, 6e-4), "{found:?}");
        assert!(near(found.outcomes.base, 2e-4), "{found:?}");
    }

    #[test]
    fn of_a_single_interaction_the_costs_of_dealing_are_assumed() {
        let costs = Costs {
            outcomes: Line {
                base: 0.0,
                per_task: 1e-3,
            },
            tell: 1e-4,
            ..Costs::default()
        };
        let found = Costs::of(&[interaction(&[8, 8], &[0.4, 1.6], &costs)]);
        assert!(found.is_deal_assumed);
        assert!((found.deal.per_task - found.outcomes.per_task).abs() < 1e-12);
    }
}
