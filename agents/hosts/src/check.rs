//! Whether the nodes of a cluster reach each other: each of them is asked by a client to connect to all others.

use std::sync::Arc;
use std::time::{Duration, Instant as Clock, SystemTime};

use bsp::units::{BytesPerSecond, Seconds};
use machines::JobError;
use protocol::identity::{Identity, Role, Validity};
use protocol::transport::{Endpoint, Peer, Received};
use protocol::{
    Build, JobMessage, Member, Message, Reached, Status, Way, displayed_message, variant,
};
use tokio::task::JoinSet;

use crate::client::{ask, connect, endpoint, endpoint_beside, runtime, send};

/// What is known of a node of a cluster.
#[derive(Debug)]
pub struct NodeCheck {
    /// What the node itself says.
    pub node: Result<CheckedNode, JobError>,
    /// By how much its clock is ahead of that of this client, in seconds, and the ways to the other nodes, in the order of the members
    /// without this one. An error if it has not answered.
    pub others: Result<(f64, Vec<Result<Way, String>>), JobError>,
}

/// What a node that answers says of itself.
#[derive(Debug)]
pub struct CheckedNode {
    /// The build that it runs.
    pub build: Build,
    /// How long its certificate is valid.
    pub validity: Validity,
    /// Its status.
    pub status: Box<Status>,
    /// The way from this client to it.
    pub way: Way,
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
    let node = status.map(|status| CheckedNode {
        build: peer.build.clone(),
        validity: peer.validity,
        status: Box::new(status),
        way: way(&peer),
    });
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
    let groups = u32::try_from(count.div_ceil(AT_ONCE)).unwrap_or(u32::MAX);
    let question = JobMessage::Reach(others);
    let answer = answer(peer, name, question, ONE_LIMIT * (groups + 1)).await?;
    let now = since_epoch();
    let reached = match answer {
        JobMessage::Reached(reached) => reached.displayed(count),
        other => Err(variant(&other)),
    };
    let reached = reached.map_err(|answer| unexpected(name, &answer))?;
    let on_the_way = way(peer).round_trip.get() / 2.0;
    Ok((reached.clock.get() + on_the_way - now, reached.ways))
}

/// What the node `name` answers to `question` within `limit`.
async fn answer(
    peer: &mut Peer,
    name: &str,
    question: JobMessage,
    limit: Duration,
) -> Result<JobMessage, JobError> {
    send(&peer.sender, question)?;
    match tokio::time::timeout(limit, peer.messages.receive()).await {
        Ok(Ok(Received::Message(_, _, Message::Job(message)))) => Ok(*message),
        Ok(Ok(Received::Message(..))) => Err(unexpected(name, "a message of another kind")),
        Ok(Ok(Received::Closed { reason })) => Err(unexpected(name, &format!("its end: {reason}"))),
        Ok(Err(error)) => Err(error.into()),
        Err(_) => Err(JobError::cluster(format!("{name} does not answer"))),
    }
}

fn unexpected(name: &str, answer: &str) -> JobError {
    JobError::cluster(format!("{name} answered with {answer}"))
}

/// The bandwidth from one of some members to another one, both by their positions, or why it is not known.
pub type Bandwidth = ((usize, usize), Result<BytesPerSecond, String>);

/// Has each of `members` send some MiB to each other one to which there is a way, and says how fast they arrived. No node has a part in two
/// transfers at a time. Calls `done` after each.
///
/// # Errors
///
/// If this client has no endpoint.
pub fn bandwidths(
    identity: Identity,
    build: &Build,
    (members, is_way): (&[(Member, Role)], impl Fn(usize, usize) -> bool),
    done: &mut dyn FnMut(),
) -> Result<Vec<Bandwidth>, JobError> {
    runtime()?.block_on(async {
        let endpoint = endpoint(identity, build)?;
        let mut found = Vec::new();
        for round in rounds(members.len()) {
            let mut measuring = JoinSet::new();
            for (from, to) in round.into_iter().filter(|(from, to)| is_way(*from, *to)) {
                let endpoint = Arc::clone(&endpoint);
                let (node, other) = (members[from].clone(), members[to].0.clone());
                measuring.spawn(async move {
                    let rate = bandwidth(&endpoint, node, other).await;
                    ((from, to), rate.map_err(|error| error.message))
                });
            }
            while let Some(measured) = measuring.join_next().await {
                found.extend(measured.ok());
                done();
            }
        }
        endpoint.close().await;
        Ok(found)
    })
}

/// All ordered pairs of `nodes` nodes, in rounds in which each has one part at most: the circle method for tournaments.
fn rounds(nodes: usize) -> Vec<Vec<(usize, usize)>> {
    let last = (nodes + nodes % 2).saturating_sub(1);
    let mut rounds = Vec::new();
    for round in 0..last {
        let pairs = (1..last.div_ceil(2)).map(|k| ((round + k) % last, (round + last - k) % last));
        let pairs = pairs.chain([(round, last)]);
        let pairs: Vec<_> = pairs.filter(|(one, two)| *one.max(two) < nodes).collect();
        let back = pairs.iter().map(|(one, two)| (*two, *one)).collect();
        rounds.extend([pairs, back]);
    }
    rounds
}

/// How fast bytes from the node `member` arrive at `other`, as the former says.
async fn bandwidth(
    endpoint: &Endpoint,
    (member, role): (Member, Role),
    other: Member,
) -> Result<BytesPerSecond, JobError> {
    let mut peer = connect(endpoint, &member, role).await?;
    let question = JobMessage::Transfer(Box::new(other));
    let answer = answer(
        &mut peer,
        &member.name,
        question,
        ONE_LIMIT + 2 * FILLING_LIMIT,
    )
    .await;
    // The node has nothing more to send.
    drop(peer.sender.close("the check is over").await);
    match answer? {
        JobMessage::Transferred(rate) => {
            rate.map_err(|problem| JobError::cluster(displayed_message(&problem)))
        }
        other => Err(unexpected(&member.name, &variant(&other))),
    }
}

/// Has `other` take bytes for a moment, and says how fast it did.
pub(crate) async fn transfer(
    identity: Identity,
    build: &Build,
    other: &Member,
) -> Result<BytesPerSecond, String> {
    let endpoint = endpoint_beside(identity, build).map_err(|error| error.message)?;
    let rate = async {
        // One with more rights serves as one.
        let mut peer = connect(&endpoint, other, Role::Node).await?;
        // The datagrams of the transfer are the greatest on the way.
        tokio::time::sleep(TRYING).await;
        let rate = fill(&mut peer, &other.name).await;
        drop(peer.sender.close("the check is over").await);
        rate
    };
    let rate = rate.await.map_err(|error| error.message);
    endpoint.close().await;
    rate
}

/// Sends parts to the node `name`, some of which are on their way at a time, until there are enough or time is over.
///
/// The rate is that between the answers to the first part and to the last one, so neither the round trip nor the beginning counts.
async fn fill(peer: &mut Peer, name: &str) -> Result<BytesPerSecond, JobError> {
    let part = " ".repeat(JobMessage::FILL_LEN);
    let began = Clock::now();
    let (mut sent, mut answers) = (0, Vec::new());
    loop {
        while sent < JobMessage::FILLS_MAX
            && sent - answers.len() < FILLS_AT_ONCE
            && began.elapsed() < FILLING
        {
            send(&peer.sender, JobMessage::Fill(part.clone()))?;
            sent += 1;
        }
        if answers.len() == sent {
            break;
        }
        let limit = tokio::time::Instant::from(began + FILLING_LIMIT);
        match tokio::time::timeout_at(limit, peer.messages.receive()).await {
            Ok(Ok(Received::Message(_, _, Message::Job(message))))
                if *message == JobMessage::Filled =>
            {
                answers.push(Clock::now());
            }
            Ok(Ok(_)) => return Err(unexpected(name, "something else than that bytes are there")),
            Ok(Err(error)) => return Err(error.into()),
            Err(_) => break,
        }
    }
    let rate = if let [first, .., last] = answers[..] {
        let bytes = u32::try_from((answers.len() - 1) * JobMessage::FILL_LEN);
        let bytes = f64::from(bytes.unwrap_or(u32::MAX));
        BytesPerSecond::new(bytes / (last - first).as_secs_f64()).ok()
    } else {
        None
    };
    rate.ok_or_else(|| {
        JobError::cluster(format!(
            "{} bytes to {name} take longer than {} s",
            2 * JobMessage::FILL_LEN,
            FILLING_LIMIT.as_secs()
        ))
    })
}

/// Connects to `others`, some of them at a time, and says how that went.
pub(crate) async fn reach(identity: Identity, build: &Build, others: Vec<Member>) -> Reached {
    let mut ways = Vec::new();
    match endpoint_beside(identity, build) {
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
/// Parts of a transfer on their way at a time: as many bytes as a connection without a job may have on its way.
const FILLS_AT_ONCE: usize = 4;
/// For how long parts are sent.
const FILLING: Duration = Duration::from_secs(1);
/// The time in which all of them have to arrive.
const FILLING_LIMIT: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_pair_has_its_round_and_no_node_has_two_parts_in_one() {
        for nodes in 0..12 {
            let mut seen = BTreeSet::new();
            for round in rounds(nodes) {
                let parts: Vec<usize> = round.iter().flat_map(|(one, two)| [*one, *two]).collect();
                let distinct: BTreeSet<&usize> = parts.iter().collect();
                assert_eq!(distinct.len(), parts.len(), "{nodes}: {round:?}");
                assert!(
                    round.iter().all(|pair| seen.insert(*pair)),
                    "{nodes}: {round:?}"
                );
            }
            assert_eq!(
                seen.len(),
                nodes * nodes.saturating_sub(1),
                "{nodes}: {seen:?}"
            );
        }
    }
}
