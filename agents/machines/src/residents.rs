//! The agents that start on a host.

use std::collections::BTreeSet;

use agents::Rules;
use bsp::{HostId, Rank, SetId};

/// The agents that start on a host, except its own.
#[derive(Debug)]
pub struct Residents {
    /// The processes, without those that have halted before the run begins.
    pub ranks: BTreeSet<Rank>,
    /// The Set whose Manager runs here, with its hosts, if there is one.
    pub manager: Option<(SetId, Vec<HostId>)>,
}

impl Residents {
    /// The agents that start on `own`.
    pub fn of(rules: &Rules, own: HostId) -> Self {
        let here = rules.running().filter(|(_, host)| *host == own);
        let set = rules.sets[own.index()];
        let hosts = (0..rules.sets.len()).map(HostId::from_index);
        let hosts = hosts.filter(|host| rules.sets[host.index()] == set);
        let is_manager = rules.managers[set.index()] == own;
        Self {
            ranks: here.map(|(rank, _)| rank).collect(),
            manager: is_manager.then(|| (set, hosts.collect())),
        }
    }
}
