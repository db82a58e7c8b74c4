//! The status of nodes.

use std::sync::Arc;

use protocol::identity::{Identity, Role};
use protocol::transport::{Endpoint, Peer, Received};
use protocol::{Build, JobMessage, Member, Message, Status};

use super::connections::{endpoint, runtime, send};
use crate::hosts::members::connect;
use crate::machines::client::ANSWER_LIMIT;
use crate::machines::failure::JobError;

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
    let unexpected = |answer: &dyn std::fmt::Debug| {
        Err(JobError::cluster(format!("{name} answered {answer:?}")))
    };
    let answer = tokio::time::timeout(ANSWER_LIMIT, peer.messages.receive()).await;
    match answer {
        Ok(Ok(Received::Message(_, _, Message::Job(message)))) => match *message {
            JobMessage::Status(status) => Ok(*status),
            other => unexpected(&other),
        },
        Ok(Ok(other)) => unexpected(&other),
        Ok(Err(error)) => Err(error.into()),
        Err(_) => Err(JobError::cluster(format!("{name} does not answer"))),
    }
}
