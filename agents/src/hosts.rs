//! The other world: real hosts, one operating-system process each, and messages over QUIC.
//!
//! A [`Node`] waits for clients. [`run`] submits a job to the nodes of a cluster and follows it to its end. In between,
//! each node has the agents of its host as actors on one thread, which carries messages and nothing else; programs are
//! executed by other threads, as many as the node gives processors.

mod abandoned;
mod builds;
mod client;
mod counter;
mod exchanges;
mod execution;
mod failure;
mod felt_load;
mod input;
mod input_memory;
mod job;
mod job_log;
mod journal;
mod links;
mod local_agents;
mod local_event;
mod members;
mod meter;
mod migration;
mod node;
mod node_error;
mod one_way_delay;
mod pace;
mod played_host;
mod pool;
mod prepared;
mod queue;
mod rates;
mod revocations;
mod routes;
mod share;
mod sharing;
mod time;
mod world;

use std::num::NonZeroU32;

use bsp::units::InstructionsPerSecond;

pub use builds::Builds;
pub use client::{NodeAnswer, Request, inquire, run};
pub use failure::JobError;
pub use meter::{LoadScope, measured_speed, processors};
pub use node::{Node, Prepare};
pub use node_error::NodeError;
pub use pace::Pace;
pub use played_host::PlayedHost;
pub use prepared::Prepared;
pub use routes::Routes;
pub use share::Share;

use execution::Executions;
use meter::LoadMeter;
use pool::ProcessorSpeed;

/// The machine that a node stands for, as it is used.
#[derive(Clone, Debug)]
struct Machine {
    processors: NonZeroU32,
    processor: ProcessorSpeed,
    pace: Pace,
    load: LoadMeter,
    /// The supersteps that its threads execute.
    executions: Executions,
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
        }
    }

    /// The same machine, whose own count of instructions is made use of only if all others have one.
    fn counting(mut self, all_count: bool) -> Self {
        self.processor.counted = self.processor.counted.filter(|_| all_count);
        self
    }
}
