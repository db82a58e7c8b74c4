//! The record of a run: typed events, one per line.
//!
//! A record is a directory. `events.jsonl` holds one [`Event`] per line, and so does `events.jsonl.gz`, compressed;
//! `run.json` holds the description and the result of the run. `run.json` is written last and in one piece: a directory
//! without it is the record of a run that did not end. Its `run.json.partial` has the description, so that it can be read
//! as far as it goes, and the reason for which the run failed, if it did.

mod reader;
mod trace;
mod writer;

use std::fmt;

use bsp::numbers::length;
use bsp::units::{Bytes, Instant, Instructions, InstructionsPerSecond, Seconds};
use bsp::{
    HostId, MemorySize, Notes, Rank, Round, SetId, SnapshotEncoding, SnapshotName, check_name,
};
use model::{
    Answer, BarrierTime, CostCoefficients, Digest, Edge, Entry, ExternalLoad, HostLink,
    MeasuredMove, NotSelected, Path, PlanAssessment, PlannedMove, Potential, ProbedLink, Processor,
    Received,
};
use protocol::{Considered, Measured, Report};
use serde::{Deserialize, Serialize};

pub use reader::{
    Events, Extent, FILES, ReadError, description, head, is_complete, is_record, manifest, read,
    remedy, scan,
};
pub use trace::{TraceError, TraceReader, TracedSuperstep};
pub use writer::{WriteError, WriteOptions, Writer, set_record_aside};

/// The version of the events, in the head of every record.
pub const SCHEMA: &str = "migbsp.events/1";

/// Declares the kinds of events, and how a line of each kind is read.
macro_rules! events {
    ($($(#[$doc:meta])* $kind:ident($content:ty),)*) => {
        /// An event of a run, a line of `events.jsonl`. Times are in seconds since the start of the run. Sets, hosts and
        /// processes are numbers: positions in `sets`, `hosts` and `placement` of the first line.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
        #[serde(tag = "event", rename_all = "kebab-case")]
        pub enum Event {
            $($(#[$doc])* $kind($content),)*
            /// A process has executed a superstep. It is part of the trace of the record, not of its events.
            #[cfg_attr(feature = "schemas", schemars(skip))]
            Traced(Traced),
        }

        /// The kinds of events in `events.jsonl`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum EventKind {
            $($(#[$doc])* $kind,)*
        }

        impl EventKind {
            /// Parses a line whose kind is known. Parsing by the tag would parse every line twice.
            fn parse(self, line: &str) -> serde_json::Result<Event> {
                Ok(match self {
                    $(Self::$kind => Event::$kind(serde_json::from_str(line)?),)*
                })
            }
        }
    };
}

events! {
    /// A run begins.
    Run(Run),
    /// A superstep has ended.
    Superstep(Superstep),
    /// A process has evaluated its potentials of migration.
    Observed(Observed),
    /// The processes of a Set have evaluated their potentials of migration.
    Evaluated(Evaluated),
    /// A rescheduling call has ended.
    Call(Box<Call>),
    /// A process runs on its new host.
    Moved(Moved),
    /// A process has written a file in a superstep.
    Snapshot(Snapshot),
    /// A host has joined, or it was decided that it does not.
    Join(Join),
    /// A checkpoint is complete.
    Checkpoint(Checkpoint),
    /// The run has ended.
    End(End),
}

/// What exists in a run: events name nothing else.
pub trait Names {
    /// Checks that a process exists.
    ///
    /// # Errors
    ///
    /// If it does not.
    fn rank(&self, rank: Rank) -> Result<(), String>;

    /// Checks that a host exists.
    ///
    /// # Errors
    ///
    /// If it does not.
    fn host(&self, host: HostId) -> Result<(), String>;

    /// Checks that a Set exists.
    ///
    /// # Errors
    ///
    /// If it does not.
    fn set(&self, set: SetId) -> Result<(), String>;

    /// Checks a number of supersteps, or of placements: there is at most one after each superstep.
    ///
    /// # Errors
    ///
    /// If the run cannot have so many.
    fn superstep(&self, superstep: u64) -> Result<(), String>;
}

impl Event {
    /// Checks that the processes, hosts, Sets and supersteps exist in `run` by which readers look something up.
    ///
    /// # Errors
    ///
    /// What does not.
    pub fn check_names(&self, run: &impl Names) -> Result<(), String> {
        let entry = |entry: &Entry| {
            run.rank(entry.rank)?;
            run.set(entry.own)?;
            run.set(entry.target)
        };
        match self {
            Self::Superstep(superstep) => {
                run.rank(superstep.slowest)?;
                run.superstep(superstep.index)
            }
            Self::Traced(traced) => {
                run.rank(traced.rank)?;
                run.host(traced.host)?;
                run.superstep(traced.superstep)
            }
            Self::Observed(observed) => {
                run.rank(observed.rank)?;
                run.superstep(observed.superstep)
            }
            Self::Evaluated(evaluated) => {
                run.set(evaluated.set)?;
                run.superstep(evaluated.superstep)?;
                let mut external = evaluated.external.iter();
                external.try_for_each(|load| run.host(load.host))?;
                evaluated.processes.iter().try_for_each(|process| {
                    run.rank(process.rank)?;
                    run.host(process.host)?;
                    run.set(process.target)
                })
            }
            Self::Call(call) => {
                run.superstep(call.superstep)?;
                let passed_over = call.passed_over.iter().map(|(entry, _)| entry);
                call.list.iter().chain(passed_over).try_for_each(entry)?;
                call.considered.iter().try_for_each(|considered| {
                    entry(&considered.entry)?;
                    run.host(considered.host)
                })?;
                let assessment = call.assessment.as_ref();
                if let Some(choice) = assessment.and_then(|made| made.choice.as_ref()) {
                    run.rank(choice.rank)?;
                    run.host(choice.from)?;
                    let mut hosts = choice.destinations.iter();
                    hosts.try_for_each(|found| run.host(found.host))?;
                }
                call.migrations.iter().try_for_each(|migration| {
                    run.rank(migration.rank)?;
                    run.host(migration.from)?;
                    run.host(migration.to)
                })
            }
            Self::Moved(moved) => {
                run.rank(moved.rank)?;
                run.host(moved.host)?;
                run.superstep(moved.epoch)
            }
            Self::Snapshot(snapshot) => {
                run.rank(snapshot.rank)?;
                run.host(snapshot.host)?;
                run.superstep(snapshot.superstep)
            }
            Self::Join(join) => {
                if let Some(name) = &join.name {
                    check_name(name).map_err(|error| error.to_string())?;
                }
                run.host(join.host)?;
                run.superstep(join.superstep)?;
                join.processes.iter().try_for_each(|rank| run.rank(*rank))
            }
            Self::Checkpoint(checkpoint) => run.superstep(checkpoint.superstep),
            Self::Run(_) | Self::End(_) => Ok(()),
        }
    }
}

/// The fields of an event that decide whether it is wanted, and whether it is in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct EventHeader {
    /// Its kind.
    #[serde(rename = "event")]
    pub kind: EventKind,
    /// The number of supersteps that were over, if it belongs to a call or to a checkpoint.
    #[serde(default)]
    pub superstep: Option<u64>,
    /// Its index, if it is a superstep.
    #[serde(default)]
    pub index: Option<u64>,
    /// The number of supersteps of the run, if it is the end.
    #[serde(default)]
    pub supersteps: Option<u64>,
    /// The process that observed or moved, if there is one.
    #[serde(default)]
    rank: Option<Rank>,
    /// The host to which the process moved.
    #[serde(default)]
    host: Option<HostId>,
    /// The Set that evaluated, if there is one.
    #[serde(default)]
    set: Option<SetId>,
}

impl EventHeader {
    /// That of superstep `index`.
    const fn of_superstep(index: u64) -> Self {
        Self {
            kind: EventKind::Superstep,
            superstep: None,
            index: Some(index),
            supersteps: None,
            rank: None,
            host: None,
            set: None,
        }
    }
}

/// The checkpoint in whose state a run begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ResumedRun {
    /// The job that saved it, in hexadecimal digits.
    pub job: String,
    /// The incarnation of the run, greater than that of the checkpoint.
    pub incarnation: u64,
    /// The superstep before which it was saved: the first one of the run.
    pub superstep: u64,
}

/// A view of a job on real hosts, which goes on because nodes of the view before are lost. Each view has a record of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ViewChange {
    /// Its number among the views of the job, from 2.
    pub number: u64,
    /// The nodes that take no part any more.
    pub lost: Vec<LostHost>,
    /// The names of the nodes that were not in the view before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub joined: Vec<String>,
    /// The node that leads it, because the client is lost or has left; not set: the client does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader: Option<String>,
    /// The superstep with which it begins.
    pub superstep: u64,
    /// The number of supersteps that were complete and are executed again.
    pub repeats: u64,
    /// For how long the first of those nodes had been silent, if one was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detected: Option<Seconds>,
    /// The time from when the client knew of the first loss until the nodes began; if none is lost, from when processes were held.
    pub restored: Seconds,
}

impl ViewChange {
    /// Takes over what has changed in the view `earlier`, which this one follows and whose nodes have not begun.
    pub fn follow_unbegun(&mut self, earlier: Self) {
        let is_lost = |name: &String| self.lost.iter().any(|lost| lost.host == *name);
        let (gone, mut joined): (Vec<String>, Vec<String>) =
            earlier.joined.into_iter().partition(is_lost);
        // What is lost again had no part in between.
        self.lost.retain(|lost| !gone.contains(&lost.host));
        let (back, mut lost): (Vec<LostHost>, Vec<LostHost>) = earlier
            .lost
            .into_iter()
            .partition(|lost| self.joined.contains(&lost.host));
        self.joined
            .retain(|name| !back.iter().any(|lost| lost.host == *name));
        lost.append(&mut self.lost);
        joined.append(&mut self.joined);
        (self.lost, self.joined) = (lost, joined);
        self.detected = earlier.detected.or(self.detected);
    }
}

/// A node that takes no part in a job any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LostHost {
    /// The name of its host.
    pub host: String,
    /// Why it counts as lost.
    pub reason: String,
}

/// A run begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema), schemars(inline))]
pub struct Run {
    /// Name and version of this form: [`SCHEMA`].
    #[cfg_attr(feature = "schemas", schemars(extend("const" = SCHEMA)))]
    pub schema: String,
    /// The scenario of the experiment: i, ii or iii.
    #[cfg_attr(feature = "schemas", schemars(extend("enum" = ["i", "ii", "iii"])))]
    pub scenario: String,
    /// Names of the Sets, by Set.
    pub sets: Vec<String>,
    /// Names of the hosts, by host.
    pub hosts: Vec<String>,
    /// The Sets of the hosts, in their order: a Set, and the number of consecutive hosts of it.
    pub members: Vec<(SetId, u32)>,
    /// The host where every process starts: its name, by rank.
    pub placement: Vec<String>,
    /// The supersteps that belong together, if a round has several.
    #[serde(default, skip_serializing_if = "Round::is_superstep")]
    pub round: Round,
    /// The checkpoint in whose state the run begins, if it resumes another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed: Option<ResumedRun>,
    /// The view of its job that the run is, if nodes of the view before are lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<ViewChange>,
}

impl Run {
    /// The superstep with which the run begins.
    #[must_use]
    pub fn first_superstep(&self) -> u64 {
        self.resumed.as_ref().map_or(0, |resumed| resumed.superstep)
    }

    /// The Set of every host, in the order of `hosts`; nothing if the record does not say it.
    pub fn sets_of_hosts(&self) -> impl Iterator<Item = SetId> {
        let sets = self.members.iter();
        sets.flat_map(|(set, hosts)| (0..*hosts).map(move |_| *set))
    }

    /// [`Self::members`], of hosts with these Sets.
    #[must_use]
    pub fn members_of(sets: impl IntoIterator<Item = SetId>) -> Vec<(SetId, u32)> {
        let mut members: Vec<(SetId, u32)> = Vec::new();
        for set in sets {
            match members.last_mut() {
                Some((last, hosts)) if *last == set => *hosts += 1,
                _ => members.push((set, 1)),
            }
        }
        members
    }
}

/// A superstep has ended: all processes have arrived at its barrier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema), schemars(inline))]
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
    /// What processes noted, if they did.
    #[serde(default, skip_serializing_if = "Notes::is_empty")]
    pub notes: Notes,
}

impl Superstep {
    /// The same superstep without its notes.
    #[must_use]
    pub fn without_notes(&self) -> Self {
        Self {
            notes: Notes::default(),
            ..*self
        }
    }
}

/// A process has written a file in a superstep, on the host where it was then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema), schemars(inline))]
pub struct Snapshot {
    /// The superstep.
    pub superstep: u64,
    /// The process.
    pub rank: Rank,
    /// Its host in this superstep.
    pub host: HostId,
    /// The name that the process has given it.
    pub name: SnapshotName,
    /// How its value is encoded.
    pub encoding: SnapshotEncoding,
    /// The length of the file.
    pub bytes: Bytes,
    /// The SHA-256 of the file.
    pub sha256: Sha256Digest,
    /// What is in the file, in a simulation, whose record has the file. On real hosts the node has written it.
    #[serde(skip)]
    pub contents: Option<bytes::Bytes>,
}

impl Snapshot {
    /// What the record says of `taken` on `host`, whose contents have this digest.
    #[must_use]
    pub fn of(taken: &bsp::Snapshot, host: HostId, sha256: [u8; 32]) -> Self {
        Self {
            superstep: taken.superstep,
            rank: taken.rank,
            host,
            name: taken.name.clone(),
            encoding: taken.encoding,
            bytes: Bytes(length(taken.contents.len())),
            sha256: Sha256Digest(sha256),
            contents: None,
        }
    }

    /// Where its file is, relative to the folder of the run.
    #[must_use]
    pub fn path(&self) -> String {
        bsp::Snapshot::path(&self.name, self.superstep, self.rank, self.encoding)
    }
}

/// The SHA-256 of a file, 64 hexadecimal digits in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema), schemars(inline, extend("pattern" = "^[0-9a-f]{64}$")))]
#[serde(try_from = "String", into = "String")]
pub struct Sha256Digest(pub [u8; 32]);

impl fmt::Display for Sha256Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&hex::encode(self.0))
    }
}

impl From<Sha256Digest> for String {
    fn from(digest: Sha256Digest) -> Self {
        digest.to_string()
    }
}

impl TryFrom<String> for Sha256Digest {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let mut bytes = [0; 32];
        let decoded = hex::decode_to_slice(text, &mut bytes);
        decoded.map_err(|_| "a SHA-256 that is not 64 hexadecimal digits".to_owned())?;
        Ok(Self(bytes))
    }
}

/// A process's report about itself in a call, in addition to its potentials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema), schemars(inline))]
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
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema), schemars(inline))]
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
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema), schemars(inline))]
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
    /// How many supersteps of the interval were balanced, if the policy checks that.
    pub balanced: Option<u32>,
    /// The supersteps since the last call, where their balance was checked.
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
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema), schemars(inline))]
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
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema), schemars(inline))]
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
    /// On real hosts, where it joins before the first superstep of the record: for how long processes had stood still.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited: Option<Seconds>,
    /// On real hosts, if it has not joined: its name. It is none of the hosts of the run, and `host` is the first of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// The durations of a move. Packing, sending and unpacking overlap.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema), schemars(inline))]
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
    /// The call as results of runs keep it: without the lists that have a row for each process.
    #[must_use]
    pub fn without_lists(self) -> Self {
        Self {
            list: Vec::new(),
            passed_over: Vec::new(),
            ..self
        }
    }

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

/// Consecutive hosts that measured the same for a call; written as a list of its fields.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(from = "HostsRow", into = "HostsRow")]
pub struct Hosts {
    /// The first of them.
    pub first: HostId,
    /// The number of hosts.
    pub number: u32,
    /// Of one core.
    pub speed: InstructionsPerSecond,
    /// The number of cores of each.
    pub cores: u32,
    /// What part of them others take, in `[0, 1]`, over the papers' long window.
    pub load: f64,
    /// The same over a short one, where plans name processors.
    pub load_recent: f64,
}

/// Its fields, in their order: there are some in every call.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct HostsRow(
    /// The first of them.
    HostId,
    /// The number of hosts.
    u32,
    /// Of one core, in instructions per second.
    InstructionsPerSecond,
    /// The number of cores of each.
    u32,
    /// What part of them others take, in `[0, 1]`, over the papers' long window.
    f64,
    /// The same over a short one, where plans name processors.
    f64,
);

impl Hosts {
    /// Hosts as they reported themselves, in their order.
    #[must_use]
    pub fn of(measured: &[Measured]) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for host in measured {
            let alone = Self {
                first: host.host,
                number: 1,
                speed: host.speed,
                cores: host.cores,
                load: host.load,
                load_recent: host.load_recent,
            };
            match all.last_mut() {
                Some(last) if last.goes_on(&alone) => last.number += 1,
                _ => all.push(alone),
            }
        }
        all
    }

    /// Which hosts they are.
    pub fn ids(&self) -> impl Iterator<Item = HostId> + use<> {
        let first = self.first.0;
        (first..first.saturating_add(self.number)).map(HostId)
    }

    /// The processors that the model knows them as, without residents, under a `load`.
    pub fn processors(&self, load: f64) -> impl Iterator<Item = Processor> + use<> {
        let Self { speed, cores, .. } = *self;
        self.ids().map(move |host| Processor {
            host,
            speed,
            cores,
            load,
            residents: Vec::new(),
        })
    }

    /// Whether `next` is the next one of the same.
    fn goes_on(&self, next: &Self) -> bool {
        let expected = Self {
            first: HostId(self.first.0.saturating_add(self.number)),
            number: 1,
            ..*self
        };
        expected == *next
    }
}

impl From<HostsRow> for Hosts {
    fn from(HostsRow(first, number, speed, cores, load, load_recent): HostsRow) -> Self {
        Self {
            first,
            number,
            speed,
            cores,
            load,
            load_recent,
        }
    }
}

impl From<Hosts> for HostsRow {
    fn from(hosts: Hosts) -> Self {
        Self(
            hosts.first,
            hosts.number,
            hosts.speed,
            hosts.cores,
            hosts.load,
            hosts.load_recent,
        )
    }
}

/// A superstep, as Managers checked its balance; written as a list of the digest's fields and the other one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(from = "BalanceRow", into = "BalanceRow")]
pub struct BalanceCheck {
    /// What it took, over all processes.
    pub digest: Digest,
    /// The time for which the barrier kept its master busy.
    pub barrier_busy: Seconds,
}

/// Its fields, in their order: there is one per superstep.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
struct BalanceRow(
    /// How many processes count: those that computed.
    u32,
    /// How many of them computed.
    u32,
    /// The longest computation among those that count.
    Seconds,
    /// The shortest.
    Seconds,
    /// The sum of their computations.
    Seconds,
    /// The sum of their receptions.
    Seconds,
    /// The shortest wait at the barrier among all, where any is known.
    Option<Seconds>,
    /// The time for which the barrier kept its master busy.
    Seconds,
);

impl From<BalanceRow> for BalanceCheck {
    fn from(row: BalanceRow) -> Self {
        Self {
            digest: Digest {
                counted: row.0,
                computed: row.1,
                slowest: row.2,
                fastest: row.3,
                computation: row.4,
                reception: row.5,
                wait: row.6,
            },
            barrier_busy: row.7,
        }
    }
}

impl From<BalanceCheck> for BalanceRow {
    fn from(check: BalanceCheck) -> Self {
        let digest = check.digest;
        Self(
            digest.counted,
            digest.computed,
            digest.slowest,
            digest.fastest,
            digest.computation,
            digest.reception,
            digest.wait,
            check.barrier_busy,
        )
    }
}

/// A checkpoint is complete: the state of the run before a superstep is saved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema), schemars(inline))]
pub struct Checkpoint {
    /// The first superstep that is to be repeated after a restart.
    pub superstep: u64,
    /// The time when the first process began to save its state.
    pub at: Instant,
    /// The longest time for which a process stood still.
    pub stall: Seconds,
    /// The processor time of encoding while processes computed, per processor of the host where that is longest.
    pub encoding: Seconds,
    /// The bytes of the states.
    pub bytes: Bytes,
    /// The bytes that hosts sent to their buddies.
    pub sent: Bytes,
    /// The time when all states were encoded and all copies had arrived.
    pub complete: Instant,
    /// Why it is not on disk, if it should be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Whether processes were held before the superstep, so that the job goes on in another view: it was due by no interval.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
}

impl Checkpoint {
    /// What it cost at least: the stall, and the time that encoding took from processors. Copies may delay messages in
    /// addition.
    #[must_use]
    pub fn cost(&self) -> Seconds {
        self.stall + self.encoding
    }
}

/// A process has executed a superstep, and exchanged its messages. What is left until the superstep ends is waiting.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Traced {
    /// The superstep, from 0.
    pub superstep: u64,
    /// The process.
    pub rank: Rank,
    /// Its host.
    pub host: HostId,
    /// The time when it began to compute.
    pub started: Instant,
    /// How long it computed.
    pub computation: Seconds,
    /// From the end of its computation until all its messages had been sent and all messages to it had arrived. On real
    /// hosts, this is known of all processes of a node together.
    pub exchange: Seconds,
    /// Bytes of the messages that it sent.
    pub sent: Bytes,
    /// Bytes of the messages that it received.
    pub received: Bytes,
    /// Whether it was its last superstep.
    pub halted: bool,
}

#[cfg(test)]
mod tests;
