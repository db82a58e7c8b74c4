//! What agents tell each other.
//!
//! Orders are imperative ([`Start`], [`Migrate`]), reports are past ([`Arrived`], [`Installed`]). A
//! message that belongs to a barrier or a call names the superstep it follows, so that one that comes
//! early is kept and one that comes late is recognised.

use bsp::units::{Instructions, InstructionsPerSecond, Seconds};
use bsp::{HostId, Rank, SetId};
use bytes::Bytes;
use migbsp::{Answer, Digest, Entry, Evaluation, Inventory, Load, ProcessTimes, Request, SetView};
use serde::{Deserialize, Serialize};

use crate::errand::Errand;

/// An agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Address {
    /// The agent of a process, wherever it runs.
    Process(Rank),
    /// The agent of a host.
    Node(HostId),
    /// The manager of a Set.
    SetManager(SetId),
    /// Whoever submits jobs; no agent, and never part of one.
    Client,
}

/// Anything one agent sends another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Message {
    /// Begin a superstep.
    Start(Start),
    /// Everybody has halted: the run is over.
    Finish,
    /// Processes have computed, sent and received.
    Arrived(Arrived),
    /// Hold a rescheduling call after this superstep.
    Confer(Confer),
    /// Tell me what your host has to offer.
    Measure(Measure),
    /// What a host has to offer.
    Measured(Measured),
    /// What a Set has to offer.
    Capacity(Box<Capacity>),
    /// Evaluate your potentials of migration.
    Evaluate(Box<Evaluate>),
    /// What one process found.
    Reported(Box<Report>),
    /// What the processes of one host found.
    Reports(Box<Reports>),
    /// What the processes of one Set found.
    Standing(Box<Standing>),
    /// Would your Set take this process?
    Ask(Box<Ask>),
    /// The answer.
    Answered(Box<Answered>),
    /// What one Manager's negotiations about its own processes led to.
    Decided(Box<Decided>),
    /// What the first Manager planned, where plans name processors.
    Planned(Box<Planned>),
    /// Move a process to another host.
    Migrate(Migrate),
    /// A process on its way.
    State(Box<State>),
    /// A process lives on its new host.
    Installed(Installed),
    /// A process has halted and takes part no longer.
    Halted(Rank),
    /// What the processes of one node sent those of another.
    Parcel(Box<Parcel>),
    /// The parcel of this superstep is here, of which that was not certain, or which says who has halted.
    Taken(u64),
    /// Processes live elsewhere from now on.
    Placed(Box<Placed>),
    /// How long does this take to you? Send it back.
    Probe(Probe),
    /// What a client and a node have to settle.
    Errand(Box<Errand>),
    /// What some of the processes of one host found, before its [`Message::Reports`], where all of it is too long for
    /// one message.
    ReportsBefore(Box<Reports>),
}

/// Begin superstep `superstep`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// Which superstep, from 0.
    pub superstep: u64,
    /// A rescheduling call has ended: forget the last interval, the next one is this long.
    pub interval: Option<u32>,
}

/// `processes` processes have finished superstep `superstep`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrived {
    /// The superstep that ended, from 0.
    pub superstep: u64,
    /// How many processes this report stands for.
    pub processes: u32,
    /// How many of them halted in this superstep.
    pub halted: u32,
    /// Messages they sent in this superstep.
    pub sent: u64,
    /// Messages they received in this superstep.
    pub received: u64,
    /// The longest computation among them, and whose it was.
    pub slowest: (Seconds, Rank),
    /// The sum of their computations, in whole nanoseconds: the same in whatever order they arrive.
    pub computation: u64,
}

impl Arrived {
    /// How long these processes computed on the mean.
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
            processes: self.processes + other.processes,
            halted: self.halted + other.halted,
            sent: self.sent + other.sent,
            received: self.received + other.received,
            slowest: if other_is_slower {
                other.slowest
            } else {
                self.slowest
            },
            computation: self.computation.saturating_add(other.computation),
        }
    }
}

/// A call follows superstep `superstep`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confer {
    /// The superstep that ended, from 0.
    pub superstep: u64,
}

/// Measure your host for the call after superstep `superstep`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measure {
    /// The superstep that ended, from 0.
    pub superstep: u64,
}

/// What a host has to offer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The superstep that ended, from 0.
    pub superstep: u64,
    /// Which host.
    pub host: HostId,
    /// Speed of one of its processors.
    pub speed: InstructionsPerSecond,
    /// How many processors it has.
    pub cores: u32,
    /// The fraction of them that others take, in `[0, 1]`, over the papers' long window.
    pub load: f64,
    /// The same over a short one.
    pub load_recent: f64,
}

/// What a Set has to offer, as its Manager measured it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Capacity {
    /// The superstep that ended, from 0.
    pub superstep: u64,
    /// Which Set.
    pub set: SetId,
    /// Mean capacity of its processors, instructions per second left by others.
    pub capacity: f64,
    /// How many processes it hosts.
    pub processes: u32,
    /// How many processors it has.
    pub processors: u32,
}

/// Evaluate your potentials of migration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluate {
    /// The superstep that ended, from 0.
    pub superstep: u64,
    /// The Sets as seen from the receiver's own, indexed by Set.
    pub sets: Vec<SetView>,
}

/// What one process found out about itself, and what others need to negotiate for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The superstep that ended, from 0.
    pub superstep: u64,
    /// Which process.
    pub rank: Rank,
    /// Where it runs.
    pub host: HostId,
    /// Its potential of migration to every Set, term by term.
    pub evaluation: Evaluation,
    /// Its row in the list of potentials.
    pub entry: Entry,
    /// Instructions of the last superstep.
    pub instructions: Instructions,
    /// Instructions of the last superstep in which it computed.
    pub instructions_resident: Instructions,
    /// Bytes received in the last superstep from the Set it would go to.
    pub bytes: bsp::units::Bytes,
    /// What each superstep since the last call took.
    pub times: Vec<ProcessTimes>,
    /// What a plan has to know of it, where plans name processors.
    pub load: Option<Load>,
}

/// The reports of all processes of one host, in rank order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reports {
    /// The superstep that ended, from 0.
    pub superstep: u64,
    /// Which host.
    pub host: HostId,
    /// One report per process.
    pub reports: Vec<Report>,
}

/// What one Set's processes found, as the Managers exchange it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    /// The superstep that ended, from 0.
    pub superstep: u64,
    /// Which Set.
    pub set: SetId,
    /// The interval that ended with this call, as the sender has it, if its policy has one.
    pub interval: Option<u32>,
    /// The tolerance, likewise.
    pub tolerance: Option<f64>,
    /// Its processes' rows of the list of potentials, in rank order.
    pub entries: Vec<Entry>,
    /// What each superstep since the last call took in this Set.
    pub digests: Vec<Digest>,
    /// How long the sender was busy with the barrier in each of these supersteps.
    pub barrier_busy: Vec<Seconds>,
    /// What there is to plan with in this Set, for the first Manager, where plans name processors.
    pub inventory: Option<Inventory>,
}

/// Would your Set take this process?
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    /// The superstep that ended, from 0.
    pub superstep: u64,
    /// The Set asking.
    pub from: SetId,
    /// The process and what it would bring.
    pub request: Request,
}

/// The answer to an [`Ask`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answered {
    /// The superstep that ended, from 0.
    pub superstep: u64,
    /// Which process.
    pub rank: Rank,
    /// A processor, or why not.
    pub answer: Answer,
}

/// What one Manager's negotiations about the processes of its Set led to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decided {
    /// The superstep that ended, from 0.
    pub superstep: u64,
    /// Which Set.
    pub set: SetId,
    /// Its candidates and what became of them, in the order of the list.
    pub considered: Vec<Considered>,
}

/// What the first Manager planned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Planned {
    /// The superstep that ended, from 0.
    pub superstep: u64,
    /// Who moves, in rank order, and what each move is expected to take.
    pub moves: Vec<migbsp::PlannedMove>,
    /// When the next call may be.
    pub spacing: migbsp::Spacing,
}

/// A candidate for migration and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Considered {
    /// Its row in the list of potentials.
    pub entry: Entry,
    /// Where it runs.
    pub host: HostId,
    /// What its Manager asked for.
    pub request: Request,
    /// What the Manager of its target Set answered.
    pub answer: Answer,
}

/// Move a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Migrate {
    /// Which process.
    pub rank: Rank,
    /// From here.
    pub from: HostId,
    /// To there.
    pub to: HostId,
    /// The placement in which it lives there.
    pub epoch: u64,
    /// What the process pays itself, at the start of its next superstep.
    pub owes: Seconds,
}

/// A process on its way: its agent's state and its program's, as the payload. From a client, a process that has
/// not begun; to a client, what a process left behind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Which process.
    pub rank: Rank,
    /// The placement in which it will live at its destination.
    pub epoch: u64,
    /// How many bytes of the payload are the agent's; the rest is the program's.
    pub agent: u32,
    /// What the process occupies in memory, if its program declares it.
    pub declared: Option<bsp::units::Bytes>,
    /// The agent's state, then the program's.
    #[serde(skip)]
    pub payload: Bytes,
}

/// A process lives on its new host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Installed {
    /// Which process.
    pub rank: Rank,
    /// Where it lives now.
    pub host: HostId,
    /// The placement in which it does.
    pub epoch: u64,
}

/// What the processes of one node sent those of another in a superstep, or a part of it; the bytes of their
/// messages, one after the other, are the payload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parcel {
    /// The superstep in which it was sent, from 0.
    pub superstep: u64,
    /// When it was sent, on the sender's clock.
    pub sent: Seconds,
    /// Whether it is the last of this sender's to this receiver in this superstep.
    pub is_last: bool,
    /// Whether the receiver is to expect one in the sender's next superstep, too; in the last parcel.
    pub is_followed: bool,
    /// The processes of the sender that halted in this superstep, in the last parcel.
    pub halted: Vec<Rank>,
    /// The messages, those of a process in the order sent.
    pub letters: Vec<Letter>,
    /// Their bytes.
    #[serde(skip)]
    pub payload: Bytes,
}

/// A message from one process to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Letter {
    /// The sender.
    pub from: Rank,
    /// The receiver.
    pub to: Rank,
    /// How long it is.
    pub bytes: u64,
    /// Whether it is only that long, and its bytes say nothing.
    pub is_sized: bool,
}

/// Where processes live from an epoch on; those that are not named stay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placed {
    /// The placement.
    pub epoch: u64,
    /// Who lives where now.
    pub moves: Vec<(Rank, HostId)>,
}

/// A message to be sent back, to see how long that takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// Which of its sender's, from 0.
    pub number: u32,
    /// Whether it is on its way back: then without its payload.
    pub is_back: bool,
    /// Bytes that say nothing.
    #[serde(skip)]
    pub payload: Bytes,
}
