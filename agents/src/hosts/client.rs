//! The client of a cluster: it submits jobs and asks for the status of nodes.

mod build_check;
mod connections;
mod event_check;
mod inquiry;
mod job_result;
mod node_event;
mod request;
mod running_job;

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use protocol::identity::Identity;
use protocol::transport::Endpoint;

use super::failure::JobError;
use crate::outcome::Outcome;
use crate::programs::{Programs, States};
use crate::record::Event;
use build_check::check_builds;
use connections::{connect, endpoint, runtime};
use job_result::JobResult;
use running_job::RunningJob;

pub use inquiry::{NodeAnswer, inquire};
pub use request::Request;

/// Runs `programs` on the nodes of a cluster and passes every event of the record to `observer`. An error of
/// `observer` ends the job, and so does `interrupted`. The makespan is the longest that any node measured on its own
/// clock.
///
/// # Errors
///
/// If a node of the cluster is missing or busy, or the job cannot go on. The nodes are free again then.
pub fn run(
    identity: Identity,
    request: &Request,
    programs: Programs,
    observer: &mut dyn FnMut(&Event) -> Result<(), JobError>,
    interrupted: impl Future<Output = ()>,
) -> Result<Outcome, JobError> {
    request.setup.check(programs.len())?;
    let (members, hosts) = (request.members.len(), request.setup.platform.hosts().len());
    if members != hosts {
        let problem = format!("the platform has {hosts} hosts, the list of hosts has {members}");
        return Err(JobError::input(problem));
    }
    let (states, decode_outputs) = programs.into_states();
    let result = runtime()?.block_on(async {
        let endpoint = endpoint(identity, &request.builds.own)?;
        let result = submit(&endpoint, request, states, observer, interrupted).await;
        if let Some(endpoint) = Arc::into_inner(endpoint) {
            endpoint.close().await;
        }
        result
    })?;
    let end = result.end();
    let outputs = result.outputs.into_values().map(|(_, output)| output);
    observer(&Event::End(end))?;
    Ok(Outcome {
        end,
        calls: result.calls,
        joins: Vec::new(),
        checkpoints: Vec::new(),
        builds: result.builds,
        outputs: decode_outputs(outputs.collect())?,
    })
}

async fn submit(
    endpoint: &Arc<Endpoint>,
    request: &Request,
    states: States,
    observer: &mut dyn FnMut(&Event) -> Result<(), JobError>,
    interrupted: impl Future<Output = ()>,
) -> Result<JobResult, JobError> {
    let mut interrupted = pin!(interrupted);
    let connecting = async {
        let mut peers = connect(endpoint, request).await?;
        check_builds(request, &mut peers).await?;
        Ok::<_, JobError>(peers)
    };
    let peers = tokio::select! {
        peers = connecting => peers?,
        () = &mut interrupted => return Err(JobError::cluster(INTERRUPTED)),
    };
    let builds = peers.iter().map(|peer| peer.build.clone()).collect();
    let mut job = RunningJob::new(request, peers, observer);
    let ended = tokio::select! {
        ended = job.run(states) => Some(ended),
        () = interrupted => None,
    };
    let result = match ended {
        Some(Err(error)) => Err(job.cause(error).await),
        Some(Ok(())) => Ok(()),
        None => Err(JobError::cluster(INTERRUPTED)),
    };
    let reason = result
        .as_ref()
        .err()
        .map_or("the job is over", |error| &error.message);
    let closing = job.senders().iter().cloned().map(|sender| {
        let reason = reason.to_owned();
        tokio::spawn(async move { sender.close(&reason).await })
    });
    let closing: Vec<_> = closing.collect();
    let closed = async {
        for closed in closing {
            // A node that has closed its connection needs no notice.
            drop(closed.await);
        }
    };
    // A node that does not respond detects the end by itself.
    drop(tokio::time::timeout(CLOSE_LIMIT, closed).await);
    result.map(|()| JobResult {
        builds,
        ..job.into_result()
    })
}

/// The error of an interrupted run.
const INTERRUPTED: &str = "interrupted";
/// How long all connections together may take to close.
const CLOSE_LIMIT: Duration = Duration::from_secs(2);
