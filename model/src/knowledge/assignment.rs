//! Where each process is while a plan is being made, and how long supersteps take.

use std::collections::BTreeSet;

use bsp::SetId;
use bsp::numbers::whole;
use bsp::units::Seconds;

use super::migration_schedule::Maximum;
use super::snapshot::lighter_first;
use crate::bounded::count;
use crate::{Graph, Host, Load, Message, MigrationSchedule, Snapshot};

/// Processes on hosts, and how long a superstep takes: all that plans, gates and explanations ask of a placement.
///
/// Equation `SUPERSTEP` of `docs/model.md`. A process starts when the barrier releases it, computes, and sends its
/// messages; it arrives at the barrier when all messages that it has sent, and all that it receives, have arrived. A host
/// takes as long as the last of its processes until the barrier knows of its messages. The superstep takes as long as
/// the slowest host, or as the messages from one Set to another, whichever is longer.
///
/// It holds every process; processes are moved with [`put`](Assignment::put). What a move would bring is known without a
/// visit to the other processes of its hosts, of which there may be thousands.
///
/// Negotiations between Managers do not use this: a Manager knows only the processes of its own Set, and counts the
/// instructions of the last superstep ([`Processors`](crate::Processors)). Neither does [`rebalance`](crate::rebalance),
/// whose searches know neither networks nor cores and ask for levels millions of times in a second.
#[derive(Clone, Debug)]
pub struct Assignment<'a> {
    snapshot: &'a Snapshot,
    /// The host of each process.
    places: Vec<usize>,
    computing: Computing,
    flows: Flows<'a>,
    /// By process: seconds from the end of its computation until it and all receivers of its messages have arrived at
    /// the barrier, as far as they wait for these messages.
    deliveries: Vec<f64>,
    /// By host: when its processes have arrived, if there are [many](MANY).
    arrivals: Vec<Option<Box<Arrivals>>>,
    /// By host: seconds until its last process is known to have arrived at the barrier.
    times: Maximum,
    /// By Set and [position](Snapshot::position) of the host in it: the same below zero, so that the greatest is the least.
    idle: Vec<Maximum>,
    links: Links<'a>,
    /// The number of processes in each Set.
    members: Vec<u32>,
    /// What all processes add to a superstep, in seconds.
    barrier: f64,
    /// Seconds for which owners' jobs are expected to interrupt a superstep, on all hosts together.
    interrupted: f64,
    /// The same by host.
    interruptions: Maximum,
    /// Seconds that Managers of Sets with processes wait for each other's messages at the end of a superstep.
    exchange: f64,
}

/// Processes with hosts that differ from those of the assignment.
type Changes<'a> = &'a [(usize, usize)];

impl<'a> Assignment<'a> {
    /// The processes on the hosts `places`, by process.
    #[must_use]
    pub fn new(snapshot: &'a Snapshot, places: &[usize]) -> Self {
        let (graph, hosts) = (snapshot.graph(), snapshot.hosts());
        let mut assignment = Self {
            snapshot,
            places: places.to_vec(),
            computing: Computing::new(snapshot, places),
            flows: Flows::new(graph, hosts, snapshot.places(), places),
            deliveries: vec![0.0; places.len()],
            arrivals: vec![None; hosts.len()],
            times: Maximum::zeros(0),
            idle: Vec::new(),
            links: Links::without_messages(snapshot),
            members: vec![0; snapshot.sets()],
            barrier: 0.0,
            interrupted: 0.0,
            interruptions: Maximum::zeros(hosts.len()),
            exchange: 0.0,
        };
        let sending = (&assignment.flows, &assignment.computing);
        assignment.links.update_all(sending);
        for (process, host) in places.iter().enumerate() {
            let set = assignment.set(*host);
            assignment.members[set.index()] += 1;
            assignment.barrier += snapshot.barrier(set).process();
            assignment.deliveries[process] = assignment.delivery(process, *host, &[]);
        }
        let hosts = 0..hosts.len();
        let times: Vec<f64> = hosts.map(|host| assignment.arrive(host)).collect();
        let idle = |set| {
            let members = snapshot.members(SetId::from_index(set)).iter();
            Maximum::of(members.map(|host| -times[*host]))
        };
        assignment.idle = (0..snapshot.sets()).map(idle).collect();
        assignment.times = Maximum::of(times.into_iter());
        assignment.exchange = assignment.barrier_exchange();
        assignment
    }

    /// The present placement.
    #[must_use]
    pub fn present(snapshot: &'a Snapshot) -> Self {
        Self::new(snapshot, snapshot.places())
    }

    /// Moves `process` to `host`.
    pub fn put(&mut self, process: usize, host: usize) {
        let from = self.places[process];
        if from == host {
            return;
        }
        self.snapshot.count_candidate();
        let machine = &self.snapshot.hosts()[from];
        let loads = self.snapshot.processes();
        self.computing.remove(loads, machine, from, process);
        let members = &mut self.members[machine.set.index()];
        *members -= 1;
        let is_empty = *members == 0;
        self.barrier -= self.snapshot.barrier(machine.set).process();
        let machine = &self.snapshot.hosts()[host];
        self.computing.insert(loads, machine, host, process);
        self.barrier += self.snapshot.barrier(machine.set).process();
        let members = &mut self.members[machine.set.index()];
        *members += 1;
        if is_empty || *members == 1 {
            self.exchange = self.barrier_exchange();
        }
        self.flows.relocate(&self.places, process, host);
        self.places[process] = host;
        self.update(process, [from, host]);
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
        let time = self.arrive(host);
        self.times.set(host, time);
        let set = self.set(host);
        self.idle[set.index()].set(self.snapshot.position(host), -time);
    }

    /// Recomputes when the processes of a host arrive; returns when the last one is known to have arrived.
    fn arrive(&mut self, host: usize) -> f64 {
        let residents = self.computing.residents(host);
        let arrival = |resident: &usize| self.computing.end(*resident) + self.deliveries[*resident];
        let last = residents.iter().map(arrival).reduce(f64::max);
        let release = self.snapshot.barrier(self.set(host)).release();
        let time = last.map_or(0.0, |last| release + last);
        let is_crowded = MANY <= residents.len();
        self.arrivals[host] = is_crowded.then(|| Box::new(Arrivals::new(self, host)));
        let factor = self.snapshot.hosts()[host].interruption;
        if 0.0 < factor {
            let interruption = factor * self.computing.host_end(host);
            self.interrupted += interruption - self.interruptions.get(host);
            self.interruptions.set(host, interruption);
        }
        time
    }

    /// Recomputes the times of links that the move of `process` between two hosts has changed.
    fn update_links(&mut self, process: usize, changed: [usize; 2]) {
        let senders = self.snapshot.graph().incoming(process).iter();
        let senders = senders.map(|message| self.places[message.other]);
        let mut hosts: Vec<usize> = changed.into_iter().chain(senders).collect();
        hosts.sort_unstable();
        hosts.dedup();
        let sets = changed.map(|host| self.set(host));
        let sending = (&self.flows, &self.computing);
        self.links.update(sending, &hosts, sets);
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
        if self.arrivals[host].is_some() {
            let shift = self.computing.shift(loads, here, (leaving, coming));
            shift.each_of_tail(&self.computing, loads, |_, end| last = end);
        } else {
            self.computing
                .with(loads, here, (leaving, coming), |_, end| last = end);
        }
        last
    }

    /// The host that takes longest, the lowest number among equals.
    #[must_use]
    pub fn slowest(&self) -> usize {
        self.times.index_of_greatest()
    }

    /// The hosts of `set` that take least time, the least first, at most `number`; of equal ones the first.
    pub(crate) fn idlest(&self, set: SetId, number: usize) -> Vec<usize> {
        let members = self.snapshot.members(set);
        let first = self.idle[set.index()].first(number);
        first.map(|position| members[position]).collect()
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
        match &self.arrivals[host] {
            Some(arrivals) => self.crowd_after(arrivals, (host, leaving, coming), changes),
            None => self.each_after((host, leaving, coming), changes),
        }
    }

    /// The same by a visit to each process of the host: what is left out of account is nothing but rounding.
    fn each_after(
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
        let changed = (host, leaving, coming);
        let delivery = |process| self.delivery_after(process, changed, changes);
        self.computing
            .with(loads, (host, machine), (leaving, coming), |process, end| {
                after.end = after.end.max(end);
                after.time = after.time.max(release + (end + delivery(process)));
            });
        after
    }

    /// The same by a visit to those alone that compute last, that come, or whose messages change.
    fn crowd_after(
        &self,
        arrivals: &Arrivals,
        (host, leaving, coming): (usize, Option<usize>, Option<usize>),
        changes: Changes<'_>,
    ) -> HostAfter {
        let machine = &self.snapshot.hosts()[host];
        let loads = self.snapshot.processes();
        let computing = &self.computing;
        let changed = (host, leaving, coming);
        let delivery = |process| self.delivery_after(process, changed, changes);
        let shift = computing.shift(loads, (host, machine), (leaving, coming));
        let (mut last, mut end_last) = (f64::NEG_INFINITY, 0.0);
        shift.each_of_tail(computing, loads, |process, end| {
            end_last = end;
            last = last.max(end + delivery(process));
        });
        if let Some((process, end)) = shift.coming_to_head(computing, loads) {
            last = last.max(end + delivery(process));
        }
        // Those of the head that send to a process that moves.
        let graph = self.snapshot.graph();
        let senders = changes
            .iter()
            .flat_map(|(process, _)| graph.incoming(*process))
            .map(|message| message.other)
            .filter(|sender| self.places[*sender] == host && Some(*sender) != leaving);
        let mut apart: Vec<usize> = senders
            .map(|sender| computing.rank_in(loads, host, sender))
            .filter(|at| *at < shift.head)
            .collect();
        apart.sort_unstable();
        apart.dedup();
        let residents = computing.residents(host);
        for at in &apart {
            let process = residents[*at];
            let end = computing.end(process) + shift.delay(*at, loads[process].instructions);
            last = last.max(end + delivery(process));
        }
        apart.extend(shift.leaving);
        apart.sort_unstable();
        last = last.max(arrivals.last_of_head(&shift, &apart));
        let release = self.snapshot.barrier(machine.set).release();
        HostAfter {
            host,
            end: end_last,
            time: (release + last).max(0.0),
        }
    }

    /// The [delivery](Self::delivery) of a process of a host after `changes`.
    fn delivery_after(
        &self,
        process: usize,
        (host, _, coming): (usize, Option<usize>, Option<usize>),
        changes: Changes<'_>,
    ) -> f64 {
        let messages = self.snapshot.graph().outgoing(process).iter();
        let changes_receiver = |other| changes.iter().any(|(changed, _)| *changed == other);
        let is_same = Some(process) != coming
            && messages
                .map(|message| message.other)
                .all(|other| !changes_receiver(other));
        if is_same {
            self.deliveries[process]
        } else {
            self.delivery(process, host, changes)
        }
    }

    /// Seconds from the end of the computation of `process` on `host` until it and all receivers of its messages have
    /// arrived at the barrier, as far as they wait for these messages.
    fn delivery(&self, process: usize, host: usize, changes: Changes<'_>) -> f64 {
        let arrival = |host: usize| self.snapshot.barrier(self.set(host)).arrival();
        let own = arrival(host);
        let messages = self.snapshot.graph().outgoing(process).iter();
        let times = messages.map(|message| {
            let to = self.place(message.other, changes);
            if to == host {
                return own;
            }
            self.message(message, (host, to)) + own.max(arrival(to))
        });
        times.fold(own, f64::max)
    }

    /// Seconds that a message takes between two hosts, messages between Sets that share a link not counted.
    fn message(&self, message: &Message, (from, to): (usize, usize)) -> f64 {
        let network = self.snapshot.network();
        let sets = (self.set(from), self.set(to));
        let sending = self.flows.sent(from) * network.per_byte(sets.0, sets.0);
        let receiving = self.flows.received(to) * network.per_byte(sets.1, sets.1);
        let alone = message.bytes * network.per_byte(sets.0, sets.1);
        network.message(sets.0, sets.1, alone, sending.max(receiving))
    }

    /// Seconds that Managers of Sets with processes wait for each other's messages at the end of a superstep.
    fn barrier_exchange(&self) -> f64 {
        let is_in_use = |set: SetId| 0 < self.members[set.index()];
        self.snapshot.barrier_exchange(is_in_use)
    }

    fn place(&self, process: usize, changes: Changes<'_>) -> usize {
        let changed = changes.iter().find(|(other, _)| *other == process);
        changed.map_or(self.places[process], |(_, host)| *host)
    }

    fn set(&self, host: usize) -> SetId {
        self.snapshot.hosts()[host].set
    }
}

impl Assignment<'_> {
    /// Seconds that the slowest of those hosts would take that change if `process` went to `host`, or the messages
    /// between their Sets.
    #[must_use]
    pub fn after_move(&self, process: usize, host: usize) -> f64 {
        self.after_move_unless(process, host, |_| false)
    }

    /// The same, or a part of it that `is_too_long` already, which takes less time to tell. Whatever is longer than what is too
    /// long must be so, too.
    pub(crate) fn after_move_unless(
        &self,
        process: usize,
        host: usize,
        is_too_long: impl Fn(f64) -> bool,
    ) -> f64 {
        self.snapshot.count_candidate();
        let from = self.places[process];
        let changes = [(process, host)];
        let sets = [self.set(from), self.set(host)];
        let delay = sets.map(|set| self.snapshot.barrier(set).process());
        let delayed = |time: f64| time + delay[1] - delay[0];
        let taken = self.host_after((host, None, Some(process)), &changes);
        let time = delayed(taken.time);
        if is_too_long(time) {
            return time;
        }
        let left = self.host_after((from, Some(process), None), &changes);
        let time = delayed(left.time.max(taken.time));
        if is_too_long(time) {
            return time;
        }
        delayed(self.longest_after(&changes, &[left, taken]))
    }

    /// No more than [`after_move`](Self::after_move), from the work of both hosts alone, which takes much less time to tell.
    pub(crate) fn least_after_move(&self, process: usize, host: usize) -> f64 {
        let from = self.places[process];
        let left = self.least_of_host((from, Some(process), None));
        let taken = self.least_of_host((host, None, Some(process)));
        let delay = |host: usize| self.snapshot.barrier(self.set(host)).process();
        left.max(taken) + delay(host) - delay(from)
    }

    /// No more than [`after_swap`](Self::after_swap), in the same way.
    pub(crate) fn least_after_swap(&self, process: usize, other: usize) -> f64 {
        let (from, host) = (self.places[process], self.places[other]);
        let left = self.least_of_host((from, Some(process), Some(other)));
        let taken = self.least_of_host((host, Some(other), Some(process)));
        left.max(taken)
    }

    /// No more than `host` would take without `leaving` and with `coming`.
    fn least_of_host(&self, (host, leaving, coming): (usize, Option<usize>, Option<usize>)) -> f64 {
        let machine = &self.snapshot.hosts()[host];
        let barrier = self.snapshot.barrier(machine.set);
        let loads = self.snapshot.processes();
        let work = |process: Option<usize>| process.map_or(0.0, |one| loads[one].instructions);
        let (before, left, came) = (self.computing.work[host], work(leaving), work(coming));
        let rounding = ROUNDING * (before + came);
        let all = (before - left + came - rounding) / (machine.cores * machine.rate);
        let alone = (came - rounding) / machine.rate;
        let least = barrier.release() + barrier.arrival() + all.max(alone);
        // An empty host does not keep the barrier waiting.
        if 0.0 < all { least } else { 0.0 }
    }

    /// Seconds by which interruptions of a superstep would become longer if `process` went to `host`.
    #[must_use]
    pub(crate) fn interruption_after_move(&self, process: usize, host: usize) -> f64 {
        let from = self.places[process];
        let factor = |host: usize| self.snapshot.hosts()[host].interruption;
        let mut change = 0.0;
        if 0.0 < factor(from) {
            let left = self.computation_with(from, Some(process), None);
            change += factor(from) * left - self.interruptions.get(from);
        }
        if 0.0 < factor(host) {
            let taken = self.computation_with(host, None, Some(process));
            change += factor(host) * taken - self.interruptions.get(host);
        }
        change
    }

    /// The hosts whose interruptions are expected to take longest, the longest first, at most `number`.
    pub(crate) fn most_interrupted(&self, number: usize) -> Vec<usize> {
        let hosts = self.interruptions.first(number);
        hosts
            .filter(|host| 0.0 < self.interruptions.get(*host))
            .collect()
    }

    /// The same if `process` and `other` changed places.
    #[must_use]
    pub fn after_swap(&self, process: usize, other: usize) -> f64 {
        self.snapshot.count_candidate();
        let (from, host) = (self.places[process], self.places[other]);
        let changes = [(process, host), (other, from)];
        let left = self.host_after((from, Some(process), Some(other)), &changes);
        let taken = self.host_after((host, Some(other), Some(process)), &changes);
        self.longest_after(&changes, &[left, taken])
    }

    /// The longest time after `changes`: of the `hosts` that change, of a process elsewhere that sends to a process that
    /// moves, and of the links whose messages change.
    fn longest_after(&self, changes: Changes<'_>, hosts: &[HostAfter; 2]) -> f64 {
        let graph = self.snapshot.graph();
        let mut last = hosts[0].time.max(hosts[1].time);
        let mut links = LinkChanges::none(&self.links);
        for (process, _) in changes {
            for message in graph.incoming(*process) {
                let sender = message.other;
                let host = self.place(sender, changes);
                if hosts.iter().all(|changed| changed.host != host) {
                    let release = self.snapshot.barrier(self.set(host)).release();
                    let end = self.computing.end(sender);
                    last = last.max(release + end + self.delivery(sender, host, changes));
                }
                self.redirect(
                    (sender, *process),
                    message.bytes,
                    (changes, hosts),
                    &mut links,
                );
            }
            for message in graph.outgoing(*process) {
                // A message between two processes that move is counted at its receiver.
                if changes.iter().all(|(other, _)| *other != message.other) {
                    let ends = (*process, message.other);
                    self.redirect(ends, message.bytes, (changes, hosts), &mut links);
                }
            }
        }
        for change in links.iter() {
            last = last.max(self.links.time_after(*change, &self.flows, hosts));
        }
        last
    }

    /// Adds to `links` how `changes` redirect a message.
    fn redirect(
        &self,
        (from, to): (usize, usize),
        bytes: f64,
        (changes, hosts): (Changes<'_>, &[HostAfter; 2]),
        links: &mut LinkChanges<'_>,
    ) {
        let way = |sender: usize, receiver: usize| Way {
            link: (self.set(sender), self.set(receiver)),
            sender,
        };
        let before = way(self.places[from], self.places[to]);
        let after = way(self.place(from, changes), self.place(to, changes));
        let changed = hosts.iter().find(|changed| changed.host == after.sender);
        let end = changed.map_or_else(
            || self.computing.host_end(after.sender),
            |changed| changed.end,
        );
        links.redirect(before, after, bytes, end);
    }
}

/// A host whose processes have changed.
#[derive(Clone, Copy, Debug)]
struct HostAfter {
    host: usize,
    /// Seconds from the start of the superstep until all of its processes have computed.
    end: f64,
    /// Seconds until all of them have arrived at the barrier.
    time: f64,
}

/// A smaller part of a sum is rounding.
const ROUNDING: f64 = 1e-9;

/// The processes of each host, and when each has computed: its cores share the work equally among the processes that
/// still compute, and a process uses one core at most.
///
/// Equation `COMPUTING` of `docs/model.md`.
#[derive(Clone, Debug)]
struct Computing {
    /// By host: its processes, the lightest first.
    residents: Vec<Vec<usize>>,
    /// By process: seconds from the start of the superstep.
    ends: Vec<f64>,
    /// By host: the instructions of its processes.
    work: Vec<f64>,
}

impl Computing {
    /// No process is on a host yet.
    fn empty(hosts: usize, processes: usize) -> Self {
        Self {
            residents: vec![Vec::new(); hosts],
            ends: vec![0.0; processes],
            work: vec![0.0; hosts],
        }
    }

    /// All processes of the snapshot on the hosts `places`, by process.
    fn new(snapshot: &Snapshot, places: &[usize]) -> Self {
        let (loads, hosts) = (snapshot.processes(), snapshot.hosts());
        let mut computing = Self::empty(hosts.len(), loads.len());
        for process in snapshot.lightest_first() {
            computing.residents[places[*process]].push(*process);
        }
        for (host, machine) in hosts.iter().enumerate() {
            computing.update(loads, machine, host);
        }
        computing
    }

    /// The processes of a host, the lightest first.
    fn residents(&self, host: usize) -> &[usize] {
        &self.residents[host]
    }

    /// When a process has computed.
    fn end(&self, process: usize) -> f64 {
        self.ends[process]
    }

    /// When all processes of a host have computed.
    fn host_end(&self, host: usize) -> f64 {
        let last = self.residents[host].last();
        last.map_or(0.0, |process| self.ends[*process])
    }

    /// How many processes of a host are before `process`, which is one of them or not.
    fn rank_in(&self, loads: &[Load], host: usize, process: usize) -> usize {
        let is_before = |other: &usize| lighter_first(loads, *other, process).is_lt();
        self.residents[host].partition_point(is_before)
    }

    /// Adds `process` to `host`.
    fn insert(&mut self, loads: &[Load], machine: &Host, host: usize, process: usize) {
        let at = self.rank_in(loads, host, process);
        self.residents[host].insert(at, process);
        self.update(loads, machine, host);
    }

    /// Removes `process` from `host`.
    fn remove(&mut self, loads: &[Load], machine: &Host, host: usize, process: usize) {
        let at = self.rank_in(loads, host, process);
        let removed = self.residents[host].remove(at);
        assert_eq!(removed, process, "it is on host {host}");
        self.update(loads, machine, host);
    }

    fn update(&mut self, loads: &[Load], machine: &Host, host: usize) {
        let (ends, mut sum) = (&mut self.ends, 0.0);
        let residents = self.residents[host].iter().copied();
        sharing(loads, machine, residents, |process, end| {
            ends[process] = end;
            sum += loads[process].instructions;
        });
        // Anew, without the rounding of what has come and gone.
        self.work[host] = sum;
    }

    /// Calls `each` with every process that `host` would have without `leaving` and with `coming`, and when it would
    /// have computed.
    fn with(
        &self,
        loads: &[Load],
        (host, machine): (usize, &Host),
        (leaving, coming): (Option<usize>, Option<usize>),
        each: impl FnMut(usize, f64),
    ) {
        let staying = self.residents[host].iter().copied();
        let staying = staying.filter(move |resident| Some(*resident) != leaving);
        let Some(coming) = coming else {
            return sharing(loads, machine, staying, each);
        };
        let is_before = move |other: &usize| lighter_first(loads, *other, coming).is_lt();
        let lighter = staying.clone().take_while(is_before);
        let heavier = staying.skip_while(is_before);
        sharing(loads, machine, lighter.chain([coming]).chain(heavier), each);
    }

    /// How one process that leaves and one that comes delay the others of a host.
    fn shift<'a>(
        &self,
        loads: &[Load],
        (host, machine): (usize, &'a Host),
        (leaving, coming): (Option<usize>, Option<usize>),
    ) -> Shift<'a> {
        let present = self.residents[host].len();
        let at = |process: usize| self.rank_in(loads, host, process);
        let number = present + usize::from(coming.is_some()) - usize::from(leaving.is_some());
        // One of the head may be one place further back with the process that comes.
        let with = number.saturating_sub(1).min(present);
        let cores = whole(machine.cores);
        let mut head = with.saturating_sub(usize::try_from(cores).unwrap_or(usize::MAX));
        let leaving_at = leaving.map(at);
        if leaving_at.is_some_and(|at| at + 1 == head) {
            // The head ends with a process that stays.
            head -= 1;
        }
        let seconds = |process: Option<usize>| {
            let work = process.map_or(0.0, |process| loads[process].instructions);
            work / (machine.cores * machine.rate)
        };
        Shift {
            host,
            machine,
            number: count(number),
            head,
            leaving: leaving_at,
            coming: coming.map(|process| (process, at(process))),
            work: [seconds(leaving), seconds(coming)],
        }
    }
}

/// Calls `each` with every process of `residents`, the lightest first, and when it has computed on `machine`.
fn sharing(
    loads: &[Load],
    machine: &Host,
    residents: impl Iterator<Item = usize> + Clone,
    each: impl FnMut(usize, f64),
) {
    let begin = Shared {
        now: 0.0,
        done: 0.0,
        computing: residents.clone().fold(0.0, |number, _| number + 1.0),
    };
    begin.share(loads, machine, residents, each);
}

/// Processes that compute on one host.
#[derive(Clone, Copy, Debug)]
struct Shared {
    /// Seconds from the start of the superstep.
    now: f64,
    /// Instructions that each has executed by now.
    done: f64,
    /// How many still compute.
    computing: f64,
}

impl Shared {
    /// Calls `each` with every process of `residents` that still compute, the lightest first, and when it has computed.
    fn share(
        mut self,
        loads: &[Load],
        machine: &Host,
        residents: impl Iterator<Item = usize>,
        mut each: impl FnMut(usize, f64),
    ) {
        for process in residents {
            let work = loads[process].instructions;
            let shares = (self.computing / machine.cores).max(1.0);
            self.now += (work - self.done) * shares / machine.rate;
            self.done = work;
            self.computing -= 1.0;
            each(process, self.now);
        }
    }
}

/// A host has many processes if there are as many: then what changes are not all of them. A walk over fewer is as fast.
const MANY: usize = 32;

/// How one process that leaves a host and one that comes delay its other processes.
///
/// All cores are busy until as many processes are left as there are cores. Those that have computed by then, with and
/// without the change, are the head: each of them has waited for the work of the lighter ones, and for the heavier ones to
/// execute as much as itself. So one more process delays those that are lighter by their own work on all cores, and
/// those that are heavier by its work. The rest, little more than one for each core, is the tail.
#[derive(Clone, Copy, Debug)]
struct Shift<'a> {
    host: usize,
    machine: &'a Host,
    /// How many processes the host will have.
    number: f64,
    /// The head are so many of the residents, the lightest.
    head: usize,
    /// The position of the process that leaves, in the head or not.
    leaving: Option<usize>,
    /// The process that comes, and the position of the first resident that is heavier.
    coming: Option<(usize, usize)>,
    /// Seconds that all cores take for the work of the process that leaves, and of the one that comes.
    work: [f64; 2],
}

impl Shift<'_> {
    /// Seconds that all cores take for these instructions.
    fn on_all_cores(&self, instructions: f64) -> f64 {
        instructions / (self.machine.cores * self.machine.rate)
    }

    /// By how much a resident of the head at this position ends later, which has so much work.
    fn delay(&self, at: usize, work: f64) -> f64 {
        let own = self.on_all_cores(work);
        let of = |position: Option<usize>, other: f64| match position {
            Some(position) if at < position => own,
            Some(_) => other,
            None => 0.0,
        };
        let coming = self.coming.map(|(_, position)| position);
        of(coming, self.work[1]) - of(self.leaving, self.work[0])
    }

    /// What has been executed when the residents before this position of the head, or at its end, have computed.
    fn before(&self, position: usize, computing: &Computing, loads: &[Load]) -> Shared {
        let residents = computing.residents(self.host);
        let mut before = (0..position).rev().filter(|at| Some(*at) != self.leaving);
        let gone = self.leaving.is_some_and(|leaving| leaving < position);
        let Some(at) = before.next() else {
            return Shared {
                now: 0.0,
                done: 0.0,
                computing: self.number,
            };
        };
        let process = residents[at];
        let done = loads[process].instructions;
        Shared {
            now: computing.end(process) + self.delay(at, done),
            done,
            computing: self.number - count(position) + if gone { 1.0 } else { 0.0 },
        }
    }

    /// If the process that comes is among the head: the process, and when it has computed.
    fn coming_to_head(&self, computing: &Computing, loads: &[Load]) -> Option<(usize, f64)> {
        let (process, position) = self.coming.filter(|(_, position)| *position < self.head)?;
        let before = self.before(position, computing, loads);
        let mut end = 0.0;
        before.share(loads, self.machine, [process].into_iter(), |_, now| {
            end = now;
        });
        Some((process, end))
    }

    /// Calls `each` with every process of the tail, the lightest first, and when it will have computed.
    fn each_of_tail(&self, computing: &Computing, loads: &[Load], each: impl FnMut(usize, f64)) {
        let mut begin = self.before(self.head, computing, loads);
        let residents = computing.residents(self.host);
        let tail = &residents[self.head..];
        let leaving = self.leaving.map(|position| residents[position]);
        let (coming, at) = match self.coming {
            Some((process, position)) if self.head <= position => {
                (Some(process), position - self.head)
            }
            Some(_) => {
                // It has computed when the head has.
                begin.computing -= 1.0;
                (None, 0)
            }
            None => (None, 0),
        };
        let (lighter, heavier) = tail.split_at(at);
        let stays = |process: &&usize| Some(**process) != leaving;
        let (lighter, heavier) = (lighter.iter().filter(stays), heavier.iter().filter(stays));
        let tail = lighter.copied().chain(coming).chain(heavier.copied());
        begin.share(loads, self.machine, tail, each);
    }
}

/// When the processes of a host with [many](MANY) have arrived, in the order of their work: seconds from the release of
/// the superstep.
#[derive(Clone, Debug)]
struct Arrivals {
    /// As it is.
    now: Maximum,
    /// If each ended later by what all cores take for its own work.
    later: Maximum,
    /// If each ended earlier by that.
    earlier: Maximum,
}

impl Arrivals {
    fn new(assignment: &Assignment<'_>, host: usize) -> Self {
        let machine = &assignment.snapshot.hosts()[host];
        let residents = assignment.computing.residents(host).iter();
        let loads = assignment.snapshot.processes();
        let arrivals = residents.map(|process| {
            let own = loads[*process].instructions / (machine.cores * machine.rate);
            let arrival = assignment.computing.end(*process) + assignment.deliveries[*process];
            (arrival, own)
        });
        let of = |sign: f64| {
            let arrivals = arrivals.clone();
            Maximum::of(arrivals.map(|(arrival, own)| arrival + sign * own))
        };
        Self {
            now: of(0.0),
            later: of(1.0),
            earlier: of(-1.0),
        }
    }

    /// When the last process of the head has arrived after a `shift`, those left out that are at these positions, which are
    /// ordered.
    fn last_of_head(&self, shift: &Shift<'_>, without: &[usize]) -> f64 {
        let coming = shift.coming.map(|(_, position)| position);
        let mut last = f64::NEG_INFINITY;
        let mut begin = 0;
        let bounds = [coming, shift.leaving].into_iter().flatten();
        let mut bounds: Vec<usize> = bounds
            .chain(without.iter().flat_map(|at| [*at, *at + 1]))
            .map(|bound| bound.min(shift.head))
            .chain([shift.head])
            .collect();
        bounds.sort_unstable();
        for end in bounds {
            if begin < end && !without.contains(&begin) {
                let is_lighter = |position: Option<usize>| position.map(|at| begin < at);
                let [left, came] = shift.work;
                let part = match (is_lighter(coming), is_lighter(shift.leaving)) {
                    (None, None) | (Some(true), Some(true)) => self.now.greatest_of(begin..end),
                    (None, Some(true)) => self.earlier.greatest_of(begin..end),
                    (None, Some(false)) => self.now.greatest_of(begin..end) - left,
                    (Some(true), None) => self.later.greatest_of(begin..end),
                    (Some(true), Some(false)) => self.later.greatest_of(begin..end) - left,
                    (Some(false), None) => self.now.greatest_of(begin..end) + came,
                    (Some(false), Some(true)) => self.earlier.greatest_of(begin..end) + came,
                    (Some(false), Some(false)) => self.now.greatest_of(begin..end) + (came - left),
                };
                last = last.max(part);
            }
            begin = begin.max(end);
        }
        last
    }
}

/// From Set to Set, until when the messages have arrived that share the link between them.
#[derive(Clone, Debug)]
struct Links<'a> {
    snapshot: &'a Snapshot,
    /// By host: seconds from the start of the superstep until its processes have computed.
    ends: Vec<f64>,
    /// From Set to Set: the bits of these, which order as they do, and the host, of all hosts that send there.
    senders: Vec<BTreeSet<(u64, usize)>>,
    /// The same by Set, of all its hosts; empty if every sender is known by rank.
    members: Vec<BTreeSet<(u64, usize)>>,
    /// From Set to Set.
    last_senders: Vec<LastSender>,
    /// From Set to Set: seconds from the start of the superstep.
    times: Maximum,
}

/// The last host of a Set to have computed that sends to another Set; of several, the one with the highest number.
#[derive(Clone, Copy, Debug)]
struct LastSender {
    /// Seconds from the start of the superstep.
    end: f64,
    /// `None`: none sends.
    host: Option<usize>,
}

const NO_SENDER: LastSender = LastSender {
    end: 0.0,
    host: None,
};

/// What is sent, and when processes have computed.
type Sending<'a> = (&'a Flows<'a>, &'a Computing);

impl<'a> Links<'a> {
    fn without_messages(snapshot: &'a Snapshot) -> Self {
        let pairs = snapshot.sets() * snapshot.sets();
        Self {
            snapshot,
            ends: vec![0.0; snapshot.hosts().len()],
            senders: vec![BTreeSet::new(); pairs],
            members: Vec::new(),
            last_senders: vec![NO_SENDER; pairs],
            times: Maximum::zeros(pairs),
        }
    }

    /// Adds all hosts.
    fn update_all(&mut self, (flows, computing): Sending<'_>) {
        let hosts = 0..self.snapshot.hosts().len();
        self.ends = hosts.map(|host| computing.host_end(host)).collect();
        let ends = |members: &[usize]| -> Vec<(u64, usize)> {
            let members = members.iter();
            members
                .map(|host| (self.ends[*host].to_bits(), *host))
                .collect()
        };
        let sets = (0..self.snapshot.sets()).map(SetId::from_index);
        let members = sets.map(|set| ends(self.snapshot.members(set)));
        let members: Vec<Vec<(u64, usize)>> = members.collect();
        for (from, to) in self.snapshot.pairs() {
            let all = members[from.index()].iter();
            let senders = all.filter(|(_, host)| 0 < flows.leaving(*host, to));
            let pair = self.pair((from, to));
            self.senders[pair] = senders.copied().collect();
        }
        if flows.has_crowds() {
            self.members = members.into_iter().map(BTreeSet::from_iter).collect();
        }
        self.update_pairs(flows);
    }

    /// Recomputes the times that change if these `hosts` have computed at another time or send elsewhere, and if
    /// messages from and to these `sets` have changed.
    fn update(&mut self, sending: Sending<'_>, hosts: &[usize], sets: [SetId; 2]) {
        for host in hosts {
            self.update_host(*host, sending);
        }
        if sending.0.has_crowds() {
            self.update_pairs(sending.0);
            return;
        }
        let senders = hosts.iter().map(|host| self.snapshot.hosts()[*host].set);
        let mut senders: Vec<SetId> = senders.collect();
        senders.sort_unstable();
        senders.dedup();
        for set in senders {
            for other in (0..self.snapshot.sets()).map(SetId::from_index) {
                self.update_time((set, other), sending.0);
            }
        }
        for set in sets {
            for other in (0..self.snapshot.sets()).map(SetId::from_index) {
                self.update_time((other, set), sending.0);
            }
        }
    }

    /// Recomputes all times.
    fn update_pairs(&mut self, flows: &Flows<'_>) {
        for link in self.snapshot.pairs() {
            self.update_time(link, flows);
        }
    }

    /// The link whose messages arrive last, and after how many seconds; `None` if no message crosses a link.
    pub(super) fn slowest(&self) -> Option<((SetId, SetId), f64)> {
        let (pair, time) = (self.times.index_of_greatest(), self.times.greatest());
        let sets = self.snapshot.sets();
        let link = || {
            let (from, to) = (pair / sets, pair % sets);
            (SetId::from_index(from), SetId::from_index(to))
        };
        (0.0 < time).then(|| (link(), time))
    }

    /// The last host to have computed that sends over a link.
    fn last_sender(&self, link: (SetId, SetId)) -> Option<usize> {
        self.last_senders[self.pair(link)].host
    }

    /// Seconds until the messages of a link have arrived after `change`, if these `hosts` have computed at another time.
    fn time_after(&self, change: LinkChange, flows: &Flows<'_>, hosts: &[HostAfter]) -> f64 {
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
        let last = self.last_senders[self.pair(change.link)];
        let last = last.host.map_or(0.0, |host| {
            let number = flows
                .leaving(host, to)
                .saturating_add_signed(change.from_last);
            if number == 0 && !flows.has_crowd(from, to) {
                // The others that send there have computed earlier. They are not looked for.
                return 0.0;
            }
            let changed = hosts.iter().find(|changed| changed.host == host);
            changed.map_or(last.end, |changed| changed.end)
        });
        let sent = barrier[0].release() + change.end.max(last);
        sent + network.message(from, to, alone, occupied) + arrival
    }

    fn update_time(&mut self, link: (SetId, SetId), flows: &Flows<'_>) {
        if link.0 == link.1 {
            return;
        }
        let pair = self.pair(link);
        let senders = if flows.has_crowd(link.0, link.1) {
            &self.members[link.0.index()]
        } else {
            &self.senders[pair]
        };
        let last = senders.last().map(|(bits, host)| LastSender {
            end: f64::from_bits(*bits),
            host: Some(*host),
        });
        self.last_senders[pair] = last.unwrap_or(NO_SENDER);
        let time = self.time_after(LinkChange::none(link), flows, &[]);
        self.times.set(pair, time);
    }

    /// Enters when `host` computes and where it sends.
    fn update_host(&mut self, host: usize, (flows, computing): Sending<'_>) {
        let set = self.snapshot.hosts()[host].set;
        let end = computing.host_end(host);
        let before = std::mem::replace(&mut self.ends[host], end);
        let (before, after) = ((before.to_bits(), host), (end.to_bits(), host));
        for to in (0..self.snapshot.sets()).map(SetId::from_index) {
            let pair = self.pair((set, to));
            let senders = &mut self.senders[pair];
            senders.remove(&before);
            if 0 < flows.leaving(host, to) {
                senders.insert(after);
            }
        }
        if let Some(members) = self.members.get_mut(set.index()) {
            members.remove(&before);
            members.insert(after);
        }
    }

    /// Where what is known of a link is kept.
    fn pair(&self, link: (SetId, SetId)) -> usize {
        link.0.index() * self.snapshot.sets() + link.1.index()
    }
}

/// How the messages between two Sets change.
#[derive(Clone, Copy, Debug)]
struct LinkChange {
    /// From where to where.
    pub(super) link: (SetId, SetId),
    /// Bytes that are added, or taken away.
    pub(super) bytes: f64,
    /// Messages that are added, or taken away.
    pub(super) number: i32,
    /// The same, of those from the last host to have computed that sends there at present.
    from_last: i32,
    /// When the last sender of the added ones has computed, in seconds.
    pub(super) end: f64,
}

impl LinkChange {
    /// No change of the messages from one Set to another.
    pub(super) const fn none(link: (SetId, SetId)) -> Self {
        Self {
            link,
            bytes: 0.0,
            number: 0,
            from_last: 0,
            end: 0.0,
        }
    }
}

/// The way of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Way {
    /// From where to where.
    pub(super) link: (SetId, SetId),
    /// The host of the sender.
    pub(super) sender: usize,
}

/// The changes of all links.
#[derive(Debug)]
struct LinkChanges<'a> {
    links: &'a Links<'a>,
    changes: Vec<LinkChange>,
}

impl<'a> LinkChanges<'a> {
    /// No changes of `links`.
    pub(super) const fn none(links: &'a Links<'a>) -> Self {
        Self {
            links,
            changes: Vec::new(),
        }
    }

    /// A message goes another way, from a sender that has computed at `end`.
    pub(super) fn redirect(&mut self, before: Way, after: Way, bytes: f64, end: f64) {
        if before != after {
            self.add(before, -bytes, -1, 0.0);
            self.add(after, bytes, 1, end);
        }
    }

    /// One change for each link.
    pub(super) fn iter(&self) -> impl Iterator<Item = &LinkChange> {
        self.changes.iter()
    }

    fn add(&mut self, Way { link, sender }: Way, bytes: f64, number: i32, end: f64) {
        if link.0 == link.1 {
            return;
        }
        let known = self.changes.iter().position(|known| known.link == link);
        let at = known.unwrap_or(self.changes.len());
        if known.is_none() {
            self.changes.push(LinkChange::none(link));
        }
        let change = &mut self.changes[at];
        change.bytes += bytes;
        change.number += number;
        change.end = change.end.max(end);
        if self.links.last_sender(link) == Some(sender) {
            change.from_last += number;
        }
    }
}

/// The bytes that hosts send and receive, and those that cross from Set to Set.
#[derive(Clone, Debug)]
pub(crate) struct Flows<'a> {
    graph: &'a Graph,
    machines: &'a [Host],
    /// The present host of each process.
    present: &'a [usize],
    sets: usize,
    /// By host: bytes that it sends to and receives from other hosts.
    hosts: Vec<[f64; 2]>,
    /// From Set to Set, of messages whose sender is known by rank; zero within a Set.
    crossing: Vec<f64>,
    /// By host and Set: how many messages go there, from another Set.
    leaving: Vec<u32>,
    /// The same by Set and Set.
    number: Vec<u32>,
    crowds: Option<Crowds>,
}

/// Where the processes are that senders known by Set alone may be, and what they send.
#[derive(Clone, Debug)]
struct Crowds {
    /// How many processes each Set has at present.
    members: Vec<f64>,
    /// By present Set and planned Set: how many of them.
    located: Vec<f64>,
    /// By present Set of the senders and planned Set of the receivers: bytes.
    bytes: Vec<f64>,
    /// By process: what it receives from each Set's crowd.
    received: Vec<Vec<(SetId, f64)>>,
}

impl<'a> Flows<'a> {
    /// With processes that run on the hosts `present` now, on the hosts `places`.
    pub(crate) fn new(
        graph: &'a Graph,
        machines: &'a [Host],
        present: &'a [usize],
        places: &[usize],
    ) -> Self {
        let sets = machines.iter().map(|host| host.set.index() + 1).max();
        let sets = sets.unwrap_or_default();
        let mut flows = Self {
            graph,
            machines,
            present,
            sets,
            hosts: vec![[0.0; 2]; machines.len()],
            crossing: vec![0.0; sets * sets],
            leaving: vec![0; machines.len() * sets],
            number: vec![0; sets * sets],
            crowds: Crowds::new(graph, machines, sets, (present, places)),
        };
        for (process, host) in places.iter().enumerate() {
            for message in graph.outgoing(process) {
                flows.add((*host, places[message.other]), message.bytes, true);
            }
        }
        flows
    }

    /// Moves `process` to the host `to`; `places` still has it on the former one.
    pub(crate) fn relocate(&mut self, places: &[usize], process: usize, to: usize) {
        let from = places[process];
        let graph = self.graph;
        for message in graph.outgoing(process) {
            let other = places[message.other];
            self.add((from, other), message.bytes, false);
            self.add((to, other), message.bytes, true);
        }
        for message in graph.incoming(process) {
            let other = places[message.other];
            self.add((other, from), message.bytes, false);
            self.add((other, to), message.bytes, true);
        }
        let set = |host: usize| self.machines[host].set.index();
        if let Some(crowds) = &mut self.crowds {
            let present = set(self.present[process]);
            crowds.relocate(self.sets, process, present, (set(from), set(to)));
        }
    }

    /// Adds a message from one host to another, or removes it.
    fn add(&mut self, (from, to): (usize, usize), bytes: f64, is_new: bool) {
        if from == to {
            return;
        }
        let signed = if is_new { bytes } else { -bytes };
        self.hosts[from][0] += signed;
        self.hosts[to][1] += signed;
        let sets = [from, to].map(|host| self.machines[host].set.index());
        if sets[0] == sets[1] {
            return;
        }
        let pair = sets[0] * self.sets + sets[1];
        self.crossing[pair] += signed;
        let leaving = from * self.sets + sets[1];
        if is_new {
            self.leaving[leaving] += 1;
            self.number[pair] += 1;
        } else {
            self.leaving[leaving] -= 1;
            self.number[pair] -= 1;
        }
        if self.number[pair] == 0 {
            // Without the rounding of what has come and gone.
            self.crossing[pair] = 0.0;
        }
    }

    /// Bytes that a host sends to others.
    pub(crate) fn sent(&self, host: usize) -> f64 {
        self.hosts[host][0].max(0.0)
    }

    /// Bytes that a host receives from others.
    pub(crate) fn received(&self, host: usize) -> f64 {
        self.hosts[host][1].max(0.0)
    }

    /// How many messages go from `host` to another Set `to`, of those whose sender is known by rank.
    pub(crate) fn leaving(&self, host: usize, to: SetId) -> u32 {
        self.leaving[host * self.sets + to.index()]
    }

    /// Bytes that cross from Set to Set, and how many messages they are at least.
    pub(crate) fn crossing(&self, from: SetId, to: SetId) -> (f64, u32) {
        let pair = from.index() * self.sets + to.index();
        let crowd = self.crowds.as_ref();
        let crowd = crowd.map_or(0.0, |crowds| crowds.crossing(self.sets, from, to));
        let number = self.number[pair].saturating_add(u32::from(0.0 < crowd));
        (self.crossing[pair].max(0.0) + crowd, number)
    }

    /// Whether some senders are known by Set alone.
    fn has_crowds(&self) -> bool {
        self.crowds.is_some()
    }

    /// Whether any process of a Set may send to another one.
    fn has_crowd(&self, from: SetId, to: SetId) -> bool {
        let crowds = self.crowds.as_ref();
        crowds.is_some_and(|crowds| 0.0 < crowds.crossing(self.sets, from, to))
    }
}

impl Crowds {
    fn new(
        graph: &Graph,
        machines: &[Host],
        sets: usize,
        (present, places): (&[usize], &[usize]),
    ) -> Option<Self> {
        let rest = graph.rest();
        if rest.is_empty() {
            return None;
        }
        let set = |host: usize| machines[host].set.index();
        let mut crowds = Self {
            members: vec![0.0; sets],
            located: vec![0.0; sets * sets],
            bytes: vec![0.0; sets * sets],
            received: vec![Vec::new(); places.len()],
        };
        for (present, host) in present.iter().zip(places) {
            crowds.members[set(*present)] += 1.0;
            crowds.located[set(*present) * sets + set(*host)] += 1.0;
        }
        for rest in rest.iter().filter(|rest| rest.set.index() < sets) {
            crowds.received[rest.to].push((rest.set, rest.bytes));
            crowds.bytes[rest.set.index() * sets + set(places[rest.to])] += rest.bytes;
        }
        Some(crowds)
    }

    fn relocate(
        &mut self,
        sets: usize,
        process: usize,
        present: usize,
        (from, to): (usize, usize),
    ) {
        self.located[present * sets + from] -= 1.0;
        self.located[present * sets + to] += 1.0;
        for (set, bytes) in &self.received[process] {
            self.bytes[set.index() * sets + from] -= bytes;
            self.bytes[set.index() * sets + to] += bytes;
        }
    }

    /// Bytes that cross from Set to Set, if each process of a crowd sends an equal part.
    fn crossing(&self, sets: usize, from: SetId, to: SetId) -> f64 {
        let (from, to) = (from.index(), to.index());
        let crowds = (0..sets).filter(|crowd| 0.0 < self.members[*crowd]);
        let bytes = crowds.map(|crowd| {
            let part = self.located[crowd * sets + from] / self.members[crowd];
            part * self.bytes[crowd * sets + to].max(0.0)
        });
        let bytes: f64 = bytes.sum();
        // Less is the rounding of what has come and gone.
        if bytes < BYTES_MIN { 0.0 } else { bytes }
    }
}

/// Fewer bytes are none.
const BYTES_MIN: f64 = 1e-3;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::plan::tests::{crowded_snapshot, snapshot};

    #[test]
    fn what_a_change_brings_to_a_crowded_host_is_what_a_visit_to_each_process_finds() {
        proptest!(|(snapshot in crowded_snapshot(), pairs in prop::collection::vec(any::<[prop::sample::Index; 2]>(), 40))| {
            let mut crowded = Assignment::present(&snapshot);
            let (processes, hosts) = (snapshot.processes().len(), snapshot.hosts().len());
            let close = |one: f64, other: f64| (one - other).abs() <= 1e-9 * (1.0 + other);
            for (step, [one, other]) in pairs.into_iter().enumerate() {
                let each = Assignment {
                    arrivals: vec![None; hosts],
                    ..crowded.clone()
                };
                let (process, host) = (one.index(processes), other.index(hosts));
                let other = other.index(processes);
                let own = crowded.places[process];
                if own != host {
                    let [found, expected] = [&crowded, &each].map(|all| all.after_move(process, host));
                    prop_assert!(close(found, expected), "{found} against {expected}");
                    let least = crowded.least_after_move(process, host);
                    prop_assert!(least <= found, "{least} against {found}");
                }
                if own != crowded.places[other] {
                    let [found, expected] = [&crowded, &each].map(|all| all.after_swap(process, other));
                    prop_assert!(close(found, expected), "{found} against {expected}");
                    let least = crowded.least_after_swap(process, other);
                    prop_assert!(least <= found, "{least} against {found}");
                    let changes = [(Some(process), Some(other)), (Some(process), None), (None, Some(other)), (None, None)];
                    for (leaving, coming) in changes {
                        let [found, expected] = [&crowded, &each].map(|all| all.computation_with(own, leaving, coming));
                        prop_assert!(close(found, expected), "{found} against {expected}");
                    }
                }
                if step % 4 == 0 {
                    crowded.put(process, host);
                }
            }
        });
    }

    #[test]
    fn processes_share_a_core_until_the_lightest_has_computed() {
        // 1, 2 and 4 seconds of work: 3 · 1, then 2 · 1 more, then 2 more.
        let snapshot = snapshot(&[1.0], &[(0, 2.0), (0, 4.0), (0, 1.0)]);
        let mut computing = Computing::empty(1, 3);
        for process in 0..3 {
            computing.insert(snapshot.processes(), &snapshot.hosts()[0], 0, process);
        }
        let ends = [0, 1, 2].map(|process| computing.end(process));
        for (end, expected) in ends.iter().zip([5.0, 7.0, 3.0]) {
            assert!((end - expected).abs() < 1e-9, "{ends:?}");
        }
        assert!((computing.host_end(0) - 7.0).abs() < 1e-9);
        let two_cores = Host {
            cores: 2.0,
            ..snapshot.hosts()[0]
        };
        let mut found = Vec::new();
        let loads = snapshot.processes();
        computing.with(loads, (0, &two_cores), (None, None), |_, end| {
            found.push(end);
        });
        // 1.5, then each has a core to itself.
        for (end, expected) in found.iter().zip([1.5, 2.5, 4.5]) {
            assert!((end - expected).abs() < 1e-9, "{found:?}");
        }
    }

    #[test]
    fn what_is_predicted_for_a_change_is_what_it_brings() {
        let snapshot = snapshot(&[1.0, 2.0], &[(0, 2.0), (0, 4.0), (1, 3.0)]);
        let (loads, hosts) = (snapshot.processes(), snapshot.hosts());
        let mut computing = Computing::empty(2, 3);
        for (process, host) in [(0, 0), (1, 0), (2, 1)] {
            computing.insert(loads, &hosts[host], host, process);
        }
        let mut predicted = Vec::new();
        let each = |process, end| predicted.push((process, end));
        computing.with(loads, (0, &hosts[0]), (Some(1), Some(2)), each);
        computing.remove(loads, &hosts[0], 0, 1);
        computing.insert(loads, &hosts[0], 0, 2);
        let after: Vec<_> = computing
            .residents(0)
            .iter()
            .map(|one| (*one, computing.end(*one)))
            .collect();
        assert_eq!(predicted, after);
    }
}
