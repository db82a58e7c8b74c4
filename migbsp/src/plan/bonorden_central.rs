//! One process from the most to the least loaded host.

use crate::{Draft, Mapping, Plan, Scene};

/// Bonorden's centralised strategy: a master compares the loads of all hosts and migrates one process from
/// the most to the least loaded one.
///
/// A host's load is how long it computes. Which process goes is not said: the one is taken that leaves the
/// slower of the two least to do, the lowest rank among equals; nobody goes if that is no improvement, or a
/// process would go back and forth for ever. Neither messages nor the costs of migrations count, as in the
/// original (Bonorden 2007, as the MigBSP papers describe it).
#[derive(Clone, Copy, Debug, Default)]
pub struct BonordenCentral;

impl Plan for BonordenCentral {
    fn draft(&mut self, scene: &Scene) -> Draft {
        let mut mapping = Mapping::present(scene);
        let mut loads: Vec<(f64, usize)> = (0..scene.hosts().len())
            .map(|host| (mapping.computation_with(host, None, None), host))
            .collect();
        loads.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        if let (Some((_, least)), Some((_, most))) = (loads.first(), loads.last()) {
            relieve(&mut mapping, *most, *least);
        }
        Draft::only("bonorden-central", scene, mapping.places().to_vec())
    }
}

/// Moves the process from `most` to `least` that leaves the slower of them least to do, if that is less than
/// now.
pub(super) fn relieve(mapping: &mut Mapping<'_>, most: usize, least: usize) {
    let mut best = (mapping.computation_with(most, None, None), None);
    for process in mapping.residents(most) {
        let left = mapping.computation_with(most, Some(*process), None);
        let taken = mapping.computation_with(least, None, Some(*process));
        if left.max(taken) < best.0 {
            best = (left.max(taken), Some(*process));
        }
    }
    if let Some(process) = best.1 {
        mapping.put(process, least);
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::tests::{check, scene};

    use super::*;

    #[test]
    fn one_process_goes_from_the_most_to_the_least_loaded_host() {
        // Three on the first host, one on the second, which is twice as fast, none on the third.
        let scene = scene(&[1.0, 2.0, 1.0], &[(0, 3.0), (0, 1.0), (0, 2.0), (1, 2.0)]);
        let draft = BonordenCentral.draft(&scene);
        // 3 + 1 + 2 against nothing: moving 3 leaves 3 on either.
        assert_eq!(draft.places, [2, 0, 0, 1]);
    }

    #[test]
    fn nobody_goes_where_it_would_take_as_long() {
        let scene = scene(&[1.0, 1.0], &[(0, 3.0)]);
        assert_eq!(BonordenCentral.draft(&scene).places, [0]);
    }

    #[test]
    fn every_process_is_kept_once() {
        check(|| Box::new(BonordenCentral));
    }
}
