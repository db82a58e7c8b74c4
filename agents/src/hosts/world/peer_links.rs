//! The connections to the other nodes of a job.

use std::collections::BTreeMap;

use bsp::HostId;
use bsp::units::Seconds;
use protocol::transport::Sender;
use protocol::{Address, Message, NodeMessage, encode};

use crate::error::RunError;
use crate::hosts::failure::JobError;
use crate::hosts::time::seconds;

/// The connections to the other nodes of a job.
pub(super) struct PeerLinks {
    own: HostId,
    senders: BTreeMap<HostId, Sender>,
}

impl PeerLinks {
    /// The connections of `own`, by host.
    pub(super) const fn new(own: HostId, senders: BTreeMap<HostId, Sender>) -> Self {
        Self { own, senders }
    }

    /// The hosts of the other nodes.
    pub(super) fn hosts(&self) -> impl Iterator<Item = HostId> {
        self.senders.keys().copied()
    }

    /// The connection to the node of `host`.
    pub(super) fn sender(&self, host: HostId) -> Option<&Sender> {
        self.senders.get(&host)
    }

    /// The estimated round-trip time to `host`.
    pub(super) fn round_trip(&self, host: HostId) -> Seconds {
        let sender = self.senders.get(&host);
        sender.map_or(Seconds::ZERO, |sender| seconds(sender.round_trip()))
    }

    /// The shortest round-trip time to `host` so far.
    pub(super) fn round_trip_least(&self, host: HostId) -> Seconds {
        let sender = self.senders.get(&host);
        sender.map_or(Seconds::ZERO, |sender| seconds(sender.round_trip_least()))
    }

    /// The estimated round-trip time to `host`, and the bandwidth that follows from what may be under way during it, in
    /// bytes per second.
    pub(super) fn transport(&self, host: HostId) -> (Seconds, f64) {
        let bandwidth = self.senders.get(&host).map(Sender::bandwidth);
        (self.round_trip(host), bandwidth.unwrap_or_default())
    }

    /// Sends `message` to an agent on `host`.
    pub(super) fn send(
        &self,
        host: HostId,
        from: Address,
        to: Address,
        message: &Message,
    ) -> Result<(), JobError> {
        let Some(sender) = self.senders.get(&host) else {
            let problem = format!("{from:?} has a message for {to:?} on {host}");
            return Err(RunError::Peer(problem).into());
        };
        Ok(sender.push(encode(from, to, message))?)
    }

    /// Sends `message` to the node of `host`.
    pub(super) fn send_to_node(&self, host: HostId, message: NodeMessage) -> Result<(), JobError> {
        let (from, to) = (Address::Node(self.own), Address::Node(host));
        self.send(host, from, to, &Message::Node(message))
    }
}
