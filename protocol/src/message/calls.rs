//! Messages to a Set Manager that takes part in a rescheduling call.
//!
//! Each names the superstep that the call follows, so that an early message is kept and a late one recognised.

use bsp::units::{Instructions, InstructionsPerSecond, Seconds};
use bsp::{HostId, Rank, SetId};
use migbsp::{
    Answer, CostCoefficients, Digest, Entry, Evaluation, Inventory, Load, Measurements, ProbedLink,
    ProcessTimes, Request,
};
use serde::{Deserialize, Serialize};

/// A message to a Set Manager that takes part in a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum CallMessage {
    /// The measurement of a host.
    Measured(Measured),
    /// The capacity of a Set.
    Capacity(Box<Capacity>),
    /// The evaluations of the processes of one host, or the last part of them.
    Reports(Box<Reports>),
    /// The evaluations of some processes of one host, before its [`CallMessage::Reports`], if all of them are too long
    /// for one message.
    ReportsBefore(Box<Reports>),
    /// The evaluations of the processes of one Set.
    #[serde(rename = "Standing")]
    SetReport(Box<SetReport>),
    /// Ask another Set for a processor for a process.
    Ask(Box<Ask>),
    /// The answer.
    Answered(Box<Answered>),
    /// The results of one Manager's negotiations about its own processes.
    Decided(Box<Decided>),
    /// The plan of the first Manager, if the policy's plans name processors.
    Planned(Box<Planned>),
    /// What a probe of a link found.
    LinkProbed(LinkProbed),
}

impl CallMessage {
    /// The superstep that the call follows, from 0.
    #[must_use]
    pub const fn superstep(&self) -> u64 {
        match self {
            Self::Measured(message) => message.superstep,
            Self::Capacity(message) => message.superstep,
            Self::Reports(message) | Self::ReportsBefore(message) => message.superstep,
            Self::SetReport(message) => message.superstep,
            Self::Ask(message) => message.superstep,
            Self::Answered(message) => message.superstep,
            Self::Decided(message) => message.superstep,
            Self::Planned(message) => message.superstep,
            Self::LinkProbed(message) => message.superstep,
        }
    }
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
