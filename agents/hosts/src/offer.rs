//! A node that would take part in the job of others: it offers itself to one of them, whose leader decides.

use std::sync::Arc;
use std::time::Duration;

use machines::JobError;
use protocol::identity::{Identity, Role};
use protocol::transport::{Endpoint, Peer};
use protocol::{Build, JobMessage, Member};

use crate::client::{connect, endpoint, send};

/// What a node offers to others.
#[derive(Clone, Debug)]
pub struct Offer {
    /// The nodes to which it offers itself, one after the other, until one is in a job.
    pub to: Vec<Member>,
    /// The node itself, as a list of hosts would have it. Without an address, it is where it listens; without a Set, that of the node to
    /// which it offers itself.
    pub own: Member,
}

/// Offers the node again and again while it is free, as `is_free` says, to the first of the others that can be reached.
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
    let endpoint = endpoint(identity, &build)?;
    let mut reached: Option<Peer> = None;
    loop {
        if is_free() {
            let said = reached.as_ref().map(|peer| say(peer, &offer.own));
            if said.is_none_or(|said| said.is_err()) {
                reached = reach(&endpoint, &offer).await;
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Connects to the first of the others that can be reached, and offers the node to it.
async fn reach(endpoint: &Arc<Endpoint>, offer: &Offer) -> Option<Peer> {
    for member in &offer.to {
        // One with more rights serves as one.
        match connect(endpoint, member, Role::Node).await {
            Ok(peer) if say(&peer, &offer.own).is_ok() => return Some(peer),
            Ok(_) => {}
            Err(error) => tracing::debug!("{} is not reached: {error}", member.name),
        }
    }
    None
}

fn say(peer: &Peer, own: &Member) -> Result<(), JobError> {
    send(&peer.sender, JobMessage::Offer(Box::new(own.clone())))
}

/// The time between two offers.
const PAUSE: Duration = Duration::from_millis(500);
