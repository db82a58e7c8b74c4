//! The connections of a client to the nodes of a cluster.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;

use bsp::HostId;
use machines::JobError;
use protocol::identity::Identity;
use protocol::transport::{Bounds, Endpoint, PeerPolicy, Sender};
use protocol::{Address, Build, JobMessage, Message, encode};

/// A runtime on the calling thread.
pub(super) fn runtime() -> Result<tokio::runtime::Runtime, JobError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.map_err(|error: io::Error| JobError::cluster(format!("no runtime: {error}")))
}

/// An endpoint that only connects.
pub(super) fn endpoint(identity: Identity, build: &Build) -> Result<Arc<Endpoint>, JobError> {
    let any_ipv6 = SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0));
    let any_ipv4 = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let has_ipv6 = UdpSocket::bind(any_ipv6).is_ok();
    let address = if has_ipv6 { any_ipv6 } else { any_ipv4 };
    let (policy, bounds) = (PeerPolicy::RefuseAll, Bounds::default());
    let bound = Endpoint::bind(identity, address, policy, bounds, build.clone());
    let bound = bound.map_err(|error| JobError::cluster(error.to_string()))?;
    Ok(Arc::new(bound))
}

/// Sends `message` to a node.
pub(super) fn send(node: &Sender, message: JobMessage) -> Result<(), JobError> {
    let message = Message::Job(Box::new(message));
    let frame = encode(Address::Client, Address::Node(HostId(0)), &message);
    Ok(node.push(frame)?)
}
