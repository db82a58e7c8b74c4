//! What a node receives from other machines during a job.

use std::time::Instant as Clock;

use bsp::HostId;
use protocol::transport::{Peer, PeerError, Received, ReceivedState, StateStream};
use protocol::{Address, JobMessage, Message, NodeMessage};
use tokio::sync::mpsc;

use super::failure::JobError;
use super::migration::arrival::IncomingImage;
use crate::chunks::{self, ChunkReader};

/// Something that comes from another machine.
pub(super) enum Input {
    /// A message from the client.
    Job(JobMessage),
    /// The connection of the client has closed, with an error unless it was closed in order.
    ClientGone(Option<PeerError>),
    /// A message from an agent on a host.
    Message(HostId, (Address, Address), Message, Clock),
    /// The initial state of a process that starts here, from the client.
    State(Box<ReceivedState>),
    /// The image of a process that moves here has begun to arrive.
    Image(Box<IncomingImage>),
    /// The connection of a node has closed: in order, with its reason, or with an error.
    Gone(HostId, Result<String, PeerError>),
    /// A node cannot be connected to.
    Unreachable(JobError),
    /// This node is to leave the job.
    Leave,
}

/// Whether the input has to wait until the job has begun on this node.
pub(super) fn waits(input: &Input) -> bool {
    match input {
        Input::Message(_, _, message, _) => {
            !matches!(message, Message::Node(NodeMessage::Probe(_)))
        }
        Input::Image(_) => true,
        Input::Job(_)
        | Input::ClientGone(_)
        | Input::State(_)
        | Input::Gone(..)
        | Input::Unreachable(_)
        | Input::Leave => false,
    }
}

/// Passes on the input from a node until its connection closes.
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
        // The task above reports the end of the connection.
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
            let image = IncomingImage {
                ends: (from, to),
                image: state,
                began,
                chunks,
            };
            if inputs.send(Input::Image(Box::new(image))).await.is_err() {
                return;
            }
        }
    }));
}
