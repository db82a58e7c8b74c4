//! How nodes are.

use std::sync::Arc;

use protocol::identity::{Identity, Role};
use protocol::transport::{Endpoint, Received};
use protocol::{JobMessage, Member, Message, Status};

use super::super::failure::JobError;
use super::super::members::call;
use super::{ANSWERING, endpoint, runtime, tell};

/// How each of `members` is, in their order.
///
/// # Errors
///
/// If there is no endpoint; what is wrong with a node is told in its place.
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
        let mut told = Vec::new();
        for asked in asking.collect::<Vec<_>>() {
            told.push(
                asked
                    .await
                    .unwrap_or_else(|error| Err(JobError::cluster(error.to_string()))),
            );
        }
        Ok(told)
    })
}

async fn ask(endpoint: &Endpoint, member: &Member, role: Role) -> Result<Status, JobError> {
    let mut peer = call(endpoint, member, role).await?;
    tell(&peer.sender, JobMessage::Inquire)?;
    let answer = tokio::time::timeout(ANSWERING, peer.messages.receive()).await;
    let status = match answer {
        Ok(Ok(Received::Message(_, _, Message::Job(message)))) => match *message {
            JobMessage::Status(status) => Ok(*status),
            other => Err(JobError::cluster(format!(
                "{} answered {other:?}",
                member.name
            ))),
        },
        Ok(Ok(other)) => Err(JobError::cluster(format!(
            "{} answered {other:?}",
            member.name
        ))),
        Ok(Err(error)) => Err(error.into()),
        Err(_) => Err(JobError::cluster(format!(
            "{} does not answer",
            member.name
        ))),
    };
    // What it has to say has been said.
    drop(peer.sender.close("thank you").await);
    status
}
