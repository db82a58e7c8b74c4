//! Bytes between whoever encodes or decodes, who waits as a thread, and the thread that carries messages.
//!
//! A state is encoded while it is sent, and decoded while it comes, so that neither end holds it a second time.

use std::io::{self, Read, Write};

use bytes::{Buf, Bytes, BytesMut};
use protocol::transport::CHUNK_LEN;
use tokio::sync::mpsc;

/// A way for so many pieces that wait.
pub(super) fn way() -> (mpsc::Sender<Bytes>, mpsc::Receiver<Bytes>) {
    mpsc::channel(WAITING)
}

/// Cuts what is written into pieces.
pub(super) struct Cutter {
    pieces: mpsc::Sender<Bytes>,
    piece: BytesMut,
}

impl Cutter {
    pub(super) fn new(pieces: mpsc::Sender<Bytes>) -> Self {
        Self {
            pieces,
            piece: BytesMut::new(),
        }
    }

    fn cut(&mut self) -> io::Result<()> {
        let piece = self.piece.split().freeze();
        let sent = self.pieces.blocking_send(piece);
        sent.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))
    }
}

impl Write for Cutter {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.write_all(buffer)?;
        Ok(buffer.len())
    }

    fn write_all(&mut self, mut buffer: &[u8]) -> io::Result<()> {
        while CHUNK_LEN <= self.piece.len() + buffer.len() {
            let (now, later) = buffer.split_at(CHUNK_LEN - self.piece.len());
            self.piece.extend_from_slice(now);
            self.cut()?;
            buffer = later;
        }
        self.piece.extend_from_slice(buffer);
        Ok(())
    }

    /// What is left goes as a piece of its own: to be called at the end, once.
    fn flush(&mut self) -> io::Result<()> {
        if self.piece.is_empty() {
            return Ok(());
        }
        self.cut()
    }
}

/// Reads so many bytes of pieces as they come.
pub(super) struct Joiner {
    pieces: mpsc::Receiver<Bytes>,
    piece: Bytes,
    length: u64,
    /// Bytes that are still to come in pieces after this one.
    left: u64,
    was_cut: bool,
}

impl Joiner {
    pub(super) fn new(length: u64, pieces: mpsc::Receiver<Bytes>) -> Self {
        Self {
            pieces,
            piece: Bytes::new(),
            length,
            left: length,
            was_cut: false,
        }
    }

    /// How many bytes there are, read and to be read.
    pub(super) const fn len(&self) -> u64 {
        self.length
    }

    /// Whether pieces were missing, because their sender is lost.
    pub(super) const fn was_cut(&self) -> bool {
        self.was_cut
    }

    /// Whether everything has been read.
    pub(super) fn is_over(&self) -> bool {
        self.piece.is_empty() && self.left == 0
    }

    /// Has bytes to read, unless there are no more.
    fn fill(&mut self) -> io::Result<()> {
        if !self.is_over() && self.piece.is_empty() {
            let Some(piece) = self.pieces.blocking_recv() else {
                self.was_cut = true;
                return Err(io::ErrorKind::UnexpectedEof.into());
            };
            let length = u64::try_from(piece.len()).expect("lengths fit 64 bits");
            self.left = self.left.saturating_sub(length);
            self.piece = piece;
        }
        Ok(())
    }
}

impl Read for Joiner {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.fill()?;
        let length = buffer.len().min(self.piece.len());
        self.piece.copy_to_slice(&mut buffer[..length]);
        Ok(length)
    }

    fn read_exact(&mut self, mut buffer: &mut [u8]) -> io::Result<()> {
        // Most of what is read are single numbers, which lie in one piece.
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

/// Pieces that wait: one is made while another is sent.
const WAITING: usize = 2;

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn what_is_cut_is_joined_again() {
        for length in [0, 1, CHUNK_LEN - 1, CHUNK_LEN, 3 * CHUNK_LEN + 5] {
            let all: Vec<u8> = (0..=250).cycle().take(length).collect();
            let (sender, pieces) = way();
            let mut joiner = Joiner::new(u64::try_from(length).unwrap(), pieces);
            let written = all.clone();
            let writing = thread::spawn(move || {
                let mut cutter = Cutter::new(sender);
                for part in written.chunks(777_777) {
                    cutter.write_all(part).unwrap();
                }
                cutter.flush().unwrap();
            });
            let mut read = Vec::new();
            joiner.read_to_end(&mut read).unwrap();
            writing.join().unwrap();
            assert!(read == all && joiner.is_over(), "{length}");
        }
    }

    #[test]
    fn what_does_not_come_is_missed() {
        let (sender, pieces) = way();
        sender.blocking_send(Bytes::from_static(b"ab")).unwrap();
        drop(sender);
        let mut joiner = Joiner::new(3, pieces);
        assert!(joiner.read_exact(&mut [0; 3]).is_err());
        assert!(joiner.was_cut());
    }
}
