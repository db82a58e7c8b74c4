//! Moves that are given in advance.

use std::collections::BTreeMap;

use bsp::{HostId, Rank, SetId};
use migbsp::{Entry, Selection};

/// Moves that are given in advance, in order, by the number of complete supersteps. A call is held then, even if none
/// is due. A process that has halted, or already runs on the host, does not move. Of several moves of one process in
/// one call the first counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script(pub BTreeMap<u64, Vec<(Rank, HostId)>>);

impl Script {
    /// The moves in the call after `completed` supersteps.
    pub(crate) fn orders(&self, completed: u64) -> &[(Rank, HostId)] {
        self.0.get(&completed).map_or(&[], Vec::as_slice)
    }
}

/// The new host of each process; of several moves of one process the first counts.
pub(crate) fn places(orders: &[(Rank, HostId)]) -> BTreeMap<Rank, HostId> {
    orders.iter().rev().copied().collect()
}

/// The scripted moves of a call as candidates: of the processes in `list` that do not run there already.
pub(crate) fn candidates(
    orders: &[(Rank, HostId)],
    list: &[Entry],
    set: impl Fn(HostId) -> SetId,
    lives: impl Fn(Rank) -> HostId,
) -> Selection {
    let mut listed: BTreeMap<Rank, &Entry> = list.iter().map(|entry| (entry.rank, entry)).collect();
    let candidate = |(rank, host): &(Rank, HostId)| {
        let entry = listed.remove(rank)?;
        let target = set(*host);
        (lives(*rank) != *host).then_some(Entry { target, ..*entry })
    };
    let candidates = orders.iter().filter_map(candidate).collect();
    Selection {
        candidates,
        ..Selection::default()
    }
}
