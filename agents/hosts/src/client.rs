//! The client of a cluster: it submits jobs and asks for the status of nodes.

mod connections;
mod initial_states;
mod inquiry;
mod listening;
mod observer;
mod shell;

use std::future::Future;
use std::path::Path;
use std::sync::Arc;

use agents::{DecodeOutputs, Outcome, ProgramType, Programs, RunError};
use bsp::HostId;
use checkpoint::{DiskFiles, JobDescription, SavedStates, Store};
use machines::JobError;
use machines::client::Request;
use protocol::identity::Identity;
use protocol::transport::JobId;
use record::Event;

pub use inquiry::{NodeAnswer, inquire, watch};
pub use observer::{JobObserver, TransferProgress};

use connections::{endpoint, runtime};
use initial_states::InitialStates;
use shell::submit;

/// Runs `programs` on the nodes of a cluster and shows `observer` every event of the record, and how far
/// processes have been sent and outputs received. An error of `observer` ends the job, and so does `interrupted`. The makespan is the longest that any node measured on its own
/// clock.
///
/// # Errors
///
/// If a node of the cluster is missing or busy, or the job cannot go on. The nodes are free again then.
pub fn run(
    identity: Identity,
    request: &Request,
    programs: Programs,
    observer: &mut dyn JobObserver,
    interrupted: impl Future<Output = ()>,
) -> Result<Outcome, JobError> {
    if request.setup.resumed.is_some() {
        return Err(JobError::input(
            "a job that resumes begins with saved states",
        ));
    }
    let processes = programs.len();
    let (states, decode_outputs) = programs.into_states();
    let states = InitialStates::of_programs(states, processes);
    follow(
        identity,
        request,
        (states, decode_outputs),
        observer,
        interrupted,
    )
}

/// Resumes a job on the nodes of a cluster: as [`run`], from the states of a checkpoint, whose programs are of this type.
/// The setup of `request` says with which superstep the job begins, and where each process starts.
///
/// # Errors
///
/// As [`run`], or if a file of the checkpoint has changed since it was found.
pub fn resume(
    identity: Identity,
    request: &Request,
    (saved, program_type): (SavedStates, ProgramType),
    observer: &mut dyn JobObserver,
    interrupted: impl Future<Output = ()>,
) -> Result<Outcome, JobError> {
    if request.setup.resumed.is_none() {
        return Err(JobError::input("saved states begin a job that resumes"));
    }
    let states = InitialStates::of_checkpoint(saved);
    let decode_outputs = program_type.output_decoder();
    follow(
        identity,
        request,
        (states, decode_outputs),
        observer,
        interrupted,
    )
}

/// Submits a job and follows it to its end.
fn follow(
    identity: Identity,
    request: &Request,
    (states, decode_outputs): (InitialStates, DecodeOutputs),
    observer: &mut dyn JobObserver,
    interrupted: impl Future<Output = ()>,
) -> Result<Outcome, JobError> {
    request.setup.check(states.order.len())?;
    let (members, hosts) = (request.members.len(), request.setup.platform.hosts().len());
    if members != hosts {
        let problem = format!("the platform has {hosts} hosts, the list of hosts has {members}");
        return Err(JobError::input(problem));
    }
    let job = JobId::random();
    describe(request, job)?;
    let (result, transfers) = runtime()?.block_on(async {
        let endpoint = endpoint(identity, &request.builds.own)?;
        let result = submit(&endpoint, (request, job), states, observer, interrupted).await;
        if let Some(endpoint) = Arc::into_inner(endpoint) {
            endpoint.close().await;
        }
        result
    })?;
    let end = result.end();
    let name = |host: HostId| request.members[host.index()].name.clone();
    let (nodes, outputs): (Vec<String>, Vec<bytes::Bytes>) = result
        .outputs
        .into_values()
        .map(|(host, output)| (name(host), output))
        .unzip();
    observer.observe(&Event::End(end))?;
    let outputs = decode_outputs(outputs).map_err(|error| match error {
        RunError::Encoding { rank, .. } => {
            let node = nodes.get(rank.index()).map_or("none", String::as_str);
            JobError::program(format!("{error}; it is from the node {node}"))
        }
        error => error.into(),
    })?;
    Ok(Outcome {
        transfers: Some(transfers),
        repeated: 0,
        end,
        calls: result.calls,
        joins: Vec::new(),
        checkpoints: result.checkpoints,
        builds: result.builds,
        outputs,
        nodes,
    })
}

/// Describes the job in its checkpoint folder, if it has one.
fn describe(request: &Request, job: JobId) -> Result<(), JobError> {
    let Some(folder) = &request.checkpoint else {
        return Ok(());
    };
    let build = &request.builds.own;
    let description = JobDescription {
        job,
        incarnation: request.setup.incarnation(),
        workload: request.workload.clone(),
        processes: u32::try_from(request.setup.placement.len())
            .map_err(|_| JobError::input("more than 2^32 processes"))?,
        program: build.program().to_owned(),
        version: build.version().to_owned(),
        build: build.sha256(),
        experiment: request.experiment.clone(),
    };
    let mut store = Store::new(DiskFiles::new(Path::new(folder)), HostId(0));
    store
        .begin(&description)
        .map_err(|error| JobError::input(error.to_string()))
}
