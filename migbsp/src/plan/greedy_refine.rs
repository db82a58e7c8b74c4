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
