//! What a client receives from the nodes of its job.

use bsp::HostId;
use machines::client::event::NodeWord;
use protocol::transport::{Peer, Received, StateReceiver};
use protocol::{Address, Failed, JobMessage, Message, displayed_message};
use tokio::sync::mpsc;

use crate::input_budget::InputBudget;

/// Passes what `peer`, the node of `host`, sends to `events`, until its connection ends.
pub(super) fn listen(host: HostId, peer: Peer, events: &mpsc::Sender<(HostId, NodeWord)>) {
    let Peer {
        mut messages,
        states,
        sender,
        ..
    } = peer;
    drop(tokio::spawn(receive_outputs(host, states, events.clone())));
    let events = events.clone();
    let budget = InputBudget::new(RECORD_MAX);
    drop(tokio::spawn(async move {
        loop {
            let event = match messages.receive().await {
                Ok(Received::Message(from, ..))
                    if ![Address::Node(host), ITSELF].contains(&from) =>
                {
                    let problem = format!("a message in the name of {from:?}");
                    NodeWord::Closed(Err(sender.refuse(problem).into()))
                }
                Ok(Received::Message(_, _, Message::Job(message))) => {
                    let lines = match &*message {
                        JobMessage::Recorded(lines) => lines.len(),
                        _ => 0,
                    };
                    NodeWord::Message(displayable(*message), budget.reserve(lines).await)
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

/// The same message, whose texts can be displayed.
fn displayable(message: JobMessage) -> JobMessage {
    match message {
        JobMessage::Failed(failed) => JobMessage::Failed(Failed {
            message: displayed_message(&failed.message),
            ..failed
        }),
        message => message,
    }
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
/// How a node that is asked calls itself.
const ITSELF: Address = Address::Node(HostId(0));
