//! What a node receives from the other nodes of a job.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Instant as Clock;

use bsp::HostId;
use bsp::units::Seconds;
use bytes::Bytes;
use protocol::transport::{Peer, Received, Sender, StateReceiver, StateStream, StreamContent};
use protocol::{Message, NodeMessage};
use tokio::sync::mpsc;

use super::checkpoint::copies;
use super::input_budget::InputBudget;
use super::migration::arrival::ImageStream;
use super::migration::chunk_channel;
use crate::machines::node::event::{IncomingImage, IncomingPieces, JobEvent, NodeInput, StreamId};
use crate::machines::time::seconds;

/// The images that have begun to arrive, by stream. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Images(Rc<RefCell<(u64, BTreeMap<StreamId, ImageStream>)>>);

impl Images {
    fn insert(&self, image: ImageStream) -> StreamId {
        let (count, images) = &mut *self.0.borrow_mut();
        *count += 1;
        images.insert(StreamId(*count), image);
        StreamId(*count)
    }

    /// Removes the image that arrives on `stream`.
    pub(super) fn remove(&self, stream: StreamId) -> Option<ImageStream> {
        self.0.borrow_mut().1.remove(&stream)
    }
}

/// Passes on the input from a node until its connection closes, as far as there is memory for input that waits.
pub(super) fn listen(host: HostId, peer: Peer, images: Images, events: &mpsc::Sender<JobEvent>) {
    let Peer {
        mut messages,
        states,
        sender,
        ..
    } = peer;
    let inputs = events.clone();
    let budget = InputBudget::new(WAITING_MAX);
    let link = sender.clone();
    drop(actix_rt::spawn(async move {
        loop {
            let event = match messages.receive().await {
                Ok(Received::Message(from, to, message)) => {
                    let arrived = Clock::now();
                    let memory = budget
                        .reserve(message.payload().map_or(0, Bytes::len))
                        .await;
                    JobEvent::Message(Box::new(NodeInput {
                        host,
                        ends: (from, to),
                        transport: transport(&message, &link),
                        message,
                        arrived,
                        memory,
                    }))
                }
                Ok(Received::Closed { reason }) => JobEvent::PeerGone(host, Ok(reason)),
                Err(error) => JobEvent::PeerGone(host, Err(error.into())),
            };
            let is_last = matches!(event, JobEvent::PeerGone(..));
            if inputs.send(event).await.is_err() || is_last {
                return;
            }
        }
    }));
    listen_to_streams((host, sender), states, images, events);
}

/// Passes on what a node sends on streams: states, and pieces of checkpoints.
fn listen_to_streams(
    (host, sender): (HostId, Sender),
    mut states: StateReceiver,
    images: Images,
    events: &mpsc::Sender<JobEvent>,
) {
    let inputs = events.clone();
    drop(actix_rt::spawn(async move {
        // The task above reports the end of the connection.
        while let Ok(opened) = states.accept().await {
            let StateStream {
                from,
                to,
                content,
                began,
                payload,
            } = opened;
            let state = match content {
                StreamContent::State(state) => state,
                StreamContent::Pieces(superstep, _) => {
                    let inputs = inputs.clone();
                    drop(actix_rt::spawn(async move {
                        if let Some(deltas) = copies::receive(payload).await {
                            let pieces = IncomingPieces {
                                host,
                                ends: (from, to),
                                superstep,
                                deltas,
                            };
                            // The job may be over.
                            drop(inputs.send(JobEvent::Pieces(Box::new(pieces))).await);
                        }
                    }));
                    continue;
                }
            };
            let (chunk, chunks) = chunk_channel::channel();
            let length = payload.len();
            drop(actix_rt::spawn(async move { payload.read(chunk).await }));
            let stream = images.insert(ImageStream {
                ends: (from, to),
                image: state.clone(),
                began,
                length,
                chunks,
                round_trip: seconds(sender.round_trip_least()),
            });
            let image = JobEvent::Image(Box::new(IncomingImage {
                host,
                ends: (from, to),
                image: state,
                stream,
            }));
            if inputs.send(image).await.is_err() {
                return;
            }
        }
    }));
}

/// The estimated round-trip time and bandwidth of the connection on which a batch has arrived.
fn transport(message: &Message, link: &Sender) -> (Seconds, f64) {
    match message {
        Message::Node(NodeMessage::Batch(_)) => (seconds(link.round_trip()), link.bandwidth()),
        Message::Node(_) | Message::Agent(_) | Message::Job(_) => (Seconds::ZERO, 0.0),
    }
}

/// Bytes of input from one node that waits: batches of a superstep that has not begun here.
const WAITING_MAX: usize = 16 << 20;
