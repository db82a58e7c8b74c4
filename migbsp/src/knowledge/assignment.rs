//! Where each process is while a plan is being made, and how long supersteps take.

mod changes;
mod choice;
mod computing;
mod hosts_by_work;
mod links;

use bsp::SetId;
use bsp::units::Seconds;

use crate::knowledge::flows::Flows;
use crate::knowledge::maximum::Maximum;
use crate::{Message, MigrationSchedule, Snapshot};
use changes::HostAfter;
use computing::Computing;
use hosts_by_work::HostsByWork;
use links::Links;

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
/// whose searches know neither networks nor cores and ask for levels millions of times in a second.
#[derive(Clone, Debug)]
pub struct Assignment<'a> {
    snapshot: &'a Snapshot,
    /// The host of each process; of one that is not placed yet, the present one.
    places: Vec<usize>,
    computing: Computing,
    /// `None` in a complete assignment, where it would be of no use.
    by_work: Option<HostsByWork>,
    /// `None` in a partial assignment.
    flows: Option<Flows<'a>>,
    /// By process: seconds from the end of its computation until it and all receivers of its messages have arrived at
    /// the barrier, as far as they wait for these messages.
    deliveries: Vec<f64>,
    /// By host: seconds until its last process is known to have arrived at the barrier.
    times: Maximum,
    links: Links<'a>,
    /// The number of processes in each Set.
    members: Vec<u32>,
    /// What all processes add to a superstep, in seconds.
    barrier: f64,
    /// Seconds for which owners' jobs are expected to interrupt a superstep, on all hosts together.
    interrupted: f64,
    /// The same by host.
    interruptions: Vec<f64>,
    /// Seconds that Managers of Sets with processes wait for each other's messages at the end of a superstep.
    exchange: f64,
}

/// Processes with hosts that differ from those of the assignment.
type Changes<'a> = &'a [(usize, usize)];

impl<'a> Assignment<'a> {
    /// The processes on the hosts `places`, by process.
    #[must_use]
    pub fn new(snapshot: &'a Snapshot, places: &[usize]) -> Self {
        let mut assignment = Self::without_processes(snapshot);
        assignment.places.copy_from_slice(places);
        assignment.computing = Computing::new(snapshot, places);
        let (graph, hosts) = (snapshot.graph(), snapshot.hosts());
        let flows = Flows::new(graph, hosts, snapshot.places(), places);
        assignment.links.update_all((&flows, &assignment.computing));
        assignment.flows = Some(flows);
        for (process, host) in places.iter().enumerate() {
            let set = assignment.set(*host);
            assignment.members[set.index()] += 1;
            assignment.barrier += snapshot.barrier(set).process();
            assignment.deliveries[process] = assignment.delivery(process, *host, &[]);
        }
        for host in 0..hosts.len() {
            assignment.update_time(host);
        }
        assignment.exchange = assignment.barrier_exchange();
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
        let mut assignment = Self::without_processes(snapshot);
        assignment.by_work = Some(HostsByWork::new(snapshot, &assignment.computing));
        assignment
    }

    fn without_processes(snapshot: &'a Snapshot) -> Self {
        let (hosts, sets) = (snapshot.hosts().len(), snapshot.sets());
        Self {
            snapshot,
            places: snapshot.places().to_vec(),
            computing: Computing::empty(hosts, snapshot.places().len()),
            by_work: None,
            flows: None,
            deliveries: vec![0.0; snapshot.places().len()],
            times: Maximum::zeros(hosts),
            links: Links::without_messages(snapshot),
            members: vec![0; sets],
            barrier: 0.0,
            interrupted: 0.0,
            interruptions: vec![0.0; hosts],
            exchange: 0.0,
        }
    }

    /// Places `process`, which was not placed yet, on `host` of a partial assignment.
    pub fn add(&mut self, process: usize, host: usize) {
        self.places[process] = host;
        let before = self.computing.work(host);
        if self.enter(process, host) {
            self.exchange = self.barrier_exchange();
        }
        if let Some(hosts) = &mut self.by_work {
            hosts.update(host, before, self.computing.work(host));
        }
        self.deliveries[process] = self.delivery(process, host, &[]);
        self.update_time(host);
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
        let members = &mut self.members[machine.set.index()];
        *members -= 1;
        let is_empty = *members == 0;
        self.barrier -= self.snapshot.barrier(machine.set).process();
        let is_first = self.enter(process, host);
        if is_empty || is_first {
            self.exchange = self.barrier_exchange();
        }
        if let Some(flows) = &mut self.flows {
            flows.relocate(&self.places, process, host);
        }
        self.places[process] = host;
        self.update(process, [from, host]);
    }

    /// Returns whether `process` is the first one of the Set of `host`.
    fn enter(&mut self, process: usize, host: usize) -> bool {
        let machine = &self.snapshot.hosts()[host];
        let loads = self.snapshot.processes();
        self.computing.insert(loads, machine, host, process);
        self.barrier += self.snapshot.barrier(machine.set).process();
        let members = &mut self.members[machine.set.index()];
        *members += 1;
        *members == 1
    }

    /// Recomputes the times that the move of `process` between two hosts has changed.
    fn update(&mut self, process: usize, changed: [usize; 2]) {
        let graph = self.snapshot.graph();
        // The connections of both hosts carry other bytes: those of their processes, and those sent to these.
        let mut senders = Vec::new();
        for resident in changed
            .iter()
            .flat_map(|host| self.computing.residents(*host))
        {
            senders.push(*resident);
            senders.extend(
                graph
                    .incoming(*resident)
                    .iter()
                    .map(|message| message.other),
            );
        }
        senders.extend(graph.incoming(process).iter().map(|message| message.other));
        senders.sort_unstable();
        senders.dedup();
        let mut hosts = changed.to_vec();
        for sender in senders {
            let host = self.places[sender];
            let delivery = self.delivery(sender, host, &[]);
            if delivery.to_bits() != self.deliveries[sender].to_bits() {
                self.deliveries[sender] = delivery;
                hosts.push(host);
            }
        }
        hosts.sort_unstable();
        hosts.dedup();
        for host in hosts {
            self.update_time(host);
        }
        self.update_links(process, changed);
    }

    fn update_time(&mut self, host: usize) {
        let residents = self.computing.residents(host).iter();
        let arrivals =
            residents.map(|resident| self.computing.end(*resident) + self.deliveries[*resident]);
        let last = arrivals.reduce(f64::max);
        let release = self.snapshot.barrier(self.set(host)).release();
        self.times
            .set(host, last.map_or(0.0, |last| release + last));
        let factor = self.snapshot.hosts()[host].interruption;
        if 0.0 < factor {
            let interruption = factor * self.computing.host_end(host);
            self.interrupted += interruption - self.interruptions[host];
            self.interruptions[host] = interruption;
        }
    }

    /// Recomputes the times of links that the move of `process` between two hosts has changed.
    fn update_links(&mut self, process: usize, changed: [usize; 2]) {
        let senders = self.snapshot.graph().incoming(process).iter();
        let senders = senders.map(|message| self.places[message.other]);
        let mut hosts: Vec<usize> = changed.into_iter().chain(senders).collect();
        hosts.sort_unstable();
        hosts.dedup();
        let sets = changed.map(|host| self.set(host));
        if let Some(flows) = &self.flows {
            self.links.update((flows, &self.computing), &hosts, sets);
        }
    }

    /// The host of each process, by process.
    #[must_use]
    pub fn places(&self) -> &[usize] {
        &self.places
    }

    /// The processes that are not on their present host.
    pub fn moved(&self) -> impl Iterator<Item = usize> {
        let both = self.snapshot.places().iter().zip(&self.places).enumerate();
        both.filter(|(_, (from, to))| from != to)
            .map(|(process, _)| process)
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
        self.times.get(host)
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

    /// The host that takes longest, the lowest number among equals.
    #[must_use]
    pub fn slowest(&self) -> usize {
        self.times.index_of_greatest()
    }

    /// The two Sets whose messages take longer than the slowest host, and how many seconds; `None` if that is the
    /// slowest of all.
    #[must_use]
    pub fn slowest_link(&self) -> Option<((SetId, SetId), f64)> {
        let hosts = self.times.greatest();
        self.links.slowest().filter(|(_, time)| hosts < *time)
    }

    /// How long a superstep takes.
    #[must_use]
    pub fn superstep(&self) -> Seconds {
        Seconds::bounded(self.longest())
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

    /// Seconds for which owners' jobs are expected to interrupt a superstep.
    pub(crate) const fn interrupted(&self) -> f64 {
        self.interrupted
    }

    /// How long a superstep takes, as a bare number of seconds.
    pub(crate) fn longest(&self) -> f64 {
        let links = self.links.slowest().map_or(0.0, |(_, time)| time);
        self.barrier + self.exchange + self.interrupted + links.max(self.times.greatest())
    }

    /// `host` without `leaving` and with `coming`.
    fn host_after(
        &self,
        (host, leaving, coming): (usize, Option<usize>, Option<usize>),
        changes: Changes<'_>,
    ) -> HostAfter {
        let machine = &self.snapshot.hosts()[host];
        let release = self.snapshot.barrier(machine.set).release();
        let mut after = HostAfter {
            host,
            end: 0.0,
            time: 0.0,
        };
        let loads = self.snapshot.processes();
        self.computing
            .with(loads, (host, machine), (leaving, coming), |process, end| {
                let messages = self.snapshot.graph().outgoing(process).iter();
                let changes_receiver = |other| changes.iter().any(|(changed, _)| *changed == other);
                let is_same = Some(process) != coming
                    && messages
                        .map(|message| message.other)
                        .all(|other| !changes_receiver(other));
                let delivery = if is_same {
                    self.deliveries[process]
                } else {
                    self.delivery(process, host, changes)
                };
                after.end = after.end.max(end);
                after.time = after.time.max(release + (end + delivery));
            });
        after
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

    /// Seconds that Managers of Sets with processes wait for each other's messages at the end of a superstep.
    fn barrier_exchange(&self) -> f64 {
        if !self.snapshot.has_hierarchical_barrier() {
            return 0.0;
        }
        let is_in_use = |set: SetId| 0 < self.members[set.index()];
        let pairs = self
            .snapshot
            .pairs()
            .filter(|(from, to)| is_in_use(*from) && is_in_use(*to));
        let latencies = pairs.map(|(from, to)| self.snapshot.network().latency(from, to));
        latencies.fold(0.0, f64::max)
    }

    fn place(&self, process: usize, changes: Changes<'_>) -> usize {
        let changed = changes.iter().find(|(other, _)| *other == process);
        changed.map_or(self.places[process], |(_, host)| *host)
    }

    fn set(&self, host: usize) -> SetId {
        self.snapshot.hosts()[host].set
    }
}
