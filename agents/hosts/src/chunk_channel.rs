//! Chunks between a thread that encodes or decodes and the thread that carries messages.

use std::io;
use std::time::{Duration, Instant as Clock};

use agents::{ChunkSink, ChunkSource};
use bytes::Bytes;
use protocol::transport::CHUNK_LEN;
use tokio::sync::mpsc;

/// A channel that holds [`CAPACITY`] chunks.
pub(crate) fn channel() -> (mpsc::Sender<Bytes>, mpsc::Receiver<Bytes>) {
    mpsc::channel(CAPACITY)
}

/// Sends chunks, and waits while the channel is full.
pub(crate) struct ChannelSink {
    chunks: mpsc::Sender<Bytes>,
    waited: Duration,
}

impl ChannelSink {
    pub(crate) const fn new(chunks: mpsc::Sender<Bytes>) -> Self {
        Self {
            chunks,
            waited: Duration::ZERO,
        }
    }
}

impl ChunkSink for ChannelSink {
    fn send(&mut self, chunk: Bytes) -> io::Result<()> {
        let began = Clock::now();
        let sent = self.chunks.blocking_send(chunk);
        self.waited += began.elapsed();
        sent.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))
    }

    fn waited(&self) -> Duration {
        self.waited
    }
}

/// Receives chunks, and waits while the channel is empty. The first one that is shorter than [`CHUNK_LEN`] is the last.
pub(crate) struct ChannelSource {
    chunks: mpsc::Receiver<Bytes>,
    /// Whether the last chunk has been received.
    is_over: bool,
    /// How long it has waited for chunks to arrive.
    pub(crate) waited: Duration,
    /// When the latest chunk arrived.
    pub(crate) arrived: Clock,
}

impl ChannelSource {
    pub(crate) fn new(chunks: mpsc::Receiver<Bytes>) -> Self {
        Self {
            chunks,
            is_over: false,
            waited: Duration::ZERO,
            arrived: Clock::now(),
        }
    }
}

impl ChunkSource for ChannelSource {
    fn receive(&mut self) -> io::Result<Option<Bytes>> {
        if self.is_over {
            return Ok(None);
        }
        let began = Clock::now();
        let received = self.chunks.blocking_recv();
        self.arrived = Clock::now();
        self.waited += self.arrived - began;
        let chunk = received.ok_or(io::ErrorKind::UnexpectedEof)?;
        self.is_over = chunk.len() < CHUNK_LEN;
        Ok(Some(chunk))
    }
}

/// Chunks that wait. An encoder or decoder that does not run for a moment holds up nothing.
const CAPACITY: usize = 16;
