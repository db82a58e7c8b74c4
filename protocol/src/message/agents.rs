//! Messages between agents.
//!
//! Orders are imperative ([`Start`], [`Migrate`]), reports are past ([`Arrived`], [`Installed`]).
//!
//! The simulated network charges the encoded length of these messages, and the name of a variant is a part of it. A
//! variant that is renamed keeps its encoded name, so that simulated times do not change.

use bsp::units::Seconds;
use bsp::{HostId, Rank};
use bytes::Bytes;
use migbsp::{CostCoefficients, LinkProbe, MeasuredMove, SetView};
use serde::{Deserialize, Serialize};

use super::calls::{CallMessage, Report};

/// A message between agents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum AgentMessage {
    /// Begin a superstep.
    Start(Start),
    /// All processes have halted: the run is over.
    Finish,
    /// Processes have computed, sent and received.
    Arrived(Arrived),
    /// Hold a rescheduling call after this superstep.
    #[serde(rename = "Confer")]
    StartCall(StartCall),
    /// Measure your host.
    Measure(Measure),
    /// Evaluate your potentials of migration.
    Evaluate(Box<Evaluate>),
    /// The evaluation of one process.
    Reported(Box<Report>),
    /// A message to a Set Manager that takes part in a call: a frame of another kind, without a name of its own.
    #[serde(skip)]
    Call(CallMessage),
    /// Probe the link to another host.
    ProbeLink(ProbeLink),
    /// Move a process to another host.
    Migrate(Migrate),
    /// A process in transfer.
    State(Box<EncodedState>),
    /// A process runs on its new host.
    Installed(Installed),
    /// A process has halted and takes no more part.
    Halted(Rank),
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
