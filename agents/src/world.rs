//! All that an agent sees of the outside.

use bsp::units::{Bytes, Instant, Instructions, InstructionsPerSecond, Seconds};
use bsp::{HostId, Image, Rank, SetId};
use migbsp::Reception;
use protocol::{Address, AgentMessage, Migrate, ProcessImage};
use smallvec::SmallVec;

use crate::deliberation::{Deliberated, Deliberation};
use crate::error::RunError;
use crate::record;

/// Something that happens to an agent.
#[derive(Debug)]
pub enum Event {
    /// A message for it.
    Message {
        /// Its sender.
        from: Address,
        /// The message.
        message: AgentMessage,
    },
    /// A process's superstep has been computed.
    Computed {
        /// How much it computed.
        work: Instructions,
        /// How long it took.
        time: Seconds,
        /// It was the last one of this process.
        halted: bool,
    },
    /// A process's messages are out, and everything addressed to it is in.
    Exchanged(Exchange),
    /// A process's agent has come to a host, with its state.
    Moved(Box<Moved>),
    /// The time that an agent asked to be woken at has come.
    Woken,
    /// Everything that a Manager had under way has arrived.
    Flushed,
    /// The plan that a Manager asked for has been made.
    Deliberated(Box<Deliberated>),
}

/// An event for an agent.
#[derive(Debug)]
pub struct Delivery {
    /// Whose it is.
    pub to: Address,
    /// What happens.
    pub event: Event,
}

/// What a process exchanged with others in one superstep.
#[derive(Clone, Debug, Default)]
pub struct Exchange {
    /// Messages sent.
    pub sent: u32,
    /// Messages received.
    pub received: u32,
    /// The longest that a message received was under way.
    pub longest: Seconds,
    /// Bytes received and the time they were under way, summed per Set of the sender.
    pub receptions: SmallVec<[Reception; 1]>,
}

/// A process's agent on its new host.
#[derive(Clone, Debug)]
pub struct Moved {
    /// The agent's state, as [`World::depart`] was given it.
    pub agent: bytes::Bytes,
    /// Its new host.
    pub host: HostId,
    /// The placement in which it lives there.
    pub epoch: u64,
}

/// What a message costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// Nothing: it does not leave its host, or the barrier is ideal.
    Free,
    /// This number of bytes on the network, even within a host.
    Network(Bytes),
    /// Its encoded size on the network; nothing within a host.
    Encoded,
}

/// The outside, as agents see it.
pub trait World {
    /// The time.
    fn now(&self) -> Instant;

    /// Sends a message.
    fn send(&mut self, from: Address, to: Address, message: AgentMessage, cost: Cost);

    /// Executes superstep `superstep` of `rank` on its host's processors, `delay` from now; answered
    /// by [`Event::Computed`].
    fn run(&mut self, rank: Rank, superstep: u64, delay: Seconds);

    /// Sends the messages of the superstep that `rank` just computed and receives those addressed to
    /// it; answered by [`Event::Exchanged`].
    fn exchange(&mut self, rank: Rank);

    /// The first Manager is waiting for the messages of the barrier that ends `superstep`: for that of
    /// one process, or for all.
    fn listen(&mut self, superstep: u64, to: Option<Rank>);

    /// Takes a process off its host: its agent's state and its program's go to the node it moves to.
    fn depart(&mut self, order: Migrate, agent: Vec<u8>);

    /// Puts a process that has come onto its new host; answered by [`Event::Moved`] at its agent.
    fn install(&mut self, host: HostId, state: ProcessImage);

    /// The Manager of `set` knows that all processes that move are installed on their new hosts: from now on, the placement
    /// is that of `epoch`. The nodes of its Set receive this before any later message.
    fn commit(&mut self, set: SetId, epoch: u64, moves: &[Migrate]);

    /// Wakes the agent `after` from now, with [`Event::Woken`].
    fn wake(&mut self, agent: Address, after: Seconds);

    /// Tells a Manager when everything that it has under way has arrived, with [`Event::Flushed`].
    fn flush(&mut self, set: SetId);

    /// Makes a plan for the Manager of `set`, however long that takes; answered by [`Event::Deliberated`].
    fn deliberate(&mut self, set: SetId, deliberation: Deliberation);

    /// A process has halted and knows that the superstep in which it did is over: it has no more to do.
    fn finished(&mut self, rank: Rank);

    /// The memory that a process occupies: what its program declares, or its encoded state.
    fn image(&self, rank: Rank) -> Image;

    /// Processors of a host: their speed and how many they are.
    fn processors(&self, host: HostId) -> (InstructionsPerSecond, u32);

    /// The fraction of a host that others took, its mean over the last `window`.
    fn load(&self, host: HostId, window: Seconds) -> f64;

    /// How long a host has been busy with the overhead of messages, since the run began.
    fn overhead_busy(&self, host: HostId) -> Seconds;

    /// How long a byte takes from one Set's Manager to another's, in seconds per byte.
    fn transfer_rate(&self, from: SetId, to: SetId) -> f64;

    /// How long an empty message takes from a host of one Set to one of another.
    fn latency(&self, from: SetId, to: SetId) -> Seconds;

    /// Keeps something for the record of the run.
    fn record(&mut self, event: record::Event);

    /// Ends the run.
    fn fail(&mut self, error: RunError);
}
