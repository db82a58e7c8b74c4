//! Bytes in chunks, between what encodes or decodes a state and what carries it.
//!
//! A state is encoded while it is sent and decoded while it arrives, so neither end holds a second copy.

use std::io::{self, Read, Write};
use std::time::Duration;

use bytes::{Buf, Bytes};
use protocol::transport::CHUNK_LEN;

/// Where chunks go.
pub(crate) trait ChunkSink {
    /// Takes the next chunk.
    ///
    /// # Errors
    ///
    /// If no more chunks are taken.
    fn send(&mut self, chunk: Bytes) -> io::Result<()>;

    /// How long it has held up the sender.
    fn waited(&self) -> Duration {
        Duration::ZERO
    }
}

/// Where chunks come from.
pub(crate) trait ChunkSource {
    /// The next chunk; `None` if the sender was lost.
    fn receive(&mut self) -> Option<Bytes>;
}

/// Passes on the bytes that are written to it in chunks.
pub(crate) struct ChunkWriter<'a> {
    sink: &'a mut dyn ChunkSink,
    /// It has the capacity of a chunk.
    chunk: Vec<u8>,
}

impl<'a> ChunkWriter<'a> {
    pub(crate) fn new(sink: &'a mut dyn ChunkSink) -> Self {
        Self {
            sink,
            chunk: Vec::with_capacity(CHUNK_LEN),
        }
    }

    /// How long it has waited for chunks to be sent.
    pub(crate) fn waited(&self) -> Duration {
        self.sink.waited()
    }

    /// Writes what fills the chunk, and what follows.
    fn write_over(&mut self, mut buffer: &[u8]) -> io::Result<()> {
        while CHUNK_LEN <= self.chunk.len() + buffer.len() {
            let (now, later) = buffer.split_at(CHUNK_LEN - self.chunk.len());
            self.chunk.extend_from_slice(now);
            self.send()?;
            buffer = later;
        }
        self.chunk.extend_from_slice(buffer);
        Ok(())
    }

    fn send(&mut self) -> io::Result<()> {
        let chunk = std::mem::replace(&mut self.chunk, Vec::with_capacity(CHUNK_LEN));
        self.sink.send(chunk.into())
    }
}

impl Write for ChunkWriter<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.write_all(buffer)?;
        Ok(buffer.len())
    }

    #[inline]
    fn write_all(&mut self, buffer: &[u8]) -> io::Result<()> {
        // Most writes are of single numbers.
        if buffer.len() < CHUNK_LEN - self.chunk.len() {
            self.chunk.extend_from_slice(buffer);
            return Ok(());
        }
        self.write_over(buffer)
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
pub(crate) struct ChunkReader<'a> {
    source: &'a mut dyn ChunkSource,
    chunk: Bytes,
    length: u64,
    /// Bytes still to arrive in chunks after this one.
    left: u64,
    is_truncated: bool,
}

impl<'a> ChunkReader<'a> {
    pub(crate) fn new(length: u64, source: &'a mut dyn ChunkSource) -> Self {
        Self {
            source,
            chunk: Bytes::new(),
            length,
            left: length,
            is_truncated: false,
        }
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
            let Some(chunk) = self.source.receive() else {
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

impl Read for ChunkReader<'_> {
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

impl ChunkSink for Vec<Bytes> {
    fn send(&mut self, chunk: Bytes) -> io::Result<()> {
        self.push(chunk);
        Ok(())
    }
}

impl ChunkSource for std::vec::IntoIter<Bytes> {
    fn receive(&mut self) -> Option<Bytes> {
        self.next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(all: &[u8], lengths: impl IntoIterator<Item = usize>) -> Vec<Bytes> {
        let mut chunks = Vec::new();
        let mut writer = ChunkWriter::new(&mut chunks);
        let mut rest = all;
        for length in lengths {
            let (now, later) = rest.split_at(length.min(rest.len()));
            writer.write_all(now).unwrap();
            rest = later;
        }
        writer.write_all(rest).unwrap();
        writer.flush().unwrap();
        chunks
    }

    fn length(bytes: &[u8]) -> u64 {
        u64::try_from(bytes.len()).unwrap()
    }

    #[test]
    fn chunks_are_read_as_they_were_written() {
        for len in [0, 1, CHUNK_LEN - 1, CHUNK_LEN, 3 * CHUNK_LEN + 5] {
            let all: Vec<u8> = (0..=250).cycle().take(len).collect();
            let mut chunks = written(&all, [777_777; 4]).into_iter();
            let mut reader = ChunkReader::new(length(&all), &mut chunks);
            let mut read = Vec::new();
            reader.read_to_end(&mut read).unwrap();
            assert!(read == all && reader.is_over(), "{len}");
        }
    }

    #[test]
    fn all_chunks_but_the_last_are_full() {
        let parts = [777_777, 777_777, 1, 3 * CHUNK_LEN, 5];
        let all = vec![7; parts.iter().sum()];
        let chunks = written(&all, parts);
        let lengths: Vec<usize> = chunks.iter().map(Bytes::len).collect();
        let (last, others) = lengths.split_last().unwrap();
        assert!(others.iter().all(|length| *length == CHUNK_LEN));
        let count = all.len();
        assert_eq!(
            (others.len(), *last),
            (count / CHUNK_LEN, count % CHUNK_LEN)
        );
    }

    #[test]
    fn a_lost_sender_truncates_the_stream() {
        let mut chunks = vec![Bytes::from_static(b"ab")].into_iter();
        let mut reader = ChunkReader::new(3, &mut chunks);
        assert!(reader.read_exact(&mut [0; 3]).is_err());
        assert!(reader.is_truncated());
    }
}
