//! Heaviest first, and only those move that have to.

use crate::{Draft, Filling, Plan, Scene};

/// Charm++'s strategy of that name: the superstep of a greedy assignment, widened by a tolerance, is the
/// limit; in the order of decreasing load, a process stays if its host keeps to the limit with it, and
/// else goes where it ends first.
#[derive(Clone, Debug)]
pub struct GreedyRefine {
    tolerance: f64,
}

impl GreedyRefine {
    /// A superstep may take `tolerance` times as long as under a greedy assignment; at least 1.
    #[must_use]
    pub const fn new(tolerance: f64) -> Self {
        Self { tolerance }
    }

    /// Where each process goes.
    #[must_use]
    pub fn places(&self, scene: &Scene) -> Vec<usize> {
        let order = heaviest_first(scene);
        let mut greedy = Filling::new(scene);
        for process in &order {
            greedy.add(*process, greedy.first_to_end(*process));
        }
        let mut limit = self.tolerance * greedy.superstep();
        let mut filling = Filling::new(scene);
        let mut places = scene.places().to_vec();
        for process in order {
            if limit < filling.end(process, places[process]) {
                places[process] = filling.first_to_end(process);
            }
            filling.add(process, places[process]);
            limit = limit.max(filling.time(places[process]));
        }
        places
    }
}

impl Plan for GreedyRefine {
    fn draft(&mut self, scene: &Scene) -> Draft {
        Draft::only("greedy-refine", scene, self.places(scene))
    }
}

/// The heaviest first, each where it ends first among the hosts of its Set.
pub(super) fn within_sets(scene: &Scene) -> Vec<usize> {
    greedy_among(scene, |process| {
        let host = scene.places()[process];
        scene.members(scene.hosts()[host].set)
    })
}

/// The heaviest first, each where it ends first among `hosts` of it.
pub(super) fn greedy_among<'a>(scene: &Scene, hosts: impl Fn(usize) -> &'a [usize]) -> Vec<usize> {
    let mut filling = Filling::new(scene);
    let mut places = scene.places().to_vec();
    for process in heaviest_first(scene) {
        places[process] = filling.first_to_end_among(process, hosts(process));
        filling.add(process, places[process]);
    }
    places
}

/// Processes by decreasing load, ties by rank.
pub(super) fn heaviest_first(scene: &Scene) -> Vec<usize> {
    let loads = scene.processes();
    let mut order: Vec<usize> = (0..loads.len()).collect();
    order.sort_by(|a, b| {
        let heavier = loads[*b].instructions.total_cmp(&loads[*a].instructions);
        heavier.then(a.cmp(b))
    });
    order
}

#[cfg(test)]
mod tests {
    use crate::plan::tests::{check, scene};

    use super::*;

    #[test]
    fn only_those_move_that_have_to() {
        // The limit is 1.03 · 4: of the first host's, the two lightest have to go.
        let scene = scene(
            &[1.0, 1.0],
            &[(0, 3.0), (0, 1.0), (0, 1.0), (1, 2.0), (1, 1.0)],
        );
        let places = GreedyRefine::new(1.03).places(&scene);
        assert_eq!(places.iter().filter(|host| **host == 0).count(), 2);
        assert_eq!(places[0], 0);
        assert_eq!(places[3], 1);
    }

    #[test]
    fn every_process_is_kept_once() {
        check(|| Box::new(GreedyRefine::new(1.03)));
    }
}
