//! Receives process images.

use std::time::Instant as Clock;

use protocol::{Address, ProcessImage};
use tokio::sync::mpsc;

use super::arrived_process::ArrivedProcess;
use super::image::{self, DecodedImage};
use super::transfer::Transfer;
use crate::chunks::ChunkReader;
use crate::hosts::failure::JobError;
use crate::hosts::local_event::LocalEvent;
use crate::programs::ProgramType;

/// A process image that is being received.
pub(in crate::hosts) struct IncomingImage {
    /// Its sender and its receiver.
    pub(in crate::hosts) ends: (Address, Address),
    /// The image, without its payload.
    pub(in crate::hosts) image: ProcessImage,
    /// When its first byte arrived.
    pub(in crate::hosts) began: Clock,
    /// Its payload.
    pub(in crate::hosts) chunks: ChunkReader,
}

impl IncomingImage {
    /// Decodes the image while it arrives, and sends the process to `events`.
    ///
    /// Decoding takes time in proportion to the image, so another thread does it.
    pub(in crate::hosts) fn decode(
        self,
        program_type: ProgramType,
        events: mpsc::UnboundedSender<LocalEvent>,
    ) {
        let decoding = tokio::task::spawn_blocking(move || self.read(program_type));
        drop(tokio::spawn(async move {
            let decoded = decoding.await;
            let decoded = decoded.unwrap_or_else(|panic| {
                Err(JobError::program(format!("decoding a process: {panic}")))
            });
            let event = match decoded {
                Ok(None) => return,
                Ok(Some(process)) => LocalEvent::Arrived(Box::new(process)),
                Err(error) => LocalEvent::Failed(error),
            };
            // The job may be over.
            drop(events.send(event));
        }));
    }

    /// The process, unless the sender is lost before all of it has arrived: that is an event of its connection.
    fn read(self, program_type: ProgramType) -> Result<Option<ArrivedProcess>, JobError> {
        let Self {
            ends,
            image,
            began,
            mut chunks,
        } = self;
        let decoding = Clock::now();
        let bytes = chunks.len();
        let decoded = image::decode(program_type, image.rank, image.agent, &mut chunks);
        if chunks.is_truncated() {
            return Ok(None);
        }
        let DecodedImage {
            agent,
            inbox,
            program,
            packing,
            parts,
        } = decoded?;
        let decoded = Clock::now();
        let transfer = Transfer {
            packing,
            arrived: chunks.arrived().saturating_duration_since(began),
            unpacked: (decoded - decoding).saturating_sub(chunks.waited()),
            decoded: decoded - began,
        };
        Ok(Some(ArrivedProcess {
            ends,
            image: ProcessImage {
                payload: agent,
                ..image
            },
            inbox,
            program,
            bytes,
            parts,
            transfer,
        }))
    }
}
