//! What a node receives from other machines during a job.

use std::time::Instant as Clock;

use bsp::HostId;
use protocol::transport::{Peer, PeerError, Received, ReceivedState, StateStream};
use protocol::{Address, JobMessage, Message, NodeMessage, ProcessImage};
use tokio::sync::mpsc;

use super::failure::JobError;
use super::world::IncomingMigration;
use crate::chunks::{self, ChunkReader};

/// Something that comes from another machine.
pub(super) enum Input {
    /// The client says something.
    Job(JobMessage),
    /// The client has gone; in order, if nothing is wrong.
    ClientGone(Option<PeerError>),
    /// A message from an agent on a host.
    Message(HostId, (Address, Address), Message, Clock),
    /// The state of a process that starts here, from the client.
    State(Box<ReceivedState>),
    /// The state of a process that moves here begins to come, and the way on which the rest does.
    IncomingMigration(Address, Address, Box<ProcessImage>, IncomingMigration),
    /// A node has gone; in order, with its words, or not.
    Gone(HostId, Result<String, PeerError>),
    /// A node cannot be connected to.
    Unreachable(JobError),
    /// This node is told to leave.
    Leave,
}

/// Whether it has to wait until the job begins here, too.
pub(super) fn waits(input: &Input) -> bool {
    match input {
        Input::Message(_, _, message, _) => {
            !matches!(message, Message::Node(NodeMessage::Probe(_)))
        }
        Input::IncomingMigration(..) => true,
        Input::Job(_)
        | Input::ClientGone(_)
        | Input::State(_)
        | Input::Gone(..)
        | Input::Unreachable(_)
        | Input::Leave => false,
    }
}

/// Hands on what comes from a node, until it has gone.
pub(super) fn listen(host: HostId, peer: Peer, input: &mpsc::Sender<Input>) {
    let Peer {
        mut messages,
        mut states,
        ..
    } = peer;
    let inputs = input.clone();
    drop(actix_rt::spawn(async move {
        loop {
            let input = match messages.receive().await {
                Ok(Received::Message(from, to, message)) => {
                    Input::Message(host, (from, to), message, Clock::now())
                }
                Ok(Received::Closed { reason }) => Input::Gone(host, Ok(reason)),
                Err(error) => Input::Gone(host, Err(error)),
            };
            let is_last = matches!(input, Input::Gone(..));
            if inputs.send(input).await.is_err() || is_last {
                return;
            }
        }
    }));
    let inputs = input.clone();
    drop(actix_rt::spawn(async move {
        // That it has gone is heard above.
        while let Ok(opened) = states.accept().await {
            let StateStream {
                from,
                to,
                state,
                began,
                payload,
            } = opened;
            let (sender, chunks) = chunks::channel();
            let chunks = ChunkReader::new(payload.len(), chunks);
            drop(actix_rt::spawn(async move { payload.read(sender).await }));
            let coming = IncomingMigration { began, chunks };
            let input = Input::IncomingMigration(from, to, Box::new(state), coming);
            if inputs.send(input).await.is_err() {
                return;
            }
        }
    }));
}
