//! What a client receives from the nodes of its job.

use bsp::{HostId, Rank};
use protocol::transport::{Peer, PeerError, Received, StateReceiver};
use protocol::{JobMessage, Message};
use tokio::sync::mpsc;

/// Something that a client receives from a node.
pub(super) enum NodeEvent {
    /// A message.
    Message(JobMessage),
    /// The output of a process.
    Output(Rank, bytes::Bytes),
    /// The connection has ended: in order, with the reason that the node gave, or not.
    Closed(Result<String, PeerError>),
}

/// Passes what `peer`, the node of `host`, sends to `events`, until its connection ends.
pub(super) fn listen(host: HostId, peer: Peer, events: &mpsc::Sender<(HostId, NodeEvent)>) {
    let Peer {
        mut messages,
        states,
        ..
    } = peer;
    drop(tokio::spawn(receive_outputs(host, states, events.clone())));
    let events = events.clone();
    drop(tokio::spawn(async move {
        loop {
            let event = match messages.receive().await {
                Ok(Received::Message(_, _, Message::Job(message))) => NodeEvent::Message(*message),
                Ok(Received::Message(..)) => continue,
                Ok(Received::Closed { reason }) => NodeEvent::Closed(Ok(reason)),
                Err(error) => NodeEvent::Closed(Err(error)),
            };
            let is_last = matches!(event, NodeEvent::Closed(_));
            if events.send((host, event)).await.is_err() || is_last {
                return;
            }
        }
    }));
}

/// Passes the outputs of processes to `events`.
async fn receive_outputs(
    host: HostId,
    mut states: StateReceiver,
    events: mpsc::Sender<(HostId, NodeEvent)>,
) {
    // The end of the connection is an event of its messages.
    while let Ok(received) = states.receive().await {
        let output = NodeEvent::Output(received.state.rank, received.state.payload);
        if events.send((host, output)).await.is_err() {
            return;
        }
    }
}
