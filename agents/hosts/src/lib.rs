//! Real hosts: one operating-system process each, and messages over QUIC.
//!
//! A [`Node`] waits for clients. [`run`] submits a job to the nodes of a cluster and follows it to its end. In between,
//! each node has the agents of its host as actors on one thread, which carries messages and nothing else; programs are
//! executed by other threads, as many as the node gives processors. What nodes and clients decide is in `machines`; here
//! are their threads, sockets, files and clocks.
//!
//! A busy program does not starve the network, because other threads execute programs. A panic in an agent ends
//! the job with a message. The shells perform the actions of a machine in order and report to it what
//! happens.
//!
//! In reading order: `node` and `client` (the shells of the two machines), `live_job` (a job on this
//! node), `pool` (the threads that execute programs), `migration`, `checkpoints`, `meter` and `pace` (what the host gives).

mod attach;
mod check;
mod checkpoints;
mod client;
mod counter;
mod credentials;
mod files;
mod leader;
mod live_job;
mod meter;
mod metrics;
mod migration;
mod node;
mod offer;
mod pace;
mod pool;

use std::num::NonZeroU32;

use bsp::units::InstructionsPerSecond;
use meter::LoadMeter;
use metrics::Totals;
use pool::{Executions, ProcessorSpeed};

pub use attach::{Attachment, attach, end};
pub use check::{Bandwidth, CheckedNode, NodeCheck, bandwidths, check};
pub use checkpoints::CheckpointFolders;
pub use client::{
    JobObserver, NodeAnswer, TransferProgress, add, any_address, detach, drain, inquire, resume,
    run, watch,
};
pub use files::OutputFolder;
pub use leader::SharedPrepare;
pub use machines::node::Leave;
pub use meter::{LoadScope, measured_speed, processors};
pub use node::{Heartbeat, Node, NodeError};
pub use offer::Offer;
pub use pace::{Pace, PlayedHost, Share};

/// The machine that a node stands for, as it is used.
#[derive(Clone, Debug)]
struct Machine {
    processors: NonZeroU32,
    processor: ProcessorSpeed,
    pace: Pace,
    load: LoadMeter,
    /// The supersteps that its threads execute.
    executions: Executions,
    /// What has happened here.
    totals: Totals,
}

impl Machine {
    /// Instructions per second of one processor, as far as programs are given it.
    fn offered(&self) -> InstructionsPerSecond {
        self.pace.offered(self.processor.speed)
    }

    /// Whether this machine is one host: it plays no host of a platform, and does not have all nodes of a trial, which
    /// delay each other and see the same processes of other programs.
    fn is_a_host(&self) -> bool {
        self.pace.played().is_none() && self.load.scope() == LoadScope::Process
    }

    /// The same machine as it gives `processors`, each worth `factor` of what was measured.
    fn giving(&self, processors: NonZeroU32, factor: f64) -> Self {
        let speed = InstructionsPerSecond::new(self.processor.speed.get() * factor);
        let speed = speed.unwrap_or(self.processor.speed);
        Self {
            processors,
            processor: ProcessorSpeed {
                speed,
                ..self.processor
            },
            pace: self.pace.clone(),
            load: self.load.clone(),
            executions: self.executions.clone(),
            totals: self.totals.clone(),
        }
    }

    /// The same machine, whose own count of instructions is made use of only if all others have one.
    fn counting(mut self, all_count: bool) -> Self {
        self.processor.counted = self.processor.counted.filter(|_| all_count);
        self
    }
}

/// A variable for the environment of node processes on Linux with the GNU C library, and its value: large states are
/// copied into huge pages, which takes a quarter of the time.
pub const HUGE_PAGES: (&str, &str) = ("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1");
