//! Messages of a barrier to and from processes, in a form of a few bytes.
//!
//! There may be one for each process at a time, and each says what the world knows anyway. So the world keeps no more
//! than the process and the kind of such a message, and makes the message itself when an agent is to handle it.

use agents::Rules;
use bsp::{HostId, Rank};
use protocol::{Address, AgentMessage, Start};

use super::supersteps::Supersteps;

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
                if !release.covers(*start) {
                    return None;
                }
                (rank, Self::Start(rank))
            }
            (_, Address::Process(rank), AgentMessage::Finish) => (rank, Self::Finish(rank)),
            _ => return None,
        };
        let ends = ends(rank);
        let is_exact = match message {
            AgentMessage::Arrived(arrived) => *arrived == ends.supersteps.arrival(rank),
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
        release: &mut Release,
    ) -> (Address, Address, AgentMessage) {
        let message = match self {
            Self::Arrived(rank) => AgentMessage::Arrived(ends.supersteps.arrival(rank)),
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
    fn covers(&mut self, start: Start) -> bool {
        if self.count == 0 {
            self.start = Some(start);
        }
        self.start == Some(start)
    }

    /// What one of the processes is to start: it receives the message.
    fn received(&mut self) -> Start {
        self.count -= 1;
        self.start.expect("it has been sent")
    }
}
