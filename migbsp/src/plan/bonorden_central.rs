//! One process from the most to the least loaded host.

use crate::plan::draft::{Draft, Plan};
use crate::plan::relief::relieve;
use crate::rule::Rule;
use crate::{Assignment, Snapshot};

/// Bonorden's centralised strategy: a master compares the loads of all hosts and migrates one process from
/// the most to the least loaded one.
///
/// A host's load is how long it computes. The original does not say which process moves; here it is the one after
/// which the slower of the two hosts computes least, the lowest rank among equals. None moves if that is no
/// improvement, or a process would go back and forth for ever. Neither messages nor the costs of migrations count, as
/// in the original (Bonorden 2007, as the MigBSP papers describe it).
#[derive(Clone, Copy, Debug, Default)]
struct BonordenCentral;

impl Plan for BonordenCentral {
    fn draft(&mut self, snapshot: &Snapshot) -> Draft {
        let mut assignment = Assignment::present(snapshot);
        let mut loads: Vec<(f64, usize)> = (0..snapshot.hosts().len())
            .map(|host| (assignment.computation_with(host, None, None), host))
            .collect();
        loads.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        if let (Some((_, least)), Some((_, most))) = (loads.first(), loads.last()) {
            relieve(&mut assignment, *most, *least);
        }
        Draft::only("bonorden-central", snapshot, assignment.places().to_vec())
    }
}

/// `bonorden-central`.
pub(super) const RULE: Rule<dyn Plan> = Rule::new(
    "bonorden-central",
    "moves one process from the most to the least loaded host (Bonorden, 2007)",
    |_| Box::new(BonordenCentral),
);

#[cfg(test)]
mod tests {
    use crate::plan::tests::{check, snapshot};

    use super::*;

    #[test]
    fn one_process_moves_from_the_most_to_the_least_loaded_host() {
        // Three on the first host, one on the second, which is twice as fast, none on the third.
        let snapshot = snapshot(&[1.0, 2.0, 1.0], &[(0, 3.0), (0, 1.0), (0, 2.0), (1, 2.0)]);
        let draft = BonordenCentral.draft(&snapshot);
        // 3 + 1 + 2 against nothing: moving 3 leaves 3 on either.
        assert_eq!(draft.places, [2, 0, 0, 1]);
    }

    #[test]
    fn a_process_does_not_go_to_a_host_where_it_would_take_as_long() {
        let snapshot = snapshot(&[1.0, 1.0], &[(0, 3.0)]);
        assert_eq!(BonordenCentral.draft(&snapshot).places, [0]);
    }

    #[test]
    fn every_process_is_kept_once() {
        check(|| Box::new(BonordenCentral));
    }
}
