//! The record of a run: typed events, one per line.
//!
//! A record is a directory. `events.jsonl` holds one [`Event`] per line, and so does `events.jsonl.gz`, compressed;
//! `run.json` holds the description and the result of the run. `run.json` is written last and in one piece: a directory
//! without it is the record of a run that did not end. Its `run.json.partial` has the description, so that it can be read
//! as far as it goes, and the reason for which the run failed, if it did.

mod balance_check;
mod checkpoint;
mod files;
mod header;
mod hosts;
mod progress;
mod reader;
mod resumed_run;
mod run;
mod trace;
mod traced;
mod writer;

use bsp::units::{Bytes, Instant, Instructions, Seconds};
use bsp::{HostId, Interaction, MemorySize, Rank, SetId};
use migbsp::{
    Answer, BarrierTime, CostCoefficients, Edge, Entry, ExternalLoad, HostLink, MeasuredMove,
    NotSelected, Path, PlanAssessment, PlannedMove, Potential, ProbedLink, Received,
};
use protocol::{Considered, Report};
use serde::{Deserialize, Serialize};

pub use balance_check::BalanceCheck;
pub use checkpoint::Checkpoint;
pub use files::{description, is_complete, is_record, remedy};
pub use header::{EventHeader, EventKind};
pub use hosts::Hosts;
pub use reader::{Extent, ReadError, head, manifest, read, scan};
pub use resumed_run::ResumedRun;
pub use run::Run;
pub use trace::{TraceError, TraceReader, TracedSuperstep};
pub use traced::Traced;
pub use writer::{WriteError, WriteOptions, Writer};

/// The version of the events, in the head of every record.
pub const SCHEMA: &str = "migbsp.events/2";

/// The versions that are read. In the first one, [`Call::assessment`] has another key.
const SCHEMAS_READ: [&str; 2] = ["migbsp.events/1", SCHEMA];

/// An event of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// A run begins.
    Run(Run),
    /// A superstep has ended.
    Superstep(Superstep),
    /// A process has executed a superstep. It is part of the trace of the record, not of its events.
    Traced(Traced),
    /// A process has evaluated its potentials of migration.
    Observed(Observed),
    /// The processes of a Set have evaluated their potentials of migration.
    Evaluated(Evaluated),
    /// A rescheduling call has ended.
    Call(Box<Call>),
    /// A process runs on its new host.
    Moved(Moved),
    /// A host has joined, or it was decided that it does not.
    Join(Join),
    /// A checkpoint is complete.
    Checkpoint(Checkpoint),
    /// An interaction of a task farm is complete.
    Interaction(Interaction),
    /// The run has ended.
    End(End),
}

/// A superstep has ended: all processes have arrived at its barrier.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Superstep {
    /// The superstep, from 0.
    pub index: u64,
    /// The time when the first Manager started the superstep.
    pub started: Instant,
    /// The time when all processes had arrived.
    pub ended: Instant,
    /// The process with the longest computation.
    pub slowest: Rank,
    /// The longest computation.
    pub computation: Seconds,
    /// The mean time of computation of the processes, if there is a scheduler.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean: Option<Seconds>,
    /// The length of the superstep before, as all Managers know it, with a hierarchical barrier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took: Option<Seconds>,
    /// The number of messages exchanged.
    pub messages: u64,
}

/// A process's report about itself in a call, in addition to its potentials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    /// The number of complete supersteps.
    pub superstep: u64,
    /// The process.
    pub rank: Rank,
    /// Its memory.
    pub image: MemorySize,
    /// Instructions that count for its host: of the last superstep in which it computed.
    pub resident: Instructions,
    /// Instructions that it is expected to execute in a superstep, where plans name processors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast: Option<f64>,
    /// The most instructions that it executed in a superstep, if it seems to have finished; `None` where plans do not
    /// use it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished: Option<f64>,
    /// The bytes that it is expected to receive in a superstep; empty where plans do not use them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub received: Vec<Received>,
    /// The heaviest of these by sender.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edges: Vec<Edge>,
    /// How much its computation times vary, as a part of them; zero where they do not, and where plans do not use it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub noise: f64,
    /// The most supersteps that it executes from now on, if its program knows and the policy asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remaining: Option<u64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

/// The observations of one Set in a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluated {
    /// The number of complete supersteps.
    pub superstep: u64,
    /// The Set.
    pub set: SetId,
    /// Time to move one byte from this Set to each, by Set, in s/B.
    pub transfer_rates: Vec<f64>,
    /// The hosts of this Set, in order.
    #[serde(default)]
    pub hosts: Vec<Hosts>,
    /// What messages take from this Set to each, by Set, where plans name processors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<Path>,
    /// The links to other hosts that its hosts have measured, if the cost of moves is learned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<HostLink>,
    /// The external load of its hosts over longer times, of those that have one, where plans name processors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub external: Vec<ExternalLoad>,
    /// What the barrier adds for the processes of this Set, where plans name processors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub barrier: Option<BarrierTime>,
    /// By rank.
    pub processes: Vec<Evaluation>,
}

/// The evaluation of one process in a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// The process.
    pub rank: Rank,
    /// Its host.
    pub host: HostId,
    /// Instructions of the last superstep.
    pub instructions: Instructions,
    /// Bytes of the last superstep from its target Set.
    pub bytes: Bytes,
    /// Its target Set: the one with the highest potential.
    pub target: SetId,
    /// Its potential of migration to every Set, term by term.
    pub potentials: Vec<Potential>,
}

/// A rescheduling call has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// The number of complete supersteps.
    pub superstep: u64,
    /// The time when the last of them was complete.
    pub at: Instant,
    /// The time for which the call delayed the processes.
    pub cost: Seconds,
    /// Supersteps until the next call, α; `None`: a call comes when it is worth it.
    pub interval: Option<u32>,
    /// The tolerance until the next call, D, if the policy has one.
    pub tolerance: Option<f64>,
    /// How many supersteps of the interval were balanced, if the policy judges them.
    pub balanced: Option<u32>,
    /// The supersteps since the last call, where they were judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub judged: Vec<BalanceCheck>,
    /// The potential above which processes are candidates, where the heuristic has one.
    pub threshold: Option<Seconds>,
    /// The list that all Managers agreed on, highest potential first.
    pub list: Vec<Entry>,
    /// The processes that are no candidates, with the reason.
    pub passed_over: Vec<(Entry, NotSelected)>,
    /// Candidates in the order of the list, with the decision about each.
    pub considered: Vec<Considered>,
    /// Costs and benefits of the plan, where plans name processors.
    #[serde(alias = "weighed")]
    pub assessment: Option<PlanAssessment>,
    /// The most supersteps that are left, if all programs know and the policy asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remaining: Option<u64>,
    /// What had been learned of the cost of moves before this call, if it is learned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub learned: Option<CostCoefficients>,
    /// The links that were probed before large moves: by the first Manager, or by the Managers in the order of their Sets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probed: Vec<ProbedLink>,
    /// The processes that moved.
    pub migrations: Vec<Migration>,
}

/// A process that was ordered to move.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Migration {
    /// The process.
    pub rank: Rank,
    /// Its host.
    pub from: HostId,
    /// Its new host.
    pub to: HostId,
    /// Its potential of migration, PM; `None`: its processor was named by a plan.
    pub potential: Option<Seconds>,
    /// The predicted time of a superstep on the new host. It includes the move if the move was negotiated, and excludes
    /// it if the move was planned.
    pub t1: Seconds,
    /// The predicted time of a superstep on the present host.
    pub t2: Seconds,
    /// The predicted cost of the move, Mem.
    pub cost: Seconds,
    /// Seconds per byte that were predicted for its state, if the cost of moves is learned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_byte: Option<f64>,
}

/// A process runs on its new host.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Moved {
    /// The time when its state had arrived.
    pub at: Instant,
    /// The process.
    pub rank: Rank,
    /// Its new host.
    pub host: HostId,
    /// The epoch of the placement in which it runs there.
    pub epoch: u64,
    /// The bytes of its state.
    pub bytes: Bytes,
    /// The duration of the move: from the beginning of packing until the process was unpacked.
    pub took: Seconds,
    /// What it consists of, on real hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<MoveTimes>,
    /// The parts of the state, on real hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<StateParts>,
    /// The memory that its program declares, on real hosts: by this, and not by the bytes of its state, the move was priced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared: Option<Bytes>,
}

/// A host has joined, or it was decided that it does not, because it would not pay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Join {
    /// The number of complete supersteps.
    pub superstep: u64,
    /// The host.
    pub host: HostId,
    /// The time when it was asked.
    pub asked: Instant,
    /// The time when the last of the supersteps was complete.
    pub at: Instant,
    /// How long its preparation takes.
    pub creation: Seconds,
    /// How long the rest was expected to take without it, if the program knows how much is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remaining: Option<Seconds>,
    /// The seconds that it was expected to save, equation `JOIN`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saves: Option<f64>,
    /// Whether it has joined.
    pub joined: bool,
    /// The time until which the processes waited for it and the hosts that joined with it.
    pub ended: Instant,
    /// The processes that moved to it.
    pub processes: Vec<Rank>,
}

/// The durations of a move. Packing, sending and unpacking overlap.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MoveTimes {
    /// From the time when the process left its thread until it was unpacked.
    pub frozen: Seconds,
    /// Packing, without waiting for the network.
    pub packed: Seconds,
    /// From sending the first byte until the last one had arrived.
    pub sent: Seconds,
    /// Unpacking, without waiting for the network.
    pub unpacked: Seconds,
    /// The round trip between the hosts.
    pub round_trip: Seconds,
}

/// The parts of the state of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateParts {
    /// The state of its agent.
    pub agent: Bytes,
    /// Messages that it has not received yet.
    pub messages: Bytes,
    /// The state of its program.
    pub program: Bytes,
}

/// The run has ended.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// The makespan: the time when the end of the run was known to the last process.
    pub seconds: Instant,
    /// The number of supersteps.
    pub supersteps: u64,
    /// Messages that processes sent each other.
    pub messages: u64,
    /// Bytes that processes sent each other.
    pub bytes: Bytes,
    /// The time that the best mapping found for every superstep would have saved of the slowest computations. Known in
    /// simulation only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attainable: Option<Seconds>,
    /// The time that perfect balance would have saved of them: the work of every superstep divided at will among the
    /// fastest processors, one for each process that had work. Known in simulation only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imbalance: Option<Seconds>,
    /// Bytes of the states of processes that moved, however migrations are paid for.
    pub moved: Bytes,
}

impl Evaluation {
    /// The part of a report that is recorded.
    #[must_use]
    pub fn of(report: &Report) -> Self {
        Self {
            rank: report.rank,
            host: report.host,
            instructions: report.instructions,
            bytes: report.bytes,
            target: report.entry.target,
            potentials: report.evaluation.potentials.clone(),
        }
    }
}

impl Call {
    /// How long it was predicted to take, once links had been probed: its moves, together if they were planned, or else
    /// one after the other; the probes; and what a call without moves takes, if that is known.
    #[must_use]
    pub fn predicted(&self) -> Seconds {
        let planned = self.assessment.as_ref();
        let overhead = planned.and_then(|assessment| assessment.overhead);
        let planned = planned.map(|assessment| assessment.balance.cost);
        let each = self.migrations.iter().map(|migration| migration.cost);
        let probes: Seconds = self.probed.iter().map(|link| link.took).sum();
        planned.unwrap_or_else(|| each.sum()) + probes + overhead.unwrap_or_default()
    }
}

impl Moved {
    /// The move as it was measured.
    #[must_use]
    pub fn measured(&self) -> MeasuredMove {
        let times = self.times.as_ref();
        MeasuredMove {
            bytes: self.declared.unwrap_or(self.bytes),
            took: self.took,
            processing: times.map_or(Seconds::ZERO, |times| times.packed.max(times.unpacked)),
            round_trip: times.map_or(Seconds::ZERO, |times| times.round_trip),
        }
    }
}

impl Migration {
    /// A migration that was planned.
    #[must_use]
    pub fn planned(planned: &PlannedMove) -> Self {
        Self {
            rank: planned.step.rank,
            from: planned.step.from,
            to: planned.step.to,
            potential: None,
            t1: planned.after,
            t2: planned.before,
            cost: planned.cost,
            per_byte: planned.per_byte,
        }
    }

    /// The migration that a candidate's negotiation led to, if it did.
    #[must_use]
    pub fn negotiated(considered: &Considered) -> Option<Self> {
        let Answer::Offer { host, t1, .. } = considered.answer else {
            return None;
        };
        Some(Self {
            rank: considered.entry.rank,
            from: considered.host,
            to: host,
            potential: Some(considered.entry.potential),
            t1,
            t2: considered.request.t2,
            cost: considered.request.migration,
            per_byte: considered.request.per_byte,
        })
    }
}

#[cfg(test)]
mod tests;
