//! The hosts of all processes, and the processes that have halted.

use std::collections::BTreeSet;

use agents::Resumed;
use bsp::{HostId, Rank, SetId};

/// The hosts of all processes, and the processes that have halted, as one node knows them.
#[derive(Debug)]
pub(super) struct Census {
    own: HostId,
    /// The Set of each host.
    sets: Vec<SetId>,
    /// The host of each process.
    hosts: Vec<HostId>,
    /// The host where each process started, if its messages count for the Set of that host throughout.
    starts: Option<Vec<HostId>>,
    /// The superstep in which each process halted.
    halted: Vec<Option<u64>>,
    /// The number of processes that have not halted.
    running: usize,
}

impl Census {
    /// All processes run on `hosts`, by rank; the Sets of all hosts are `sets`.
    pub(super) fn new(
        own: HostId,
        sets: Vec<SetId>,
        hosts: Vec<HostId>,
        senders_stay: bool,
    ) -> Self {
        Self {
            own,
            sets,
            starts: senders_stay.then(|| hosts.clone()),
            halted: vec![None; hosts.len()],
            running: hosts.len(),
            hosts,
        }
    }

    /// The same when the job begins in the state of another one.
    pub(super) fn resume(self, resumed: &Resumed) -> Self {
        let halted = resumed.halted.clone();
        Self {
            running: halted.iter().filter(|halted| halted.is_none()).count(),
            halted,
            ..self
        }
    }

    pub(super) fn place(&mut self, rank: Rank, host: HostId) {
        self.hosts[rank.index()] = host;
    }

    /// Notes that a process has halted; a repeated note changes nothing.
    pub(super) fn halt(&mut self, rank: Rank, superstep: u64) {
        if self.halted[rank.index()].replace(superstep).is_none() {
            self.running -= 1;
        }
    }

    pub(super) const fn own(&self) -> HostId {
        self.own
    }

    /// The number of processes.
    pub(super) fn size(&self) -> u32 {
        u32::try_from(self.hosts.len()).expect("ranks fit 32 bits")
    }

    /// The host of a process, if the process exists.
    pub(super) fn host_of(&self, rank: Rank) -> Option<HostId> {
        self.hosts.get(rank.index()).copied()
    }

    /// Whether `rank` exists and runs on `host`.
    pub(super) fn lives(&self, rank: Rank, host: HostId) -> bool {
        self.host_of(rank) == Some(host)
    }

    /// The Set that the messages of `sender` count for.
    pub(super) fn set_of_sender(&self, sender: Rank) -> SetId {
        let hosts = self.starts.as_ref().unwrap_or(&self.hosts);
        self.sets[hosts[sender.index()].index()]
    }

    /// The superstep in which each process halted, by rank.
    pub(super) fn halted(&self) -> &[Option<u64>] {
        &self.halted
    }

    pub(super) fn has_halted(&self, rank: Rank) -> bool {
        self.halted[rank.index()].is_some()
    }

    /// The processes that take part in `superstep`, with their hosts.
    pub(super) fn taking_part(&self, superstep: u64) -> impl Iterator<Item = (Rank, HostId)> {
        let places = self.hosts.iter().zip(&self.halted).enumerate();
        let taking_part =
            places.filter(move |(_, (_, halted))| halted.is_none_or(|last| superstep <= last));
        taking_part.map(|(index, (host, _))| (Rank::from_index(index), *host))
    }

    /// The processes on this host that have not halted.
    pub(super) fn residents(&self) -> BTreeSet<Rank> {
        let places = self.hosts.iter().zip(&self.halted).enumerate();
        let here = places.filter(|(_, (host, halted))| **host == self.own && halted.is_none());
        here.map(|(index, _)| Rank::from_index(index)).collect()
    }

    /// The number of processes on this host that have not halted.
    pub(super) fn living_here(&self) -> usize {
        let places = self.hosts.iter().zip(&self.halted);
        places
            .filter(|(host, halted)| **host == self.own && halted.is_none())
            .count()
    }

    /// The number of supersteps, once all processes have halted.
    pub(super) fn supersteps(&self) -> Option<u64> {
        if 0 < self.running {
            return None;
        }
        self.halted.iter().flatten().max().map(|last| last + 1)
    }

    /// The lowest of the processes that have not halted.
    pub(super) fn first_running(&self) -> Option<Rank> {
        let place = self.halted.iter().position(Option::is_none);
        place.map(Rank::from_index)
    }
}
