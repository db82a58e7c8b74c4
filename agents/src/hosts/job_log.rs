//! The lines of a node's log about its jobs.

use std::time::Instant as Clock;

use protocol::Submit;

use super::failure::JobError;

/// The lines about one job: its begin, and its end when it is known.
///
/// The job is its number on this node, because the number by which the members of a job know it is not for others.
#[derive(Debug)]
pub(super) struct JobLog {
    number: u64,
    client: String,
    began: Clock,
}

/// How a job ended on a node.
#[derive(Debug)]
pub(super) enum JobEnd<'a> {
    /// All its processes have halted.
    Complete,
    /// An error ended it.
    Failed(&'a JobError),
    /// The node's part of it panicked.
    Panicked,
}

impl JobLog {
    /// The job that `client` submits, the `number`-th of this node, has begun.
    pub(super) fn begin(number: u64, client: &str, submit: &Submit) -> Self {
        let (processes, nodes) = (submit.processes, submit.members.len());
        tracing::info!(job = number, client, processes, nodes, "a job begins");
        Self {
            number,
            client: client.to_owned(),
            began: Clock::now(),
        }
    }

    /// The job has ended after this number of supersteps.
    pub(super) fn end(&self, end: &JobEnd<'_>, supersteps: u64) {
        let (job, client) = (self.number, self.client.as_str());
        let seconds = self.began.elapsed().as_secs_f64();
        let seconds = (seconds * 1e3).round() / 1e3;
        match end {
            JobEnd::Complete => {
                tracing::info!(job, client, seconds, supersteps, "a job is complete");
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
