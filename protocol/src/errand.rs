//! What a client and the nodes of a cluster tell each other about a job.
//!
//! A client connects to every node without a job. It has all of them [`Submit`]ted to before any begins: they
//! accept, take the states of the processes that start on them, meet, and are ready; then it lets all of them
//! begin, is told what happens, and takes what processes leave behind.

use bsp::HostId;
use bsp::units::Seconds;
use serde::{Deserialize, Serialize};

/// Anything a client and a node tell each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Errand {
    /// Take part in a job.
    Submit(Box<Submit>),
    /// The node will; whether its machine counts the instructions of its threads.
    Accepted {
        /// It does.
        counts: bool,
    },
    /// Everybody will: connect to the others.
    Meet {
        /// All machines count instructions: that is how work is measured, and by time if one of them does not.
        counts: bool,
    },
    /// The node is connected to all others, and its processes are there.
    Ready,
    /// Everybody is: begin.
    Begin,
    /// What happened, in the words of the record: one line each.
    Recorded(String),
    /// Everybody has halted, and the node has told all that there is to tell of it.
    Ended(Ended),
    /// The job cannot go on.
    Failed(Failed),
    /// Say how you are.
    Inquire,
    /// How the node is.
    Status(Box<Status>),
}

/// Take part in a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Submit {
    /// Which job: drawn at random, not 0.
    pub job: u64,
    /// The sender's release: all take part with the same.
    pub release: String,
    /// Which of the members the receiver is.
    pub host: HostId,
    /// The nodes that take part, by host.
    pub members: Vec<Member>,
    /// The experiment, every value of it, as TOML.
    pub experiment: String,
    /// How many processes.
    pub processes: u32,
}

/// A node that takes part in a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Member {
    /// The name in its certificate.
    pub name: String,
    /// Where it is: host and port.
    pub address: String,
    /// The name of its Set; the first member of a Set is its Manager.
    pub set: String,
    /// How many processors it gives.
    pub slots: u32,
    /// Its speed, as a multiple of what it measures; positive.
    pub speed: f64,
}

/// What a node did in a job.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    /// How long it took, on the node's clock.
    pub seconds: Seconds,
    /// Supersteps begun here.
    pub supersteps: u64,
    /// Messages sent by processes here.
    pub messages: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Bytes of states that left the node.
    pub moved: u64,
}

/// Why a job cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    /// What is at fault.
    pub fault: Fault,
    /// What happened, and what would do.
    pub message: String,
}

/// What is at fault when a job cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fault {
    /// The program, or its results.
    Program,
    /// The experiment.
    Input,
    /// The cluster: a node is gone, busy, or of another release.
    Cluster,
}

/// How a node is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Its release.
    pub release: String,
    /// How long it has been up.
    pub up: Seconds,
    /// Instructions per second of one processor, as far as programs are given it.
    pub speed: f64,
    /// How many processors it has.
    pub processors: u32,
    /// The fraction of them that others take, over a quarter of an hour and over a minute.
    pub load: (f64, f64),
    /// What it is at.
    pub job: Option<JobStatus>,
    /// How many jobs have ended here.
    pub jobs: u64,
    /// Connections and frames refused since it began.
    pub refused: u64,
}

/// How far a job has come on a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobStatus {
    /// Which.
    pub job: u64,
    /// Who submitted it.
    pub client: String,
    /// For how long.
    pub since: Seconds,
    /// Supersteps begun here.
    pub superstep: u64,
    /// Processes here.
    pub processes: u32,
}
