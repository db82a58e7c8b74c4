//! Every host asks some others and gives a process to the least loaded of them.

use crate::plan::bonorden_central::relieve;
use crate::{Draft, Mapping, Plan, Scene};

/// Bonorden's distributed strategy: every host asks `c` others for their loads; if the least is below its
/// own, one process goes there.
///
/// The hosts that are asked are to be chosen at random. Nothing is drawn here: the choice is a hash of how
/// many plans were made, the host, and how many it has asked, so that the same run makes the same plans.
/// Hosts decide one after the other and see what those before them did; which process goes is settled as in
/// [`BonordenCentral`](crate::BonordenCentral).
#[derive(Clone, Debug)]
pub struct BonordenDistributed {
    /// `c`.
    asked: u32,
    /// Plans made so far.
    plans: u64,
}

impl BonordenDistributed {
    /// Every host asks `asked` others; the same one twice, it may be.
    #[must_use]
    pub const fn new(asked: u32) -> Self {
        Self { asked, plans: 0 }
    }

    /// The hosts that `host`, one of `hosts`, asks in this plan.
    fn partners(&self, host: usize, hosts: usize) -> impl Iterator<Item = usize> {
        let (plan, others) = (self.plans, hosts - 1);
        (0..self.asked).map(move |question| {
            let seed = [plan, wide(host), u64::from(question)];
            let mixed = seed.into_iter().fold(0, |state, part| mix(state ^ part));
            let other = usize::try_from(mixed % wide(others)).expect("less than there are hosts");
            // Nobody asks itself.
            other + usize::from(host <= other)
        })
    }
}

impl Plan for BonordenDistributed {
    fn draft(&mut self, scene: &Scene) -> Draft {
        let mut mapping = Mapping::present(scene);
        let hosts = scene.hosts().len();
        if 1 < hosts {
            for host in 0..hosts {
                let load = |host: usize| mapping.computation_with(host, None, None);
                let least = self
                    .partners(host, hosts)
                    .min_by(|one, other| load(*one).total_cmp(&load(*other)).then(one.cmp(other)));
                if let Some(least) = least.filter(|least| load(*least) < load(host)) {
                    relieve(&mut mapping, host, least);
                }
            }
        }
        self.plans += 1;
        Draft::only("bonorden-distributed", scene, mapping.places().to_vec())
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

#[cfg(test)]
mod tests {
    use crate::plan::tests::{check, scene};

    use super::*;

    #[test]
    fn whoever_asks_enough_finds_the_idle_host() {
        let scene = scene(&[1.0; 4], &[(0, 1.0), (0, 1.0), (1, 1.0), (2, 1.0)]);
        let draft = BonordenDistributed::new(16).draft(&scene);
        assert_eq!(draft.places, [3, 0, 1, 2]);
    }

    #[test]
    fn others_are_asked_and_each_sometime() {
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
    fn another_plan_asks_others() {
        let mut strategy = BonordenDistributed::new(8);
        let scene = scene(&[1.0; 30], &[(0, 1.0)]);
        let first: Vec<usize> = strategy.partners(3, 30).collect();
        strategy.draft(&scene);
        assert_ne!(first, strategy.partners(3, 30).collect::<Vec<usize>>());
    }

    #[test]
    fn every_process_is_kept_once() {
        check(|| Box::new(BonordenDistributed::new(2)));
    }
}
