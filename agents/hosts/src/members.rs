//! Connections to the members of a cluster.

use std::net::{SocketAddr, ToSocketAddrs};

use machines::JobError;
use protocol::Member;
use protocol::identity::{Name, Role};
use protocol::transport::{Endpoint, Peer};

/// Connects to a member of a cluster.
pub(super) async fn connect(
    endpoint: &Endpoint,
    member: &Member,
    role: Role,
) -> Result<Peer, JobError> {
    let name: Name = member
        .name
        .parse()
        .map_err(|error| JobError::input(format!("the name of {}: {error}", member.name)))?;
    let address = resolve(&member.address).await?;
    Ok(endpoint.connect(address, role, &name).await?)
}

async fn resolve(address: &str) -> Result<SocketAddr, JobError> {
    let owned = address.to_owned();
    // The system's resolver blocks.
    let resolving =
        tokio::task::spawn_blocking(move || owned.to_socket_addrs().map(|mut all| all.next()));
    match resolving.await {
        Ok(Ok(Some(resolved))) => Ok(resolved),
        Ok(Ok(None)) => Err(JobError::cluster(format!("{address} has no address"))),
        Ok(Err(error)) => Err(JobError::cluster(format!("{address}: {error}"))),
        Err(error) => Err(JobError::cluster(format!("{address}: {error}"))),
    }
}
