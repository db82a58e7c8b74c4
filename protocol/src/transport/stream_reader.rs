use std::future::Future;
use std::time::Duration;

use bytes::Bytes;
use quinn::{ConnectionError, ReadError, ReadExactError, RecvStream};
use tokio::time::{Instant, timeout};

use crate::transport::Refusal;

/// Reads a stream in parts of known length.
#[derive(Debug)]
pub(super) struct StreamReader(RecvStream);

/// Why a read failed.
#[derive(Debug)]
pub(super) enum StreamError {
    /// The connection has ended.
    Lost(ConnectionError),
    /// The peer has reset the stream.
    Reset,
    /// The peer sent something else than expected.
    Refused(Refusal),
}

impl StreamReader {
    pub(super) const fn new(stream: RecvStream) -> Self {
        Self(stream)
    }

    /// The next `N` bytes, a part of `what`.
    pub(super) async fn read_array<const N: usize>(
        &mut self,
        what: &'static str,
    ) -> Result<[u8; N], StreamError> {
        let mut bytes = [0; N];
        self.read_into(&mut bytes, what).await?;
        Ok(bytes)
    }

    /// Fills `bytes` with the next bytes, a part of `what`.
    pub(super) async fn read_into(
        &mut self,
        bytes: &mut [u8],
        what: &'static str,
    ) -> Result<(), StreamError> {
        let length = bytes.len();
        match self.0.read_exact(bytes).await {
            Ok(()) => Ok(()),
            Err(ReadExactError::FinishedEarly(found)) => {
                Err(Refusal::ended(what, found, length).into())
            }
            Err(ReadExactError::ReadError(error)) => Err(error.into()),
        }
    }

    /// Between 1 and `max` of the next bytes, or `None` at the end.
    pub(super) async fn read_some(&mut self, max: usize) -> Result<Option<Bytes>, StreamError> {
        let chunk = self.0.read_chunk(max, true).await?;
        Ok(chunk.map(|chunk| chunk.bytes))
    }

    /// Checks that the stream ends here.
    pub(super) async fn expect_end(&mut self) -> Result<(), StreamError> {
        match self.read_some(1).await? {
            None => Ok(()),
            Some(_) => Err(Refusal::Trailing.into()),
        }
    }

    pub(super) fn into_stream(self) -> RecvStream {
        self.0
    }
}

/// The result of `reading` a part of a state, which fails after `limit`.
pub(super) async fn in_time<T>(
    limit: Duration,
    reading: impl Future<Output = Result<T, StreamError>>,
) -> Result<T, StreamError> {
    let unfinished = Refusal::Unfinished {
        what: "a state",
        after: limit,
    };
    let read = timeout(limit, reading).await;
    read.unwrap_or(Err(unfinished.into()))
}

impl From<Refusal> for StreamError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<ReadError> for StreamError {
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

/// How fast an incomplete frame or state grows: by [`PACE`] bytes in [`Bounds::unfinished`], if it does not end.
///
/// [`Bounds::unfinished`]: crate::transport::Bounds::unfinished
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Bytes that have arrived while it was waited for.
    gained: usize,
    waited: Duration,
}

impl Pace {
    /// Waits for the next bytes of `what`.
    ///
    /// # Errors
    ///
    /// If it has not grown as it should within `after`.
    pub(super) async fn wait<T>(
        &mut self,
        what: &'static str,
        after: Duration,
        reading: impl Future<Output = T>,
    ) -> Result<T, Refusal> {
        let began = Instant::now();
        let read = timeout(after.saturating_sub(self.waited), reading).await;
        let read = read.map_err(|_| Refusal::Unfinished { what, after })?;
        self.waited += began.elapsed();
        Ok(read)
    }

    /// Counts bytes that have arrived.
    pub(super) fn gain(&mut self, bytes: usize) {
        self.gained += bytes;
        if PACE <= self.gained {
            *self = Self::default();
        }
    }
}

/// Bytes by which an incomplete frame or state grows.
const PACE: usize = 1 << 20;
