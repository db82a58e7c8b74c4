//! What a node receives from the other nodes of a job.

use std::sync::Arc;
use std::time::Instant as Clock;

use agents::ProgramType;
use bsp::HostId;
use bsp::units::Seconds;
use bytes::Bytes;
use machines::InputMemory;
use machines::node::event::{IncomingPieces, JobEvent, NodeInput};
use machines::time::seconds;
use protocol::transport::{
    Peer, Received, Sender, StatePayload, StateReceiver, StateStream, StreamContent,
};
use protocol::{Address, Message, NodeMessage};
use tokio::sync::{Semaphore, mpsc};

use super::checkpoints::copies;
use super::input_budget::InputBudget;
use super::migration::Arrival;

/// Passes on to `events` the input from a node until its connection closes, as far as there is memory for input that
/// waits. States of processes that cannot be decoded are `failures`.
pub(super) fn listen(
    host: HostId,
    peer: Peer,
    program_type: ProgramType,
    events: &mpsc::Sender<JobEvent>,
    failures: &mpsc::UnboundedSender<JobEvent>,
) {
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
    let listener = StreamListener {
        host,
        program_type,
        link: sender,
        events: events.clone(),
        failures: failures.clone(),
    };
    drop(actix_rt::spawn(listener.listen(states)));
}

/// Passes on what a node sends on streams: states, and pieces of checkpoints.
struct StreamListener {
    host: HostId,
    program_type: ProgramType,
    link: Sender,
    events: mpsc::Sender<JobEvent>,
    failures: mpsc::UnboundedSender<JobEvent>,
}

impl StreamListener {
    async fn listen(self, mut states: StateReceiver) {
        let arriving = Arc::new(Semaphore::new(ARRIVING_MAX));
        // The end of the connection is an event of its messages.
        while let Ok(opened) = states.accept().await {
            let StateStream {
                from,
                to,
                content,
                began,
                payload,
            } = opened;
            let ends = (from, to);
            match content {
                StreamContent::State(head) => {
                    // Nothing closes it.
                    let permit = Arc::clone(&arriving).acquire_owned().await;
                    let arrival = Arrival {
                        host: self.host,
                        ends,
                        head,
                        began,
                        round_trip: seconds(self.link.round_trip_least()),
                        memory: InputMemory::new(permit),
                    };
                    self.decode(arrival, payload);
                }
                StreamContent::Pieces(superstep, _) => self.add_pieces(ends, superstep, payload),
            }
        }
    }

    fn decode(&self, arrival: Arrival, payload: StatePayload) {
        let (events, failures) = (self.events.clone(), self.failures.clone());
        let program_type = self.program_type;
        drop(actix_rt::spawn(async move {
            // The job may be over.
            match arrival.decode(payload, program_type).await {
                Ok(None) => {}
                Ok(Some(process)) => {
                    drop(events.send(JobEvent::Process(Box::new(process))).await);
                }
                Err(error) => drop(failures.send(JobEvent::Failed(error))),
            }
        }));
    }

    fn add_pieces(&self, ends: (Address, Address), superstep: u64, payload: StatePayload) {
        let (host, events) = (self.host, self.events.clone());
        drop(actix_rt::spawn(async move {
            if let Some(deltas) = copies::receive(payload).await {
                let pieces = IncomingPieces {
                    host,
                    ends,
                    superstep,
                    deltas,
                };
                // The job may be over.
                drop(events.send(JobEvent::Pieces(Box::new(pieces))).await);
            }
        }));
    }
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
/// Processes from one node that are decoded, or wait to be handled: until the job has begun here, or a placement has been
/// announced.
const ARRIVING_MAX: usize = 8;
