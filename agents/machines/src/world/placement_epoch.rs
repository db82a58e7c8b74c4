//! The epoch of the placement, and the announcements of the next one.

use std::sync::Arc;

use agents::Rules;
use bsp::{HostId, SetId};
use protocol::{Address, Placed};

/// The epoch of the placement on one node.
pub(super) struct PlacementEpoch {
    own: HostId,
    rules: Arc<Rules>,
    /// The number of times that the placement has changed.
    epoch: u64,
}

impl PlacementEpoch {
    /// The epoch of the initial placement.
    pub(super) const fn new(own: HostId, rules: Arc<Rules>) -> Self {
        Self {
            own,
            rules,
            epoch: 0,
        }
    }

    /// Whether the Manager of `set` announces placements: the one that starts supersteps does, so that the
    /// announcement arrives first.
    pub(super) fn is_announced_by(&self, set: SetId) -> bool {
        self.rules.barrier.root(set) == set
    }

    /// The other hosts to which the Manager of `set` announces placements.
    pub(super) fn receivers(&self, set: SetId) -> Vec<HostId> {
        let sets = self.rules.sets.iter().enumerate();
        let receivers = sets.filter(|(_, other)| self.rules.barrier.root(**other) == set);
        let hosts = receivers.map(|(index, _)| HostId::from_index(index));
        hosts.filter(|host| *host != self.own).collect()
    }

    /// Checks that `placed` is the next placement of `processes` processes, and that `from` may announce it here.
    pub(super) fn check(
        &self,
        from: Address,
        placed: &Placed,
        processes: u32,
    ) -> Result<(), String> {
        let own_set = self.rules.sets[self.own.index()];
        let hosts = self.rules.sets.len();
        let is_next = from == Address::SetManager(self.rules.barrier.root(own_set))
            && Some(placed.epoch) == self.epoch.checked_add(1);
        let mut moves = placed.moves.iter();
        if is_next && moves.all(|(rank, host)| rank.0 < processes && host.index() < hosts) {
            return Ok(());
        }
        Err(format!(
            "placement {} by {from:?}, which is not the next one",
            placed.epoch
        ))
    }

    /// Whether a placement is still to be announced here before that of `epoch`.
    pub(super) fn is_before(&self, epoch: u64) -> bool {
        self.epoch.saturating_add(1) < epoch
    }

    /// Begins `epoch`.
    pub(super) const fn advance(&mut self, epoch: u64) {
        self.epoch = epoch;
    }
}
