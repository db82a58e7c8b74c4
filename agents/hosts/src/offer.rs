//! A node that would take part in the job of others: it offers itself to one of them, whose leader decides.

use std::time::Duration;

use machines::JobError;
use protocol::identity::{Identity, Role};
use protocol::transport::Peer;
use protocol::{Build, JobMessage, Member};

use crate::client::{connect, endpoint_beside, send};

/// What a node offers to others.
#[derive(Clone, Debug)]
pub struct Offer {
    /// The nodes to which it offers itself, one after the other, until one is in a job.
    pub to: Vec<Member>,
    /// The node itself, as a list of hosts would have it. Without an address, it is where it listens; without a Set, that of the node to
    /// which it offers itself.
    pub own: Member,
}

/// Offers the node again and again while it is free, as `is_free` says, to one of the others after the other, and stays with one that is
/// in a job.
///
/// # Errors
///
/// If it has no endpoint of its own for that.
pub(crate) async fn offer(
    identity: Identity,
    build: Build,
    offer: Offer,
    is_free: impl Fn() -> bool,
) -> Result<(), JobError> {
    let endpoint = endpoint_beside(identity, &build)?;
    let mut reached: Option<Peer> = None;
    let mut others = offer.to.iter().cycle();
    loop {
        if !is_free() {
            tokio::time::sleep(PAUSE).await;
            continue;
        }
        let peer = match (reached.take(), others.next()) {
            (Some(peer), _) => Ok(peer),
            // One with more rights serves as one.
            (None, Some(member)) => connect(&endpoint, member, Role::Node).await,
            (None, None) => return Ok(()),
        };
        match peer {
            Ok(mut peer) => {
                let said = send(&peer.sender, JobMessage::Offer(Box::new(offer.own.clone())));
                // One that passes the offer on says nothing; one that has no job does.
                let answer = tokio::time::timeout(PAUSE, peer.messages.receive()).await;
                reached = (said.is_ok() && answer.is_err()).then_some(peer);
            }
            Err(error) => tracing::debug!("a node does not receive the offer: {error}"),
        }
        if reached.is_none() {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// The time between two offers.
const PAUSE: Duration = Duration::from_millis(500);
