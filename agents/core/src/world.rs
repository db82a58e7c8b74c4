//! The outside as agents see it: events that they receive, and the operations that they may ask for.
//!
//! Agents call these operations instead of returning lists of effects: the same separation with one enum less, and
//! without an allocation per event. An agent learns once per superstep that an exchange is complete, not once per
//! message.

use std::sync::Arc;

use bsp::units::{Bytes, Instant, Instructions, InstructionsPerSecond, Seconds};
use bsp::{HostId, MemorySize, Rank, Reductions, SetId};
use model::{
    CallStart, Decision, HostLink, Incoming, Inventory, MeasuredMove, MoveCost, Path, Planner,
    PlanningEffort, Reception,
};
use protocol::{Address, AgentMessage, EncodedState, LinkProbed, Migrate, ProbeLink, Start};
use smallvec::SmallVec;

use crate::outcome::RunError;
use crate::setup::Joining;

/// An event that an agent handles.
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
        /// The instructions that it executed.
        work: Instructions,
        /// The time that it took.
        time: Seconds,
        /// Whether it was the last superstep of this process.
        halted: bool,
        /// Its contributions to reductions.
        reductions: Reductions,
    },
    /// A process's messages have been sent, and all messages to it have arrived.
    Exchanged(Exchange),
    /// A process's agent has arrived on a host, with its state.
    Moved(Box<Moved>),
    /// The time at which an agent asked to be woken has been reached.
    Woken,
    /// All messages that a Manager has sent have arrived.
    Flushed,
    /// A link has been probed, as a Manager has ordered.
    LinkProbed {
        /// The Manager.
        by: Address,
        /// What was found.
        probed: LinkProbed,
    },
    /// The plan that a Manager asked for is complete.
    Deliberated(Box<Deliberated>),
}

/// An event for an agent.
#[derive(Debug)]
pub struct Delivery {
    /// The agent.
    pub to: Address,
    /// The event.
    pub event: Event,
}

/// The messages that a process exchanged in one superstep.
#[derive(Clone, Debug, Default)]
pub struct Exchange {
    /// Messages sent.
    pub sent: u32,
    /// Messages received.
    pub received: u32,
    /// Bytes of the messages sent.
    pub bytes_sent: Bytes,
    /// Bytes of the messages received; in simulations, zero if nothing needs them.
    pub bytes_received: Bytes,
    /// The longest time in transfer of a message received.
    pub longest: Seconds,
    /// Bytes received and their time in transfer, summed per Set of the sender.
    pub receptions: SmallVec<[Reception; 1]>,
    /// The same by sender, of the heaviest ones; empty if no plan needs it.
    pub incoming: Vec<Incoming>,
}

/// A process's agent on its new host.
#[derive(Clone, Debug)]
pub struct Moved {
    /// The agent's state, as [`Executor::depart`] was given it.
    pub agent: bytes::Bytes,
    /// The node that sent it.
    pub from: Address,
    /// Its new host.
    pub host: HostId,
    /// The placement in which it lives there.
    pub epoch: u64,
    /// What the move took.
    pub measured: MeasuredMove,
}

/// The cost of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// Nothing: it does not leave its host, or the barrier is ideal.
    Free,
    /// This number of bytes on the network, even within a host.
    Network(Bytes),
    /// Its encoded size on the network; nothing within a host.
    Encoded,
}

impl Cost {
    /// The cost of a message that is longer by `bytes`.
    #[must_use]
    pub fn and(self, bytes: Bytes) -> Self {
        match self {
            Self::Network(own) => Self::Network(own + bytes),
            Self::Free | Self::Encoded => self,
        }
    }
}

/// The operations that agents may ask for.
pub trait World: Mail + Executor + HostProbe + Membership {}

impl<W: Mail + Executor + HostProbe + Membership> World for W {}

/// Time, messages, the record, and the end of a run that fails.
pub trait Mail {
    /// The time.
    fn now(&self) -> Instant;

    /// Sends a message.
    fn send(&mut self, from: Address, to: Address, message: AgentMessage, cost: Cost);

    /// Wakes the agent `after` from now, with [`Event::Woken`].
    fn wake(&mut self, agent: Address, after: Seconds);

    /// Notifies a Manager when all messages that it has sent have arrived, with [`Event::Flushed`].
    fn flush(&mut self, set: SetId);

    /// Adds an event to the record of the run.
    fn record(&mut self, event: record::Event);

    /// Ends the run, because a message of the agent `from` violates the protocol, as `problem` says. On real hosts the
    /// connection to its host is closed.
    fn refuse(&mut self, from: Address, problem: String) {
        self.fail(RunError::Peer(format!("{from:?}: {problem}")));
    }

    /// Ends the run.
    fn fail(&mut self, error: RunError);
}

/// Execution of programs and plans.
pub trait Executor {
    /// Executes `superstep` of `rank` on its host's processors, `delay` from now; answered by [`Event::Computed`]. In the
    /// superstep before, the process computed for `elapsed`, and all of them have `reduced` this.
    fn run(
        &mut self,
        rank: Rank,
        superstep: u64,
        elapsed: Seconds,
        delay: Seconds,
        reduced: Option<Arc<Reductions>>,
    );

    /// Sends the messages of the superstep that `rank` just computed and receives those addressed to
    /// it; answered by [`Event::Exchanged`].
    fn exchange(&mut self, rank: Rank);

    /// Saves the state of `rank` in which it is about to start `superstep`: its program, its inbox, and its agent, encoded as
    /// for [`Executor::depart`]. [`Executor::run`] follows in the same handler.
    fn checkpoint(&mut self, rank: Rank, superstep: u64, agent: Vec<u8>);

    /// Removes a process from its host: the states of its agent and its program are sent to its new node.
    fn depart(&mut self, order: Migrate, agent: Vec<u8>);

    /// Installs a process that has arrived on its new host from the node `from`; answered by [`Event::Moved`] at its agent.
    fn install(&mut self, host: HostId, from: Address, state: EncodedState);

    /// The memory that a process occupies: what its program declares, or its encoded state.
    fn memory(&self, rank: Rank) -> MemorySize;

    /// The most supersteps that a process executes after the first `completed`, if its program knows.
    fn remaining(&self, rank: Rank, completed: u64) -> Option<u64>;

    /// Makes a plan for the Manager of `set` outside the handler; answered by [`Event::Deliberated`].
    fn deliberate(&mut self, set: SetId, deliberation: Deliberation);
}

/// What hosts and the network between them do besides.
pub trait HostProbe {
    /// The speed of the processors of a host, and their number.
    fn processors(&self, host: HostId) -> (InstructionsPerSecond, u32);

    /// The fraction of a host that other programs used, averaged over the last `window`.
    fn load(&mut self, host: HostId, window: Seconds) -> f64;

    /// The same as it delayed the processes of the host: the fraction of the time of their computation that they did not get. Where
    /// processors are shared as the model says, there is no difference.
    fn effective_load(&mut self, host: HostId, window: Seconds) -> f64;

    /// The part of a core that a process alone would not have had on the host during the last `window`, because of other
    /// programs; the part now if the window is empty.
    fn unavailable(&mut self, host: HostId, window: Seconds) -> f64;

    /// How often in the last `window` other programs began to keep a core of the idle host busy; on real hosts, all cores.
    fn busy_periods(&mut self, host: HostId, window: Seconds) -> u64;

    /// The processor time that each process of other programs has had that keeps a core of the host busy now, the longest
    /// first; at most [`ExternalLoad::AGES_MAX`](model::ExternalLoad::AGES_MAX).
    fn ages(&mut self, host: HostId) -> Vec<Seconds>;

    /// The time for which a host has been busy with the overhead of messages since the run began.
    fn overhead_busy(&self, host: HostId) -> Seconds;

    /// The time that a byte takes from one Set's Manager to another's, in seconds per byte.
    fn transfer_rate(&self, from: SetId, to: SetId) -> f64;

    /// What a message takes from a host of one Set to one of another while nothing else is under way.
    fn path(&self, from: SetId, to: SetId) -> Path;

    /// Seconds per byte from the hosts of this machine to others, as far as they are measured by pairs of hosts, in the order of the
    /// pairs. The simulated world measures none unless [`LinkProbing`](crate::LinkProbing) is configured.
    fn links(&self, host: HostId) -> Vec<HostLink>;

    /// What probes links before a long move, if this world does: simulated transfers find the bandwidth that there is.
    fn link_prober(&mut self) -> Option<&mut dyn LinkProber>;
}

/// Probes of links.
pub trait LinkProber {
    /// Probes the link from a host of this machine to another, as the order of a Manager, `by`, says; answered by
    /// [`Event::LinkProbed`] at the agent of the host.
    fn probe(&mut self, order: ProbeLink, by: Address);
}

/// Which hosts and processes take part, from one superstep to the next.
pub trait Membership {
    /// The hosts that join after the first `completed` supersteps, when all processes have arrived; the same for every
    /// Manager that asks.
    fn joining(&mut self, completed: u64) -> Option<Joining>;

    /// The Manager of `set` knows that all processes that move are installed on their new hosts: from now on, the
    /// placement is that of `epoch`. The nodes of its Set receive this before any later message.
    fn commit(&mut self, set: SetId, epoch: u64, moves: &[Migrate]);

    /// Whether a checkpoint is due after the first `completed` supersteps: the state in which the next superstep starts is to
    /// be saved. Asked of the first Manager's world, once in each superstep but the last. The answer alone
    /// begins nothing: a checkpoint begins when a superstep is [released](Membership::released) with it.
    ///
    /// The first Manager asks when all processes have arrived. With a hierarchical barrier it asks when those of its own Set
    /// have, and informs the other Managers with their arrival, because they start their Sets without waiting for it. If its
    /// Set has no processes any more, the Manager of the lowest Set that has asks its world instead.
    fn is_checkpoint_due(&mut self, completed: u64) -> bool;

    /// The Manager of `set` is about to start the next superstep, even if its Set has no processes; if it `is_over`, all
    /// processes have halted, and it informs its Set. From the start with a checkpoint until this is complete,
    /// [`Membership::is_checkpoint_due`] is false in the world of every Manager.
    ///
    /// Returns whether the Manager is to send the start. A world that lets the superstep pass itself sends the Manager the
    /// arrival of all instead, from its own address.
    fn released(&mut self, set: SetId, start: &Start, is_over: bool) -> bool;

    /// A process has halted, and the superstep in which it halted is over: its agent ends.
    fn finished(&mut self, rank: Rank);
}

/// A plan to be made, and its planner.
#[derive(Debug)]
pub struct Deliberation {
    /// The planner, which is returned with the plan.
    pub(crate) planner: Planner,
    pub(crate) start: CallStart,
    /// The inventory of every Set.
    pub(crate) sets: Vec<Inventory>,
    /// What moves cost.
    pub(crate) cost: MoveCost,
}

/// A plan, and the planner that made it.
#[derive(Debug)]
pub struct Deliberated {
    pub(crate) planner: Planner,
    pub(crate) decision: Decision,
}

impl Deliberated {
    /// What making the plan has taken.
    #[must_use]
    pub const fn effort(&self) -> PlanningEffort {
        self.decision.effort
    }
}

impl Deliberation {
    /// Makes the plan.
    #[must_use]
    pub fn conclude(self) -> Deliberated {
        let Self {
            mut planner,
            start,
            sets,
            cost,
        } = self;
        let decision = planner.decide(start, sets, cost);
        Deliberated { planner, decision }
    }
}
