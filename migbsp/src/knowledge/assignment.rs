//! Where each process is while a plan is being made, and how long supersteps take.

mod choice;
mod computing;
mod link_changes;

use bsp::SetId;
use bsp::units::Seconds;

use crate::bounded::seconds;
use crate::knowledge::flows::Flows;
use crate::{Message, MigrationSchedule, Snapshot};
use computing::Computing;
use link_changes::{LinkChange, LinkChanges};

/// Processes on hosts, and how long a superstep takes: all that plans, gates and explanations ask of a placement.
///
/// Equation `SUPERSTEP` of `docs/model.md`. A process starts when the barrier releases it, computes, and sends its
/// messages; it arrives at the barrier when all messages that it has sent, and all that it receives, have arrived. A host
/// takes as long as the last of its processes until the barrier knows of its messages. The superstep takes as long as
/// the slowest host, or as the messages from one Set to another, whichever is longer.
///
/// A complete assignment ([`Assignment::present`], [`Assignment::new`]) holds every process; processes are moved
/// with [`put`](Assignment::put). A partial one ([`Assignment::empty`]) holds none at first; a list scheduler
/// [adds](Assignment::add) them one after the other. It leaves messages out, because not all receivers are placed.
///
/// Negotiations between Managers do not use this: a Manager knows only the processes of its own Set, and counts the
/// instructions of the last superstep ([`Processors`](crate::Processors)). Neither does [`rebalance`](crate::rebalance),
/// whose searches know neither messages nor cores and ask for levels millions of times in a second.
#[derive(Clone, Debug)]
pub struct Assignment<'a> {
    snapshot: &'a Snapshot,
    /// The host of each process; of one that is not placed yet, the present one.
    places: Vec<usize>,
    computing: Computing,
    /// `None` in a partial assignment.
    flows: Option<Flows<'a>>,
    /// By host: seconds until its last process is known to have arrived at the barrier.
    times: Vec<f64>,
    /// From Set to Set: when the last process that sends there has computed.
    senders_end: Vec<f64>,
    /// The number of processes in each Set.
    members: Vec<u32>,
    /// What all processes add to a superstep, in seconds.
    barrier: f64,
}

/// Processes with hosts that differ from those of the assignment.
type Changes<'a> = &'a [(usize, usize)];

impl<'a> Assignment<'a> {
    /// The processes on the hosts `places`, by process.
    #[must_use]
    pub fn new(snapshot: &'a Snapshot, places: &[usize]) -> Self {
        let mut assignment = Self::empty(snapshot);
        assignment.places.copy_from_slice(places);
        for (process, host) in places.iter().enumerate() {
            assignment.enter(process, *host);
        }
        assignment.flows = Some(Flows::new(
            snapshot.graph(),
            snapshot.hosts(),
            snapshot.places(),
            places,
        ));
        for host in 0..snapshot.hosts().len() {
            assignment.times[host] = assignment.host_time(host, None, None, &[]);
        }
        for set in (0..snapshot.sets()).map(SetId::from_index) {
            assignment.update_senders(set);
        }
        assignment
    }

    /// The present placement.
    #[must_use]
    pub fn present(snapshot: &'a Snapshot) -> Self {
        Self::new(snapshot, snapshot.places())
    }

    /// No process is on a host yet; [`Assignment::places`] says where each one runs at present.
    #[must_use]
    pub fn empty(snapshot: &'a Snapshot) -> Self {
        let (hosts, sets) = (snapshot.hosts().len(), snapshot.sets());
        Self {
            snapshot,
            places: snapshot.places().to_vec(),
            computing: Computing::empty(hosts, snapshot.places().len()),
            flows: None,
            times: vec![0.0; hosts],
            senders_end: vec![0.0; sets * sets],
            members: vec![0; sets],
            barrier: 0.0,
        }
    }

    /// Places `process`, which was not placed yet, on `host` of a partial assignment.
    pub fn add(&mut self, process: usize, host: usize) {
        self.places[process] = host;
        self.enter(process, host);
        self.times[host] = self.host_time(host, None, None, &[]);
    }

    /// Moves `process` to `host` in a complete assignment.
    pub fn put(&mut self, process: usize, host: usize) {
        let from = self.places[process];
        if from == host {
            return;
        }
        let machine = &self.snapshot.hosts()[from];
        let loads = self.snapshot.processes();
        self.computing.remove(loads, machine, from, process);
        self.members[machine.set.index()] -= 1;
        self.barrier -= self.snapshot.barrier(machine.set).process();
        self.enter(process, host);
        if let Some(flows) = &mut self.flows {
            flows.relocate(&self.places, process, host);
        }
        self.places[process] = host;
        self.update(process, [from, host]);
    }

    fn enter(&mut self, process: usize, host: usize) {
        let machine = &self.snapshot.hosts()[host];
        let loads = self.snapshot.processes();
        self.computing.insert(loads, machine, host, process);
        self.members[machine.set.index()] += 1;
        self.barrier += self.snapshot.barrier(machine.set).process();
    }

    /// Recomputes the times that the move of `process` between two hosts has changed.
    fn update(&mut self, process: usize, changed: [usize; 2]) {
        let graph = self.snapshot.graph();
        let mut hosts = changed.to_vec();
        for host in changed {
            let residents = self.computing.residents(host).iter();
            for resident in residents.chain([&process]) {
                let senders = graph.incoming(*resident).iter();
                hosts.extend(senders.map(|message| self.places[message.other]));
            }
        }
        hosts.sort_unstable();
        hosts.dedup();
        let mut sets: Vec<SetId> = hosts.iter().map(|host| self.set(*host)).collect();
        for host in hosts {
            self.times[host] = self.host_time(host, None, None, &[]);
        }
        if self.flows.as_ref().is_some_and(Flows::has_crowds) {
            sets = (0..self.snapshot.sets()).map(SetId::from_index).collect();
        }
        sets.sort_unstable();
        sets.dedup();
        for set in sets {
            self.update_senders(set);
        }
    }

    /// Recomputes when the last process of `set` that sends to each other Set has computed.
    fn update_senders(&mut self, set: SetId) {
        let Some(flows) = &self.flows else {
            return;
        };
        let members = self.snapshot.members(set);
        for to in (0..self.snapshot.sets()).map(SetId::from_index) {
            if to == set {
                continue;
            }
            let all = flows.has_crowd(set, to);
            let senders = members
                .iter()
                .filter(|host| all || flows.leaves(**host, to));
            let ends = senders.map(|host| self.computing.host_end(*host));
            self.senders_end[set.index() * self.snapshot.sets() + to.index()] =
                ends.fold(0.0, f64::max);
        }
    }

    /// The host of each process, by process.
    #[must_use]
    pub fn places(&self) -> &[usize] {
        &self.places
    }

    /// The processes on a host, the lightest first.
    #[must_use]
    pub fn residents(&self, host: usize) -> &[usize] {
        self.computing.residents(host)
    }

    /// Seconds from the release of a superstep until the last process of a host has arrived at the barrier; zero for an
    /// empty host.
    #[must_use]
    pub fn time(&self, host: usize) -> f64 {
        self.times[host]
    }

    /// Seconds that a host would compute in a superstep without `leaving` and with `coming`.
    #[must_use]
    pub fn computation_with(
        &self,
        host: usize,
        leaving: Option<usize>,
        coming: Option<usize>,
    ) -> f64 {
        let mut last = 0.0;
        let here = (host, &self.snapshot.hosts()[host]);
        let loads = self.snapshot.processes();
        self.computing
            .with(loads, here, (leaving, coming), |_, end| last = end);
        last
    }

    /// Seconds that the slowest of those hosts would take that change if `process` went to `host`, or the messages
    /// between their Sets.
    #[must_use]
    pub fn after_move(&self, process: usize, host: usize) -> f64 {
        let from = self.places[process];
        let changes = [(process, host)];
        let left = self.host_time(from, Some(process), None, &changes);
        let taken = self.host_time(host, None, Some(process), &changes);
        let sets = [self.set(from), self.set(host)];
        let delay = |set: SetId| self.snapshot.barrier(set).process();
        let others = self.others_after(&changes, [from, host]);
        left.max(taken).max(others) + delay(sets[1]) - delay(sets[0])
    }

    /// The same if `process` and `other` changed places.
    #[must_use]
    pub fn after_swap(&self, process: usize, other: usize) -> f64 {
        let (from, host) = (self.places[process], self.places[other]);
        let changes = [(process, host), (other, from)];
        let left = self.host_time(from, Some(process), Some(other), &changes);
        let taken = self.host_time(host, Some(other), Some(process), &changes);
        left.max(taken)
            .max(self.others_after(&changes, [from, host]))
    }

    /// The host that takes longest, the lowest number among equals.
    #[must_use]
    pub fn slowest(&self) -> usize {
        let mut slowest = (0, f64::NEG_INFINITY);
        for (host, time) in self.times.iter().enumerate() {
            if slowest.1 < *time {
                slowest = (host, *time);
            }
        }
        slowest.0
    }

    /// The two Sets whose messages take longer than the slowest host, and how many seconds; `None` if that is the
    /// slowest of all.
    #[must_use]
    pub fn slowest_link(&self) -> Option<((SetId, SetId), f64)> {
        let mut slowest = (self.times.iter().copied().fold(0.0, f64::max), None);
        for (from, to) in self.pairs() {
            let time = self.link_time(LinkChange::none((from, to)));
            if slowest.0 < time {
                slowest = (time, Some((from, to)));
            }
        }
        slowest.1.map(|link| (link, slowest.0))
    }

    /// How long a superstep takes.
    #[must_use]
    pub fn superstep(&self) -> Seconds {
        seconds(self.longest())
    }

    /// How long the moves from the present placement take together.
    #[must_use]
    pub fn migration_cost(&self) -> Seconds {
        MigrationSchedule::new(self.snapshot, &self.places).cost()
    }

    /// Seconds that the supersteps of the horizon and the moves from the present placement take together, equation
    /// `OBJECTIVE` of `docs/model.md`.
    #[must_use]
    pub fn objective(&self) -> f64 {
        self.snapshot.horizon() * self.longest() + self.migration_cost().get()
    }

    /// How long a superstep takes, as a bare number of seconds.
    pub(crate) fn longest(&self) -> f64 {
        let hosts = self.times.iter().copied().fold(0.0, f64::max);
        let links = self.pairs();
        let links = links.map(|pair| self.link_time(LinkChange::none(pair)));
        self.barrier + self.barrier_exchange() + links.fold(hosts, f64::max)
    }

    /// Seconds until all processes have arrived that `host` has without `leaving` and with `coming`.
    fn host_time(
        &self,
        host: usize,
        leaving: Option<usize>,
        coming: Option<usize>,
        changes: Changes<'_>,
    ) -> f64 {
        let machine = &self.snapshot.hosts()[host];
        let mut last = 0.0_f64;
        let mut none = true;
        let loads = self.snapshot.processes();
        self.computing
            .with(loads, (host, machine), (leaving, coming), |process, end| {
                none = false;
                last = last.max(end + self.delivery(process, host, changes));
            });
        if none {
            return 0.0;
        }
        self.snapshot.barrier(machine.set).release() + last
    }

    /// Seconds from the end of the computation of `process` on `host` until it and all receivers of its messages have
    /// arrived at the barrier, as far as they wait for these messages.
    fn delivery(&self, process: usize, host: usize, changes: Changes<'_>) -> f64 {
        let arrival = |host: usize| self.snapshot.barrier(self.set(host)).arrival();
        let own = arrival(host);
        let Some(flows) = &self.flows else {
            return own;
        };
        let messages = self.snapshot.graph().outgoing(process).iter();
        let times = messages.map(|message| {
            let to = self.place(message.other, changes);
            if to == host {
                return own;
            }
            self.message(flows, message, (host, to)) + own.max(arrival(to))
        });
        times.fold(own, f64::max)
    }

    /// Seconds that a message takes between two hosts, messages between Sets that share a link not counted.
    fn message(&self, flows: &Flows<'_>, message: &Message, (from, to): (usize, usize)) -> f64 {
        let network = self.snapshot.network();
        let sets = (self.set(from), self.set(to));
        let sending = flows.sent(from) * network.per_byte(sets.0, sets.0);
        let receiving = flows.received(to) * network.per_byte(sets.1, sets.1);
        let alone = message.bytes * network.per_byte(sets.0, sets.1);
        network.message(sets.0, sets.1, alone, sending.max(receiving))
    }

    /// The longest time, after `changes` that concern `hosts`, of a process elsewhere that sends to a process that moves,
    /// and of the links whose messages change.
    fn others_after(&self, changes: Changes<'_>, hosts: [usize; 2]) -> f64 {
        let graph = self.snapshot.graph();
        let mut last = 0.0_f64;
        let mut links = LinkChanges::default();
        for (process, _) in changes {
            for message in graph.incoming(*process) {
                let sender = message.other;
                let host = self.place(sender, changes);
                if !hosts.contains(&host) {
                    let release = self.snapshot.barrier(self.set(host)).release();
                    let end = self.computing.end(sender);
                    last = last.max(release + end + self.delivery(sender, host, changes));
                }
                self.redirect((sender, *process), message.bytes, changes, &mut links);
            }
            for message in graph.outgoing(*process) {
                // A message between two processes that move is counted at its receiver.
                if changes.iter().all(|(other, _)| *other != message.other) {
                    self.redirect(
                        (*process, message.other),
                        message.bytes,
                        changes,
                        &mut links,
                    );
                }
            }
        }
        for change in links.iter() {
            last = last.max(self.link_time(*change));
        }
        last
    }

    /// Adds to `links` how `changes` redirect a message.
    fn redirect(
        &self,
        (from, to): (usize, usize),
        bytes: f64,
        changes: Changes<'_>,
        links: &mut LinkChanges,
    ) {
        let before = [from, to].map(|process| self.set(self.places[process]));
        let after = [from, to].map(|process| self.set(self.place(process, changes)));
        let end = self.computing.end(from);
        links.redirect((before[0], before[1]), (after[0], after[1]), bytes, end);
    }

    /// Seconds until the messages from one Set to another have arrived, if they share the link between them, after
    /// `change`.
    fn link_time(&self, change: LinkChange) -> f64 {
        let Some(flows) = &self.flows else {
            return 0.0;
        };
        let (from, to) = change.link;
        let (bytes, number) = flows.crossing(from, to);
        let bytes = bytes + change.bytes;
        let number = number.saturating_add_signed(change.number);
        if number == 0 {
            return 0.0;
        }
        let network = self.snapshot.network();
        let alone = bytes.max(0.0) / f64::from(number) * network.per_byte(from, to);
        let occupied = bytes.max(0.0) * self.snapshot.rate(from, to);
        let barrier = [from, to].map(|set| self.snapshot.barrier(set));
        let arrival = barrier[0].arrival().max(barrier[1].arrival());
        let pair = from.index() * self.snapshot.sets() + to.index();
        let sent = barrier[0].release() + change.end.max(self.senders_end[pair]);
        sent + network.message(from, to, alone, occupied) + arrival
    }

    /// Seconds that Managers of Sets with processes wait for each other's messages at the end of a superstep.
    fn barrier_exchange(&self) -> f64 {
        if !self.snapshot.has_hierarchical_barrier() {
            return 0.0;
        }
        let is_in_use = |set: SetId| 0 < self.members[set.index()];
        let pairs = self
            .pairs()
            .filter(|(from, to)| is_in_use(*from) && is_in_use(*to));
        let latencies = pairs.map(|(from, to)| self.snapshot.network().latency(from, to));
        latencies.fold(0.0, f64::max)
    }

    /// All pairs of different Sets.
    fn pairs(&self) -> impl Iterator<Item = (SetId, SetId)> + use<> {
        let sets = self.snapshot.sets();
        let all = (0..sets).flat_map(move |from| (0..sets).map(move |to| (from, to)));
        let different = all.filter(|(from, to)| from != to);
        different.map(|(from, to)| (SetId::from_index(from), SetId::from_index(to)))
    }

    fn place(&self, process: usize, changes: Changes<'_>) -> usize {
        let changed = changes.iter().find(|(other, _)| *other == process);
        changed.map_or(self.places[process], |(_, host)| *host)
    }

    fn set(&self, host: usize) -> SetId {
        self.snapshot.hosts()[host].set
    }
}
