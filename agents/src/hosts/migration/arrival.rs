//! Receives process images.

use std::time::Instant as Clock;

use bsp::units::Seconds;
use bytes::Bytes;
use protocol::{Address, ProcessImage};
use tokio::sync::mpsc;

use super::chunk_channel::ChannelSource;
use crate::chunks::ChunkReader;
use crate::machines::failure::JobError;
use crate::machines::migration::arrived_process::ArrivedProcess;
use crate::machines::migration::image::{self, DecodedImage};
use crate::machines::migration::transfer::Transfer;
use crate::machines::node::event::JobEvent;
use crate::programs::ProgramType;

/// A process image that is being received.
pub(in crate::hosts) struct ImageStream {
    /// Its sender and its receiver.
    pub(in crate::hosts) ends: (Address, Address),
    /// The image, without its payload.
    pub(in crate::hosts) image: ProcessImage,
    /// When its first byte arrived.
    pub(in crate::hosts) began: Clock,
    /// The bytes of its payload.
    pub(in crate::hosts) length: u64,
    pub(in crate::hosts) chunks: mpsc::Receiver<Bytes>,
    /// The shortest round trip to its source so far.
    pub(in crate::hosts) round_trip: Seconds,
}

impl ImageStream {
    /// Decodes the image while it arrives, and sends the process to `events`.
    ///
    /// Decoding takes time in proportion to the image, so another thread does it.
    pub(in crate::hosts) fn decode(
        self,
        program_type: ProgramType,
        events: mpsc::UnboundedSender<JobEvent>,
    ) {
        let decoding = tokio::task::spawn_blocking(move || self.read(program_type));
        drop(tokio::spawn(async move {
            let decoded = decoding.await;
            let decoded = decoded.unwrap_or_else(|panic| {
                Err(JobError::program(format!("decoding a process: {panic}")))
            });
            let event = match decoded {
                Ok(None) => return,
                Ok(Some(process)) => JobEvent::Arrived(Box::new(process)),
                Err(error) => JobEvent::Failed(error),
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
            length: bytes,
            chunks,
            round_trip,
        } = self;
        let decoding = Clock::now();
        let mut source = ChannelSource::new(chunks);
        let mut chunks = ChunkReader::new(bytes, &mut source);
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
            arrived: source.arrived.saturating_duration_since(began),
            unpacked: (decoded - decoding).saturating_sub(source.waited),
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
            round_trip,
        }))
    }
}
