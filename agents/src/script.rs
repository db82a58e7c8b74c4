//! Moves decided beforehand.

use std::collections::BTreeMap;

use bsp::{HostId, Rank, SetId};
use migbsp::{Entry, Selection};

/// Moves decided beforehand, in order, by the number of supersteps that are over: a call is held then,
/// whether one is due or not. A process that has halted, or is there already, stays where it is, and of
/// several moves of one process in one call the first counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script(pub BTreeMap<u64, Vec<(Rank, HostId)>>);

impl Script {
    /// What it says about the call after `completed` supersteps.
    pub(crate) fn orders(&self, completed: u64) -> &[(Rank, HostId)] {
        self.0.get(&completed).map_or(&[], Vec::as_slice)
    }
}

/// Where each process goes; of several orders for one process the first counts.
pub(crate) fn places(orders: &[(Rank, HostId)]) -> BTreeMap<Rank, HostId> {
    orders.iter().rev().copied().collect()
}

/// The scripted moves of a call as candidates: of processes that are `list`ed and do not `live` there already.
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
