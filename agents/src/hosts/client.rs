//! The one who submits a job, and asks how nodes are.

mod following;
mod inquiry;

use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bsp::HostId;
use protocol::identity::Identity;
use protocol::transport::{Bounds, Endpoint, Peer, PeerPolicy, Sender};
use protocol::{Address, JobMessage, Member, Message, encode};

use super::failure::JobError;
use super::members::{call, role_of, rules};
use crate::outcome::Outcome;
use crate::programs::{Programs, States};
use crate::record::Event;
use crate::setup::Setup;
use following::{Done, Following};

pub use inquiry::inquire;

/// A job for a cluster.
#[derive(Clone, Debug)]
pub struct Request {
    /// The release of whoever submits it; nodes have to be of the same.
    pub release: String,
    /// The nodes that take part, by host; those of a Set together, its Manager's first.
    pub members: Vec<Member>,
    /// The experiment, every value of it, for the nodes.
    pub experiment: String,
    /// What nodes make of it, all hosts being those of the cluster.
    pub setup: Setup,
}

/// Runs `programs` on the nodes of a cluster and passes every event of the record to `observer`. An error of
/// `observer` ends the job, and so does `interrupted`. The makespan is measured on the clock of the node that took
/// longest.
///
/// # Errors
///
/// If the cluster is not there or busy, or the job cannot go on. Nodes are free again then.
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
        let problem = format!("the platform of {hosts} hosts needs as many nodes, met {members}");
        return Err(JobError::input(problem));
    }
    let (states, decode_outputs) = programs.into_states();
    let runtime = runtime()?;
    let done = runtime.block_on(async {
        let endpoint = endpoint(identity)?;
        let result = submit(&endpoint, request, states, observer, interrupted).await;
        if let Some(endpoint) = Arc::into_inner(endpoint) {
            endpoint.close().await;
        }
        result
    })?;
    let end = done.end();
    observer(&Event::End(end))?;
    Ok(Outcome {
        end,
        calls: done.calls,
        outputs: decode_outputs(done.outputs.into_values().collect())?,
    })
}

fn runtime() -> Result<tokio::runtime::Runtime, JobError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.map_err(|error: io::Error| JobError::cluster(format!("no runtime: {error}")))
}

fn endpoint(identity: Identity) -> Result<Arc<Endpoint>, JobError> {
    let anywhere = SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0));
    // A machine without IPv6 has only the other.
    let has_ipv6 = UdpSocket::bind(anywhere).is_ok();
    let old = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let address = if has_ipv6 { anywhere } else { old };
    let bound = Endpoint::bind(identity, address, PeerPolicy::RefuseAll, Bounds::default());
    let bound = bound.map_err(|error| JobError::cluster(error.to_string()))?;
    Ok(Arc::new(bound))
}

async fn submit(
    endpoint: &Arc<Endpoint>,
    request: &Request,
    states: States,
    observer: &mut dyn FnMut(&Event) -> Result<(), JobError>,
    interrupted: impl Future<Output = ()>,
) -> Result<Done, JobError> {
    let mut interrupted = pin!(interrupted);
    let peers = tokio::select! {
        peers = connect(endpoint, request) => peers?,
        () = &mut interrupted => return Err(JobError::cluster(INTERRUPTED)),
    };
    let mut following = Following::new(request, peers, observer);
    let followed = tokio::select! {
        followed = following.follow(states) => Some(followed),
        () = interrupted => None,
    };
    let result = match followed {
        Some(Err(error)) => Err(following.reason(error).await),
        Some(Ok(())) => Ok(()),
        None => Err(JobError::cluster(INTERRUPTED)),
    };
    let words = result
        .as_ref()
        .err()
        .map_or("the job is over", |error| &error.message);
    let closing = following.senders().iter().cloned().map(|sender| {
        let words = words.to_owned();
        tokio::spawn(async move { sender.close(&words).await })
    });
    let closing: Vec<_> = closing.collect();
    let closed = async {
        for closed in closing {
            // Those that have gone know it already.
            drop(closed.await);
        }
    };
    // One that does not hear it finds out by itself.
    drop(tokio::time::timeout(PARTING, closed).await);
    result.map(|()| following.into_done())
}

async fn connect(endpoint: &Arc<Endpoint>, request: &Request) -> Result<Vec<Peer>, JobError> {
    let rules = rules(&request.setup);
    let members = request.members.iter().enumerate();
    let calling = members.map(|(index, member)| {
        let role = role_of(&rules, HostId::from_index(index));
        let (endpoint, member) = (Arc::clone(endpoint), member.clone());
        tokio::spawn(async move { call(&endpoint, &member, role).await })
    });
    let mut peers = Vec::new();
    for called in calling.collect::<Vec<_>>() {
        let peer = called
            .await
            .map_err(|error| JobError::cluster(error.to_string()))?;
        peers.push(peer?);
    }
    Ok(peers)
}

fn tell(sender: &Sender, message: JobMessage) -> Result<(), JobError> {
    let message = Message::Job(Box::new(message));
    let frame = encode(Address::Client, Address::Node(HostId(0)), &message);
    Ok(sender.push(frame)?)
}

/// What an interrupted run says.
const INTERRUPTED: &str = "interrupted";
/// How long nodes may take to hear that the job is over.
const PARTING: Duration = Duration::from_secs(2);
/// How long a node may take to answer.
const ANSWERING: Duration = Duration::from_secs(10);
