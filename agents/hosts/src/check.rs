//! Whether the nodes of a cluster reach each other: each of them is asked by a client to connect to all others.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bsp::units::Seconds;
use machines::JobError;
use protocol::identity::{Identity, Role};
use protocol::transport::{Endpoint, Peer, Received};
use protocol::{Build, JobMessage, Member, Message, Reached, Status, Way, variant};
use tokio::task::JoinSet;

use crate::client::{ask, connect, endpoint, runtime, send};

/// What is known of a node of a cluster.
#[derive(Debug)]
pub struct NodeCheck {
    /// The build that it runs, its status, and the way from this client to it.
    pub node: Result<(Build, Box<Status>, Way), JobError>,
    /// By how much its clock is ahead of that of this client, in seconds, and the ways to the other nodes, in the order of the members
    /// without this one. An error if it has not answered.
    pub others: Result<(f64, Vec<Result<Way, String>>), JobError>,
}

/// Has each of `members` connect to all others, and says what is known of each then, in their order. Calls `done` with the number of nodes
/// that have answered, each time one has.
///
/// # Errors
///
/// If this client has no endpoint. The error of a node is in its part.
pub fn check(
    identity: Identity,
    build: &Build,
    members: &[(Member, Role)],
    done: &mut dyn FnMut(usize),
) -> Result<Vec<NodeCheck>, JobError> {
    runtime()?.block_on(async {
        let endpoint = endpoint(identity, build)?;
        let mut checking = JoinSet::new();
        for index in 0..members.len() {
            let endpoint = Arc::clone(&endpoint);
            let (member, role) = members[index].clone();
            let others = members.iter().enumerate();
            let others = others.filter(|(other, _)| *other != index);
            let others = others.map(|(_, (member, _))| member.clone()).collect();
            checking
                .spawn(async move { (index, check_node(&endpoint, (member, role), others).await) });
        }
        let mut checks: Vec<Option<NodeCheck>> = members.iter().map(|_| None).collect();
        let mut count = 0;
        while let Some(checked) = checking.join_next().await {
            if let Ok((index, check)) = checked {
                checks[index] = Some(check);
            }
            count += 1;
            done(count);
        }
        endpoint.close().await;
        let missing = || NodeCheck {
            node: Err(JobError::cluster("its check has failed")),
            others: Err(JobError::cluster("its check has failed")),
        };
        let checks = checks.into_iter();
        Ok(checks.map(|check| check.unwrap_or_else(missing)).collect())
    })
}

async fn check_node(
    endpoint: &Endpoint,
    (member, role): (Member, Role),
    others: Vec<Member>,
) -> NodeCheck {
    let mut peer = match connect(endpoint, &member, role).await {
        Ok(peer) => peer,
        Err(error) => {
            return NodeCheck {
                node: Err(error.clone()),
                others: Err(error),
            };
        }
    };
    let status = ask(&mut peer, &member.name).await;
    let others = reached(&mut peer, &member.name, others).await;
    let node = status.map(|status| (peer.build.clone(), Box::new(status), way(&peer)));
    // The node has nothing more to send.
    drop(peer.sender.close("the check is over").await);
    NodeCheck { node, others }
}

/// What the node `name` says of the ways to `others`.
async fn reached(
    peer: &mut Peer,
    name: &str,
    others: Vec<Member>,
) -> Result<(f64, Vec<Result<Way, String>>), JobError> {
    let count = others.len();
    send(&peer.sender, JobMessage::Reach(others))?;
    let groups = u32::try_from(count.div_ceil(AT_ONCE)).unwrap_or(u32::MAX);
    let answer = tokio::time::timeout(ONE_LIMIT * (groups + 1), peer.messages.receive()).await;
    let now = since_epoch();
    let reached = match answer {
        Ok(Ok(Received::Message(_, _, Message::Job(message)))) => match *message {
            JobMessage::Reached(reached) => reached.displayed(count),
            other => Err(variant(&other)),
        },
        Ok(Ok(Received::Message(..))) => Err("a message of another kind".to_owned()),
        Ok(Ok(Received::Closed { reason })) => Err(format!("its end: {reason}")),
        Ok(Err(error)) => return Err(error.into()),
        Err(_) => return Err(JobError::cluster(format!("{name} does not answer"))),
    };
    let reached =
        reached.map_err(|answer| JobError::cluster(format!("{name} answered with {answer}")))?;
    let on_the_way = way(peer).round_trip.get() / 2.0;
    Ok((reached.clock.get() + on_the_way - now, reached.ways))
}

/// Connects to `others`, some of them at a time, and says how that went.
pub(crate) async fn reach(identity: Identity, build: &Build, others: Vec<Member>) -> Reached {
    let mut ways = Vec::new();
    match endpoint(identity, build) {
        Ok(endpoint) => {
            for group in others.chunks(AT_ONCE) {
                let mut trying = JoinSet::new();
                for (place, member) in group.iter().cloned().enumerate() {
                    let endpoint = Arc::clone(&endpoint);
                    trying.spawn(async move { (place, try_way(&endpoint, &member).await) });
                }
                let none = || Err("the attempt has failed".to_owned());
                let mut found: Vec<Result<Way, String>> = group.iter().map(|_| none()).collect();
                while let Some(tried) = trying.join_next().await {
                    if let Ok((place, way)) = tried {
                        found[place] = way;
                    }
                }
                ways.extend(found);
            }
            endpoint.close().await;
        }
        Err(error) => ways = others.iter().map(|_| Err(error.message.clone())).collect(),
    }
    let clock = Seconds::new(since_epoch()).unwrap_or(Seconds::ZERO);
    Reached { clock, ways }
}

/// The way to a node that answers.
async fn try_way(endpoint: &Endpoint, member: &Member) -> Result<Way, String> {
    // One with more rights serves as one.
    let peer = connect(endpoint, member, Role::Node)
        .await
        .map_err(|error| error.message)?;
    // Greater datagrams are tried after the handshake.
    tokio::time::sleep(TRYING).await;
    let way = way(&peer);
    drop(peer.sender.close("the check is over").await);
    Ok(way)
}

fn way(peer: &Peer) -> Way {
    let (round_trip, datagram) = peer.sender.path();
    let round_trip = Seconds::new(round_trip.as_secs_f64()).unwrap_or(Seconds::ZERO);
    Way {
        round_trip,
        datagram,
    }
}

/// The clock of this machine, in seconds since 1970.
fn since_epoch() -> f64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(0.0, |now| now.as_secs_f64())
}

/// Nodes to which a node connects at a time.
const AT_ONCE: usize = 16;
/// The time for the connections to them.
const ONE_LIMIT: Duration = Duration::from_secs(8);
/// For how long greater datagrams are tried.
const TRYING: Duration = Duration::from_millis(250);
