//! The lines of a node's log about its jobs.

use std::time::Instant as Clock;

use protocol::Fault;

use crate::machines::node::action::{BegunJob, JobEnd};

/// The lines about one job: its begin, and its end when it is known.
///
/// The job is its number on this node, because the number by which the members of a job know it is not for others.
#[derive(Debug)]
pub(super) struct JobLog {
    number: u64,
    client: String,
    began: Clock,
}

impl JobLog {
    /// A job has begun.
    pub(super) fn begin(job: &BegunJob) -> Self {
        let BegunJob {
            party,
            number,
            processes,
            nodes,
            ..
        } = job;
        let client = party.as_str();
        tracing::info!(job = number, client, processes, nodes, "a job begins");
        Self {
            number: *number,
            client: party.clone(),
            began: Clock::now(),
        }
    }

    /// The job has ended after this number of supersteps.
    pub(super) fn end(&self, end: &JobEnd, supersteps: u64) {
        let (job, client) = (self.number, self.client.as_str());
        let seconds = self.began.elapsed().as_secs_f64();
        let seconds = (seconds * 1e3).round() / 1e3;
        match end {
            JobEnd::Complete(_) => {
                tracing::info!(job, client, seconds, supersteps, "a job is complete");
            }
            // Of a program, the client reports it.
            JobEnd::Failed(error) if error.is_reported || error.fault != Fault::Cluster => {
                let reason = error.message.as_str();
                tracing::info!(job, client, seconds, supersteps, reason, "a job has failed");
            }
            JobEnd::Failed(error) => {
                let reason = error.message.as_str();
                tracing::warn!(job, client, seconds, supersteps, reason, "a job has failed");
            }
            JobEnd::Panicked => {
                let reason = "the node has panicked";
                tracing::error!(job, client, seconds, supersteps, reason, "a job has failed");
            }
        }
    }
}
