use bytes::Bytes;
use quinn::{ConnectionError, ReadError, ReadExactError, RecvStream};

use crate::transport::Refusal;

/// Reads a stream piece by piece, as long as it is announced to be.
#[derive(Debug)]
pub(super) struct Source(RecvStream);

/// Why there is nothing to read.
#[derive(Debug)]
pub(super) enum Fault {
    /// The connection is over.
    Lost(ConnectionError),
    /// The peer gave the stream up.
    Reset,
    /// What came is not what it should be.
    Refused(Refusal),
}

impl Source {
    pub(super) const fn new(stream: RecvStream) -> Self {
        Self(stream)
    }

    /// The next `N` bytes, a part of `what`.
    pub(super) async fn array<const N: usize>(
        &mut self,
        what: &'static str,
    ) -> Result<[u8; N], Fault> {
        let mut bytes = [0; N];
        match self.0.read_exact(&mut bytes).await {
            Ok(()) => Ok(bytes),
            Err(ReadExactError::FinishedEarly(met)) => Err(Refusal::ended(what, met, N).into()),
            Err(ReadExactError::ReadError(error)) => Err(error.into()),
        }
    }

    /// Some of the next `max` bytes; none at the end.
    pub(super) async fn some(&mut self, max: usize) -> Result<Option<Bytes>, Fault> {
        let chunk = self.0.read_chunk(max, true).await?;
        Ok(chunk.map(|chunk| chunk.bytes))
    }

    /// Makes sure that nothing comes any more.
    pub(super) async fn end(&mut self) -> Result<(), Fault> {
        match self.some(1).await? {
            None => Ok(()),
            Some(_) => Err(Refusal::Trailing.into()),
        }
    }

    pub(super) fn into_stream(self) -> RecvStream {
        self.0
    }
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<ReadError> for Fault {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::ConnectionLost(source) => Self::Lost(source),
            ReadError::Reset(_)
            | ReadError::ClosedStream
            | ReadError::IllegalOrderedRead
            | ReadError::ZeroRttRejected => Self::Reset,
        }
    }
}
