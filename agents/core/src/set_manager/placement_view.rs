//! The hosts of all processes.

use std::collections::BTreeMap;
use std::sync::Arc;

use bsp::{HostId, Rank, SetId};
use protocol::Migrate;

use crate::setup::Rules;

/// Where every process lives, those that have halted included, as one Manager keeps it: the placement
/// that all Managers share, and what has changed since.
#[derive(Debug)]
pub(super) struct PlacementView {
    own: SetId,
    /// Where processes started, by rank.
    start: Arc<[HostId]>,
    /// The hosts of the processes that have moved.
    moved: BTreeMap<Rank, HostId>,
    /// The number of processes on each host of the own Set; none of these is zero.
    here: BTreeMap<HostId, u32>,
}

impl PlacementView {
    /// The placement at the start, as the Manager of `own` sees it, whose hosts are `hosts`.
    pub(super) fn new(rules: &Rules, own: SetId, hosts: &[HostId]) -> Self {
        let residents = |host: &HostId| (*host, rules.on_host[host.index()]);
        Self {
            own,
            start: Arc::clone(&rules.placement),
            moved: BTreeMap::new(),
            here: hosts
                .iter()
                .map(residents)
                .filter(|(_, count)| 0 < *count)
                .collect(),
        }
    }

    /// A process moves.
    ///
    /// # Panics
    ///
    /// If it runs on another host than `order.from`.
    pub(super) fn apply(&mut self, rules: &Rules, order: &Migrate) {
        assert_eq!(self.of(order.rank), order.from, "{} moves", order.rank);
        if order.to == self.start[order.rank.index()] {
            self.moved.remove(&order.rank);
        } else {
            self.moved.insert(order.rank, order.to);
        }
        if rules.sets[order.from.index()] == self.own {
            let count = self.here.get_mut(&order.from);
            let count = count.expect("a process lived there");
            *count -= 1;
            if *count == 0 {
                self.here.remove(&order.from);
            }
        }
        if rules.sets[order.to.index()] == self.own {
            *self.here.entry(order.to).or_default() += 1;
        }
    }

    /// The host of a process.
    pub(super) fn of(&self, rank: Rank) -> HostId {
        match self.moved.get(&rank) {
            Some(host) => *host,
            None => self.start[rank.index()],
        }
    }

    /// The hosts of the own Set on which processes run, in order.
    pub(super) fn hosts(&self) -> impl ExactSizeIterator<Item = HostId> + '_ {
        self.here.keys().copied()
    }

    /// The number of processes in the own Set.
    pub(super) fn processes(&self) -> u32 {
        self.here.values().sum()
    }
}

#[cfg(test)]
mod tests {
    use bsp::units::Seconds;
    use proptest::prelude::*;

    use super::*;
    use crate::barrier::{Collection, Shape};
    use crate::test_world::TestWorld;

    proptest! {
        #[test]
        fn it_is_the_placement_with_all_moves_applied(
            starts in prop::collection::vec(0_u32..6, 1..8),
            moves in prop::collection::vec((0_usize..8, 0_u32..6), 0..30),
            own in 0_u32..3,
        ) {
            let halts = vec![0; starts.len()];
            let test_world = TestWorld::new(Shape::Ideal, Collection::AsTheyCome, &starts, &halts, None);
            let rules = &test_world.rules;
            let own = SetId(own);
            let here = |host: &HostId| rules.sets[host.index()] == own;
            let hosts: Vec<HostId> = (0..6).map(HostId).filter(here).collect();
            let mut placement_view = PlacementView::new(rules, own, &hosts);
            let mut expected: Vec<HostId> = starts.iter().copied().map(HostId).collect();
            for (rank, to) in moves {
                let rank = Rank::from_index(rank % starts.len());
                let order = Migrate {
                    rank,
                    from: expected[rank.index()],
                    to: HostId(to),
                    epoch: 1,
                    deferred_cost: Seconds::ZERO,
                };
                placement_view.apply(rules, &order);
                expected[rank.index()] = order.to;
            }
            let ranks = (0..starts.len()).map(Rank::from_index);
            prop_assert_eq!(ranks.map(|rank| placement_view.of(rank)).collect::<Vec<_>>(), expected.clone());
            expected.retain(here);
            prop_assert_eq!(usize::try_from(placement_view.processes()).unwrap(), expected.len());
            expected.sort();
            expected.dedup();
            prop_assert_eq!(placement_view.hosts().collect::<Vec<_>>(), expected);
        }
    }
}
