//! The status of nodes.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use machines::JobError;
use machines::client::ANSWER_LIMIT;
use protocol::identity::{Identity, Role};
use protocol::transport::{Endpoint, Peer, Received};
use protocol::{Build, JobMessage, Member, Message, Status, variant};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::connections::{endpoint, runtime, send};
use crate::members::connect;

/// The answer of a node to an inquiry.
#[derive(Debug)]
pub struct NodeAnswer {
    /// The build that it runs, if it could be connected to.
    pub build: Option<Build>,
    /// Its status.
    pub status: Result<Status, JobError>,
}

/// The answer of each of `members`, in their order, to a client that runs `build`. Nodes of other builds answer, too.
///
/// # Errors
///
/// If the client has no endpoint. The error of a node is in its answer.
pub fn inquire(
    identity: Identity,
    build: &Build,
    members: Vec<(Member, Role)>,
) -> Result<Vec<NodeAnswer>, JobError> {
    runtime()?.block_on(async {
        let endpoint = endpoint(identity, build)?;
        let asking = members.into_iter().map(|(member, role)| {
            let endpoint = Arc::clone(&endpoint);
            tokio::spawn(async move { answer_of(&endpoint, &member, role).await })
        });
        let mut answers = Vec::new();
        for answer in asking.collect::<Vec<_>>() {
            answers.push(answer.await.unwrap_or_else(|error| NodeAnswer {
                build: None,
                status: Err(JobError::cluster(error.to_string())),
            }));
        }
        Ok(answers)
    })
}

/// Asks each of `members` for its status, again and again, and passes the answers on to `answered`, each with the position
/// of its node, until `stopped`. The next question follows `pause` after an answer; a node that is slow delays no other.
///
/// # Errors
///
/// If the client has no endpoint. The error of a node is in its answer.
pub fn watch(
    identity: Identity,
    build: &Build,
    (members, pause): (Vec<(Member, Role)>, Duration),
    answered: &mut dyn FnMut(usize, NodeAnswer),
    stopped: impl Future<Output = ()>,
) -> Result<(), JobError> {
    runtime()?.block_on(async {
        let endpoint = endpoint(identity, build)?;
        let (sender, mut answers) = mpsc::channel(members.len().max(1));
        let mut asking = JoinSet::new();
        for (index, (member, role)) in members.into_iter().enumerate() {
            let (endpoint, sender) = (Arc::clone(&endpoint), sender.clone());
            asking.spawn(async move {
                let mut peer = None;
                loop {
                    let answer = next_answer(&endpoint, (&member, role), &mut peer).await;
                    if sender.send((index, answer)).await.is_err() {
                        return;
                    }
                    tokio::time::sleep(pause).await;
                }
            });
        }
        let mut stopped = pin!(stopped);
        loop {
            tokio::select! {
                biased;
                () = &mut stopped => break,
                Some((index, answer)) = answers.recv() => answered(index, answer),
            }
        }
        asking.shutdown().await;
        if let Some(endpoint) = Arc::into_inner(endpoint) {
            // A node that is silent does not learn of the end.
            drop(tokio::time::timeout(CLOSE_LIMIT, endpoint.close()).await);
        }
        Ok(())
    })
}

/// The next answer of a member, on the connection to it, if there is one.
async fn next_answer(
    endpoint: &Endpoint,
    (member, role): (&Member, Role),
    connection: &mut Option<Peer>,
) -> NodeAnswer {
    let mut peer = match connection.take() {
        Some(peer) => peer,
        None => match connect(endpoint, member, role).await {
            Ok(peer) => peer,
            Err(error) => {
                return NodeAnswer {
                    build: None,
                    status: Err(error),
                };
            }
        },
    };
    let status = ask(&mut peer, &member.name).await;
    let build = Some(peer.build.clone());
    // An answer that comes too late would be taken for the next one.
    *connection = status.is_ok().then_some(peer);
    NodeAnswer { build, status }
}

async fn answer_of(endpoint: &Endpoint, member: &Member, role: Role) -> NodeAnswer {
    let mut peer = match connect(endpoint, member, role).await {
        Ok(peer) => peer,
        Err(error) => {
            return NodeAnswer {
                build: None,
                status: Err(error),
            };
        }
    };
    let status = ask(&mut peer, &member.name).await;
    // The node has nothing more to send.
    drop(peer.sender.close("the inquiry is over").await);
    NodeAnswer {
        build: Some(peer.build),
        status,
    }
}

/// The status of the node `name`, which is `peer`.
async fn ask(peer: &mut Peer, name: &str) -> Result<Status, JobError> {
    send(&peer.sender, JobMessage::Inquire)?;
    let unexpected =
        |answer: &str| Err(JobError::cluster(format!("{name} answered with {answer}")));
    let answer = tokio::time::timeout(ANSWER_LIMIT, peer.messages.receive()).await;
    match answer {
        Ok(Ok(Received::Message(_, _, Message::Job(message)))) => match *message {
            JobMessage::Status(status) => {
                let status = status.displayed();
                status.map_err(|problem| JobError::cluster(format!("{name} sent {problem}")))
            }
            other => unexpected(&variant(&other)),
        },
        Ok(Ok(Received::Message(..))) => unexpected("a message of another kind"),
        Ok(Ok(Received::Closed { reason })) => unexpected(&format!("its end: {reason}")),
        Ok(Err(error)) => Err(error.into()),
        Err(_) => Err(JobError::cluster(format!("{name} does not answer"))),
    }
}

/// How long the end of a watch may take.
const CLOSE_LIMIT: Duration = Duration::from_millis(500);
