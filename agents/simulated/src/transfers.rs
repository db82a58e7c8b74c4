//! Messages between agents on the simulated network.
//!
//! # Messages of a barrier to and from processes, in a form of a few bytes
//!
//! There may be one for each process at a time, and each says what the world knows anyway. So the world keeps no more
//! than the process and the kind of such a message, and makes the message itself when an agent is to handle it.

use std::collections::VecDeque;
use std::sync::Arc;

use agents::{Rules, TransferStart};
use bsp::units::{Bytes, Instant};
use bsp::{HostId, Rank, Reductions, SetId};
use protocol::{Address, AgentMessage, Arrived, Start};
use smallvec::SmallVec;

use crate::supersteps::Supersteps;

/// A message between agents.
pub(super) struct Transfer {
    pub(super) from: Address,
    pub(super) to: Address,
    pub(super) message: AgentMessage,
    pub(super) bytes: Bytes,
    pub(super) sent: Instant,
}

/// A message between agents on the network.
pub(super) enum OnNetwork<Other> {
    /// One of a barrier, from or to a process: there may be one for each process.
    Barrier(BarrierMessage),
    /// Any other.
    Other(Other),
}

/// Messages between agents on the network, by number, with a count for each Manager.
pub(super) struct Transfers {
    /// Those of a barrier have even numbers, twice that of their place.
    barrier: Slots<BarrierMessage>,
    others: Slots<Transfer>,
    /// The number of messages that each Manager has on the network, by Set, and whether it waits for their arrival.
    of_managers: Vec<(u32, bool)>,
}

/// Values by number. A number that was removed is given again, the last one first.
#[derive(Debug)]
struct Slots<T> {
    values: Vec<Option<T>>,
    free: Vec<u32>,
}

impl Transfers {
    /// No messages, of the Managers of `sets` Sets.
    pub(super) fn new(sets: usize) -> Self {
        Self {
            barrier: Slots::new(),
            others: Slots::new(),
            of_managers: vec![(0, false); sets],
        }
    }

    /// Adds a message of the agent `from`, and returns its number.
    pub(super) fn insert(&mut self, from: Address, transfer: OnNetwork<Transfer>) -> u32 {
        if let Address::SetManager(set) = from {
            self.of_managers[set.index()].0 += 1;
        }
        match transfer {
            OnNetwork::Barrier(message) => 2 * self.barrier.insert(message),
            OnNetwork::Other(transfer) => 2 * self.others.insert(transfer) + 1,
        }
    }

    /// The message with this number.
    pub(super) fn get(&self, number: u32) -> OnNetwork<&Transfer> {
        if number.is_multiple_of(2) {
            OnNetwork::Barrier(*self.barrier.get(number / 2))
        } else {
            OnNetwork::Other(self.others.get(number / 2))
        }
    }

    /// Removes a message that has arrived.
    pub(super) fn remove(&mut self, number: u32) -> OnNetwork<Transfer> {
        if number.is_multiple_of(2) {
            OnNetwork::Barrier(self.barrier.remove(number / 2))
        } else {
            OnNetwork::Other(self.others.remove(number / 2))
        }
    }

    /// Notes that a message of the Manager of `set` has been delivered.
    pub(super) fn delivered(&mut self, set: SetId) {
        self.of_managers[set.index()].0 -= 1;
    }

    /// The Manager of `set` waits for the arrival of all its messages.
    pub(super) fn await_arrival(&mut self, set: SetId) {
        self.of_managers[set.index()].1 = true;
    }

    /// Whether the Manager of `set` waits for the arrival of its messages, and all have arrived: true once.
    pub(super) fn has_flushed(&mut self, set: SetId) -> bool {
        let (count, waits) = &mut self.of_managers[set.index()];
        *count == 0 && std::mem::take(waits)
    }
}

impl<T> Slots<T> {
    /// No values.
    const fn new() -> Self {
        Self {
            values: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Adds a value, and returns its number.
    fn insert(&mut self, value: T) -> u32 {
        if let Some(number) = self.free.pop() {
            self.values[at(number)] = Some(value);
            return number;
        }
        self.values.push(Some(value));
        u32::try_from(self.values.len() - 1).expect("fewer values than that at a time")
    }

    /// The value with this number.
    fn get(&self, number: u32) -> &T {
        let value = self.values[at(number)].as_ref();
        value.expect("it has not been removed")
    }

    /// Removes the value with this number.
    fn remove(&mut self, number: u32) -> T {
        let value = self.values[at(number)].take();
        self.free.push(number);
        value.expect("it has not been removed")
    }
}

fn at(number: u32) -> usize {
    usize::try_from(number).expect("u32 fits usize")
}

/// A message of a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BarrierMessage {
    /// The process has arrived.
    Arrived(Rank),
    /// The process has halted; for the node of its host.
    Halted(Rank),
    /// The process is to start the next superstep.
    Start(Rank),
    /// The process is to end.
    Finish(Rank),
}

/// What processes are to start that have not received the message yet: the same for all of them.
#[derive(Debug, Default)]
pub(super) struct Release {
    start: Option<Start>,
    /// The length of what the superstep before has reduced.
    reduced: Bytes,
    /// The number of these processes.
    count: usize,
}

/// What the world knows of the two ends of a message.
#[derive(Clone, Copy)]
pub(super) struct Ends<'a> {
    pub(super) rules: &'a Rules,
    pub(super) supersteps: &'a Supersteps,
    /// The host of the process.
    pub(super) host: HostId,
}

impl BarrierMessage {
    /// The short form of `message`, if it has one.
    #[inline]
    pub(super) fn new<'a>(
        (from, to): (Address, Address),
        message: &AgentMessage,
        ends: impl FnOnce(Rank) -> Ends<'a>,
        release: &mut Release,
    ) -> Option<Self> {
        let (rank, short) = match (from, to, message) {
            (Address::Process(rank), _, AgentMessage::Arrived(_)) => (rank, Self::Arrived(rank)),
            (Address::Process(rank), _, AgentMessage::Halted(_)) => (rank, Self::Halted(rank)),
            (_, Address::Process(rank), AgentMessage::Start(start)) => {
                if !release.covers(start) {
                    return None;
                }
                (rank, Self::Start(rank))
            }
            (_, Address::Process(rank), AgentMessage::Finish) => (rank, Self::Finish(rank)),
            _ => return None,
        };
        let ends = ends(rank);
        let is_exact = match message {
            // The contributions to reductions are kept elsewhere.
            AgentMessage::Arrived(arrived) => {
                let reductions = Reductions::default();
                Arrived {
                    reductions,
                    ..*arrived
                } == ends.supersteps.arrival(rank)
            }
            AgentMessage::Halted(halted) => *halted == rank,
            _ => true,
        };
        if !is_exact || short.ends(ends) != (from, to) {
            return None;
        }
        release.count += usize::from(matches!(short, Self::Start(_)));
        Some(short)
    }

    /// The message, which is received now, after its sender and its receiver.
    #[inline]
    pub(super) fn received(
        self,
        ends: Ends<'_>,
        reductions: Reductions,
        release: &mut Release,
    ) -> (Address, Address, AgentMessage) {
        let message = match self {
            Self::Arrived(rank) => AgentMessage::Arrived(Arrived {
                reductions,
                ..ends.supersteps.arrival(rank)
            }),
            Self::Halted(rank) => AgentMessage::Halted(rank),
            Self::Start(_) => AgentMessage::Start(release.received()),
            Self::Finish(_) => AgentMessage::Finish,
        };
        let (from, to) = self.ends(ends);
        (from, to, message)
    }

    /// Its process.
    pub(super) const fn rank(self) -> Rank {
        match self {
            Self::Arrived(rank) | Self::Halted(rank) | Self::Start(rank) | Self::Finish(rank) => {
                rank
            }
        }
    }

    /// Its sender and its receiver.
    pub(super) fn ends(self, ends: Ends<'_>) -> (Address, Address) {
        let process = Address::Process(self.rank());
        let (host, sets) = (ends.host, &ends.rules.sets);
        let parent = ends.rules.barrier.parent(host, sets[host.index()]);
        match self {
            Self::Arrived(_) => (process, parent),
            Self::Halted(_) => (process, Address::Node(host)),
            Self::Start(_) | Self::Finish(_) => (parent, process),
        }
    }
}

impl<'a> Ends<'a> {
    /// Those of `rank`, with the host of each process.
    pub(super) fn new(
        rules: &'a Rules,
        supersteps: &'a Supersteps,
        hosts: &[HostId],
        rank: Rank,
    ) -> Self {
        Self {
            rules,
            supersteps,
            host: hosts[rank.index()],
        }
    }
}

impl Release {
    /// Whether `start` is what all other processes are to start that have not received the message yet.
    fn covers(&mut self, start: &Start) -> bool {
        if self.count == 0 {
            let reduced = start.reduced.as_ref();
            self.reduced = reduced.map_or(Bytes::ZERO, |reduced| reduced.charged_len());
            self.start = Some(start.clone());
        }
        self.start.as_ref().is_some_and(|own| {
            // Mostly they are the same, which takes no time to see; results may be long.
            let is_reduced = match (&own.reduced, &start.reduced) {
                (Some(one), Some(other)) => Arc::ptr_eq(one, other) || one == other,
                (one, other) => one.is_none() && other.is_none(),
            };
            is_reduced
                && (own.superstep, own.interval, own.checkpoint)
                    == (start.superstep, start.interval, start.checkpoint)
        })
    }

    /// The length of what these processes receive that has been reduced.
    pub(super) const fn reduced_len(&self) -> Bytes {
        self.reduced
    }

    /// What one of the processes is to start: it receives the message.
    fn received(&mut self) -> Start {
        self.count -= 1;
        self.start.clone().expect("it has been sent")
    }
}

/// When the messages of a barrier with a master may start.
///
/// Reports of processes wait until the first Manager listens, if it receives by rendezvous or by rank: it listens when
/// its master has arrived, or from the start of the superstep if the first process is elsewhere. If it answers by
/// rank, each answer starts when the one before has arrived.
pub(super) struct Rendezvous {
    /// Whether reports wait for the first Manager.
    waits: bool,
    /// Whether it receives and answers by rank.
    is_by_rank: bool,
    /// The number of processes.
    size: usize,
    /// The first Manager listens for supersteps below this one, to this process or to all.
    listening: (u64, Option<Rank>),
    /// Whether each process has halted and arrived, by rank. Empty until one has.
    gone: Vec<bool>,
    /// The numbers of waiting messages plus one, by rank; 0 for none: at most one of each process. Empty until one
    /// waits.
    waiting: Vec<u32>,
    count: usize,
    /// The answers that are still to be sent; the one on the network is in front.
    releases: VecDeque<u32>,
}

impl Rendezvous {
    /// No message waits.
    pub(super) fn new(start: TransferStart, rules: &Rules) -> Self {
        let is_by_rank = rules.barrier.is_by_rank();
        let is_rendezvous = start == TransferStart::Rendezvous && rules.barrier.has_master();
        Self {
            waits: is_rendezvous || is_by_rank,
            is_by_rank,
            size: rules.placement.len(),
            listening: (0, None),
            gone: Vec::new(),
            waiting: Vec::new(),
            count: 0,
            releases: VecDeque::new(),
        }
    }

    /// Whether a message is an answer of a Manager that answers by rank.
    pub(super) fn is_release(&self, message: BarrierMessage) -> bool {
        self.is_by_rank
            && matches!(
                message,
                BarrierMessage::Start(_) | BarrierMessage::Finish(_)
            )
    }

    /// Queues an answer; whether it may start immediately.
    pub(super) fn release(&mut self, number: u32) -> bool {
        self.releases.push_back(number);
        self.releases.len() == 1
    }

    /// An answer has arrived; the next one, which may start.
    pub(super) fn released(&mut self) -> Option<u32> {
        self.releases.pop_front();
        self.releases.front().copied()
    }

    /// Whether a message of the barrier that ends superstep `ending` may start now.
    pub(super) fn may_start(&self, message: BarrierMessage, ending: u64) -> bool {
        let BarrierMessage::Arrived(from) = message else {
            return true;
        };
        let (superstep, to) = self.listening;
        !self.waits || ending < superstep && to.is_none_or(|rank| from == rank)
    }

    /// Keeps the message of `rank` until the first Manager listens.
    pub(super) fn hold(&mut self, rank: Rank, number: u32) {
        if self.waiting.is_empty() {
            self.waiting.resize(self.size, 0);
        }
        let kept = std::mem::replace(&mut self.waiting[rank.index()], number + 1);
        assert_eq!(kept, 0, "{rank} has arrived once");
        self.count += 1;
    }

    /// The first Manager starts `superstep`. It listens from now on if the first process is not its master, which
    /// `has_master` says.
    pub(super) fn start(&mut self, superstep: u64, has_master: bool) {
        if self.waits && !(has_master && self.is_living(Rank(0))) {
            let held = self.listen(superstep, None);
            assert!(held.is_empty(), "a process has not started, and arrives");
        }
    }

    /// The first Manager receives the report of `rank` in `superstep`, in which the process may have halted; the held
    /// messages that are to be tried again.
    pub(super) fn arrive(
        &mut self,
        rank: Rank,
        superstep: u64,
        has_halted: bool,
    ) -> SmallVec<[u32; 1]> {
        if !self.waits {
            return SmallVec::new();
        }
        let held = if rank == Rank(0) || self.is_by_rank {
            // The first process waits for the others once it has computed, sent and received.
            self.listen(superstep, Some(rank))
        } else {
            SmallVec::new()
        };
        if has_halted {
            self.gone.resize(self.size, false);
            self.gone[rank.index()] = true;
        }
        held
    }

    /// The first Manager listens to the messages of `superstep`: to all, or by rank to the next after `last`. Returns the
    /// held messages of these processes, by rank.
    fn listen(&mut self, superstep: u64, last: Option<Rank>) -> SmallVec<[u32; 1]> {
        if self.is_by_rank {
            let first = last.map_or(0, |rank| rank.index() + 1);
            let mut later = (first..self.size).map(Rank::from_index);
            let Some(next) = later.find(|rank| self.is_living(*rank)) else {
                return SmallVec::new();
            };
            self.listening = (superstep + 1, Some(next));
            return self.remove(next).into_iter().collect();
        }
        self.listening = (superstep + 1, None);
        if self.count == 0 {
            return SmallVec::new();
        }
        let ranks = (0..self.waiting.len()).map(Rank::from_index);
        ranks.filter_map(|rank| self.remove(rank)).collect()
    }

    /// Whether `rank` has still to arrive in some superstep.
    fn is_living(&self, rank: Rank) -> bool {
        !self.gone.get(rank.index()).is_some_and(|is_gone| *is_gone)
    }

    fn remove(&mut self, rank: Rank) -> Option<u32> {
        let kept = std::mem::take(self.waiting.get_mut(rank.index())?);
        let number = kept.checked_sub(1)?;
        self.count -= 1;
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use agents::{Barrier, Collection, Setup, Shape};
    use simulator::{NetworkOptions, Platform};

    use super::*;

    /// Hosts 0 to 2 are a Set, 3 and 4 another, 5 a third.
    const PLATFORM: &str = include_str!("../../three_sets.toml");

    const SUPERSTEP: u64 = 4;

    /// Four processes, before superstep 4.
    fn rendezvous(shape: Shape, collection: Collection, start: TransferStart) -> Rendezvous {
        let setup = Setup {
            platform: Arc::new(Platform::from_toml(PLATFORM).unwrap()),
            network: NetworkOptions::default(),
            start: TransferStart::Eager,
            placement: [0, 0, 1, 3].map(HostId).to_vec(),
            barrier: Barrier {
                shape,
                collection,
                ..Barrier::default()
            },
            scheduler: None,
            elasticity: None,
            awaited: None,
            checkpointing: None,
            superstep_limit: 1000,
            traced: false,
            repeats: true,
            resumed: None,
        };
        Rendezvous::new(start, &Rules::new(&setup))
    }

    /// The processes whose reports in superstep 4 may start.
    fn heard(rendezvous: &Rendezvous) -> Vec<u32> {
        let may_start =
            |rank: &u32| rendezvous.may_start(BarrierMessage::Arrived(Rank(*rank)), SUPERSTEP);
        (0..4).filter(may_start).collect()
    }

    #[test]
    fn the_first_manager_listens_when_its_master_has_arrived_or_is_elsewhere() {
        let all = vec![0, 1, 2, 3];
        for (collection, away, after_first, after_second) in [
            (
                Collection::AsTheyCome,
                all.clone(),
                all.clone(),
                all.clone(),
            ),
            (Collection::ByRank, vec![0], vec![1], vec![2]),
        ] {
            for has_master in [true, false] {
                let mut rendezvous =
                    rendezvous(Shape::Central, collection, TransferStart::Rendezvous);
                rendezvous.start(SUPERSTEP, has_master);
                let at_first = if has_master { Vec::new() } else { away.clone() };
                assert_eq!(heard(&rendezvous), at_first, "{collection:?}");
                rendezvous.hold(Rank(1), 7);
                let held = rendezvous.arrive(Rank(0), SUPERSTEP, false);
                assert_eq!(held.as_slice(), [7]);
                assert_eq!(heard(&rendezvous), after_first, "{collection:?}");
                rendezvous.arrive(Rank(1), SUPERSTEP, false);
                assert_eq!(heard(&rendezvous), after_second, "{collection:?}");
            }
        }
    }

    #[test]
    fn processes_that_have_halted_are_not_listened_to() {
        let collection = Collection::ByRank;
        let mut rendezvous = rendezvous(Shape::Central, collection, TransferStart::Eager);
        for rank in 0..4 {
            rendezvous.arrive(Rank(rank), SUPERSTEP - 1, rank < 2);
        }
        // The master has halted, so that there is none.
        rendezvous.start(SUPERSTEP, true);
        assert_eq!(heard(&rendezvous), [2]);
        rendezvous.arrive(Rank(2), SUPERSTEP, false);
        assert_eq!(heard(&rendezvous), [3]);
    }

    #[test]
    fn without_a_master_no_report_waits() {
        for shape in [Shape::Hierarchical, Shape::Ideal] {
            let (collection, start) = (Collection::ByRank, TransferStart::Rendezvous);
            assert_eq!(heard(&rendezvous(shape, collection, start)), [0, 1, 2, 3]);
        }
        let (shape, start) = (Shape::Central, TransferStart::Eager);
        let eager = rendezvous(shape, Collection::AsTheyCome, start);
        assert_eq!(heard(&eager), [0, 1, 2, 3]);
    }
}
