//! The checkpoints of a simulated run.

use std::collections::BTreeMap;

use agents::{CheckpointSchedule, Checkpointing};
use bsp::units::{Bytes, BytesPerSecond, Instant, Instructions, Seconds};
use bsp::{HostId, Rank};
use simulator::Platform;

/// When checkpoints are due, and the one under way.
///
/// A process stalls while its state is copied in memory, or encoded if it does not fork. Both are computations of its
/// host, which shares its processors among them and the supersteps of other processes. When all states of a host are
/// encoded, one flow of the network takes what has changed to the buddy of the host.
pub(super) struct Checkpoints {
    checkpointing: Checkpointing,
    schedule: CheckpointSchedule,
    current: Option<Current>,
    /// By rank, the host whose copy of the state in the last checkpoint was sent, and its buddy.
    copied: Vec<Option<Copied>>,
    /// The processes that stall.
    stalls: BTreeMap<Rank, Stall>,
}

/// The host from which a state was copied, and the host that has the copy.
type Copied = (HostId, HostId);

/// A checkpoint under way.
struct Current {
    superstep: u64,
    at: Instant,
    stall: Seconds,
    /// By rank, program and inbox of the processes that have not halted.
    states: Vec<Option<Bytes>>,
    hosts: BTreeMap<HostId, Part>,
    /// Hosts whose states are not encoded, or whose copies have not arrived.
    left: usize,
}

/// The states of one host.
#[derive(Default)]
struct Part {
    buddy: Option<HostId>,
    /// Processes whose states are not encoded.
    left: usize,
    bytes: Bytes,
    sent: Bytes,
}

/// A process that waits until its state is copied.
struct Stall {
    began: Instant,
    /// What it waits afterwards.
    delay: Seconds,
    bytes: Bytes,
}

/// What follows when the state of a process is encoded.
pub(super) enum Encoded {
    /// Other states of its host are not.
    Nothing,
    /// The states of its host are sent to its buddy.
    Send(HostId, HostId, Bytes),
    /// The checkpoint is complete.
    Complete(record::Checkpoint),
}

impl Checkpoints {
    /// No checkpoint is under way, of processes placed on `hosts`.
    pub(super) fn new(checkpointing: Checkpointing, hosts: &[HostId]) -> Self {
        let mut nodes = hosts.to_vec();
        nodes.sort();
        nodes.dedup();
        Self {
            schedule: CheckpointSchedule::new(&checkpointing, nodes.len()),
            checkpointing,
            current: None,
            copied: vec![None; hosts.len()],
            stalls: BTreeMap::new(),
        }
    }

    /// Whether a checkpoint is due after `completed` supersteps.
    pub(super) fn is_due(&self, completed: u64, now: Instant) -> bool {
        self.schedule.is_due(completed, now)
    }

    /// A superstep has ended.
    pub(super) fn elapse(&mut self, superstep: &record::Superstep) {
        let time = superstep.ended - superstep.started;
        self.schedule.elapse(superstep.index, time);
    }

    /// Whether the checkpoint before `superstep` has begun.
    pub(super) fn has_begun(&self, superstep: u64) -> bool {
        let current = self.current.as_ref();
        current.is_some_and(|current| current.superstep == superstep)
    }

    /// A checkpoint begins before `superstep`. `states` has program and inbox of each process that has not halted, `hosts`
    /// the host of each process, and `buddies` the buddy of each host.
    pub(super) fn begin(
        &mut self,
        (superstep, at): (u64, Instant),
        states: Vec<Option<Bytes>>,
        hosts: &[HostId],
        buddies: &[Option<HostId>],
    ) {
        assert!(self.current.is_none(), "the one before is complete");
        self.schedule.begin(superstep, at);
        let mut parts: BTreeMap<HostId, Part> = BTreeMap::new();
        for (host, _) in hosts
            .iter()
            .zip(&states)
            .filter(|(_, state)| state.is_some())
        {
            let part = parts.entry(*host).or_default();
            part.buddy = buddies[host.index()].filter(|_| self.checkpointing.copies);
            part.left += 1;
        }
        self.current = Some(Current {
            superstep,
            at,
            stall: Seconds::ZERO,
            states,
            left: parts.len(),
            hosts: parts,
        });
    }

    /// `rank` stalls on `host` from `now` on, with an agent of this size. Returns what its host computes until it
    /// continues.
    pub(super) fn stall(
        &mut self,
        (rank, host): (Rank, HostId),
        agent: Bytes,
        now: Instant,
        platform: &Platform,
    ) -> Instructions {
        let current = self.current.as_mut().expect("a checkpoint has begun");
        let state = current.states[rank.index()].expect("it has not halted");
        let costs = &self.checkpointing.costs;
        let bytes = costs.bytes.unwrap_or(state + agent);
        let part = current.hosts.get_mut(&host).expect("it runs there");
        part.bytes += bytes;
        if let Some(buddy) = part.buddy {
            let before = self.copied[rank.index()].replace((host, buddy));
            part.sent += if before == Some((host, buddy)) {
                Bytes(whole(bytes.as_f64() * costs.change))
            } else {
                bytes
            };
        }
        let stall = Stall {
            began: now,
            delay: Seconds::ZERO,
            bytes,
        };
        let before = self.stalls.insert(rank, stall);
        assert!(before.is_none(), "{rank} stalls already");
        let rate = if costs.forks {
            costs.fork
        } else {
            costs.encoding
        };
        work(bytes, rate, host, platform)
    }

    /// `rank` waits for `delay` when its state has been copied; false if it does not stall.
    pub(super) fn delay(&mut self, rank: Rank, delay: Seconds) -> bool {
        let stall = self.stalls.get_mut(&rank);
        stall.map(|stall| stall.delay = delay).is_some()
    }

    /// The state of `rank` has been copied on `host`. Returns the time that it waits until it starts its superstep, and what
    /// its host computes until the state is encoded, unless it is.
    pub(super) fn resume(
        &mut self,
        (rank, host): (Rank, HostId),
        now: Instant,
        platform: &Platform,
    ) -> (Seconds, Option<Instructions>) {
        let stall = self.stalls.remove(&rank).expect("it stalls");
        let current = self.current.as_mut().expect("a checkpoint is under way");
        current.stall = current.stall.max(now - stall.began);
        let costs = &self.checkpointing.costs;
        let work = || work(stall.bytes, costs.encoding, host, platform);
        (stall.delay, costs.forks.then(work))
    }

    /// The state of a process on `host` is encoded.
    pub(super) fn encoded(&mut self, host: HostId, now: Instant, platform: &Platform) -> Encoded {
        let current = self.current.as_mut().expect("a checkpoint is under way");
        let part = current
            .hosts
            .get_mut(&host)
            .expect("its states are encoded");
        part.left -= 1;
        match part.buddy {
            _ if 0 < part.left => Encoded::Nothing,
            Some(buddy) => Encoded::Send(host, buddy, part.sent),
            None => self.saved(now, platform),
        }
    }

    /// The states of a host are saved: they are encoded, and its buddy has them if there are copies.
    pub(super) fn saved(&mut self, now: Instant, platform: &Platform) -> Encoded {
        let current = self.current.as_mut().expect("a checkpoint is under way");
        current.left -= 1;
        if 0 < current.left {
            return Encoded::Nothing;
        }
        let Current {
            superstep,
            at,
            stall,
            hosts,
            ..
        } = self.current.take().expect("looked at above");
        let costs = &self.checkpointing.costs;
        let encodings = hosts.iter().filter(|_| costs.forks).map(|(host, part)| {
            let cores = f64::from(platform.host(*host).cores);
            seconds(part.bytes.as_f64() / costs.encoding.get() / cores)
        });
        let encoding = encodings.fold(Seconds::ZERO, Seconds::max);
        self.schedule.complete(stall + encoding);
        Encoded::Complete(record::Checkpoint {
            superstep,
            at,
            stall,
            encoding,
            bytes: hosts.values().map(|part| part.bytes).sum(),
            sent: hosts.values().map(|part| part.sent).sum(),
            complete: now,
            problem: None,
            held: false,
        })
    }
}

/// What an idle processor of `host` executes in the time that `bytes` take at `rate`.
fn work(bytes: Bytes, rate: BytesPerSecond, host: HostId, platform: &Platform) -> Instructions {
    let speed = platform.host(host).speed.get();
    Instructions(whole(bytes.as_f64() / rate.get() * speed))
}

fn seconds(value: f64) -> Seconds {
    Seconds::new(value).expect("bytes and rates are finite, and no rate is zero")
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it is not negative, and the conversion saturates"
)]
fn whole(value: f64) -> u64 {
    value.round() as u64
}
