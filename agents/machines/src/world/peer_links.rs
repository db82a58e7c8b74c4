//! The other nodes of a job.

use std::collections::BTreeMap;
use std::sync::Arc;

use agents::RunError;
use bsp::HostId;
use protocol::transport::PeerInfo;
use protocol::{Address, Frame, Message, NodeMessage, encode};

use crate::failure::JobError;

/// The other nodes of a job.
pub(super) struct PeerLinks {
    own: HostId,
    peers: BTreeMap<HostId, Arc<PeerInfo>>,
}

impl PeerLinks {
    /// The nodes that `own` is connected to, by host.
    pub(super) const fn new(own: HostId, peers: BTreeMap<HostId, Arc<PeerInfo>>) -> Self {
        Self { own, peers }
    }

    /// The hosts of the other nodes.
    pub(super) fn hosts(&self) -> impl Iterator<Item = HostId> {
        self.peers.keys().copied()
    }

    /// The node of `host`.
    pub(super) fn info(&self, host: HostId) -> Option<&Arc<PeerInfo>> {
        self.peers.get(&host)
    }

    /// The frame of `message` to an agent on `host`.
    ///
    /// # Errors
    ///
    /// If there is no such node.
    pub(super) fn frame(
        &self,
        host: HostId,
        from: Address,
        to: Address,
        message: &Message,
    ) -> Result<Frame, JobError> {
        if !self.peers.contains_key(&host) {
            let problem = format!("{from:?} has a message for {to:?} on {host}");
            return Err(RunError::Peer(problem).into());
        }
        Ok(encode(from, to, message))
    }

    /// The frame of `message` to the node of `host`.
    ///
    /// # Errors
    ///
    /// If there is no such node.
    pub(super) fn frame_to_node(
        &self,
        host: HostId,
        message: NodeMessage,
    ) -> Result<Frame, JobError> {
        let (from, to) = (Address::Node(self.own), Address::Node(host));
        self.frame(host, from, to, &Message::Node(message))
    }
}
