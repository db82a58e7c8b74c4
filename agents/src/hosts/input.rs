//! What a node receives from other machines during a job.

use std::time::Instant as Clock;

use bsp::HostId;
use bytes::Bytes;
use protocol::transport::{Peer, PeerError, Received, ReceivedState, StateStream};
use protocol::{Address, JobMessage, Message, NodeMessage};
use tokio::sync::mpsc;

use super::failure::JobError;
use super::input_memory::{InputBudget, InputMemory};
use super::migration::arrival::IncomingImage;
use crate::chunks::{self, ChunkReader};

/// Input of a node in a job.
pub(super) enum Input {
    /// A message from the client.
    Job(JobMessage),
    /// The connection of the client has closed, with an error unless it was closed in order.
    ClientGone(Option<PeerError>),
    /// A message from another node.
    Message(Box<NodeInput>),
    /// The initial state of a process that starts here, from the client.
    State(Box<ReceivedState>),
    /// The image of a process that moves here from a host has begun to arrive.
    Image(HostId, Box<IncomingImage>),
    /// The connection of a node has closed: in order, with its reason, or with an error.
    Gone(HostId, Result<String, PeerError>),
    /// A node cannot be connected to.
    Unreachable(JobError),
    /// This node is to leave the job.
    Leave,
}

/// A message from another node.
pub(super) struct NodeInput {
    /// The host of the node.
    pub(super) host: HostId,
    /// Its sender and its receiver.
    pub(super) ends: (Address, Address),
    pub(super) message: Message,
    /// When it arrived.
    pub(super) arrived: Clock,
    /// Held until it has been handled.
    pub(super) memory: InputMemory,
}

/// Whether the input has to wait until the job has begun on this node.
pub(super) fn waits(input: &Input) -> bool {
    match input {
        Input::Message(input) => !matches!(input.message, Message::Node(NodeMessage::Probe(_))),
        Input::Image(..) => true,
        Input::Job(_)
        | Input::ClientGone(_)
        | Input::State(_)
        | Input::Gone(..)
        | Input::Unreachable(_)
        | Input::Leave => false,
    }
}

/// Passes on the input from a node until its connection closes, as far as there is memory for input that waits.
pub(super) fn listen(host: HostId, peer: Peer, input: &mpsc::Sender<Input>) {
    let Peer {
        mut messages,
        mut states,
        ..
    } = peer;
    let inputs = input.clone();
    let budget = InputBudget::new(WAITING_MAX);
    drop(actix_rt::spawn(async move {
        loop {
            let input = match messages.receive().await {
                Ok(Received::Message(from, to, message)) => {
                    let arrived = Clock::now();
                    let memory = budget
                        .reserve(message.payload().map_or(0, Bytes::len))
                        .await;
                    Input::Message(Box::new(NodeInput {
                        host,
                        ends: (from, to),
                        message,
                        arrived,
                        memory,
                    }))
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
            let image = Input::Image(host, Box::new(image));
            if inputs.send(image).await.is_err() {
                return;
            }
        }
    }));
}

/// Bytes of input from one node that waits: batches of a superstep that has not begun here.
const WAITING_MAX: usize = 16 << 20;
