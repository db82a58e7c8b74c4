//! The nodes of a job: their roles and their addresses.

use std::net::{SocketAddr, ToSocketAddrs};

use bsp::HostId;
use protocol::identity::{Name, Role};
use protocol::transport::{Endpoint, Peer};
use protocol::{Member, Submit};

use super::failure::JobError;
use crate::setup::{Rules, Setup};

/// The rules of a job: the first host of each Set is its Manager's.
pub(super) fn rules(setup: &Setup) -> Rules {
    let rules = Rules::new(setup);
    let sets = setup.platform.sets();
    let managers = sets.iter().map(|set| set.hosts[0]).collect();
    Rules { managers, ..rules }
}

/// The role that the certificate of a host has to have.
pub(super) fn role_of(rules: &Rules, host: HostId) -> Role {
    if rules.managers.contains(&host) {
        Role::SetManager
    } else {
        Role::Node
    }
}

/// Checks that a job means the node `own`, with as many threads as a node starts.
pub(super) fn check_own(own: &str, submit: &Submit) -> Result<(), JobError> {
    let member = submit.members.get(submit.host.index());
    let Some(member) = member.filter(|member| member.name == own) else {
        return Err(JobError::cluster(format!(
            "{own} is not the node that is meant: see the list of hosts"
        )));
    };
    let slots = member.slots;
    if SLOTS_MAX < slots {
        let problem =
            format!("{own} has slots={slots}, expected at most {SLOTS_MAX}: a thread each");
        return Err(JobError::input(problem));
    }
    Ok(())
}

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

/// Closes the connection of a peer that has no part in a job here. The refusal is counted.
pub(super) fn refuse_peer(peer: &Peer) {
    let problem = format!("{} has no part in a job here", peer.info.subject);
    // The node and its job go on.
    drop(peer.sender.refuse(problem));
}

/// Threads that a node starts.
const SLOTS_MAX: u32 = 1024;
