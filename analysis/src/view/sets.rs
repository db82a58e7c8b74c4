//! The Sets of a run: which hosts they have, what moved between them, and what their links carry.

use std::collections::BTreeMap;

use bsp::{HostId, SetId};
use record::{Evaluated, Run};

use super::placement::Placement;

/// The Sets of a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sets {
    names: Vec<String>,
    /// By host, as far as the record says.
    of_hosts: Vec<Option<SetId>>,
    /// Time to move one byte from one Set to another, by both, in s/B, as the last call knew it; empty without a call.
    rates: BTreeMap<SetId, Vec<f64>>,
}

/// Processes that moved from a Set to another one, or within one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flow {
    /// The Set that they left.
    pub(crate) from: SetId,
    /// Their new Set.
    pub(crate) to: SetId,
    /// Number of moves.
    pub(crate) moves: u64,
}

/// The Sets, as far as the record has been read.
#[derive(Clone, Debug)]
pub(super) struct SetsReading {
    sets: Sets,
}

impl SetsReading {
    /// What the head of a record says.
    pub(super) fn new(run: &Run) -> Self {
        let mut of_hosts: Vec<Option<SetId>> = run.sets_of_hosts().map(Some).collect();
        if let [_only] = &run.sets[..] {
            of_hosts.resize(run.hosts.len(), Some(SetId(0)));
        }
        of_hosts.resize(run.hosts.len(), None);
        Self {
            sets: Sets {
                names: run.sets.clone(),
                of_hosts,
                rates: BTreeMap::new(),
            },
        }
    }

    /// A Set has evaluated its processes.
    pub(super) fn evaluate(&mut self, evaluated: &Evaluated) {
        let hosts = evaluated.hosts.iter().flat_map(|hosts| hosts.ids());
        for host in hosts {
            if let Some(set) = self.sets.of_hosts.get_mut(host.index()) {
                *set = Some(evaluated.set);
            }
        }
        let rates = evaluated.transfer_rates.clone();
        self.sets.rates.insert(evaluated.set, rates);
    }

    /// All of the record has been read.
    pub(super) fn end(self) -> Sets {
        self.sets
    }
}

impl Sets {
    /// Number of Sets.
    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }

    /// All Sets.
    pub(crate) fn ids(&self) -> impl Iterator<Item = SetId> + use<> {
        let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        (0..number).map(SetId)
    }

    /// The name of a Set.
    pub(crate) fn name(&self, set: SetId) -> &str {
        self.names.get(set.index()).map_or("", String::as_str)
    }

    /// The Set of a host, if it is known.
    pub(crate) fn of(&self, host: HostId) -> Option<SetId> {
        self.of_hosts.get(host.index()).copied().flatten()
    }

    /// The name of the Set of a host; empty if it is not known.
    pub(crate) fn name_of(&self, host: HostId) -> &str {
        self.of(host).map_or("", |set| self.name(set))
    }

    /// Bytes per second from one Set to another, as the last call knew them.
    pub(crate) fn bandwidth(&self, from: SetId, to: SetId) -> Option<f64> {
        let rate = self.rates.get(&from)?.get(to.index())?;
        (0.0 < *rate).then(|| rate.recip())
    }

    /// The number of processes in every Set, of those with these hosts.
    pub(crate) fn counts(&self, hosts: &[HostId]) -> Vec<u64> {
        let mut counts = vec![0; self.names.len()];
        for set in hosts.iter().filter_map(|host| self.of(*host)) {
            if let Some(count) = counts.get_mut(set.index()) {
                *count += 1;
            }
        }
        counts
    }

    /// What moved between Sets and within them, by Set.
    pub(crate) fn flows(&self, placement: &Placement) -> Vec<Flow> {
        let mut moves: BTreeMap<(SetId, SetId), u64> = BTreeMap::new();
        for moved in placement.moves() {
            if let Some(pair) = self.of(moved.from).zip(self.of(moved.to)) {
                *moves.entry(pair).or_default() += 1;
            }
        }
        let flows = moves.into_iter();
        flows
            .map(|((from, to), moves)| Flow { from, to, moves })
            .collect()
    }
}
