//! Load rebalancing with least migration, for the level that pays best.

use bsp::{MemorySize, SetId};

use super::portfolio::trim;
use super::{Alternative, Draft, Plan};
use crate::bounded::count;
use crate::rebalance::{Budget, Machine, MoveCost, Problem, Resident, Solution, Variant, best};
use crate::rule::Rule;
use crate::{Assignment, Snapshot};

/// Load rebalancing in a call: for several levels, the assignment that meets the level at least migration cost; of
/// these, the one whose supersteps and moves take least over the horizon, after moves that do not pay are dropped.
///
/// A process's workload is its predicted instructions, a machine's capacity what other programs leave of its host,
/// and the model prices a migration. The search does not see messages; only the choice between levels does. Equation
/// `REBALANCE` of `docs/model.md`.
#[derive(Clone, Copy, Debug)]
struct Rebalanced {
    method: Method,
    steps: u64,
}

/// How to look for an assignment.
#[derive(Clone, Copy, Debug)]
enum Method {
    Imlp,
    Best,
}

impl Method {
    /// Its name in alternatives.
    const fn name(self) -> &'static str {
        match self {
            Self::Imlp => "imlp",
            Self::Best => "best",
        }
    }

    fn solve(self, problem: &Problem, target: f64, budget: Budget<'_>) -> Solution {
        let found = match self {
            Self::Imlp => Variant::IMLP.search(problem, target, budget),
            Self::Best => best(problem, target, budget, SEED),
        };
        found.solution
    }
}

impl Rebalanced {
    /// With `method`, which evaluates `steps` moves and exchanges for each level.
    const fn new(method: Method, steps: u64) -> Self {
        Self { method, steps }
    }
}

impl Plan for Rebalanced {
    fn draft(&mut self, snapshot: &Snapshot) -> Draft {
        let mut cheapest = (
            Assignment::present(snapshot).objective(),
            snapshot.places().to_vec(),
        );
        let mut alternatives = Vec::new();
        let Some(problem) = problem(snapshot) else {
            let places = cheapest.1;
            return Draft {
                places,
                alternatives,
                choice: None,
                shortest: None,
            };
        };
        let present = problem.level(snapshot.places());
        let mut lowest = problem.ideal();
        for factor in LEVELS {
            let target = factor * lowest;
            if present <= target {
                continue;
            }
            let budget = Budget::Steps(self.steps);
            let solution = self.method.solve(&problem, target, budget);
            // Whole processes seldom reach the ideal level; levels are multiples of what they reach.
            lowest = lowest.max(solution.level / factor);
            let mut assignment = Assignment::new(snapshot, &solution.assignment);
            trim(snapshot, &mut assignment);
            let name = format!("{}-{factor:.2}", self.method.name());
            alternatives.push(Alternative::new(&name, &assignment));
            let objective = assignment.objective();
            if objective < cheapest.0 {
                cheapest = (objective, assignment.places().to_vec());
            }
        }
        Draft {
            places: cheapest.1,
            alternatives,
            choice: None,
            shortest: None,
        }
    }
}

/// Hosts as machines, one group per Set; `None` if there is nothing to balance.
///
/// A migration between two Sets is taken to cost the mean over all processes, times the ratio of this process to the
/// mean one: exact if moving takes time per byte and nothing else.
fn problem(snapshot: &Snapshot) -> Option<Problem> {
    let loads = snapshot.processes();
    let number = count(loads.len()).max(1.0);
    let sets = || (0..snapshot.sets()).map(SetId::from_index);
    let pairs = || sets().flat_map(|from| sets().map(move |to| (from, to)));
    let mean_over_ways = |image: MemorySize| -> f64 {
        let prices = pairs().map(|(from, to)| snapshot.image_transfer(image, from, to));
        prices.sum::<f64>() / count(pairs().count()).max(1.0)
    };
    let sizes: Vec<f64> = loads
        .iter()
        .map(|load| mean_over_ways(load.image))
        .collect();
    let mean = sizes.iter().sum::<f64>() / number;
    let move_cost = |from: SetId, to: SetId| {
        let prices = loads
            .iter()
            .map(|load| snapshot.image_transfer(load.image, from, to));
        MoveCost {
            fixed: 0.0,
            per_size: prices.sum::<f64>() / number,
        }
    };
    let machines = snapshot.hosts().iter().map(|host| Machine {
        capacity: host.rate * host.cores,
        group: host.set.index(),
    });
    let residents = loads.iter().zip(snapshot.places()).zip(sizes);
    let residents = residents.map(|((load, initial_machine), size)| Resident {
        workload: load.instructions,
        size: if 0.0 < mean { size / mean } else { 1.0 },
        initial_machine: *initial_machine,
    });
    let move_costs = sets().map(|from| sets().map(|to| move_cost(from, to)).collect());
    Problem::new(
        machines.collect(),
        residents.collect(),
        move_costs.collect(),
    )
    .ok()
}

/// Multiples of the level of the busiest host: first of the level with divisible work, then of the lowest level
/// that was reached until then.
const LEVELS: [f64; 6] = [1.0, 1.02, 1.05, 1.1, 1.2, 1.4];

/// One seed, so that the same snapshot gives the same plan.
const SEED: u64 = 1;

/// `imlp`.
pub(super) const IMLP: Rule<dyn Plan> = Rule::new(
    "imlp",
    "rebalances for the level that pays best, with the search of Chen, Wang and Lau",
    |settings| Box::new(Rebalanced::new(Method::Imlp, settings.planning.steps)),
);

/// `best`.
pub(super) const BEST: Rule<dyn Plan> = Rule::new(
    "best",
    "rebalances for the level that pays best, with the best search here",
    |settings| Box::new(Rebalanced::new(Method::Best, settings.planning.steps)),
);

#[cfg(test)]
mod tests {
    use crate::plan::tests::{check, check_objective, snapshot};

    use super::*;

    const STEPS: u64 = 2000;

    #[test]
    fn the_cheapest_process_that_balances_the_hosts_moves() {
        for method in [Method::Imlp, Method::Best] {
            // Five and one: that one of two goes levels them, and so would a swap of three and one.
            let snapshot = snapshot(&[1.0, 1.0], &[(0, 3.0), (0, 2.0), (1, 1.0)]);
            let draft = Rebalanced::new(method, STEPS).draft(&snapshot);
            assert_eq!(draft.places, [0, 1, 1]);
        }
    }

    #[test]
    fn no_process_moves_if_moves_cost_more_than_they_gain() {
        let mut expensive = snapshot(&[1.0, 1.0], &[(0, 1.0), (0, 1.0)]);
        expensive.make_moves_cost(1e6);
        assert_eq!(
            Rebalanced::new(Method::Imlp, STEPS)
                .draft(&expensive)
                .places,
            [0, 0]
        );
    }

    #[test]
    fn levels_are_multiples_of_what_whole_processes_reach() {
        // Whole processes reach 10, where divisible work would reach 5.5: 1.1 times that is what there is.
        let small = std::iter::repeat_n((0, 0.1), 10);
        let loads: Vec<(u32, f64)> = std::iter::once((0, 10.0)).chain(small).collect();
        let draft = Rebalanced::new(Method::Imlp, STEPS).draft(&snapshot(&[1.0, 1.0], &loads));
        let names = draft.alternatives.iter().map(|plan| plan.name.as_str());
        let levels: Vec<&str> = names.filter(|name| name.starts_with("imlp")).collect();
        assert_eq!(levels, ["imlp-1.00", "imlp-1.02", "imlp-1.05"]);
    }

    #[test]
    fn every_process_is_kept_once() {
        check(|| Box::new(Rebalanced::new(Method::Imlp, STEPS)));
        check(|| Box::new(Rebalanced::new(Method::Best, STEPS)));
    }

    #[test]
    fn no_plan_is_worse_than_none() {
        check_objective(|| Box::new(Rebalanced::new(Method::Best, STEPS)));
    }
}
