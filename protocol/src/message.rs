//! Messages between agents, between nodes, and between the client of a job and a node.
//!
//! Enums are cut by the ends of messages. The kind of a frame names the enum, so encoded lengths, which simulated calls
//! are charged for, do not depend on how the enums are cut.

mod client;

use std::fmt;
use std::sync::Arc;

use bsp::units::{Instructions, InstructionsPerSecond, Seconds};
use bsp::{HostId, Rank, Reductions, SetId};
use bytes::Bytes;
use model::{
    Answer, CostCoefficients, Digest, Entry, Evaluation, Inventory, LinkProbe, Load, MeasuredMove,
    Measurements, ProbedLink, Request, SetView, Times,
};
use serde::{Deserialize, Serialize};

pub use client::{BusyProcess, *};

/// The sender or the receiver of a message: an agent, or the client of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Address {
    /// The agent of a process, wherever it runs.
    Process(Rank),
    /// The agent of a host.
    Node(HostId),
    /// The manager of a Set.
    SetManager(SetId),
    /// The client of a job, which is not an agent: it only sends and receives [`JobMessage`]s and states of processes.
    Client,
}

/// Any message. The kind of its frame names the enum, so that its encoding is that of the message inside.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Message {
    /// Between agents.
    Agent(AgentMessage),
    /// Between nodes.
    Node(NodeMessage),
    /// Between the client of a job and a node.
    Job(Box<JobMessage>),
}

impl From<AgentMessage> for Message {
    fn from(message: AgentMessage) -> Self {
        Self::Agent(message)
    }
}

// Messages between agents: the table of all of them, and what each says.
//
// A new message is a row of the table with a type below, an arm of the check of its fields
// (`agents/core/src/message_check.rs`), a sender, a receiver, and an example (`protocol/tests/protocol/wire/pinned.rs`).
//
// Orders are imperative ([`Start`], [`Migrate`]), reports are past ([`Arrived`], [`Installed`]).
//
// The simulated network charges the encoded length of these messages, and the name of a variant is a part of it:
// simulated times change with a name.

/// Declares [`AgentMessage`] from its table.
macro_rules! table {
    ($(
        $(#[$attribute:meta])*
        $name:ident $(($content:ty))?: $step:ident, [$($from:ident -> $to:ident if $when:ident),* $(,)?];
    )*) => {
        /// A message between agents.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        pub enum AgentMessage {
            $($(#[$attribute])* $name $(($content))?,)*
        }

        impl AgentMessage {
            /// The names of all messages.
            pub const NAMES: &[&str] = &[$(stringify!($name)),*];

            /// The step of the protocol that the message belongs to, between two supersteps.
            #[must_use]
            pub const fn step(&self) -> Step {
                match self {
                    $(Self::$name { .. } => Step::$step,)*
                }
            }

            /// The ways of the message between machines; none if its two agents are on one machine.
            #[must_use]
            pub const fn routes(&self) -> &'static [Route] {
                match self {
                    $(Self::$name { .. } => const {
                        &[$(Route {
                            from: End::$from,
                            to: End::$to,
                            when: When::$when,
                        }),*]
                    },)*
                }
            }
        }
    };
}

// A row is a message, the step of the protocol that it belongs to, and its ways between machines, each with the runs that
// have it.
table! {
    /// Begin a superstep.
    Start(Start): Compute, [Above -> Below if Always];
    /// All processes have halted: the run is over.
    Finish: Finish, [Above -> Below if Always];
    /// Processes have computed, sent and received.
    Arrived(Arrived): Barrier, [Below -> Above if Always, Manager -> Manager if EachEnds];
    /// A process has halted and takes no more part.
    Halted(Rank): Barrier, [];
    /// Hold a rescheduling call after this superstep.
    StartCall(StartCall): Measure, [First -> Manager if FirstEndsCalling];
    /// Measure your host.
    Measure(Measure): Measure, [Manager -> Node if Calling];
    /// The measurement of a host.
    Measured(Measured): Measure, [Node -> Manager if Calling];
    /// The capacity of a Set.
    Capacity(Box<Capacity>): Evaluate, [Manager -> Manager if Calling];
    /// Evaluate your potentials of migration.
    Evaluate(Arc<Evaluate>): Evaluate, [Manager -> Node if Calling];
    /// The evaluation of one process.
    Reported(Box<Report>): Evaluate, [];
    /// The evaluations of the processes of one host, or the last part of them.
    Reports(Box<Reports>): Evaluate, [Node -> Manager if Calling];
    /// The evaluations of some processes of one host, before its [`AgentMessage::Reports`], if all of them are too long
    /// for one message.
    ReportsBefore(Box<Reports>): Evaluate, [Node -> Manager if Calling];
    /// The evaluations of the processes of one Set.
    SetReport(Box<SetReport>): Evaluate, [Manager -> Manager if Calling];
    /// Ask another Set for a processor for a process.
    Ask(Box<Ask>): Negotiate, [Manager -> Manager if Negotiating];
    /// The answer.
    Answered(Box<Answered>): Negotiate, [Manager -> Manager if Negotiating];
    /// The results of one Manager's negotiations about its own processes.
    Decided(Box<Decided>): Negotiate, [Manager -> Manager if Negotiating];
    /// The plan of the first Manager, if the policy's plans name processors.
    Planned(Box<Planned>): Plan, [First -> Manager if Planning];
    /// Probe the link to another host.
    ProbeLink(ProbeLink): ProbeLink, [Manager -> Node if Learning, First -> Node if LearningPlanner];
    /// What a probe of a link found.
    LinkProbed(LinkProbed): ProbeLink, [Node -> Manager if Learning, Node -> First if LearningPlanner];
    /// Move a process to another host.
    Migrate(Migrate): Depart, [Manager -> Node if Calling];
    /// A process in transfer. It has a stream of its own.
    State(Box<EncodedState>): Install, [Node -> Node if Calling];
    /// A process runs on its new host.
    Installed(Installed): Install, [Node -> Manager if Calling, Manager -> Manager if Calling];
}

impl AgentMessage {
    /// The superstep that the message is about, from 0, if it names one.
    #[must_use]
    pub fn superstep(&self) -> Option<u64> {
        Some(match self {
            Self::Start(message) => message.superstep,
            Self::Arrived(message) => message.superstep,
            Self::StartCall(message) => message.superstep,
            Self::Measure(message) => message.superstep,
            Self::Measured(message) => message.superstep,
            Self::Capacity(message) => message.superstep,
            Self::Evaluate(message) => message.superstep,
            Self::Reported(message) => message.superstep,
            Self::Reports(message) | Self::ReportsBefore(message) => message.superstep,
            Self::SetReport(message) => message.superstep,
            Self::Ask(message) => message.superstep,
            Self::Answered(message) => message.superstep,
            Self::Decided(message) => message.superstep,
            Self::Planned(message) => message.superstep,
            Self::ProbeLink(message) => message.superstep,
            Self::LinkProbed(message) => message.superstep,
            Self::Finish
            | Self::Halted(_)
            | Self::Migrate(_)
            | Self::State(_)
            | Self::Installed(_) => return None,
        })
    }
}

/// Begin superstep `superstep`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// The superstep, from 0.
    pub superstep: u64,
    /// After a rescheduling call, the length of the next interval: the history of the last one is dropped.
    pub interval: Option<u32>,
    /// Whether the state in which the superstep starts belongs to a checkpoint.
    pub checkpoint: bool,
    /// What the superstep before has reduced, if it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reduced: Option<Arc<Reductions>>,
}

/// `processes` processes have finished superstep `superstep`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Arrived {
    /// The superstep that ended, from 0.
    pub superstep: u64,
    /// The number of processes in this report.
    pub processes: u32,
    /// The number of them that halted in this superstep.
    pub halted: u32,
    /// Messages they sent in this superstep.
    pub sent: u64,
    /// Messages they received in this superstep.
    pub received: u64,
    /// The longest computation among them, and its process.
    pub slowest: (Seconds, Rank),
    /// The sum of their computations, in whole nanoseconds: it does not depend on the order of arrival.
    pub computation: u64,
    /// The length of the superstep before, as the reporting Manager measured it; zero in other reports.
    pub took: Seconds,
    /// Whether the state in which the next superstep starts belongs to a checkpoint: what the first Manager whose
    /// Set has processes reports to the others, which start their Sets themselves; not set in other reports.
    pub checkpoint: bool,
    /// Their contributions to reductions, combined.
    #[serde(default, skip_serializing_if = "Reductions::is_empty")]
    pub reductions: Reductions,
}

impl Arrived {
    /// The mean computation of these processes.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "a sum of times is finite")]
    #[expect(
        clippy::as_conversions,
        reason = "nanoseconds beyond 2^53 may be rounded"
    )]
    pub fn mean(&self) -> Seconds {
        let mean = self.computation as f64 * 1e-9 / f64::from(self.processes.max(1));
        Seconds::new(mean).expect("a sum of times is finite")
    }

    /// Adds this report to `others` that have come before, if any. Returns all of them as one.
    ///
    /// # Panics
    ///
    /// If they are about different supersteps.
    pub fn add_to(self, others: &mut Option<Self>) -> &mut Self {
        match others {
            Some(others) => {
                others.add(self);
                others
            }
            None => others.insert(self),
        }
    }

    /// Adds another report. Of two equally slow processes the one with the lower rank is named.
    fn add(&mut self, other: Self) {
        assert_eq!(
            self.superstep, other.superstep,
            "reports of one superstep are summed"
        );
        let (time, rank) = self.slowest;
        let (other_time, other_rank) = other.slowest;
        if time < other_time || (time == other_time && other_rank < rank) {
            self.slowest = other.slowest;
        }
        self.processes = self.processes.saturating_add(other.processes);
        self.halted = self.halted.saturating_add(other.halted);
        self.sent = self.sent.saturating_add(other.sent);
        self.received = self.received.saturating_add(other.received);
        self.computation = self.computation.saturating_add(other.computation);
        self.took = self.took.max(other.took);
        self.checkpoint |= other.checkpoint;
        self.reductions.combine(other.reductions);
    }
}

/// Hold a rescheduling call after superstep `superstep`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartCall {
    /// The superstep that ended, from 0.
    pub superstep: u64,
}

/// Measure your host for the call after superstep `superstep`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measure {
    /// The superstep that ended, from 0.
    pub superstep: u64,
}

/// Evaluate your potentials of migration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluate {
    /// The superstep that ended, from 0.
    pub superstep: u64,
    /// The Sets as seen from the receiver's own, indexed by Set.
    pub sets: Vec<SetView>,
    /// What has been learned of the cost of moves, if it is learned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learned: Option<CostCoefficients>,
}

/// Probe the link to another host, before a process is sent there.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbeLink {
    /// The superstep that ended, from 0.
    pub superstep: u64,
    /// The link, and how long to probe it.
    pub probe: LinkProbe,
}

/// Move a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Migrate {
    /// The process.
    pub rank: Rank,
    /// Its host.
    pub from: HostId,
    /// Its new host.
    pub to: HostId,
    /// The epoch of the placement in which it runs there.
    pub epoch: u64,
    /// The cost that the process pays at the start of its next superstep.
    pub deferred_cost: Seconds,
}

/// The state of a process in transfer. A client sends the states in which processes start, and nodes send the client the
/// outputs of processes, which have no agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EncodedState {
    /// The process.
    pub rank: Rank,
    /// The epoch of the placement in which it will run at its destination.
    pub epoch: u64,
    /// The length of the encoded agent in bytes.
    pub agent: u32,
    /// The memory that the process occupies, if its program declares it.
    pub declared: Option<bsp::units::Bytes>,
    /// The encoded program, then the encoded agent; on real hosts, more follows.
    #[serde(skip)]
    pub payload: Bytes,
}

/// A process runs on its new host.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Installed {
    /// The process.
    pub rank: Rank,
    /// Its host.
    pub host: HostId,
    /// The epoch of the placement in which it runs there.
    pub epoch: u64,
    /// What its move took, if the cost of moves is learned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured: Option<MeasuredMove>,
}

/// The measurement of a host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The superstep that ended, from 0.
    pub superstep: u64,
    /// The host.
    pub host: HostId,
    /// The speed of one of its processors.
    pub speed: InstructionsPerSecond,
    /// The number of its processors.
    pub cores: u32,
    /// The fraction of them that other programs use, in `[0, 1]`, over the papers' long window.
    pub load: f64,
    /// The same over a short window.
    pub load_recent: f64,
    /// What else it has measured, of its own links and load.
    #[serde(default, skip_serializing_if = "Measurements::is_empty")]
    pub more: Measurements,
}

/// The capacity of a Set, as its Manager measured it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Capacity {
    /// The superstep that ended, from 0.
    pub superstep: u64,
    /// The Set.
    pub set: SetId,
    /// Mean capacity of its processors, instructions per second left by other programs.
    pub capacity: f64,
    /// The number of its processes.
    pub processes: u32,
    /// The number of its processors.
    pub processors: u32,
    /// What the sender has learned of the cost of moves, if it is learned: the same as all Managers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learned: Option<CostCoefficients>,
}

/// The evaluation of one process, and the data to negotiate for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The superstep that ended, from 0.
    pub superstep: u64,
    /// The process.
    pub rank: Rank,
    /// Its host.
    pub host: HostId,
    /// Its potential of migration to every Set, term by term.
    pub evaluation: Evaluation,
    /// Its row in the list of potentials.
    pub entry: Entry,
    /// Instructions of the last superstep.
    pub instructions: Instructions,
    /// Instructions of the last superstep in which it computed.
    pub instructions_resident: Instructions,
    /// Bytes received in the last superstep from its target Set.
    pub bytes: bsp::units::Bytes,
    /// Its times in each superstep since the last call.
    pub times: Times,
    /// Its load, if the policy's plans name processors.
    pub load: Option<Box<Load>>,
    /// The most supersteps that it executes from now on, if its program knows and the policy asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remaining: Option<u64>,
}

/// The reports of processes of one host, in rank order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reports {
    /// The superstep that ended, from 0.
    pub superstep: u64,
    /// The host.
    pub host: HostId,
    /// One report per process.
    pub reports: Vec<Report>,
}

/// The evaluations of the processes of one Set, as the Managers exchange them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SetReport {
    /// The superstep that ended, from 0.
    pub superstep: u64,
    /// The Set.
    pub set: SetId,
    /// The interval that ended with this call, as the sender holds it, if its policy has one.
    pub interval: Option<u32>,
    /// The tolerance, as the sender holds it, if its policy has one.
    pub tolerance: Option<f64>,
    /// Its processes' rows of the list of potentials, in rank order.
    pub entries: Arc<[Entry]>,
    /// The times of each superstep since the last call in this Set.
    pub digests: Vec<Digest>,
    /// The time that the sender was busy with the barrier in each of these supersteps.
    pub barrier_busy: Vec<Seconds>,
    /// The processors and loads of this Set, for the first Manager, if the policy's plans name processors.
    pub inventory: Option<Inventory>,
    /// The most supersteps that any of its processes executes from now on, if all know and the policy asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remaining: Option<u64>,
}

/// Ask another Set for a processor for a process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    /// The superstep that ended, from 0.
    pub superstep: u64,
    /// The Set that asks.
    pub from: SetId,
    /// The process and its demands.
    pub request: Request,
}

/// The answer to an [`Ask`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answered {
    /// The superstep that ended, from 0.
    pub superstep: u64,
    /// The process.
    pub rank: Rank,
    /// A processor, or the reason for a refusal.
    pub answer: Answer,
}

/// The results of one Manager's negotiations about the processes of its Set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decided {
    /// The superstep that ended, from 0.
    pub superstep: u64,
    /// The Set.
    pub set: SetId,
    /// Its candidates and their results, in the order of the list.
    pub considered: Vec<Considered>,
    /// The links that were probed, in the order of the probes: results are priced by them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probed: Vec<ProbedLink>,
}

/// The plan of the first Manager.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Planned {
    /// The superstep that ended, from 0.
    pub superstep: u64,
    /// The moves, in rank order, with their expected durations.
    pub moves: Vec<model::PlannedMove>,
    /// The earliest times of the next call.
    pub spacing: model::Spacing,
}

/// What a probe of a link found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkProbed {
    /// The superstep that ended, from 0.
    pub superstep: u64,
    /// The link, as it was measured just now.
    pub link: ProbedLink,
}

/// A candidate for migration and the result of its negotiation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Considered {
    /// Its row in the list of potentials.
    pub entry: Entry,
    /// Its host.
    pub host: HostId,
    /// The request of its Manager.
    pub request: Request,
    /// The answer of the Manager of its target Set.
    pub answer: Answer,
}

/// One way of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// Its sender.
    pub from: End,
    /// Its receiver.
    pub to: End,
    /// The runs in which it travels there.
    pub when: When,
}

/// An end of a [`Route`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// A node: of the Set of the [`End::Manager`] at the other end, otherwise any.
    Node,
    /// The Manager of any Set; two of them are different ones.
    Manager,
    /// The first Manager, whose orders may be for any node or other Manager.
    First,
    /// A process or a node that arrives at the barrier of the [`End::Above`] at the other end.
    Below,
    /// The Manager that ends the supersteps of the [`End::Below`] at the other end.
    Above,
}

/// The runs in which a [`Route`] is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// All.
    Always,
    /// Each Manager ends the supersteps of its Set.
    EachEnds,
    /// There are rescheduling calls.
    Calling,
    /// There are calls, which the first Manager begins, because it ends all supersteps.
    FirstEndsCalling,
    /// There are calls, in which Managers negotiate.
    Negotiating,
    /// There are calls, in which the first Manager plans.
    Planning,
    /// There are calls, and what moves cost is learned.
    Learning,
    /// There are calls, in which the first Manager plans with the costs of moves that it has learned.
    LearningPlanner,
}

impl End {
    /// Whether an agent may be at this end, if the role of its Set does not matter.
    #[must_use]
    pub const fn is_like(self, agent: Address) -> bool {
        match self {
            Self::Below => matches!(agent, Address::Process(_) | Address::Node(_)),
            Self::Node => matches!(agent, Address::Node(_)),
            Self::Manager | Self::First | Self::Above => matches!(agent, Address::SetManager(_)),
        }
    }
}

/// A message between nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum NodeMessage {
    /// Messages of the sender's processes to the receiver's.
    Batch(Box<Batch>),
    /// Acknowledges the batch of this superstep, which the receiver did not expect, or which announces halted
    /// processes.
    BatchAcknowledged(u64),
    /// A new placement.
    Placed(Box<Placed>),
    /// A message to be sent back, to measure the round trip.
    Probe(Probe),
    /// About the checkpoint before this superstep.
    Checkpoint(u64, CheckpointMessage),
}

/// The messages of one node's processes to those of another in a superstep, or a part of them. The payload is the
/// bytes of the messages, one after the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Batch {
    /// The superstep in which it was sent, from 0.
    pub superstep: u64,
    /// The time of sending, on the sender's clock.
    pub sent: Seconds,
    /// Whether it is the last of this sender's to this receiver in this superstep.
    pub is_last: bool,
    /// In the last batch: whether the receiver is to expect one in the sender's next superstep, too.
    pub is_followed: bool,
    /// In the last batch: the processes of the sender that halted in this superstep.
    pub halted: Vec<Rank>,
    /// The messages, those of a process in the order sent.
    pub messages: Vec<MessageHeader>,
    /// Their bytes.
    #[serde(skip)]
    pub payload: Bytes,
}

/// A message of a batch, or a part of one, without its bytes. The parts of a message are in batches that follow each other, with
/// nothing between them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageHeader {
    /// The sender.
    pub from: Rank,
    /// The receiver.
    pub to: Rank,
    /// The length of what is here.
    pub bytes: u64,
    /// Whether it only has a length, and its bytes have no meaning.
    pub is_sized: bool,
    /// The length of what follows in the next batches.
    pub rest: u64,
    /// Other receivers of the same value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Rank>,
}

/// The hosts of processes from an epoch on; processes that are not listed stay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placed {
    /// The epoch of the placement.
    pub epoch: u64,
    /// The processes that moved, and their hosts.
    pub moves: Vec<(Rank, HostId)>,
}

/// A message to be sent back, to measure the round trip.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// Its number among the sender's probes, from 0.
    pub number: u32,
    /// Whether it is on its way back, without a payload.
    pub is_back: bool,
    /// Bytes without meaning.
    #[serde(skip)]
    pub payload: Bytes,
}

/// Between nodes, about the checkpoint before a superstep.
///
/// The node of the first Manager collects what the others have saved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum CheckpointMessage {
    /// To a node: save the outputs of the processes that have halted there, if none starts a superstep there.
    Save,
    /// To a buddy: what has changed of the pieces of the sender's processes. It travels as a state does.
    Pieces(Pieces),
    /// The buddy has all pieces of the receiver.
    Copied,
    /// To the node of the first Manager: the pieces of the sender's processes are saved.
    Saved(Box<Saved>),
    /// To all nodes: the checkpoint is complete. Its cost so far, as the interval counts it.
    Complete(Seconds),
}

/// What has changed of pieces. The payload is the encoded deltas, each after its length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pieces {
    /// The number of processes.
    pub count: u32,
    /// For each process, the length of its encoded delta as 8 bytes, little-endian, and the delta.
    #[serde(skip)]
    pub payload: Bytes,
}

/// What a node has saved for a checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Saved {
    /// Its processes.
    pub ranks: Vec<Rank>,
    /// The longest time for which one of them stood still.
    pub stall: Seconds,
    /// The processor time of encoding while processes computed, per processor.
    pub encoding: Seconds,
    /// The bytes of the pieces.
    pub bytes: u64,
    /// The bytes that went to the buddy.
    pub sent: u64,
    /// If checkpoints are written to disk: the file with the pieces, or why there is none.
    pub file: Option<Result<PiecesFile, String>>,
    /// Whether the processes are held before the superstep, so that it is not complete before the job goes on in another view.
    pub held: bool,
}

/// A file with the pieces of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PiecesFile {
    /// Its length in bytes.
    pub length: u64,
    /// Its SHA-256.
    pub sha256: [u8; 32],
}

/// Where a node is in the protocol of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// No job runs.
    Idle,
    /// Nodes connect, and states arrive.
    Gather,
    /// Rates between Sets are probed.
    Probe,
    /// The node is ready, and waits for all others.
    Ready,
    /// Programs execute a superstep.
    Compute,
    /// Processes are encoded for a checkpoint, while others compute.
    Save,
    /// The pieces of a checkpoint are on their way to the buddy.
    Copy,
    /// The pieces of a checkpoint are written to the disk.
    Write,
    /// The node of the first Manager waits for the pieces of others, or completes a checkpoint on the disk.
    Collect,
    /// Batches of other nodes have not arrived.
    Exchange,
    /// Batches have not been acknowledged.
    Acknowledge,
    /// Processes arrive at the barrier.
    Barrier,
    /// A call measures hosts.
    Measure,
    /// Processes evaluate where they would gain, and report it.
    Evaluate,
    /// Managers settle candidates.
    Negotiate,
    /// The first Manager plans.
    Plan,
    /// Links of long moves are probed.
    ProbeLink,
    /// Processes leave.
    Depart,
    /// Images are under way.
    Transfer,
    /// Processes are installed.
    Install,
    /// The placement is committed.
    Commit,
    /// Processes finish.
    Finish,
    /// The node has ended, and the client has not.
    End,
    /// The node has left the session of a job that goes on without a node that is lost, and waits for the next view.
    Suspend,
    /// The node waits for pieces of a checkpoint with which the job goes on.
    Restore,
}

impl Step {
    /// All of them, in the order of a job.
    pub const ALL: [Self; 25] = [
        Self::Idle,
        Self::Gather,
        Self::Probe,
        Self::Ready,
        Self::Compute,
        Self::Save,
        Self::Copy,
        Self::Write,
        Self::Collect,
        Self::Exchange,
        Self::Acknowledge,
        Self::Barrier,
        Self::Measure,
        Self::Evaluate,
        Self::Negotiate,
        Self::Plan,
        Self::ProbeLink,
        Self::Depart,
        Self::Transfer,
        Self::Install,
        Self::Commit,
        Self::Finish,
        Self::End,
        Self::Suspend,
        Self::Restore,
    ];
}

impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Idle => "idle",
            Self::Gather => "gather",
            Self::Probe => "probe",
            Self::Ready => "ready",
            Self::Compute => "compute",
            Self::Save => "save",
            Self::Copy => "copy",
            Self::Write => "write",
            Self::Collect => "collect",
            Self::Exchange => "exchange",
            Self::Acknowledge => "acknowledge",
            Self::Barrier => "barrier",
            Self::Measure => "measure",
            Self::Evaluate => "evaluate",
            Self::Negotiate => "negotiate",
            Self::Plan => "plan",
            Self::ProbeLink => "probe-link",
            Self::Depart => "depart",
            Self::Transfer => "transfer",
            Self::Install => "install",
            Self::Commit => "commit",
            Self::Finish => "finish",
            Self::End => "end",
            Self::Suspend => "suspend",
            Self::Restore => "restore",
        })
    }
}
