//! Where the processes of a run were, and the Sets of its hosts.

use std::collections::BTreeMap;

use bsp::{HostId, Rank, SetId};
use record::{Evaluated, Run};

/// Where processes were: where they began, and every move.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Placement {
    first: u64,
    start: Vec<HostId>,
    now: Vec<HostId>,
    moves: Vec<Move>,
}

/// A process left its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Move {
    /// The first superstep on the new host.
    pub(crate) superstep: u64,
    /// The process.
    pub(crate) rank: Rank,
    /// Its host.
    pub(crate) from: HostId,
    /// Its new host.
    pub(crate) to: HostId,
}

/// A process was on a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// The process.
    pub(crate) rank: Rank,
    /// The first superstep.
    pub(crate) from: u64,
    /// The superstep after the last.
    pub(crate) to: u64,
    /// The host.
    pub(crate) host: HostId,
}

impl Placement {
    /// The placement at the start of `run`.
    pub(crate) fn new(run: &Run) -> Self {
        let hosts = (0..).map(HostId);
        let ids: BTreeMap<&str, HostId> = run.hosts.iter().map(String::as_str).zip(hosts).collect();
        // The reader of records has checked the names.
        let host = |name: &String| ids.get(name.as_str()).copied().unwrap_or(HostId(0));
        let start: Vec<HostId> = run.placement.iter().map(host).collect();
        Self {
            first: run.first_superstep(),
            now: start.clone(),
            start,
            moves: Vec::new(),
        }
    }

    /// Processes are on other hosts from `superstep` on.
    pub(super) fn change(&mut self, superstep: u64, moved: impl Iterator<Item = (Rank, HostId)>) {
        for (rank, to) in moved {
            let from = std::mem::replace(&mut self.now[rank.index()], to);
            self.moves.push(Move {
                superstep,
                rank,
                from,
                to,
            });
        }
    }

    /// The host of every process at the start, by rank.
    pub(crate) fn start(&self) -> &[HostId] {
        &self.start
    }

    /// The host of every process at the end, by rank.
    pub(crate) fn now(&self) -> &[HostId] {
        &self.now
    }

    /// All moves, in order.
    pub(crate) fn moves(&self) -> &[Move] {
        &self.moves
    }

    /// The processes to show: all if there are at most `most`, else the first of those that moved.
    pub(crate) fn shown(&self, most: usize) -> Vec<Rank> {
        if self.start.len() <= most {
            return (0..).map(Rank).take(self.start.len()).collect();
        }
        let mut movers: Vec<Rank> = self.moves.iter().map(|moved| moved.rank).collect();
        movers.sort_unstable();
        movers.dedup();
        movers.truncate(most);
        movers
    }

    /// Where the processes `ranks`, which ascend, were until superstep `end`: those of each in order.
    pub(crate) fn segments(&self, ranks: &[Rank], end: u64) -> Vec<Segment> {
        let begun = ranks.iter().map(|rank| Segment {
            rank: *rank,
            from: self.first,
            to: end,
            host: self.start[rank.index()],
        });
        let mut open: Vec<Segment> = begun.collect();
        let mut closed = Vec::new();
        for moved in &self.moves {
            let Ok(row) = ranks.binary_search(&moved.rank) else {
                continue;
            };
            let segment = &mut open[row];
            if segment.from < moved.superstep {
                closed.push(Segment {
                    to: moved.superstep,
                    ..*segment
                });
            }
            *segment = Segment {
                from: moved.superstep,
                host: moved.to,
                ..*segment
            };
        }
        closed.extend(open);
        closed.retain(|segment| segment.from < segment.to);
        closed.sort_by_key(|segment| (segment.rank, segment.from));
        closed
    }
}

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

impl Sets {
    /// What the head of a record says.
    pub(crate) fn new(run: &Run) -> Self {
        let mut of_hosts: Vec<Option<SetId>> = run.sets_of_hosts().map(Some).collect();
        if let [_only] = &run.sets[..] {
            of_hosts.resize(run.hosts.len(), Some(SetId(0)));
        }
        of_hosts.resize(run.hosts.len(), None);
        Self {
            names: run.sets.clone(),
            of_hosts,
            rates: BTreeMap::new(),
        }
    }

    /// A Set has evaluated its processes.
    pub(super) fn evaluate(&mut self, evaluated: &Evaluated) {
        let hosts = evaluated.hosts.iter().flat_map(|hosts| hosts.ids());
        for host in hosts {
            if let Some(set) = self.of_hosts.get_mut(host.index()) {
                *set = Some(evaluated.set);
            }
        }
        let rates = evaluated.transfer_rates.clone();
        self.rates.insert(evaluated.set, rates);
    }

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

#[cfg(test)]
mod tests;
