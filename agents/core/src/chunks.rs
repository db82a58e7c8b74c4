//! Bytes in chunks, between what encodes or decodes a state and what carries it.
//!
//! A state is encoded while it is sent and decoded while it arrives, so neither end holds a second copy.

use std::fmt;
use std::io::{self, Read, Write};
use std::time::Duration;

use bytes::{Buf, Bytes};
use protocol::transport::CHUNK_LEN;

/// Where chunks go.
pub trait ChunkSink {
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
pub trait ChunkSource {
    /// The next chunk; `None` at the end.
    ///
    /// # Errors
    ///
    /// If the sender was lost before it had sent all chunks.
    fn receive(&mut self) -> io::Result<Option<Bytes>>;
}

/// Passes on the bytes that are written to it in chunks of [`CHUNK_LEN`]. A shorter one, perhaps empty, is the last.
pub struct ChunkWriter<'a> {
    sink: &'a mut dyn ChunkSink,
    /// It has the capacity of a chunk.
    chunk: Vec<u8>,
}

impl fmt::Debug for ChunkWriter<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ChunkWriter")
            .field("chunk", &self.chunk)
            .finish_non_exhaustive()
    }
}

impl<'a> ChunkWriter<'a> {
    /// Writes to `sink`.
    pub fn new(sink: &'a mut dyn ChunkSink) -> Self {
        Self {
            sink,
            chunk: Vec::with_capacity(CHUNK_LEN),
        }
    }

    /// How long it has waited for chunks to be sent.
    pub(crate) fn waited(&self) -> Duration {
        self.sink.waited()
    }

    /// Sends the last chunk.
    ///
    /// # Errors
    ///
    /// If the sink takes no more.
    pub fn finish(mut self) -> io::Result<()> {
        self.send()
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

    /// Chunks are sent when they are full, and by [`ChunkWriter::finish`].
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads bytes from chunks as they arrive.
pub struct ChunkReader<'a> {
    source: &'a mut dyn ChunkSource,
    chunk: Bytes,
    /// The number of bytes that have been read.
    offset: u64,
    /// Whether this was the last chunk.
    has_all: bool,
    is_truncated: bool,
}

impl fmt::Debug for ChunkReader<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ChunkReader")
            .field("offset", &self.offset)
            .field("has_all", &self.has_all)
            .field("is_truncated", &self.is_truncated)
            .finish_non_exhaustive()
    }
}

impl<'a> ChunkReader<'a> {
    /// Reads from `source`.
    pub fn new(source: &'a mut dyn ChunkSource) -> Self {
        Self {
            source,
            chunk: Bytes::new(),
            offset: 0,
            has_all: false,
            is_truncated: false,
        }
    }

    /// The number of bytes that have been read.
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Whether the sender was lost before it had sent all chunks.
    pub const fn is_truncated(&self) -> bool {
        self.is_truncated
    }

    /// Whether everything has been read. Waits for the next chunk if this one has been.
    ///
    /// # Errors
    ///
    /// If the sender was lost.
    pub fn is_over(&mut self) -> io::Result<bool> {
        self.fill()?;
        Ok(self.chunk.is_empty())
    }

    /// Waits for the next chunk if this one has been read.
    fn fill(&mut self) -> io::Result<()> {
        while self.chunk.is_empty() && !self.has_all {
            match self.source.receive() {
                Ok(Some(chunk)) => self.chunk = chunk,
                Ok(None) => self.has_all = true,
                Err(error) => {
                    self.is_truncated = true;
                    return Err(error);
                }
            }
        }
        Ok(())
    }
}

impl Read for ChunkReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.fill()?;
        let length = buffer.len().min(self.chunk.len());
        self.chunk.copy_to_slice(&mut buffer[..length]);
        self.offset += u64::try_from(length).expect("lengths fit 64 bits");
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
    fn receive(&mut self) -> io::Result<Option<Bytes>> {
        Ok(self.next())
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
        writer.finish().unwrap();
        chunks
    }

    #[test]
    fn chunks_are_read_as_they_were_written() {
        for len in [0, 1, CHUNK_LEN - 1, CHUNK_LEN, 3 * CHUNK_LEN + 5] {
            let all: Vec<u8> = (0..=250).cycle().take(len).collect();
            let mut chunks = written(&all, [777_777; 4]).into_iter();
            let mut reader = ChunkReader::new(&mut chunks);
            let mut read = Vec::new();
            reader.read_to_end(&mut read).unwrap();
            assert!(read == all && reader.is_over().unwrap(), "{len}");
            assert_eq!(reader.offset(), u64::try_from(len).unwrap());
        }
    }

    #[test]
    fn all_chunks_but_the_last_are_full() {
        for parts in [[777_777, 1, 3 * CHUNK_LEN, 5], [CHUNK_LEN; 4], [0; 4]] {
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
    }

    /// Sends two bytes before it is lost.
    struct Lost(bool);

    impl ChunkSource for Lost {
        fn receive(&mut self) -> io::Result<Option<Bytes>> {
            if std::mem::replace(&mut self.0, true) {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            Ok(Some(Bytes::from_static(b"ab")))
        }
    }

    #[test]
    fn a_lost_sender_truncates_the_stream() {
        let mut source = Lost(false);
        let mut reader = ChunkReader::new(&mut source);
        assert!(reader.read_exact(&mut [0; 3]).is_err());
        assert!(reader.is_truncated());
    }
}
