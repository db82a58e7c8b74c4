//! Messages between the client of a job and the nodes of a cluster.
//!
//! A client connects to every node and [`Submit`]s the job to all of them. The nodes accept, build the processes that start
//! on them, or receive their states if the job resumes another one, connect to each other, and report that they are ready. Then the client starts the job
//! on all nodes, receives the record, and at the end the outputs of the processes, or what nodes say of the files with them.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use bsp::units::{BytesPerSecond, Seconds};
use bsp::{HostId, Notes, Rank, check_name};
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize};

use crate::{Build, displayed, displayed_message};

/// A message between the client of a job and a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum JobMessage {
    /// Take part in a job.
    Submit(Box<Submit>),
    /// The node takes part.
    Accepted {
        /// Whether its machine counts the instructions of its threads.
        counts: bool,
        /// If the job has files on its nodes: the absolute path of the folder in which this node has those of jobs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        folder: Option<String>,
    },
    /// All nodes take part: connect to the others.
    Meet {
        /// Whether all machines count instructions; otherwise work is measured by time.
        counts: bool,
    },
    /// The node has the processes that start there.
    Built,
    /// The node is connected to all others, and has its processes.
    Ready {
        /// Bytes of their encoded states.
        states: u64,
        /// Bytes of memory that its machine can still give to processes, if the operating system says it.
        free: Option<u64>,
    },
    /// All nodes are ready: begin.
    Begin {
        /// Whether processes are saved as the experiment says. Otherwise nodes do not have the memory for it.
        saves: bool,
    },
    /// Events of the record: one line each.
    Recorded(String),
    /// All processes have halted, and the node has sent its whole part of the record.
    Ended(Ended),
    /// The job cannot go on.
    Failed(Failed),
    /// Ask for the node's status.
    Inquire,
    /// The node's status.
    Status(Box<Status>),
    /// End the job, which has failed or was interrupted; the rest of the record follows.
    Stop,
    /// The output of a process that has ended on the node is in a file there.
    OutputWritten(WrittenOutput),
    /// The job goes on in another view: leave the session, and keep what is saved.
    Suspend,
    /// The job is to go on in another view: save the processes before the next superstep, as soon as there can be a checkpoint, and
    /// execute no superstep after that.
    Hold,
    /// The node is to end: it leaves the job as soon as the job can go on without it, and repeats nothing.
    Leaving(String),
    /// Leave the job, as [`Self::Leaving`] says, and end.
    Drain,
    /// A node would take part in the job that the receiver is in.
    Offer(Box<Member>),
    /// A node would take part in the job, as it says.
    Offered(Box<Member>),
    /// The node has left the session of the job, because it has lost another node or its leader, or was told to.
    Suspended(Box<Suspended>),
    /// The client leaves the job, which goes on: one of its nodes leads it.
    Leave,
    /// A node asks to lead a job whose leader is lost: obey it, and say what is saved here.
    Lead(Lead),
    /// The node does not do what it was asked.
    Declined(Declined),
    /// Tell what happens in the job of this number, which the node leads, from when it began to lead it.
    Attach(u64),
    /// The job as it was when the node began to lead it, without the number of a session.
    Attached(Box<Submit>),
    /// Something that the leader of a job has seen.
    Followed(Box<Followed>),
    /// Connect to these nodes, and say how that went.
    Reach(Vec<Member>),
    /// What has become of the connections to them.
    Reached(Reached),
    /// Connect to this node, have it take bytes for a moment, and say how fast it did.
    Transfer(Box<Member>),
    /// How fast it did, or why it did not.
    Transferred(Result<BytesPerSecond, String>),
    /// Bytes without meaning, at most [`Self::FILL_LEN`], to be answered.
    Fill(String),
    /// They are here.
    Filled,
    /// End the job of this number.
    End(u64),
    /// The node ends the job.
    Ending,
    /// How much of a job that awaits hosts is done on the node.
    Progressed(Progressed),
}

/// How much of a job is done, as far as one of its nodes knows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Progressed {
    /// The number of complete supersteps.
    pub completed: u64,
    /// The instructions that processes have executed on the node in this view.
    pub work: u64,
    /// The part of the whole computation that has been done, from 0 to 1, and the process there of the lowest rank that knows it.
    pub done: Option<(Rank, f64)>,
    /// The most supersteps that a process there still executes; 0 if there is none, `None` if one does not know.
    pub remaining: Option<u64>,
}

impl JobMessage {
    /// The most bytes of a [`Self::Fill`].
    pub const FILL_LEN: usize = 64 << 10;
    /// How often a connection may bring them.
    pub const FILLS_MAX: usize = 64;
}

/// How a node reaches others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reached {
    /// The clock of its machine, since 1970.
    pub clock: Seconds,
    /// The way to each of them, in their order, or why there is none.
    pub ways: Vec<Result<Way, String>>,
}

/// The way to another node.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Way {
    /// The time of a round trip.
    pub round_trip: Seconds,
    /// The greatest datagram, in bytes.
    pub datagram: u16,
}

impl Reached {
    /// The greatest number of nodes that are to be reached.
    pub const COUNT_MAX: usize = 1024;

    /// The same, whose texts can be displayed, if it is an answer about so many nodes.
    ///
    /// # Errors
    ///
    /// If it is none.
    pub fn displayed(mut self, nodes: usize) -> Result<Self, String> {
        if self.ways.len() != nodes {
            return Err(format!("{} ways to {nodes} nodes", self.ways.len()));
        }
        for way in &mut self.ways {
            match way {
                Ok(way) if way.round_trip < Seconds::ZERO => {
                    return Err(format!("a round trip of {}", way.round_trip));
                }
                Ok(_) => {}
                Err(problem) => *problem = displayed_message(problem),
            }
        }
        Ok(self)
    }
}

/// A node asks to lead a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lead {
    /// The number of the job.
    pub job: u64,
    /// The session of the view that is to be followed by another one: its members alone know it.
    pub session: u64,
}

/// Why a node does not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Declined {
    /// It has no such job, or not any more.
    Unknown,
    /// The node obeys another leader, or none yet.
    Follows(String),
    /// The job is in a later view, of this number, in which the node that asks has no part.
    Later(u64),
    /// The job is not of this client.
    Owner,
}

impl Declined {
    /// The same, whose text can be displayed.
    #[must_use]
    pub fn displayed(self) -> Self {
        match self {
            Self::Follows(leader) => Self::Follows(displayed(&leader, TEXT_MAX)),
            Self::Unknown | Self::Later(_) | Self::Owner => self,
        }
    }
}

/// Something that the leader of a job has seen, in the order in which it did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Followed {
    /// The job goes on in another view.
    View(FollowedView),
    /// The nodes of the view begin, this time after the leader knew of the loss.
    Begun(Seconds),
    /// The folder in which each node, by its name, has the files of jobs.
    Folders(BTreeMap<String, String>),
    /// Events of the record: one line each.
    Events(String),
    /// All processes have ended. The outputs that are not in files follow, or have been sent.
    Complete(FollowedEnd),
    /// The job cannot go on.
    Failed(Failed),
}

/// A view in which a job goes on, as its leader says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FollowedView {
    /// Its number.
    pub number: u64,
    /// Its nodes, by host.
    pub members: Vec<Member>,
    /// The node that leads it.
    pub leader: HostId,
    /// The state in which it begins; `None`: the beginning of the job.
    pub resumed: Option<ResumedJob>,
    /// The names of the nodes of the view before that take no part any more, and why.
    pub lost: Vec<(String, String)>,
    /// The names of the nodes that were not in the view before.
    pub joined: Vec<String>,
    /// For how long the first of them had been silent, if it was.
    pub silent: Option<Seconds>,
    /// The number of supersteps that were complete and are executed again.
    pub repeats: u64,
}

/// What a leader has of a job whose processes have ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FollowedEnd {
    /// The totals of its last view.
    pub end: Ended,
    /// The builds of its nodes, by host.
    pub builds: Vec<Build>,
    /// The host on which each process has ended, by rank.
    pub hosts: Vec<HostId>,
    /// The files with the outputs, if they are on the nodes.
    pub files: Vec<WrittenOutput>,
}

/// Take part in a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Submit {
    /// The number of the job, drawn at random, not 0: that of its checkpoints.
    pub job: u64,
    /// The number of the session, drawn at random, not 0: that of its connections and frames, which its members alone know. A
    /// job that goes on without a node that is lost does so in another session.
    pub session: u64,
    /// The receiver's index among the members.
    pub host: HostId,
    /// The nodes that take part, by host.
    pub members: Vec<Member>,
    /// The experiment, every value of it, as TOML.
    pub experiment: String,
    /// The folder that names of its input files are relative to, unless the node has one of its own.
    pub folder: InputFolder,
    /// The number of processes.
    pub processes: u32,
    /// The folder for its checkpoints, an absolute path, if they are written to disk: all nodes and the client share it.
    pub checkpoint: Option<String>,
    /// The state in which the job begins, if it resumes another one; the client sends saved processes and outputs then.
    pub resumed: Option<ResumedJob>,
    /// The files that nodes write for it, if they write any.
    pub files: Option<NodeFiles>,
    /// Which view of the job this is, if it goes on when a node is lost. Otherwise it ends then.
    pub view: Option<View>,
    /// The part of the free memory of a node that checkpoints may take, if there are to be none where it is too little.
    pub memory: Option<f64>,
    /// How long a node waits for a leader when that of its job is lost.
    pub wait: Seconds,
}

/// A view of a job: the nodes that take part in it for some time, and the state in which they begin.
///
/// A view never changes. When one of its nodes is lost, or another one is to take part, its nodes leave its session and keep what
/// they have of checkpoints, and the job goes on in the next view.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct View {
    /// Its number among those of the job, from 1.
    pub number: u64,
    /// The checkpoint with which it begins, if that is in the memory of its nodes: [`Submit::resumed`] has the rest.
    pub saved: Option<SavedView>,
    /// The node that leads it; `None`: a client does.
    pub leader: Option<HostId>,
    /// The number of views in a row, with this one, that began without a newer checkpoint.
    pub repeated: u32,
    /// Whether the job can begin again from its beginning.
    pub begins_anew: bool,
    /// The nodes that take no part and may do so in a later view: the leader asks for them, and takes those that are free.
    pub pool: Vec<Member>,
    /// If a node submits it: the name in the certificate of the client whose job it is. Nodes that join learn it from this.
    pub owner: Option<String>,
    /// The hosts that the job awaits, if it awaits any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub awaited: Option<Awaited>,
}

/// What the nodes of a view know of the hosts that its job awaits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Awaited {
    /// In the first view: the host on which each process starts, by rank. Later ones have it in [`Submit::resumed`].
    pub placement: Vec<HostId>,
    /// The hosts for which processes wait, which are on standby until theirs takes part.
    pub homes: Vec<Home>,
    /// How long the job had lasted before the view.
    pub passed: Seconds,
    /// The names of the hosts that join when they are ready, once that is decided.
    pub asked: Option<Vec<String>>,
}

/// A host for which processes wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Home {
    /// Its name.
    pub host: String,
    /// The processes.
    pub processes: Vec<Rank>,
}

impl Awaited {
    /// The processes on standby among these members, in rank order, each with the name of the host for which it waits.
    pub fn standby(&self, members: &[Member]) -> BTreeMap<Rank, &str> {
        let is_member = |home: &&Home| members.iter().any(|member| member.name == home.host);
        let away = self.homes.iter().filter(|home| !is_member(home));
        away.flat_map(|home| {
            let ranks = home.processes.iter();
            ranks.map(|rank| (*rank, home.host.as_str()))
        })
        .collect()
    }
}

impl View {
    /// The first view of a job that begins in its first superstep, or goes on with a checkpoint on disk.
    #[must_use]
    pub const fn first(begins_anew: bool) -> Self {
        Self {
            number: 1,
            saved: None,
            leader: None,
            repeated: 0,
            begins_anew,
            pool: Vec::new(),
            owner: None,
            awaited: None,
        }
    }
}

/// A checkpoint in the memory of the nodes of a view.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedView {
    /// The incarnation of the job that took it.
    pub incarnation: u64,
    /// The node that has the piece of each process, by rank. It sends it to the host on which the process starts.
    pub holders: Vec<HostId>,
}

/// What a node that has left the session of a job has of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Suspended {
    /// The nodes that it has lost or could not connect to: hosts of the view that it has left, or of that of which the node that it
    /// obeys asks to lead.
    pub lost: Vec<LostNode>,
    /// The checkpoints of which it has pieces, at most [`Self::CHECKPOINTS_MAX`].
    pub saved: Vec<SavedPieces>,
    /// The number of supersteps that were complete, as far as the node knows.
    pub completed: u64,
    /// Why it leaves the job, if it does: perhaps when the next view has begun for the client, in which it has another host.
    pub leaves: Option<String>,
    /// If it obeys a node that asks to lead: the views that it has accepted since that of which the node is a member, at most
    /// [`Self::VIEWS_MAX`].
    pub views: Vec<AcceptedView>,
}

impl Suspended {
    /// The most checkpoints of which a node has pieces: the newest complete one, and one that is taken.
    pub const CHECKPOINTS_MAX: usize = 2;
    /// The most views that a node says it has accepted.
    pub const VIEWS_MAX: usize = 16;
}

/// A view that a node has accepted, as far as that decides who may follow it. `N` names nodes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AcceptedView<N = String> {
    /// The number of its session.
    pub session: u64,
    /// Its number among the views of the job.
    pub number: u64,
    /// Its members, by host.
    pub members: Vec<N>,
    /// The member that leads it; `None`: the client does.
    pub leader: Option<N>,
}

/// A node that another one has lost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LostNode {
    /// Its host in the view.
    pub host: HostId,
    /// Why it counts as lost.
    pub reason: String,
    /// For how long it had been silent, if it was.
    pub silent: Option<Seconds>,
}

/// The pieces of a checkpoint that a node has in memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedPieces {
    /// The incarnation of the job that took the checkpoint.
    pub incarnation: u64,
    /// The superstep before which it was taken.
    pub superstep: u64,
    /// The pieces.
    pub pieces: Vec<SavedProcess>,
}

/// A piece of a checkpoint that a node has in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedProcess {
    /// The process.
    pub rank: Rank,
    /// Whether it is a copy: the process was on another node.
    pub is_copy: bool,
    /// The superstep in which the process has halted, if it has.
    pub halted: Option<u64>,
    /// What it computed in its last superstep, in instructions.
    pub work: u64,
}

/// The files that the nodes of a job write into folders of their own, instead of sending the contents to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeFiles {
    /// The folder of the job in that of each node.
    pub job: JobFolder,
    /// Whether the outputs of processes are written there, too, and not only their snapshots. Otherwise they are sent to the
    /// client.
    pub outputs: bool,
}

/// The folder of a job's files, in the folder that a node has for those of all jobs. A job that resumes another one has the
/// folder of that one.
///
/// It travels as a number, so that its name is one that a node has made: 16 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobFolder(pub u64);

impl JobFolder {
    /// Where the output of a process is in it.
    ///
    /// # Examples
    ///
    /// ```
    /// use bsp::Rank;
    /// use protocol::JobFolder;
    ///
    /// assert_eq!(JobFolder::output(Rank(2)), "outputs/p3.msgpack");
    /// assert_eq!(JobFolder(0xa1).to_string(), "00000000000000a1");
    /// ```
    #[must_use]
    pub fn output(rank: Rank) -> String {
        format!("outputs/{rank}.msgpack")
    }
}

impl fmt::Display for JobFolder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:016x}", self.0)
    }
}

/// The output of a process in a file of the node on which the process has ended: [`JobFolder::output`] in the folder of the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrittenOutput {
    /// The process.
    pub rank: Rank,
    /// The length of the file in bytes.
    pub length: u64,
    /// The SHA-256 of the file, which is the encoded output.
    pub sha256: [u8; 32],
}

/// The folders of a client in which input files of an experiment are, as absolute paths: nodes find them there if they share
/// the client's files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputFolder {
    /// That of the experiment's file.
    pub experiment: String,
    /// The current folder of the client, if names of files may have been typed there.
    pub current: Option<String>,
}

/// The state in which a job begins that resumes another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResumedJob {
    /// The incarnation of the job, greater than that of the one which it resumes.
    pub incarnation: u64,
    /// The superstep with which it begins.
    pub superstep: u64,
    /// Where each process starts, by rank.
    pub placement: Vec<HostId>,
    /// The superstep in which each process has halted, by rank, if it has.
    pub halted: Vec<Option<u64>>,
}

/// A node that takes part in a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Member {
    /// The name in its certificate.
    pub name: String,
    /// Its address: host and port.
    pub address: String,
    /// The name of its Set; the first member of a Set is its Manager.
    pub set: String,
    /// The number of processors that it offers.
    pub slots: u32,
    /// Its speed, as a multiple of the measured speed; positive.
    pub speed: f64,
}

/// The totals of a node in a job.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    /// The duration, on the node's clock.
    pub seconds: Seconds,
    /// Supersteps begun on the node.
    pub supersteps: u64,
    /// Messages sent by its processes.
    pub messages: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Bytes of the states of processes that left the node.
    pub moved: u64,
}

/// Why a job cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    /// What is at fault.
    pub fault: Fault,
    /// The reason, with a remedy if there is one.
    pub message: String,
}

/// What is at fault when a job cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fault {
    /// The program, or its results.
    Program,
    /// The experiment.
    Input,
    /// The cluster: a node is gone or busy.
    Cluster,
    /// A node or the client runs another build.
    Build,
}

/// The status of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// The workloads that its program knows.
    pub workloads: Vec<String>,
    /// A superstep of an ended job that still executes, because its thread cannot be stopped.
    pub abandoned: Option<Abandoned>,
    /// The time since it started.
    pub up: Seconds,
    /// Instructions per second of the share of one processor that is offered to programs.
    pub speed: f64,
    /// The number of its processors.
    pub processors: u32,
    /// The fraction of them that other programs use, over a quarter of an hour and over a minute.
    pub load: (f64, f64),
    /// The job that it is busy with.
    pub job: Option<JobStatus>,
    /// The number of jobs that have ended on it.
    pub jobs: u64,
    /// Connections and frames refused since it started.
    pub refused: u64,
    /// Bytes of memory that its process occupies, if the operating system says it.
    pub memory: Option<u64>,
    /// The jobs that it leads, or has led and keeps the results of, at most [`LedJob::COUNT_MAX`], the oldest first.
    pub led: Vec<LedJob>,
    /// The processes of other programs that keep its machine busy, at most [`BusyProcess::COUNT_MAX`], the oldest first.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "bounded"
    )]
    pub others: Vec<BusyProcess>,
}

impl Status {
    /// The same status, whose texts can be displayed.
    ///
    /// # Errors
    ///
    /// Which of its values no node has.
    pub fn displayed(mut self) -> Result<Self, String> {
        let times = [
            ("time up", Some(self.up)),
            (
                "time of a superstep",
                self.abandoned.as_ref().map(|abandoned| abandoned.since),
            ),
            ("time of a job", self.job.as_ref().map(|job| job.since)),
        ];
        for (what, time) in times {
            if let Some(time) = time.filter(|time| *time < Seconds::ZERO) {
                return Err(format!("a {what} of {time}"));
            }
        }
        if !(0.0 < self.speed && self.speed.is_finite()) {
            return Err(format!("a speed of {} instructions per second", self.speed));
        }
        let (quarter, minute) = self.load;
        for load in [quarter, minute] {
            // A mean of fractions may be rounded up.
            if !(0.0..1.001).contains(&load) {
                return Err(format!("a load of {load}, which is a fraction"));
            }
        }
        if self.processors == 0 {
            return Err("that it has no processor".to_owned());
        }
        self.led.truncate(LedJob::COUNT_MAX);
        for led in &mut self.led {
            led.owner = displayed(&led.owner, TEXT_MAX);
        }
        self.workloads.truncate(WORKLOADS_MAX);
        for workload in &mut self.workloads {
            *workload = displayed(workload, TEXT_MAX);
        }
        if let Some(job) = &mut self.job {
            job.client = displayed(&job.client, TEXT_MAX);
            let names = match &mut job.leader {
                Leader::Client => &mut [],
                Leader::Node(name) => std::slice::from_mut(name),
                Leader::None(awaited) => {
                    awaited.truncate(JobStatus::AWAITED_MAX);
                    &mut awaited[..]
                }
            };
            for name in names {
                *name = displayed(name, TEXT_MAX);
            }
            job.notes = job.notes.first(JobStatus::NOTES_MAX);
        }
        Ok(self)
    }
}

/// A superstep that still executes although its job has ended. Its node accepts no job until it ends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Abandoned {
    /// The process.
    pub rank: Rank,
    /// The superstep.
    pub superstep: u64,
    /// How long it has executed.
    pub since: Seconds,
}

/// A job that a node leads, or has led.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LedJob {
    /// Its number.
    pub job: u64,
    /// The name of the client whose job it is.
    pub owner: String,
    /// How long ago it ended, if it has.
    pub ended: Option<Seconds>,
    /// Whether it has ended with its outputs, which are kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_complete: bool,
}

impl LedJob {
    /// The most jobs.
    pub const COUNT_MAX: usize = 16;
}

/// The progress of a job on a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobStatus {
    /// Its number; that of its session is known to its members alone.
    pub job: u64,
    /// The client that submitted it.
    pub client: String,
    /// Who leads it, or will when nodes have agreed on it.
    pub leader: Leader,
    /// Which view of it the node is in; 0 if it has none.
    pub view: u64,
    /// The time since it was submitted.
    pub since: Seconds,
    /// Supersteps begun on the node.
    pub superstep: u64,
    /// The number of supersteps of the job, if its experiment has it.
    pub supersteps: Option<u64>,
    /// Processes on the node.
    pub processes: u32,
    /// The calls of the job, on the node of its first Set Manager, once there has been one.
    pub calls: Option<CallsStatus>,
    /// The first of the notes of its last superstep that has some, at most [`Self::NOTES_MAX`], on the node of its first Set
    /// Manager.
    #[serde(default, skip_serializing_if = "Notes::is_empty")]
    pub notes: Notes,
}

impl JobStatus {
    /// The most notes.
    pub const NOTES_MAX: usize = 16;
    /// The most nodes that are awaited.
    const AWAITED_MAX: usize = 1024;
}

/// Who leads a job, as one of its nodes knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Leader {
    /// Its client, which is connected.
    Client,
    /// The node of this name.
    Node(String),
    /// None yet, of these nodes: one of them has to lead, and more than half to obey it.
    None(Vec<String>),
}

/// The rescheduling calls of a job.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallsStatus {
    /// Their number.
    pub count: u64,
    /// The number of processes that all of them have moved.
    pub moves: u64,
    /// The number of supersteps that were complete before the last one.
    pub last: u64,
    /// The number of processes that the last one has moved.
    pub last_moves: u64,
}

/// Workloads of a node that are displayed.
const WORKLOADS_MAX: usize = 1000;
/// Bytes of a text in a status.
const TEXT_MAX: usize = 500;

/// A process of another program that keeps a machine busy.
///
/// Invariant: the name has at most [`Self::NAME_MAX`] bytes and no control characters, and the age is not negative.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Received")]
pub struct BusyProcess {
    name: String,
    pid: u32,
    age: Seconds,
}

/// One from another machine.
#[derive(Deserialize)]
struct Received {
    name: String,
    pid: u32,
    age: Seconds,
}

/// Why no node sends such a process.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
enum BusyProcessError {
    #[error(
        "the name of a busy process has {found} bytes, expected at most {}",
        BusyProcess::NAME_MAX
    )]
    NameTooLong { found: usize },
    #[error("the name of a busy process cannot be displayed")]
    Unprintable,
    #[error("the age of a busy process is {found} s, expected at least 0")]
    Negative { found: f64 },
}

impl BusyProcess {
    /// The greatest number of bytes of a name.
    pub const NAME_MAX: usize = 64;
    /// The greatest number of processes that a node names.
    pub const COUNT_MAX: usize = 64;

    /// The process `pid` of the operating system, which has consumed `age` of processor time.
    ///
    /// The name is cut to [`Self::NAME_MAX`] bytes, between two characters; control characters are replaced.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "a duration is finite")]
    pub fn new(name: &str, pid: u32, age: Duration) -> Self {
        let mut name = name.replace(char::is_control, "\u{fffd}");
        name.truncate(name.floor_char_boundary(Self::NAME_MAX));
        let age = Seconds::new(age.as_secs_f64()).expect("a duration is finite");
        Self { name, pid, age }
    }

    /// The name of its program, as the operating system knows it; Linux keeps 15 bytes.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its number in the operating system.
    #[must_use]
    pub const fn pid(&self) -> u32 {
        self.pid
    }

    /// The processor time that it has consumed, of all its threads together.
    #[must_use]
    pub const fn age(&self) -> Seconds {
        self.age
    }
}

impl TryFrom<Received> for BusyProcess {
    type Error = BusyProcessError;

    fn try_from(received: Received) -> Result<Self, BusyProcessError> {
        let Received { name, pid, age } = received;
        if Self::NAME_MAX < name.len() {
            let found = name.len();
            return Err(BusyProcessError::NameTooLong { found });
        }
        check_name(&name).map_err(|_| BusyProcessError::Unprintable)?;
        if age < Seconds::ZERO {
            let found = age.get();
            return Err(BusyProcessError::Negative { found });
        }
        Ok(Self { name, pid, age })
    }
}

/// Reads a list of at most [`BusyProcess::COUNT_MAX`] processes.
pub(super) fn bounded<'a, D: Deserializer<'a>>(from: D) -> Result<Vec<BusyProcess>, D::Error> {
    let processes = Vec::<BusyProcess>::deserialize(from)?;
    if BusyProcess::COUNT_MAX < processes.len() {
        let (found, limit) = (processes.len(), BusyProcess::COUNT_MAX);
        let problem = format!("{found} busy processes, expected at most {limit}");
        return Err(D::Error::custom(problem));
    }
    Ok(processes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status() -> Status {
        let job = JobStatus {
            job: 7,
            leader: Leader::Client,
            view: 0,
            client: "client laptop at 10.0.0.9:5385".to_owned(),
            since: Seconds::ZERO,
            superstep: 3,
            supersteps: None,
            processes: 4,
            calls: None,
            notes: Notes::default(),
        };
        Status {
            led: Vec::new(),
            workloads: vec!["heat".to_owned()],
            abandoned: None,
            up: Seconds::ZERO,
            speed: 1e9,
            processors: 2,
            load: (0.0, 1.0),
            job: Some(job),
            jobs: 0,
            refused: 0,
            memory: None,
            others: Vec::new(),
        }
    }

    #[test]
    fn a_status_that_no_node_has_is_refused() {
        assert_eq!(status().displayed(), Ok(status()));
        let seconds = |number| Seconds::new(number).unwrap();
        let job = |since| JobStatus {
            since: seconds(since),
            ..status().job.unwrap()
        };
        let of = |up, speed, load, processors| Status {
            up: seconds(up),
            speed,
            load,
            processors,
            ..status()
        };
        let late = Status {
            job: Some(job(-2.0)),
            ..status()
        };
        for (problem, changed) in [
            ("time up of -1", of(-1.0, 1e9, (0.0, 0.0), 2)),
            ("time of a job of -2", late),
            ("speed of -1", of(0.0, -1e53, (0.0, 0.0), 2)),
            ("speed of NaN", of(0.0, f64::NAN, (0.0, 0.0), 2)),
            ("load of -5", of(0.0, 1e9, (0.0, -5.0), 2)),
            ("load of inf", of(0.0, 1e9, (f64::INFINITY, 0.0), 2)),
            ("no processor", of(0.0, 1e9, (0.0, 0.0), 0)),
        ] {
            let refused = changed.displayed().unwrap_err();
            assert!(refused.contains(problem), "{problem}: {refused}");
        }
        let mut forged = status();
        forged.workloads = vec!["x\nerror: y".to_owned(); 5000];
        forged.job.as_mut().unwrap().client = "a".repeat(1 << 20);
        let shown = forged.displayed().unwrap();
        assert_eq!(shown.workloads.len(), WORKLOADS_MAX);
        assert_eq!(shown.workloads[0], "x\\u{a}error: y");
        assert!(shown.job.unwrap().client.len() < 600);
    }

    #[test]
    fn names_are_cut_between_characters_and_have_no_control_characters() {
        let name = |name: &str| BusyProcess::new(name, 7, Duration::ZERO).name().to_owned();
        assert_eq!(name("worker: 3"), "worker: 3");
        assert_eq!(name(""), "");
        assert_eq!(name("a\u{1b}[2J\n"), "a\u{fffd}[2J\u{fffd}");
        assert_eq!(name(&"x".repeat(65)), "x".repeat(64));
        assert_eq!(name(&"ä".repeat(33)), "ä".repeat(32));
        // 63 bytes, and the first of two.
        assert_eq!(name(&format!("{}ä", "x".repeat(63))), "x".repeat(63));
        // A control character of one byte becomes a character of three.
        assert_eq!(name(&"\u{7}".repeat(64)), "\u{fffd}".repeat(21));
    }

    #[test]
    fn ages_are_seconds_of_processor_time() {
        let process = BusyProcess::new("solver", 7, Duration::from_millis(1250));
        assert_eq!(process.age(), Seconds::new(1.25).unwrap());
        assert_eq!(process.pid(), 7);
    }
}
