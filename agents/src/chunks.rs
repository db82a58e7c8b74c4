//! Bytes in chunks, between a thread that encodes or decodes and the thread that carries messages.
//!
//! A state is encoded while it is sent and decoded while it arrives, so neither end holds a second copy.

use std::io::{self, Read, Write};
use std::time::{Duration, Instant as Clock};

use bytes::{Buf, Bytes, BytesMut};
use protocol::transport::CHUNK_LEN;
use tokio::sync::mpsc;

/// A channel that holds [`CAPACITY`] chunks.
pub(crate) fn channel() -> (mpsc::Sender<Bytes>, mpsc::Receiver<Bytes>) {
    mpsc::channel(CAPACITY)
}

/// Sends the bytes that are written to it in chunks.
pub(crate) struct ChunkWriter {
    chunks: mpsc::Sender<Bytes>,
    chunk: BytesMut,
    waited: Duration,
}

impl ChunkWriter {
    pub(crate) fn new(chunks: mpsc::Sender<Bytes>) -> Self {
        Self {
            chunks,
            chunk: BytesMut::new(),
            waited: Duration::ZERO,
        }
    }

    /// How long it has waited for chunks to be sent.
    pub(crate) const fn waited(&self) -> Duration {
        self.waited
    }

    fn send(&mut self) -> io::Result<()> {
        let chunk = self.chunk.split().freeze();
        let began = Clock::now();
        let sent = self.chunks.blocking_send(chunk);
        self.waited += began.elapsed();
        sent.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))
    }
}

impl Write for ChunkWriter {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.write_all(buffer)?;
        Ok(buffer.len())
    }

    fn write_all(&mut self, mut buffer: &[u8]) -> io::Result<()> {
        while CHUNK_LEN <= self.chunk.len() + buffer.len() {
            let (now, later) = buffer.split_at(CHUNK_LEN - self.chunk.len());
            self.chunk.extend_from_slice(now);
            self.send()?;
            buffer = later;
        }
        self.chunk.extend_from_slice(buffer);
        Ok(())
    }

    /// Sends the rest as a shorter chunk: called once, at the end.
    fn flush(&mut self) -> io::Result<()> {
        if self.chunk.is_empty() {
            return Ok(());
        }
        self.send()
    }
}

/// Reads a known number of bytes from chunks as they arrive.
pub(crate) struct ChunkReader {
    chunks: mpsc::Receiver<Bytes>,
    chunk: Bytes,
    length: u64,
    /// Bytes still to arrive in chunks after this one.
    left: u64,
    is_truncated: bool,
    waited: Duration,
    arrived: Clock,
}

impl ChunkReader {
    pub(crate) fn new(length: u64, chunks: mpsc::Receiver<Bytes>) -> Self {
        Self {
            chunks,
            chunk: Bytes::new(),
            length,
            left: length,
            is_truncated: false,
            waited: Duration::ZERO,
            arrived: Clock::now(),
        }
    }

    /// How long it has waited for chunks to arrive.
    pub(crate) const fn waited(&self) -> Duration {
        self.waited
    }

    /// When the latest chunk arrived.
    pub(crate) const fn arrived(&self) -> Clock {
        self.arrived
    }

    /// The total number of bytes.
    pub(crate) const fn len(&self) -> u64 {
        self.length
    }

    /// The number of bytes that have not been read.
    pub(crate) fn left(&self) -> u64 {
        let here = u64::try_from(self.chunk.len()).expect("lengths fit 64 bits");
        self.left + here
    }

    /// Whether the sender was lost before it had sent all chunks.
    pub(crate) const fn is_truncated(&self) -> bool {
        self.is_truncated
    }

    /// Whether everything has been read.
    pub(crate) fn is_over(&self) -> bool {
        self.chunk.is_empty() && self.left == 0
    }

    /// Waits for the next chunk if this one has been read.
    fn fill(&mut self) -> io::Result<()> {
        if !self.is_over() && self.chunk.is_empty() {
            let began = Clock::now();
            let received = self.chunks.blocking_recv();
            self.arrived = Clock::now();
            self.waited += self.arrived - began;
            let Some(chunk) = received else {
                self.is_truncated = true;
                return Err(io::ErrorKind::UnexpectedEof.into());
            };
            let length = u64::try_from(chunk.len()).expect("lengths fit 64 bits");
            self.left = self.left.saturating_sub(length);
            self.chunk = chunk;
        }
        Ok(())
    }
}

impl Read for ChunkReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.fill()?;
        let length = buffer.len().min(self.chunk.len());
        self.chunk.copy_to_slice(&mut buffer[..length]);
        Ok(length)
    }

    fn read_exact(&mut self, mut buffer: &mut [u8]) -> io::Result<()> {
        // Most reads are of single numbers, which lie in one chunk.
        while !buffer.is_empty() {
            let length = self.read(buffer)?;
            if length == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            buffer = &mut buffer[length..];
        }
        Ok(())
    }
}

/// Chunks that wait. An encoder or decoder that does not run for a moment holds up nothing.
const CAPACITY: usize = 16;

#[cfg(test)]
mod tests {
    use std::{iter, thread};

    use super::*;

    #[test]
    fn chunks_are_read_as_they_were_written() {
        for length in [0, 1, CHUNK_LEN - 1, CHUNK_LEN, 3 * CHUNK_LEN + 5] {
            let all: Vec<u8> = (0..=250).cycle().take(length).collect();
            let (sender, chunks) = channel();
            let mut reader = ChunkReader::new(u64::try_from(length).unwrap(), chunks);
            let written = all.clone();
            let writing = thread::spawn(move || {
                let mut writer = ChunkWriter::new(sender);
                for part in written.chunks(777_777) {
                    writer.write_all(part).unwrap();
                }
                writer.flush().unwrap();
            });
            let mut read = Vec::new();
            reader.read_to_end(&mut read).unwrap();
            writing.join().unwrap();
            assert!(read == all && reader.is_over(), "{length}");
        }
    }

    #[test]
    fn all_chunks_but_the_last_are_full() {
        let (sender, mut chunks) = channel();
        let writing = thread::spawn(move || {
            let mut writer = ChunkWriter::new(sender);
            for length in [777_777, 777_777, 1, 3 * CHUNK_LEN, 5] {
                writer.write_all(&vec![7; length]).unwrap();
            }
            writer.flush().unwrap();
        });
        let lengths: Vec<usize> = iter::from_fn(|| chunks.blocking_recv())
            .map(|chunk| chunk.len())
            .collect();
        writing.join().unwrap();
        let (last, others) = lengths.split_last().unwrap();
        assert!(others.iter().all(|length| *length == CHUNK_LEN));
        let all = 2 * 777_777 + 6 + 3 * CHUNK_LEN;
        assert_eq!((others.len(), *last), (all / CHUNK_LEN, all % CHUNK_LEN));
    }

    #[test]
    fn a_lost_sender_truncates_the_stream() {
        let (sender, chunks) = channel();
        sender.blocking_send(Bytes::from_static(b"ab")).unwrap();
        drop(sender);
        let mut reader = ChunkReader::new(3, chunks);
        assert!(reader.read_exact(&mut [0; 3]).is_err());
        assert!(reader.is_truncated());
    }
}
