//! Checkpoints: when the state of a run is saved, and what that takes.
//!
//! A checkpoint is the state before a superstep. A Manager asks its world at a barrier whether one is due
//! (`Membership::is_checkpoint_due`). The order to start the superstep says so to every process, and the agent of a
//! process gives its state to the world (`Executor::checkpoint`) before it has the superstep run. When a checkpoint is
//! due is decided here, for any world and for replays. What saving takes is the world's: a simulated one has processes
//! stall and messages sent, real hosts copy, encode, send and write.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use bsp::units::{Bytes, BytesPerSecond, Instant, Seconds};
use bsp::{HostId, SetId};

/// When the state of a run is saved, and what that takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Checkpointing {
    /// The time or the supersteps from one checkpoint to the next.
    pub interval: CheckpointInterval,
    /// With [`CheckpointInterval::Optimal`]: the time until the first checkpoint, which shows what checkpoints cost.
    pub first: Seconds,
    /// The mean time between two failures of one node.
    pub mtbf: Seconds,
    /// Whether each host sends its states to its buddy ([`buddies`](crate::buddies)).
    pub copies: bool,
    /// On real hosts: how many complete checkpoints stay on disk.
    pub keep: NonZeroU32,
    /// In simulations: what saving a state takes. Real hosts measure it.
    pub costs: CheckpointCosts,
}

/// The time or the supersteps from the beginning of one checkpoint to that of the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CheckpointInterval {
    /// At least this time; a checkpoint begins with a superstep.
    Time(Seconds),
    /// This number of supersteps.
    Supersteps(u64),
    /// The time that loses least, by what the checkpoints before cost: [`optimal_interval`].
    Optimal,
}

/// What saving a state takes in a simulation.
///
/// A processor saves states at these rates, whatever its speed, as long as it does nothing else; processes and
/// encodings share the processors of their host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CheckpointCosts {
    /// The rate at which a processor encodes states.
    pub encoding: BytesPerSecond,
    /// The rate at which a processor copies states in memory.
    pub fork: BytesPerSecond,
    /// Whether processes copy their states in memory first and go on while the copies are encoded. Otherwise they stall
    /// until their states are encoded.
    pub forks: bool,
    /// The size of the state of every process; `None`: what its program declares, or its encoded state, with its inbox.
    pub bytes: Option<Bytes>,
    /// The part of a state that differs from the checkpoint before, from 0 to 1: a buddy that has that one receives no
    /// more.
    pub change: f64,
}

/// When the next checkpoint is due, by those before.
///
/// The first Manager's world asks at each barrier. Replays ask again, with the times of the record.
///
/// A checkpoint costs what it delays the run: the time by which supersteps were longer than usual while it was under way,
/// and at least the stall and the processor time of its encoding. Copies may cost most, because messages wait for them.
#[derive(Clone, Copy, Debug)]
pub struct CheckpointSchedule {
    interval: CheckpointInterval,
    first: Seconds,
    mtbf: Seconds,
    /// The number of nodes that may fail.
    nodes: usize,
    /// The superstep before which the last checkpoint began, and when.
    last: (u64, Instant),
    /// Whether one has begun.
    has_begun: bool,
    /// The one that disturbs the superstep in progress, if there is one.
    current: Option<Current>,
    /// How long a superstep usually takes, while no checkpoint is under way; a mean that gives the newest an eighth.
    usual: Option<Seconds>,
    /// What a checkpoint costs; `None` before the first is over. A mean that gives the newest half of the weight.
    cost: Option<Seconds>,
}

/// A checkpoint that disturbs the superstep in progress.
#[derive(Clone, Copy, Debug, Default)]
struct Current {
    /// The time by which supersteps were longer than usual.
    excess: Seconds,
    /// Its stall and encoding, when it is complete.
    complete: Option<Seconds>,
}

impl CheckpointSchedule {
    /// The schedule of a run on `nodes` hosts, which begins as if a checkpoint had been complete.
    #[must_use]
    pub const fn new(checkpointing: &Checkpointing, nodes: usize) -> Self {
        Self {
            interval: checkpointing.interval,
            first: checkpointing.first,
            mtbf: checkpointing.mtbf,
            nodes,
            last: (0, Instant::START),
            has_begun: false,
            current: None,
            usual: None,
            cost: None,
        }
    }

    /// The same of a run that begins with `superstep`, before which there is a checkpoint.
    #[must_use]
    pub const fn from_superstep(mut self, superstep: u64) -> Self {
        self.last.0 = superstep;
        self
    }

    /// `superstep` has taken `time`, without the call after it. Whether that is before or after the next checkpoint begins makes no
    /// difference: some Managers decide about it before the superstep is over for all.
    pub fn elapse(&mut self, superstep: u64, time: Seconds) {
        let usual = self.usual.unwrap_or(time);
        let current = self.current.as_mut();
        let Some(current) = current.filter(|_| self.last.0 <= superstep) else {
            self.usual = Some(usual + (time - usual) * 0.125);
            return;
        };
        current.excess += time - usual;
        if let Some(least) = current.complete {
            let cost = least.max(current.excess);
            let before = self.cost.unwrap_or(cost);
            self.cost = Some(before + (cost - before) * 0.5);
            self.current = None;
        }
    }

    /// A checkpoint begins at `at`, before `superstep`.
    pub fn begin(&mut self, superstep: u64, at: Instant) {
        self.last = (superstep, at);
        self.has_begun = true;
        self.current = Some(Current::default());
    }

    /// A checkpoint before `superstep` has begun, as another node has decided, if that is not known.
    pub fn note(&mut self, superstep: u64, at: Instant) {
        if self.last.0 < superstep {
            self.begin(superstep, at);
        }
    }

    /// The checkpoint that began last is complete. It cost `least` at least: the stall of its processes, and the processor
    /// time of encoding. What it cost is known at the end of the superstep.
    pub fn complete(&mut self, least: Seconds) {
        if let Some(current) = &mut self.current {
            current.complete = Some(least);
        }
    }

    /// Another node has found out that the checkpoint before `superstep` is complete, and what checkpoints cost.
    pub fn adopt(&mut self, superstep: u64, cost: Seconds) {
        self.cost = Some(cost);
        self.current.take_if(|_| self.last.0 <= superstep);
    }

    /// Whether a checkpoint is due after the first `completed` supersteps, at `now`. None is due before the one before is
    /// complete.
    #[must_use]
    pub fn is_due(&self, completed: u64, now: Instant) -> bool {
        let (superstep, at) = self.last;
        !self.is_under_way()
            && match self.interval {
                CheckpointInterval::Supersteps(supersteps) => {
                    superstep.saturating_add(supersteps) <= completed
                }
                CheckpointInterval::Time(time) => time <= now - at,
                CheckpointInterval::Optimal => self.optimal() <= now - at,
            }
    }

    /// Whether one has begun that is not complete.
    #[must_use]
    pub fn is_under_way(&self) -> bool {
        let current = self.current.as_ref();
        current.is_some_and(|current| current.complete.is_none())
    }

    /// What a checkpoint costs, once one is over.
    #[must_use]
    pub const fn cost(&self) -> Option<Seconds> {
        self.cost
    }

    /// The interval that loses least, by what checkpoints have cost: the shortest, before one is over. Before one has begun, the
    /// time until the first.
    #[must_use]
    pub fn optimal(&self) -> Seconds {
        if !self.has_begun {
            return self.first;
        }
        let cost = self.cost.unwrap_or(Seconds::ZERO);
        optimal_interval(cost, self.mtbf, self.nodes)
    }
}

/// `√(2·C·M/n)`: the interval between checkpoints that loses least time, by Young and Daly, where a checkpoint costs `C`
/// and one of `n` nodes fails after `M` on average. From 1 s to 10 min, or to the time of which the cost is 3 %.
///
/// Implements equation `YOUNG` of `docs/model.md`.
///
/// | symbol | argument | unit |
/// |---|---|---|
/// | `C` | `cost` | s |
/// | `M` | `mtbf` | s |
/// | `n` | `nodes` | |
///
/// # Deviations
///
/// The bounds: a checkpoint that costs next to nothing needs no interval below a second, and after ten minutes the loss
/// is noticed by people. A checkpoint that costs more than 3 % of ten minutes is rarer, so that no run is slowed down by
/// more.
#[must_use]
#[expect(clippy::missing_panics_doc, reason = "a bounded number is finite")]
pub fn optimal_interval(cost: Seconds, mtbf: Seconds, nodes: usize) -> Seconds {
    let nodes = nodes.max(1) as f64;
    let cost = cost.get().max(0.0);
    let interval = (2.0 * cost * mtbf.get() / nodes).sqrt();
    let most = INTERVAL_MAX.max(cost / PART_MAX);
    Seconds::new(interval.clamp(INTERVAL_MIN, most)).expect("it is bounded")
}

/// The shortest interval that [`optimal_interval`] chooses, in seconds.
const INTERVAL_MIN: f64 = 1.0;
/// The longest, of cheap checkpoints.
const INTERVAL_MAX: f64 = 600.0;
/// The part of a run that checkpoints may cost.
const PART_MAX: f64 = 0.03;

/// The buddy of every host, by host: where its states are copied in a checkpoint. `sets` has the Set of each host, and
/// the `absent` hosts are not there.
///
/// The buddy of the k-th host of a Set is the k-th host of the next Set that has hosts, counted cyclically: so a whole
/// Set may be lost. With one Set, it is the next host. A host that is absent or alone has none.
///
/// # Examples
///
/// ```
/// use agents::buddies;
/// use bsp::{HostId, SetId};
///
/// let sets = [0, 0, 0, 1, 1].map(SetId);
/// let expected = [3, 4, 3, 0, 1].map(|host| Some(HostId(host)));
/// assert_eq!(buddies(&sets, &Default::default()), expected);
/// ```
#[must_use]
pub fn buddies(sets: &[SetId], absent: &BTreeSet<HostId>) -> Vec<Option<HostId>> {
    let hosts = (0..sets.len()).map(HostId::from_index);
    let mut present: Vec<HostId> = hosts.filter(|host| !absent.contains(host)).collect();
    present.sort_by_key(|host| (sets[host.index()], *host));
    let of_sets: Vec<&[HostId]> = present
        .chunk_by(|one, other| sets[one.index()] == sets[other.index()])
        .collect();
    let mut buddies = vec![None; sets.len()];
    for (position, hosts) in of_sets.iter().enumerate() {
        for (index, host) in hosts.iter().enumerate() {
            let buddy = if of_sets.len() == 1 {
                hosts[(index + 1) % hosts.len()]
            } else {
                let next = of_sets[(position + 1) % of_sets.len()];
                next[index % next.len()]
            };
            buddies[host.index()] = Some(buddy).filter(|buddy| buddy != host);
        }
    }
    buddies
}

#[cfg(test)]
mod tests;
