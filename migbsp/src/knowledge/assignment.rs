//! A placement that is being changed, and how long its supersteps take.

use std::cell::Cell;

use bsp::SetId;
use bsp::units::Seconds;

use crate::bounded::seconds;
use crate::knowledge::dominant_set::Seats;
use crate::{Scene, Traffic};

/// Processes on hosts, and what each host takes for a superstep.
///
/// `time(p) = max(Σ I(r) / (cores · rate), max I(r) / rate) + max(max Comm(r), traffic)` over the processes
/// `r` on `p`, with the [`Traffic`] of its Set; a superstep takes as long as the slowest host and the tolls of
/// all processes ([`Scene::toll`]). Equation
/// `HOST-TIME` of `docs/model.md`.
#[derive(Clone, Debug)]
pub struct Mapping<'a> {
    scene: &'a Scene,
    places: Vec<usize>,
    /// By host.
    residents: Vec<Vec<usize>>,
    /// By host: of all its processes.
    tallies: Vec<Tally>,
    /// By process: of the others on its host, as far as somebody has asked since they changed.
    tallies_of_others: Vec<Cell<Option<Tally>>>,
    traffic: Traffic<'a>,
    seats: Seats,
    /// The tolls of all processes, in seconds.
    tolls: f64,
}

/// Processes that are on one host, together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Tally {
    instructions: f64,
    /// Those of the one that executes most.
    instructions_longest: f64,
    /// The longest that one of them receives, in seconds.
    communication: f64,
}

/// What the processes on one host take, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Times {
    computation: f64,
    /// The longest that one of them receives.
    communication: f64,
}

impl Times {
    fn with(self, traffic: f64) -> f64 {
        // Where nobody computes, nobody waits for what comes in.
        if self.computation <= 0.0 {
            return self.communication;
        }
        self.computation + self.communication.max(traffic)
    }
}

impl<'a> Mapping<'a> {
    /// The processes where `places` says, by process.
    #[must_use]
    pub fn new(scene: &'a Scene, places: &[usize]) -> Self {
        let mut mapping = Self::present(scene);
        for (process, host) in places.iter().enumerate() {
            mapping.put(process, *host);
        }
        mapping
    }

    /// The present placement.
    #[must_use]
    pub fn present(scene: &'a Scene) -> Self {
        let mut residents = vec![Vec::new(); scene.hosts().len()];
        for (process, host) in scene.places().iter().enumerate() {
            residents[*host].push(process);
        }
        let seats = Seats::present(scene);
        let mut mapping = Self {
            scene,
            places: scene.places().to_vec(),
            tallies: vec![Tally::default(); residents.len()],
            tallies_of_others: vec![Cell::new(None); scene.places().len()],
            residents,
            traffic: Traffic::new(scene, scene.places(), &seats),
            seats,
            tolls: 0.0,
        };
        let tolls = scene.places().iter();
        mapping.tolls = tolls.map(|host| mapping.toll(*host)).sum();
        mapping.count_all();
        mapping
    }

    /// Puts `process` on `host`.
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
        let home = self.set(self.scene.places()[process]);
        if self.seats.moved(home, sets.0, sets.1) {
            self.traffic = Traffic::new(self.scene, &self.places, &self.seats);
            self.count_all();
        } else {
            self.traffic.moved(process, sets, &self.seats);
        }
        self.tolls += self.toll(host) - self.toll(from);
    }

    /// Where each process is, by process.
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
        self.times(host).with(self.traffic.busy(self.set(host)))
    }

    /// Seconds that a host computes in a superstep if `leaving` were not there and `coming` were.
    #[must_use]
    pub fn computation_with(
        &self,
        host: usize,
        leaving: Option<usize>,
        coming: Option<usize>,
    ) -> f64 {
        self.times_with(host, leaving, coming).computation
    }

    /// Seconds that the slower of the two hosts takes that would change if `process` went to `host`, or
    /// the slowest host of a Set that would receive more because of it.
    #[must_use]
    pub fn after_move(&self, process: usize, host: usize) -> f64 {
        let from = self.places[process];
        let left = self.times_with(from, Some(process), None);
        let taken = self.times_with(host, None, Some(process));
        self.after(process, (from, left), (host, taken))
    }

    /// The same if `process` and `other` changed places.
    #[must_use]
    pub fn after_swap(&self, process: usize, other: usize) -> f64 {
        let (from, host) = (self.places[process], self.places[other]);
        let left = self.times_with(from, Some(process), Some(other));
        let taken = self.times_with(host, Some(other), Some(process));
        let there = self.after(process, (from, left), (host, taken));
        there.max(self.after(other, (host, taken), (from, left)))
    }

    /// Whether `one` executes less than `other`.
    #[must_use]
    pub fn is_lighter(&self, one: usize, other: usize) -> bool {
        let processes = self.scene.processes();
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

    /// The same as a bare number of seconds.
    pub(crate) fn longest(&self) -> f64 {
        let hosts = 0..self.residents.len();
        self.tolls + hosts.map(|host| self.time(host)).fold(0.0, f64::max)
    }

    fn after(&self, process: usize, from: (usize, Times), to: (usize, Times)) -> f64 {
        let (left, taken) = (self.set(from.0), self.set(to.0));
        if left == taken {
            let traffic = self.traffic.busy(left);
            return from.1.with(traffic).max(to.1.with(traffic));
        }
        let [left_busy, taken_busy] = self.traffic.busy_after(process, (left, taken), &self.seats);
        let both = from.1.with(left_busy).max(to.1.with(taken_busy));
        let others = self
            .crowded(left, left_busy)
            .max(self.crowded(taken, taken_busy));
        both.max(others) + self.toll(to.0) - self.toll(from.0)
    }

    /// How long the hosts of a Set take if more comes in than now; nothing if it is less.
    fn crowded(&self, set: SetId, busy: f64) -> f64 {
        if busy <= self.traffic.busy(set) {
            return 0.0;
        }
        let members = self.scene.members(set).iter();
        members
            .map(|host| self.times(*host).with(busy))
            .fold(0.0, f64::max)
    }

    fn times(&self, host: usize) -> Times {
        self.times_of(self.tallies[host], host)
    }

    fn times_with(&self, host: usize, leaving: Option<usize>, coming: Option<usize>) -> Times {
        let staying = leaving.map_or(self.tallies[host], |process| self.tally_of_others(process));
        let all = coming.map_or(staying, |process| self.joined(staying, process, host));
        self.times_of(all, host)
    }

    fn times_of(&self, tally: Tally, host: usize) -> Times {
        let machine = &self.scene.hosts()[host];
        let sum = tally.instructions / machine.cores;
        Times {
            computation: tally.instructions_longest.max(sum) / machine.rate,
            communication: tally.communication,
        }
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

    /// Counts those on all hosts again.
    fn count_all(&mut self) {
        for host in 0..self.residents.len() {
            self.count(host);
        }
    }

    /// Counts those on `host` again.
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
        let instructions = self.scene.processes()[process].instructions;
        let communication = self.communication(process, self.set(host));
        Tally {
            instructions: tally.instructions + instructions,
            instructions_longest: tally.instructions_longest.max(instructions),
            communication: tally.communication.max(communication),
        }
    }

    fn communication(&self, process: usize, set: SetId) -> f64 {
        if self.seats.are_present() {
            return self.scene.communication(process, set);
        }
        let load = &self.scene.processes()[process];
        self.scene
            .reception(load, set, |sender| self.seats.of(sender))
    }

    fn toll(&self, host: usize) -> f64 {
        self.scene.toll(self.set(host))
    }

    fn set(&self, host: usize) -> SetId {
        self.scene.hosts()[host].set
    }
}
