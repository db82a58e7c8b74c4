//! What a run looks like: its supersteps, its placement, the load of its hosts, its Sets and its notes, from one pass over its
//! record.
//!
//! What is kept does not grow with the number of supersteps, except by the moves: supersteps are joined in [`Bins`], and
//! hosts in [`HostRows`].

mod load;
mod notes;

use std::collections::BTreeMap;

use bsp::{HostId, Rank, SetId};
use record::{Evaluated, Event, EventHeader, EventKind, Run};

use crate::view::load::LoadReading;

pub(crate) use load::{Bin, Bins, Load, LoadBin};
pub(crate) use notes::{NoteCurve, NoteCurves};

/// What a run looks like.
#[derive(Debug)]
pub(crate) struct View {
    /// The start of the run.
    pub(crate) run: Run,
    /// The superstep after the last one.
    pub(crate) end: u64,
    /// Its supersteps.
    pub(crate) bins: Bins,
    /// Where its processes were.
    pub(crate) placement: Placement,
    /// The load of its hosts.
    pub(crate) load: Load,
    /// Its Sets.
    pub(crate) sets: Sets,
    /// What its processes noted.
    pub(crate) notes: NoteCurves,
}

/// A record that is being read.
#[derive(Clone, Debug)]
pub(crate) struct ViewReading {
    run: Run,
    end: u64,
    bins: Bins,
    placement: Placement,
    load: LoadReading,
    sets: Sets,
    notes: NoteCurves,
}

impl ViewReading {
    /// Nothing but the head of a record has been read.
    pub(crate) fn new(run: Run) -> Self {
        let first = run.first_superstep();
        let placement = Placement::new(&run);
        Self {
            end: first,
            bins: Bins::new(first),
            load: LoadReading::new(&run, &placement),
            sets: Sets::new(&run),
            notes: NoteCurves::new(first),
            placement,
            run,
        }
    }

    /// Whether [`Self::take`] takes anything from an event.
    pub(crate) fn needs(header: EventHeader) -> bool {
        matches!(
            header.kind,
            EventKind::Superstep | EventKind::Evaluated | EventKind::Join | EventKind::Call
        )
    }

    /// The next event has been read.
    pub(crate) fn take(&mut self, event: &Event) {
        match event {
            Event::Superstep(superstep) => {
                self.end = superstep.index + 1;
                self.bins.push(superstep);
                self.load.elapse(superstep, &self.placement);
                self.notes.add(superstep.index, &superstep.notes);
            }
            Event::Evaluated(evaluated) => {
                self.sets.evaluate(evaluated);
                self.load.evaluate(evaluated);
            }
            Event::Call(call) => {
                self.bins.charge(call.cost.get());
                self.load.settle(&self.placement);
                let moved = call.migrations.iter().map(|moved| (moved.rank, moved.to));
                self.placement.change(call.superstep, moved);
                self.load.change(&self.placement);
            }
            Event::Join(join) if join.joined => {
                self.bins.charge((join.ended - join.at).get());
                self.load.settle(&self.placement);
                let moved = join.processes.iter().map(|rank| (*rank, join.host));
                self.placement.change(join.superstep, moved);
                self.load.change(&self.placement);
            }
            _ => {}
        }
    }

    /// All events have been read.
    pub(crate) fn end(mut self) -> View {
        self.bins.end();
        self.load.settle(&self.placement);
        let load = self.load.end(&self.run, &self.sets);
        View {
            run: self.run,
            end: self.end,
            bins: self.bins,
            placement: self.placement,
            load,
            sets: self.sets,
            notes: self.notes,
        }
    }
}

impl View {
    /// The superstep with which the run begins.
    pub(crate) fn first(&self) -> u64 {
        self.run.first_superstep()
    }

    /// The name of a host.
    pub(crate) fn host(&self, host: HostId) -> &str {
        &self.run.hosts[host.index()]
    }
}

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
    fn new(run: &Run) -> Self {
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
    fn change(&mut self, superstep: u64, moved: impl Iterator<Item = (Rank, HostId)>) {
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
    fn new(run: &Run) -> Self {
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
    fn evaluate(&mut self, evaluated: &Evaluated) {
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
pub(crate) mod tests;
