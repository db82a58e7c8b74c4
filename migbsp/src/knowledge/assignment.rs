//! Where each process is while a plan is being made, and how long supersteps take.

mod tally;

use std::cell::Cell;

use bsp::SetId;
use bsp::units::Seconds;

use crate::bounded::seconds;
use crate::knowledge::dominant_set::DominantSets;
use crate::{MigrationSchedule, Snapshot, Traffic};
use tally::{HostTime, Tally};

/// Processes on hosts, and how long each host takes for a superstep: all that plans ask of a placement.
///
/// `time(p) = max(Σ I(r) / (cores · rate), max I(r) / rate) + max(max Comm(r), traffic)` over the processes
/// `r` on `p`, with the [`Traffic`] of its Set; a superstep takes as long as the slowest host and the barrier delays
/// of all processes ([`Snapshot::barrier_delay`]). Equation `HOST-TIME` of `docs/model.md`.
///
/// A complete assignment ([`Assignment::present`], [`Assignment::new`]) holds every process; processes are moved
/// with [`put`](Assignment::put). A partial one ([`Assignment::empty`]) holds none at first; a list scheduler
/// [adds](Assignment::add) them one after the other. As long as the senders are not placed, traffic, dominant Sets
/// and barrier delays are not known: a partial assignment leaves them out.
///
/// Negotiations between Managers do not use this: a Manager knows only the processes of its own Set, and counts the
/// instructions of the last superstep ([`Processors`](crate::Processors)). Neither does [`rebalance`](crate::rebalance),
/// whose searches know neither messages nor cores and ask for levels millions of times in a second.
#[derive(Clone, Debug)]
pub struct Assignment<'a> {
    snapshot: &'a Snapshot,
    /// The host of each process; of one that is not placed yet, the present one.
    places: Vec<usize>,
    /// By host, in rank order; of a partial assignment in the order of placement.
    residents: Vec<Vec<usize>>,
    /// By host: of all its processes.
    tallies: Vec<Tally>,
    /// By process: of the others on its host, if computed since they changed.
    tallies_of_others: Vec<Cell<Option<Tally>>>,
    traffic: Traffic<'a>,
    dominant_sets: DominantSets,
    /// The barrier delays of all processes, in seconds.
    barrier_delays: f64,
    is_partial: bool,
}

impl<'a> Assignment<'a> {
    /// The processes on the hosts `places`, by process.
    #[must_use]
    pub fn new(snapshot: &'a Snapshot, places: &[usize]) -> Self {
        let mut assignment = Self::present(snapshot);
        for (process, host) in places.iter().enumerate() {
            assignment.put(process, *host);
        }
        assignment
    }

    /// The present placement.
    #[must_use]
    pub fn present(snapshot: &'a Snapshot) -> Self {
        let mut assignment = Self::empty(snapshot);
        assignment.is_partial = false;
        for (process, host) in snapshot.places().iter().enumerate() {
            assignment.residents[*host].push(process);
        }
        let sets = &assignment.dominant_sets;
        assignment.traffic = Traffic::new(snapshot, snapshot.places(), sets);
        let delays = snapshot.places().iter();
        assignment.barrier_delays = delays.map(|host| assignment.barrier_delay(*host)).sum();
        assignment.count_all();
        assignment
    }

    /// No process is on a host yet; [`Assignment::places`] says where each one runs at present.
    #[must_use]
    pub fn empty(snapshot: &'a Snapshot) -> Self {
        let hosts = snapshot.hosts().len();
        Self {
            snapshot,
            places: snapshot.places().to_vec(),
            residents: vec![Vec::new(); hosts],
            tallies: vec![Tally::default(); hosts],
            tallies_of_others: vec![Cell::new(None); snapshot.places().len()],
            traffic: Traffic::none(snapshot),
            dominant_sets: DominantSets::present(snapshot),
            barrier_delays: 0.0,
            is_partial: true,
        }
    }

    /// Places `process`, which was not placed yet, on `host` of a partial assignment.
    pub fn add(&mut self, process: usize, host: usize) {
        // The sum grows in the order of placement: sums in another order differ in their last digit, which breaks ties.
        self.tallies[host] = self.joined(self.tallies[host], process, host);
        self.residents[host].push(process);
        self.places[process] = host;
    }

    /// Moves `process` to `host` in a complete assignment.
    pub fn put(&mut self, process: usize, host: usize) {
        let from = std::mem::replace(&mut self.places[process], host);
        if from == host {
            return;
        }
        self.residents[from].retain(|resident| *resident != process);
        let position = self.residents[host].partition_point(|resident| *resident < process);
        self.residents[host].insert(position, process);
        self.count(from);
        self.count(host);
        let sets = (self.set(from), self.set(host));
        if sets.0 == sets.1 {
            return;
        }
        let home = self.set(self.snapshot.places()[process]);
        if self.dominant_sets.relocate(home, sets.0, sets.1) {
            self.traffic = Traffic::new(self.snapshot, &self.places, &self.dominant_sets);
            self.count_all();
        } else {
            self.traffic.relocate(process, sets, &self.dominant_sets);
        }
        self.barrier_delays += self.barrier_delay(host) - self.barrier_delay(from);
    }

    /// The host of each process, by process.
    #[must_use]
    pub fn places(&self) -> &[usize] {
        &self.places
    }

    /// The processes on a host, in rank order.
    #[must_use]
    pub fn residents(&self, host: usize) -> &[usize] {
        &self.residents[host]
    }

    /// Seconds that a host takes for a superstep.
    #[must_use]
    pub fn time(&self, host: usize) -> f64 {
        self.host_time(host).with(self.traffic.busy(self.set(host)))
    }

    /// Seconds that `host` would take for a superstep if `process` were on it, too; without the traffic that would come
    /// with it.
    #[must_use]
    pub fn time_with(&self, process: usize, host: usize) -> f64 {
        self.host_time_with(host, None, Some(process))
            .with(self.traffic.busy(self.set(host)))
    }

    /// The host that [would take least](Assignment::time_with) with `process`, the first one among equals.
    #[must_use]
    pub fn fastest_host(&self, process: usize) -> usize {
        self.fastest_of(process, 0..self.residents.len())
    }

    /// The same among `hosts`, in their order.
    #[must_use]
    pub fn fastest_host_among(&self, process: usize, hosts: &[usize]) -> usize {
        self.fastest_of(process, hosts.iter().copied())
    }

    /// Seconds that a host would compute in a superstep without `leaving` and with `coming`.
    #[must_use]
    pub fn computation_with(
        &self,
        host: usize,
        leaving: Option<usize>,
        coming: Option<usize>,
    ) -> f64 {
        self.host_time_with(host, leaving, coming).computation
    }

    /// Seconds that the slower of the two hosts takes that would change if `process` went to `host`, or
    /// the slowest host of a Set that would receive more because of it.
    #[must_use]
    pub fn after_move(&self, process: usize, host: usize) -> f64 {
        let from = self.places[process];
        let left = self.host_time_with(from, Some(process), None);
        let taken = self.host_time_with(host, None, Some(process));
        self.after(process, (from, left), (host, taken))
    }

    /// The same if `process` and `other` changed places.
    #[must_use]
    pub fn after_swap(&self, process: usize, other: usize) -> f64 {
        let (from, host) = (self.places[process], self.places[other]);
        let left = self.host_time_with(from, Some(process), Some(other));
        let taken = self.host_time_with(host, Some(other), Some(process));
        let there = self.after(process, (from, left), (host, taken));
        there.max(self.after(other, (host, taken), (from, left)))
    }

    /// Whether `one` executes less than `other`.
    #[must_use]
    pub fn is_lighter(&self, one: usize, other: usize) -> bool {
        let processes = self.snapshot.processes();
        processes[one].instructions < processes[other].instructions
    }

    /// The host that takes longest, the lowest number among equals.
    #[must_use]
    pub fn slowest(&self) -> usize {
        let mut slowest = (0, f64::NEG_INFINITY);
        for host in 0..self.residents.len() {
            let time = self.time(host);
            if slowest.1 < time {
                slowest = (host, time);
            }
        }
        slowest.0
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
        let hosts = 0..self.residents.len();
        self.barrier_delays + hosts.map(|host| self.time(host)).fold(0.0, f64::max)
    }

    fn fastest_of(&self, process: usize, hosts: impl Iterator<Item = usize>) -> usize {
        let mut best = (0, f64::INFINITY);
        for host in hosts {
            let time = self.time_with(process, host);
            if time < best.1 {
                best = (host, time);
            }
        }
        best.0
    }

    fn after(&self, process: usize, from: (usize, HostTime), to: (usize, HostTime)) -> f64 {
        let (left, taken) = (self.set(from.0), self.set(to.0));
        if left == taken {
            let traffic = self.traffic.busy(left);
            return from.1.with(traffic).max(to.1.with(traffic));
        }
        let sets = &self.dominant_sets;
        let [left_busy, taken_busy] = self.traffic.busy_after(process, (left, taken), sets);
        let both = from.1.with(left_busy).max(to.1.with(taken_busy));
        let others = self
            .crowded(left, left_busy)
            .max(self.crowded(taken, taken_busy));
        both.max(others) + self.barrier_delay(to.0) - self.barrier_delay(from.0)
    }

    /// Seconds that the slowest host of a Set takes if its connection is busy for longer than now; zero if it is not.
    fn crowded(&self, set: SetId, busy: f64) -> f64 {
        if busy <= self.traffic.busy(set) {
            return 0.0;
        }
        let members = self.snapshot.members(set).iter();
        members
            .map(|host| self.host_time(*host).with(busy))
            .fold(0.0, f64::max)
    }

    fn host_time(&self, host: usize) -> HostTime {
        self.time_of(self.tallies[host], host)
    }

    fn host_time_with(
        &self,
        host: usize,
        leaving: Option<usize>,
        coming: Option<usize>,
    ) -> HostTime {
        let staying = leaving.map_or(self.tallies[host], |process| self.tally_of_others(process));
        let all = coming.map_or(staying, |process| self.joined(staying, process, host));
        self.time_of(all, host)
    }

    fn time_of(&self, tally: Tally, host: usize) -> HostTime {
        let machine = &self.snapshot.hosts()[host];
        tally.time(machine.cores, self.unit(host))
    }

    fn tally_of_others(&self, process: usize) -> Tally {
        let known = &self.tallies_of_others[process];
        known.get().unwrap_or_else(|| {
            let host = self.places[process];
            let residents = self.residents[host].iter();
            let others = residents.filter(|resident| **resident != process);
            let tally = self.tally(others, host);
            known.set(Some(tally));
            tally
        })
    }

    /// Recomputes the tallies of all hosts.
    fn count_all(&mut self) {
        for host in 0..self.residents.len() {
            self.count(host);
        }
    }

    /// Recomputes the tally of `host`.
    fn count(&mut self, host: usize) {
        self.tallies[host] = self.tally(&self.residents[host], host);
        for resident in &self.residents[host] {
            self.tallies_of_others[*resident].set(None);
        }
    }

    fn tally<'b>(&self, processes: impl IntoIterator<Item = &'b usize>, host: usize) -> Tally {
        let none = Tally::default();
        let processes = processes.into_iter();
        processes.fold(none, |tally, process| self.joined(tally, *process, host))
    }

    fn joined(&self, tally: Tally, process: usize, host: usize) -> Tally {
        let communication = self.communication(process, self.set(host));
        tally.with(self.work(process, host), communication)
    }

    /// Work of `process` on `host`: in instructions, but in a partial assignment in seconds. The two sums are equal but
    /// for rounding, and greedy plans break ties between equal hosts by the last digit of the second one.
    fn work(&self, process: usize, host: usize) -> f64 {
        if self.is_partial {
            return self.snapshot.computation(process, host);
        }
        self.snapshot.processes()[process].instructions
    }

    /// How many units of [`work`](Self::work) one core of `host` does in a second.
    fn unit(&self, host: usize) -> f64 {
        if self.is_partial {
            return 1.0;
        }
        self.snapshot.hosts()[host].rate
    }

    fn communication(&self, process: usize, set: SetId) -> f64 {
        if self.dominant_sets.are_present() {
            return self.snapshot.communication(process, set);
        }
        let load = &self.snapshot.processes()[process];
        self.snapshot
            .reception(load, set, |sender| self.dominant_sets.location(sender))
    }

    fn barrier_delay(&self, host: usize) -> f64 {
        self.snapshot.barrier_delay(self.set(host))
    }

    fn set(&self, host: usize) -> SetId {
        self.snapshot.hosts()[host].set
    }
}
