//! Several plans, and the best of them.

use bsp::SetId;

use crate::plan::greedy_refine::{greedy_among, within_sets};
use crate::plan::search::search;
use crate::plan::trim::trim;
use crate::{Alternative, Draft, GreedyRefine, Mapping, Plan, Scene};

/// Thinks of several plans, takes back what does not pay in each of them, and proposes the one whose
/// supersteps and moves take least over the horizon; that nobody moves is always one of them.
///
/// [`GreedyRefine`] with four tolerances, refinement inside Sets, a greedy assignment from scratch, everybody
/// in one of the fastest Sets, and local search from the slowest host, once from the present placement and once
/// from the best of all others.
#[derive(Clone, Copy, Debug, Default)]
pub struct Portfolio;

/// The best plan so far.
struct Best {
    objective: f64,
    places: Vec<usize>,
    alternatives: Vec<Alternative>,
}

impl Plan for Portfolio {
    fn draft(&mut self, scene: &Scene) -> Draft {
        let mut best = Best {
            objective: scene.objective(&Mapping::present(scene)),
            places: scene.places().to_vec(),
            alternatives: Vec::new(),
        };
        for (name, tolerance) in REFINEMENTS {
            let places = GreedyRefine::new(tolerance).places(scene);
            best.consider(name, scene, Mapping::new(scene, &places));
        }
        best.consider(
            "within-sets",
            scene,
            Mapping::new(scene, &within_sets(scene)),
        );
        best.consider("greedy", scene, Mapping::new(scene, &greedy(scene)));
        for set in fastest_sets(scene) {
            best.consider(
                "gathered",
                scene,
                Mapping::new(scene, &gathered(scene, set)),
            );
        }
        let mut searched = Mapping::present(scene);
        search(scene, &mut searched);
        best.consider("search", scene, searched);
        if best.places != scene.places() {
            let mut polished = Mapping::new(scene, &best.places);
            search(scene, &mut polished);
            best.consider("polished", scene, polished);
        }
        Draft {
            places: best.places,
            alternatives: best.alternatives,
        }
    }
}

impl Best {
    fn consider(&mut self, name: &str, scene: &Scene, mut mapping: Mapping<'_>) {
        trim(scene, &mut mapping);
        let objective = scene.objective(&mapping);
        self.alternatives
            .push(Alternative::new(name, scene, mapping.places()));
        if objective < self.objective {
            self.objective = objective;
            self.places = mapping.places().to_vec();
        }
    }
}

/// The Sets that compute fastest, at most [`GATHERED_MAX`] of them, with all cores of their hosts.
fn fastest_sets(scene: &Scene) -> Vec<SetId> {
    let speed = |set: SetId| -> f64 {
        let hosts = scene.members(set).iter().map(|host| &scene.hosts()[*host]);
        hosts.map(|host| host.rate * host.cores).sum()
    };
    let mut sets: Vec<SetId> = (0..scene.sets()).map(SetId::from_index).collect();
    sets.sort_by(|one, other| speed(*other).total_cmp(&speed(*one)).then(one.cmp(other)));
    sets.truncate(GATHERED_MAX);
    sets.retain(|set| !scene.members(*set).is_empty());
    sets
}

/// All in one Set, the heaviest first, each where it ends first.
fn gathered(scene: &Scene, set: SetId) -> Vec<usize> {
    greedy_among(scene, |_| scene.members(set))
}

/// The heaviest first, each where it ends first.
fn greedy(scene: &Scene) -> Vec<usize> {
    let hosts: Vec<usize> = (0..scene.hosts().len()).collect();
    greedy_among(scene, |_| &hosts)
}

/// How many Sets are tried for everybody.
const GATHERED_MAX: usize = 4;

const REFINEMENTS: [(&str, f64); 4] = [
    ("refine-1.00", 1.0),
    ("refine-1.03", 1.03),
    ("refine-1.08", 1.08),
    ("refine-1.20", 1.2),
];

#[cfg(test)]
mod tests {
    use crate::plan::tests::{check, check_objective, scene};

    use super::*;

    #[test]
    fn a_pile_is_spread_over_all_hosts_by_their_speeds() {
        let scene = scene(&[1.0, 1.0, 2.0], &[(0, 1.0); 8]);
        let draft = Portfolio.draft(&scene);
        let on = |host: usize| draft.places.iter().filter(|place| **place == host).count();
        assert_eq!([on(0), on(1), on(2)], [2, 2, 4]);
    }

    #[test]
    fn nobody_moves_if_that_costs_more_than_it_wins() {
        let mut dear = scene(&[1.0, 1.0], &[(0, 1.0), (0, 1.0)]);
        dear.make_moves_cost(1e6);
        assert_eq!(Portfolio.draft(&dear).places, [0, 0]);
    }

    #[test]
    fn every_process_is_kept_once() {
        check(|| Box::new(Portfolio));
    }

    #[test]
    fn no_plan_is_worse_than_none() {
        check_objective(|| Box::new(Portfolio));
    }
}
