//! Messages between agents: the table of all of them, and what each says.
//!
//! A new message is a row of the table with a type below, an arm of the check of its fields
//! (`agents/core/src/message_check.rs`), a sender, a receiver, and an example (`protocol/tests/protocol/wire/pinned.rs`).
//!
//! Orders are imperative ([`Start`], [`Migrate`]), reports are past ([`Arrived`], [`Installed`]).
//!
//! The simulated network charges the encoded length of these messages, and the name of a variant is a part of it:
//! simulated times change with a name.

use bsp::units::{Instructions, InstructionsPerSecond, Seconds};
use bsp::{HostId, Rank, SetId};
use bytes::Bytes;
use migbsp::{
    Answer, CostCoefficients, Digest, Entry, Evaluation, Inventory, LinkProbe, Load, MeasuredMove,
    Measurements, ProbedLink, ProcessTimes, Request, SetView,
};
use serde::{Deserialize, Serialize};

use super::route::{End, Route, When};
use crate::step::Step;

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
    Evaluate(Box<Evaluate>): Evaluate, [Manager -> Node if Calling];
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
    pub const fn superstep(&self) -> Option<u64> {
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// The superstep, from 0.
    pub superstep: u64,
    /// After a rescheduling call, the length of the next interval: the history of the last one is dropped.
    pub interval: Option<u32>,
    /// Whether the state in which the superstep starts belongs to a checkpoint.
    pub checkpoint: bool,
}

/// `processes` processes have finished superstep `superstep`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Set has processes tells the others, which start their Sets themselves; not set in other reports.
    pub checkpoint: bool,
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

    /// Both reports as one. Of two equally slow processes the one with the lower rank is named.
    ///
    /// # Panics
    ///
    /// If they are about different supersteps.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        assert_eq!(
            self.superstep, other.superstep,
            "reports of one superstep are summed"
        );
        let (time, rank) = self.slowest;
        let (other_time, other_rank) = other.slowest;
        let other_is_slower = time < other_time || (time == other_time && other_rank < rank);
        Self {
            superstep: self.superstep,
            processes: self.processes.saturating_add(other.processes),
            halted: self.halted.saturating_add(other.halted),
            sent: self.sent.saturating_add(other.sent),
            received: self.received.saturating_add(other.received),
            slowest: if other_is_slower {
                other.slowest
            } else {
                self.slowest
            },
            computation: self.computation.saturating_add(other.computation),
            took: self.took.max(other.took),
            checkpoint: self.checkpoint || other.checkpoint,
        }
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
    pub times: Vec<ProcessTimes>,
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
    pub entries: Vec<Entry>,
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
    pub moves: Vec<migbsp::PlannedMove>,
    /// The earliest times of the next call.
    pub spacing: migbsp::Spacing,
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
