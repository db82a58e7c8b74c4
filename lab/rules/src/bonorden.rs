//! The strategies of Bonorden (IPDPS 2007), as the MigBSP papers describe them.

use bsp::numbers::length;
use model::{Assignment, Draft, Plan, Rule, Snapshot};

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
pub(super) const CENTRAL: Rule<dyn Plan> = Rule::new(
    "bonorden-central",
    "moves one process from the most to the least loaded host (Bonorden, 2007)",
    |_| Box::new(BonordenCentral),
);

/// Bonorden's distributed strategy: every host asks `c` others for their loads; if the least is below its
/// own, one process goes there.
///
/// In the original the asked hosts are chosen at random. Nothing is drawn here: the choice is a hash of the number of
/// plans made, the host, and the number of hosts it has asked, so that the same run makes the same plans.
/// Hosts decide one after the other, each with the moves of those before it; the process that moves is chosen as in
/// `bonorden-central`.
#[derive(Clone, Debug)]
struct BonordenDistributed {
    /// `c`.
    asked: u32,
    /// Plans made so far.
    plans: u64,
}

impl BonordenDistributed {
    /// Every host asks `asked` others, possibly one of them twice.
    const fn new(asked: u32) -> Self {
        Self { asked, plans: 0 }
    }

    /// The hosts that `host`, one of `hosts`, asks in this plan.
    fn partners(&self, host: usize, hosts: usize) -> impl Iterator<Item = usize> {
        let (plan, others) = (self.plans, hosts - 1);
        (0..self.asked).map(move |question| {
            let seed = [plan, length(host), u64::from(question)];
            let mixed = seed.into_iter().fold(0, |state, part| mix(state ^ part));
            let other = usize::try_from(mixed % length(others)).expect("less than there are hosts");
            // No host asks itself.
            other + usize::from(host <= other)
        })
    }
}

impl Plan for BonordenDistributed {
    fn draft(&mut self, snapshot: &Snapshot) -> Draft {
        let mut assignment = Assignment::present(snapshot);
        let hosts = snapshot.hosts().len();
        if 1 < hosts {
            for host in 0..hosts {
                let load = |host: usize| assignment.computation_with(host, None, None);
                let least = self
                    .partners(host, hosts)
                    .min_by(|one, other| load(*one).total_cmp(&load(*other)).then(one.cmp(other)));
                if let Some(least) = least.filter(|least| load(*least) < load(host)) {
                    relieve(&mut assignment, host, least);
                }
            }
        }
        self.plans += 1;
        Draft::only(
            "bonorden-distributed",
            snapshot,
            assignment.places().to_vec(),
        )
    }
}

/// The finaliser of `SplitMix64` (Steele, Lea and Flood, 2014), one step on.
const fn mix(state: u64) -> u64 {
    let state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

/// `bonorden-distributed`.
pub(super) const DISTRIBUTED: Rule<dyn Plan> = Rule::new(
    "bonorden-distributed",
    "every host asks some others and gives a process to the least loaded (Bonorden, 2007)",
    |settings| Box::new(BonordenDistributed::new(settings.planning.asked)),
);

/// Moves the process from `most` to `least` after which the slower of the two computes least, the lowest rank among
/// equals; none if that is no improvement.
fn relieve(assignment: &mut Assignment<'_>, most: usize, least: usize) {
    let mut best = (assignment.computation_with(most, None, None), None);
    for process in assignment.residents(most) {
        let left = assignment.computation_with(most, Some(*process), None);
        let taken = assignment.computation_with(least, None, Some(*process));
        if left.max(taken) < best.0 {
            best = (left.max(taken), Some(*process));
        }
    }
    if let Some(process) = best.1 {
        assignment.put(process, least);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{check, snapshot};

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
    fn the_central_plan_keeps_every_process_once() {
        check("bonorden-central");
    }

    #[test]
    fn a_host_that_asks_enough_others_finds_the_idle_one() {
        let snapshot = snapshot(&[1.0; 4], &[(0, 1.0), (0, 1.0), (1, 1.0), (2, 1.0)]);
        let draft = BonordenDistributed::new(16).draft(&snapshot);
        assert_eq!(draft.places, [3, 0, 1, 2]);
    }

    #[test]
    fn a_host_asks_every_other_host_but_not_itself() {
        let strategy = BonordenDistributed::new(200);
        for host in 0..4 {
            let mut partners: Vec<usize> = strategy.partners(host, 4).collect();
            partners.sort_unstable();
            partners.dedup();
            let others: Vec<usize> = (0..4).filter(|other| *other != host).collect();
            assert_eq!(partners, others);
        }
    }

    #[test]
    fn another_plan_asks_other_hosts() {
        let mut strategy = BonordenDistributed::new(8);
        let snapshot = snapshot(&[1.0; 30], &[(0, 1.0)]);
        let first: Vec<usize> = strategy.partners(3, 30).collect();
        strategy.draft(&snapshot);
        assert_ne!(first, strategy.partners(3, 30).collect::<Vec<usize>>());
    }

    #[test]
    fn the_distributed_plan_keeps_every_process_once() {
        check("bonorden-distributed");
    }
}
