//! The status of nodes.

use std::sync::Arc;

use protocol::identity::{Identity, Role};
use protocol::transport::{Endpoint, Received};
use protocol::{JobMessage, Member, Message, Status};

use super::connections::{ANSWER_LIMIT, endpoint, runtime, send};
use crate::hosts::failure::JobError;
use crate::hosts::members::connect;

/// The status of each of `members`, in their order.
///
/// # Errors
///
/// If the client has no endpoint. The error of a node is in its place.
pub fn inquire(
    identity: Identity,
    members: Vec<(Member, Role)>,
) -> Result<Vec<Result<Status, JobError>>, JobError> {
    runtime()?.block_on(async {
        let endpoint = endpoint(identity)?;
        let asking = members.into_iter().map(|(member, role)| {
            let endpoint = Arc::clone(&endpoint);
            tokio::spawn(async move { ask(&endpoint, &member, role).await })
        });
        let mut answers = Vec::new();
        for answer in asking.collect::<Vec<_>>() {
            answers.push(
                answer
                    .await
                    .unwrap_or_else(|error| Err(JobError::cluster(error.to_string()))),
            );
        }
        Ok(answers)
    })
}

async fn ask(endpoint: &Endpoint, member: &Member, role: Role) -> Result<Status, JobError> {
    let mut peer = connect(endpoint, member, role).await?;
    send(&peer.sender, JobMessage::Inquire)?;
    let name = &member.name;
    let unexpected = |answer: &dyn std::fmt::Debug| {
        Err(JobError::cluster(format!("{name} answered {answer:?}")))
    };
    let answer = tokio::time::timeout(ANSWER_LIMIT, peer.messages.receive()).await;
    let status = match answer {
        Ok(Ok(Received::Message(_, _, Message::Job(message)))) => match *message {
            JobMessage::Status(status) => Ok(*status),
            other => unexpected(&other),
        },
        Ok(Ok(other)) => unexpected(&other),
        Ok(Err(error)) => Err(error.into()),
        Err(_) => Err(JobError::cluster(format!("{name} does not answer"))),
    };
    // The node has nothing more to send.
    drop(peer.sender.close("the inquiry is over").await);
    status
}
