//! Sends process images.

use std::sync::Arc;
use std::time::Instant as Clock;

use bsp::Image;
use bytes::Bytes;
use protocol::transport::{Sender, StreamContent};
use protocol::{Address, Migrate, ProcessImage};
use tokio::sync::{Semaphore, mpsc};

use super::chunk_channel::{self, ChannelSink};
use super::packing_clock::PackingClock;
use crate::error::RunError;
use crate::hosts::time::elapsed;
use crate::machines::failure::JobError;
use crate::machines::migration::departing_process::DepartingProcess;
use crate::machines::migration::image::OutgoingImage;
use crate::machines::node::event::JobEvent;

/// The processes that leave this node.
pub(in crate::hosts) struct Departures {
    /// One permit for each image that may be encoded at the same time.
    encoders: Arc<Semaphore>,
    events: mpsc::UnboundedSender<JobEvent>,
}

impl Departures {
    /// No departures yet; `events` receives the event of each that is complete.
    pub(in crate::hosts) fn new(events: mpsc::UnboundedSender<JobEvent>) -> Self {
        Self {
            encoders: Arc::new(Semaphore::new(ENCODERS)),
            events,
        }
    }

    /// Sends `process` to `peer`, the node that `order` names.
    pub(in crate::hosts) fn send(&self, order: Migrate, process: DepartingProcess, peer: Sender) {
        let (events, encoders) = (self.events.clone(), Arc::clone(&self.encoders));
        let frozen = Clock::now();
        drop(tokio::spawn(async move {
            let _permit = encoders.acquire().await;
            let began = Clock::now();
            let event = send_image(order, process, PackingClock { frozen, began }, peer).await;
            // The job may be over.
            drop(events.send(event.unwrap_or_else(JobEvent::Failed)));
        }));
    }
}

/// Encodes `process` while it is sent.
async fn send_image(
    order: Migrate,
    process: DepartingProcess,
    clock: PackingClock,
    peer: Sender,
) -> Result<JobEvent, JobError> {
    let DepartingProcess {
        agent,
        inbox,
        program,
    } = process;
    let image = ProcessImage {
        rank: order.rank,
        epoch: order.epoch,
        agent: u32::try_from(agent.len()).expect("an agent's state is small"),
        declared: program.declared().map(Image::total),
        payload: Bytes::new(),
    };
    // Encoding takes time in proportion to the image, so other threads do it.
    let measuring = tokio::task::spawn_blocking(move || {
        let payload = OutgoingImage::new(order.rank, agent, &inbox, program)?;
        Ok::<_, RunError>((payload.len(), payload))
    });
    let panicked = |error: tokio::task::JoinError| JobError::program(error.to_string());
    let (bytes, payload) = measuring.await.map_err(panicked)??;
    let measured = clock.began.elapsed();
    let (sender, chunks) = chunk_channel::channel();
    let encoding = tokio::task::spawn_blocking(move || {
        payload.encode(&mut ChannelSink::new(sender), |waited| {
            clock.times(measured, waited)
        })
    });
    let (from, to) = (Address::Node(order.from), Address::Node(order.to));
    let sent = peer
        .send_state_chunks(from, to, StreamContent::State(image), (bytes, chunks))
        .await;
    match encoding.await.map_err(panicked)? {
        // If the connection is lost, the encoder fails because its chunks are not read.
        Err(error) if sent.is_ok() || !peer.is_lost() => return Err(error.into()),
        Ok(()) | Err(_) => sent?,
    }
    Ok(JobEvent::Sent(order.to, bytes, elapsed(clock.began)))
}

/// The number of images that are encoded at the same time. Each takes a thread until its image is sent, and there are
/// some hundreds of threads. If none were left to decode images, two nodes could wait for each other.
const ENCODERS: usize = 8;
