//! What a client receives from the nodes of its job.

use bsp::HostId;
use protocol::transport::{Peer, Received, StateReceiver};
use protocol::{JobMessage, Message};
use tokio::sync::mpsc;

use crate::hosts::input_budget::InputBudget;
use crate::machines::client::event::NodeWord;

/// Passes what `peer`, the node of `host`, sends to `events`, until its connection ends.
pub(super) fn listen(host: HostId, peer: Peer, events: &mpsc::Sender<(HostId, NodeWord)>) {
    let Peer {
        mut messages,
        states,
        ..
    } = peer;
    drop(tokio::spawn(receive_outputs(host, states, events.clone())));
    let events = events.clone();
    let budget = InputBudget::new(RECORD_MAX);
    drop(tokio::spawn(async move {
        loop {
            let event = match messages.receive().await {
                Ok(Received::Message(_, _, Message::Job(message))) => {
                    let lines = match &*message {
                        JobMessage::Recorded(lines) => lines.len(),
                        _ => 0,
                    };
                    NodeWord::Message(*message, budget.reserve(lines).await)
                }
                Ok(Received::Message(..)) => continue,
                Ok(Received::Closed { reason }) => NodeWord::Closed(Ok(reason)),
                Err(error) => NodeWord::Closed(Err(error.into())),
            };
            let is_last = matches!(event, NodeWord::Closed(_));
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
    events: mpsc::Sender<(HostId, NodeWord)>,
) {
    // The end of the connection is an event of its messages.
    while let Ok(received) = states.receive().await {
        let output = NodeWord::Output(received.state.rank, received.state.payload);
        if events.send((host, output)).await.is_err() {
            return;
        }
    }
}

/// Bytes of the record from one node that wait for the events of others.
const RECORD_MAX: usize = 32 << 20;
