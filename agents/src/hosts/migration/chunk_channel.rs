//! Chunks between a thread that encodes or decodes and the thread that carries messages.

use std::io;
use std::time::{Duration, Instant as Clock};

use bytes::Bytes;
use tokio::sync::mpsc;

use crate::chunks::{ChunkSink, ChunkSource};

/// A channel that holds [`CAPACITY`] chunks.
pub(in crate::hosts) fn channel() -> (mpsc::Sender<Bytes>, mpsc::Receiver<Bytes>) {
    mpsc::channel(CAPACITY)
}

/// Sends chunks, and waits while the channel is full.
pub(in crate::hosts) struct ChannelSink {
    chunks: mpsc::Sender<Bytes>,
    waited: Duration,
}

impl ChannelSink {
    pub(in crate::hosts) const fn new(chunks: mpsc::Sender<Bytes>) -> Self {
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

/// Receives chunks, and waits while the channel is empty.
pub(in crate::hosts) struct ChannelSource {
    chunks: mpsc::Receiver<Bytes>,
    /// How long it has waited for chunks to arrive.
    pub(in crate::hosts) waited: Duration,
    /// When the latest chunk arrived.
    pub(in crate::hosts) arrived: Clock,
}

impl ChannelSource {
    pub(in crate::hosts) fn new(chunks: mpsc::Receiver<Bytes>) -> Self {
        Self {
            chunks,
            waited: Duration::ZERO,
            arrived: Clock::now(),
        }
    }
}

impl ChunkSource for ChannelSource {
    fn receive(&mut self) -> Option<Bytes> {
        let began = Clock::now();
        let received = self.chunks.blocking_recv();
        self.arrived = Clock::now();
        self.waited += self.arrived - began;
        received
    }
}

/// Chunks that wait. An encoder or decoder that does not run for a moment holds up nothing.
const CAPACITY: usize = 16;
