//! Moves that a plan can do without.

use crate::plan::search::billed;
use crate::{Mapping, Scene};

/// Takes back the moves to `mapping` that do not pay for themselves, those first that save most.
///
/// A move is taken back if supersteps and moves then take no longer over the horizon.
pub(super) fn trim(scene: &Scene, mapping: &mut Mapping<'_>) {
    let mut bill = billed(scene, mapping);
    let both = scene.places().iter().zip(mapping.places()).enumerate();
    let mut moved: Vec<(f64, usize)> = both
        .filter(|(_, (from, to))| from != to)
        .map(|(process, (_, to))| (scene.migration(process, *to), process))
        .collect();
    moved.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
    let mut objective = scene.horizon() * mapping.longest() + bill.total();
    for (_, process) in moved {
        let (from, to) = (scene.places()[process], mapping.places()[process]);
        mapping.put(process, from);
        bill.moves(process, to, from);
        let without = scene.horizon() * mapping.longest() + bill.total();
        if without <= objective {
            objective = without;
        } else {
            mapping.put(process, to);
            bill.moves(process, from, to);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::tests::scene;

    use super::*;

    #[test]
    fn a_move_that_wins_nothing_is_taken_back() {
        // The third host decides; that the first two changed places wins nothing.
        let scene = scene(&[1.0, 1.0, 1.0], &[(0, 1.0), (1, 1.0), (2, 5.0)]);
        let mut mapping = Mapping::new(&scene, &[1, 0, 2]);
        trim(&scene, &mut mapping);
        assert_eq!(mapping.places(), [0, 1, 2]);
    }

    #[test]
    fn a_move_that_pays_is_kept() {
        let scene = scene(&[1.0, 1.0], &[(0, 1.0), (0, 1.0)]);
        let mut mapping = Mapping::new(&scene, &[1, 0]);
        trim(&scene, &mut mapping);
        assert_eq!(mapping.places(), [1, 0]);
    }
}
