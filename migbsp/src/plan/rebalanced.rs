//! Least migration for a level, and the level for which it pays best.

use bsp::{Image, SetId};

use crate::bounded::count;
use crate::plan::trim::trim;
use crate::rebalance::{Budget, Machine, Method, Problem, Resident, Way};
use crate::{Alternative, Draft, Mapping, Plan, Scene};

/// Load rebalancing in a call: for several levels, the assignment that meets the level at least migration cost; of
/// these, that whose supersteps and moves take least over the horizon, once what does not pay is taken back.
///
/// A process's workload is what it will execute, a machine's capacity what others leave of its host, and a
/// migration costs what the model says. What processes send each other is not seen by the search, only by the
/// choice between levels. Equation `REBALANCE` of `docs/model.md`.
#[derive(Clone, Copy, Debug)]
pub struct Rebalanced {
    method: Method,
    steps: u64,
}

impl Rebalanced {
    /// With `method`, which looks at `steps` moves and exchanges for each level.
    #[must_use]
    pub const fn new(method: Method, steps: u64) -> Self {
        Self { method, steps }
    }
}

impl Plan for Rebalanced {
    fn draft(&mut self, scene: &Scene) -> Draft {
        let mut best = (
            scene.objective(&Mapping::present(scene)),
            scene.places().to_vec(),
        );
        let mut alternatives = Vec::new();
        let Some(problem) = problem(scene) else {
            let places = best.1;
            return Draft {
                places,
                alternatives,
            };
        };
        let present = problem.level(scene.places());
        let mut lowest = problem.ideal();
        for factor in LEVELS {
            let target = factor * lowest;
            if present <= target {
                continue;
            }
            let budget = Budget::Steps(self.steps);
            let solution = self.method.solve(&problem, target, budget, SEED);
            // Whole processes seldom come to the ideal; levels are multiples of what they come to.
            lowest = lowest.max(solution.level / factor);
            let mut mapping = Mapping::new(scene, &solution.assignment);
            trim(scene, &mut mapping);
            let name = format!("{}-{factor:.2}", self.method);
            alternatives.push(Alternative::new(&name, scene, mapping.places()));
            let objective = scene.objective(&mapping);
            if objective < best.0 {
                best = (objective, mapping.places().to_vec());
            }
        }
        Draft {
            places: best.1,
            alternatives,
        }
    }
}

/// Hosts as machines, one group a Set; nothing if there is nothing to balance.
///
/// What a migration costs is taken to be what it costs a mean process on that way, times what it costs this
/// process in relation to the mean one: exact where moving takes so much per byte and nothing else.
fn problem(scene: &Scene) -> Option<Problem> {
    let loads = scene.processes();
    let number = count(loads.len()).max(1.0);
    let sets = || (0..scene.sets()).map(SetId::from_index);
    let pairs = || sets().flat_map(|from| sets().map(move |to| (from, to)));
    let mean_over_ways = |image: Image| -> f64 {
        let prices = pairs().map(|(from, to)| scene.price(image, from, to));
        prices.sum::<f64>() / count(pairs().count()).max(1.0)
    };
    let sizes: Vec<f64> = loads
        .iter()
        .map(|load| mean_over_ways(load.image))
        .collect();
    let mean = sizes.iter().sum::<f64>() / number;
    let way = |from: SetId, to: SetId| {
        let prices = loads.iter().map(|load| scene.price(load.image, from, to));
        Way {
            fixed: 0.0,
            per_size: prices.sum::<f64>() / number,
        }
    };
    let machines = scene.hosts().iter().map(|host| Machine {
        capacity: host.rate * host.cores,
        group: host.set.index(),
    });
    let residents = loads.iter().zip(scene.places()).zip(sizes);
    let residents = residents.map(|((load, home), size)| Resident {
        workload: load.instructions,
        size: if 0.0 < mean { size / mean } else { 1.0 },
        home: *home,
    });
    let ways = sets().map(|from| sets().map(|to| way(from, to)).collect());
    Problem::new(machines.collect(), residents.collect(), ways.collect()).ok()
}

/// What the busiest host may have: first what it would have if work were divisible, then multiples of the lowest that
/// was reached until then.
const LEVELS: [f64; 6] = [1.0, 1.02, 1.05, 1.1, 1.2, 1.4];
/// Plans of the same scene are the same.
const SEED: u64 = 1;

#[cfg(test)]
mod tests {
    use crate::plan::tests::{check, check_objective, scene};

    use super::*;

    const STEPS: u64 = 2000;

    #[test]
    fn the_cheapest_that_levels_the_hosts_moves() {
        for method in [Method::Imlp, Method::Best] {
            // Five and one: that one of two goes levels them, and so would a swap of three and one.
            let scene = scene(&[1.0, 1.0], &[(0, 3.0), (0, 2.0), (1, 1.0)]);
            let draft = Rebalanced::new(method, STEPS).draft(&scene);
            assert_eq!(draft.places, [0, 1, 1]);
        }
    }

    #[test]
    fn nobody_moves_if_that_costs_more_than_it_wins() {
        let mut dear = scene(&[1.0, 1.0], &[(0, 1.0), (0, 1.0)]);
        dear.make_moves_cost(1e6);
        assert_eq!(
            Rebalanced::new(Method::Imlp, STEPS).draft(&dear).places,
            [0, 0]
        );
    }

    #[test]
    fn levels_are_multiples_of_what_whole_processes_reach() {
        // Whole processes reach 10, where divisible work would reach 5.5: 1.1 times that is what there is.
        let small = std::iter::repeat_n((0, 0.1), 10);
        let loads: Vec<(u32, f64)> = std::iter::once((0, 10.0)).chain(small).collect();
        let draft = Rebalanced::new(Method::Imlp, STEPS).draft(&scene(&[1.0, 1.0], &loads));
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
