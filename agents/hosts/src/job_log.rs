//! The lines of a node's log about its jobs.

use std::sync::Arc;
use std::time::Instant as Clock;

use machines::node::action::{BegunJob, JobEnd};
use protocol::transport::LogLimit;
use protocol::{Fault, displayed};

/// The lines about one job: its begin, and its end when it is known.
///
/// The job is its number on this node, because the number by which the members of a job know it is not for others.
#[derive(Debug)]
pub(super) struct JobLog {
    number: u64,
    client: String,
    began: Clock,
    lines: JobLines,
}

/// How many lines about jobs the log has: a client can begin many.
#[derive(Clone, Debug)]
pub(super) struct JobLines {
    begun: Arc<LogLimit>,
    ended: Arc<LogLimit>,
}

impl Default for JobLines {
    fn default() -> Self {
        Self {
            begun: Arc::new(LogLimit::new("jobs that began")),
            ended: Arc::new(LogLimit::new("jobs that ended")),
        }
    }
}

impl JobLog {
    /// A job has begun.
    pub(super) fn begin(job: &BegunJob, lines: &JobLines) -> Self {
        let BegunJob {
            party,
            number,
            processes,
            nodes,
            ..
        } = job;
        let client = party.as_str();
        if lines.begun.admits() {
            tracing::info!(job = number, client, processes, nodes, "a job begins");
        }
        Self {
            number: *number,
            client: party.clone(),
            began: Clock::now(),
            lines: lines.clone(),
        }
    }

    /// The job has ended after this number of supersteps.
    pub(super) fn end(&self, end: &JobEnd, supersteps: u64) {
        if !self.lines.ended.admits() {
            return;
        }
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
                let reason = displayed(&error.message, REASON_MAX);
                tracing::warn!(job, client, seconds, supersteps, reason, "a job has failed");
            }
            JobEnd::Panicked => {
                let reason = "the node has panicked";
                tracing::error!(job, client, seconds, supersteps, reason, "a job has failed");
            }
        }
    }
}

/// Bytes of the reason for which a job has failed.
const REASON_MAX: usize = 2000;
