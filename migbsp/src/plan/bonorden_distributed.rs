//! Every host asks some others and gives a process to the least loaded of them.

use crate::plan::draft::{Draft, Plan};
use crate::plan::relief::relieve;
use crate::rule::Rule;
use crate::{Assignment, Snapshot};

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
            let seed = [plan, wide(host), u64::from(question)];
            let mixed = seed.into_iter().fold(0, |state, part| mix(state ^ part));
            let other = usize::try_from(mixed % wide(others)).expect("less than there are hosts");
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

fn wide(number: usize) -> u64 {
    u64::try_from(number).expect("a number of hosts fits 64 bits")
}

/// `bonorden-distributed`.
pub(super) const RULE: Rule<dyn Plan> = Rule::new(
    "bonorden-distributed",
    "every host asks some others and gives a process to the least loaded (Bonorden, 2007)",
    |settings| Box::new(BonordenDistributed::new(settings.planning.asked)),
);

#[cfg(test)]
mod tests {
    use crate::plan::tests::{check, snapshot};

    use super::*;

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
    fn every_process_is_kept_once() {
        check(|| Box::new(BonordenDistributed::new(2)));
    }
}
