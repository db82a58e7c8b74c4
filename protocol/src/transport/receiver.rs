//! Receiving: frames of the control stream, and streams in parts of known length.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use quinn::{Chunk, ConnectionError, ReadError, ReadExactError, RecvStream};
use tokio::time::{Instant, timeout};

use crate::transport::Refusal;
use crate::transport::limits::FrameShare;
use crate::transport::link::{Link, PeerError};
use crate::transport::session::{FrameOrder, STAMP_LEN, Stamp};
use crate::{Address, Message, PREFIX_LEN, Prefix};

/// Receives the frames of a peer on its control stream, in the order sent.
#[derive(Debug)]
pub struct Receiver {
    link: Arc<Link>,
    stream: RecvStream,
    order: FrameOrder,
    /// Bytes that arrived and are not yet a whole frame.
    buffer: BytesMut,
    /// The prefix of the next frame, once it has been taken from the buffer.
    prefix: Option<Prefix>,
    /// The memory of the next frame.
    share: FrameShare,
    pace: Pace,
}

/// The next event of a peer's control stream.
#[derive(Clone, Debug, PartialEq)]
pub enum Received {
    /// A message: sender, receiver, and itself.
    Message(Address, Address, Message),
    /// The peer has closed the connection in order; this is the last event.
    Closed {
        /// The reason it gave.
        reason: String,
    },
}

impl Receiver {
    pub(super) fn new(link: Arc<Link>, stream: RecvStream, order: FrameOrder) -> Self {
        let share = link.frame_share();
        Self {
            link,
            stream,
            order,
            buffer: BytesMut::new(),
            prefix: None,
            share,
            pace: Pace::default(),
        }
    }

    /// The next message of the peer. Dropping the future loses nothing.
    ///
    /// # Errors
    ///
    /// If the connection has ended otherwise than in order: the peer sent a frame that is not allowed, aborted the
    /// connection, or is lost. All later calls fail too.
    pub async fn receive(&mut self) -> Result<Received, PeerError> {
        loop {
            let next = self.next();
            if let Some((from, to, message)) = next.map_err(|refusal| self.link.refuse(refusal))? {
                return Ok(Received::Message(from, to, message));
            }
            let read = match self.make_room().await {
                Ok(()) => self.read().await,
                Err(refusal) => Err(refusal),
            };
            match read.map_err(|refusal| self.link.refuse(refusal))? {
                Ok(Some(chunk)) => self.buffer.extend_from_slice(&chunk.bytes),
                Ok(None) => return self.end().await,
                Err(ReadError::ConnectionLost(source)) => return self.lost(source),
                Err(
                    ReadError::Reset(_)
                    | ReadError::ClosedStream
                    | ReadError::IllegalOrderedRead
                    | ReadError::ZeroRttRejected,
                ) => {
                    let source = self.link.connection.closed().await;
                    return self.lost(source);
                }
            }
        }
    }

    pub(super) fn link(&self) -> &Link {
        &self.link
    }

    /// Waits until the buffer may grow by [`READ_MAX`].
    async fn make_room(&mut self) -> Result<(), Refusal> {
        let length = length_of(self.buffer.len() + READ_MAX);
        let counted = length.saturating_sub(self.link.frames.uncounted);
        if counted == 0 {
            return Ok(());
        }
        self.share.grow_to(counted).await
    }

    /// Reads the next bytes. Fails if a frame has begun and arrives too slowly.
    async fn read(&mut self) -> Result<Result<Option<Chunk>, ReadError>, Refusal> {
        let reading = self.stream.read_chunk(READ_MAX, true);
        if self.buffer.is_empty() && self.prefix.is_none() {
            return Ok(reading.await);
        }
        let after = self.link.bounds.unfinished;
        let limit = (after, || self.link.brought());
        let read = self.pace.wait("a frame", limit, reading).await?;
        if let Ok(Some(chunk)) = &read {
            self.pace.gain(chunk.bytes.len());
        }
        Ok(read)
    }

    /// Takes the first frame off the buffer, if it is complete.
    fn next(&mut self) -> Result<Option<(Address, Address, Message)>, Refusal> {
        let prefix = match self.prefix {
            Some(prefix) => prefix,
            None => {
                let Some((stamp, rest)) = self.buffer.split_first_chunk() else {
                    return Ok(None);
                };
                let Some((prefix, _)) = rest.split_first_chunk() else {
                    return Ok(None);
                };
                let state = self.link.session.state();
                self.order.accept(Stamp::decode(stamp), state)?;
                let prefix = Prefix::decode(prefix, &self.link.frames.limits)?;
                drop(self.buffer.split_to(STAMP_LEN + PREFIX_LEN));
                self.prefix = Some(prefix);
                prefix
            }
        };
        let payload = usize::try_from(prefix.payload_len()).unwrap_or(usize::MAX);
        if self.buffer.len() < prefix.head_len().saturating_add(payload) {
            return Ok(None);
        }
        self.prefix = None;
        self.pace = Pace::default();
        self.share.release();
        let head = self.buffer.split_to(prefix.head_len());
        let payload = self.buffer.split_to(payload).freeze();
        let (from, to, message) = prefix.open(&head, payload)?;
        self.link.check(from, &message)?;
        Ok(Some((from, to, message)))
    }

    /// Handles the end of the stream: in order, if no partial frame is left and the connection is closed in order.
    async fn end(&mut self) -> Result<Received, PeerError> {
        if self.prefix.is_some() || !self.buffer.is_empty() {
            let expected = self.prefix.map_or(STAMP_LEN + PREFIX_LEN, |prefix| {
                let payload = usize::try_from(prefix.payload_len()).unwrap_or(usize::MAX);
                prefix.head_len().saturating_add(payload)
            });
            return Err(self
                .link
                .refuse(Refusal::ended("a frame", self.buffer.len(), expected)));
        }
        let closed = self.link.connection.closed();
        let closed = timeout(self.link.bounds.answer, closed).await;
        self.lost(closed.unwrap_or(ConnectionError::TimedOut))
    }

    fn lost(&self, source: ConnectionError) -> Result<Received, PeerError> {
        match self.link.lost(source) {
            PeerError::Closed { reason, .. } => Ok(Received::Closed { reason }),
            error @ (PeerError::Aborted { .. }
            | PeerError::Local { .. }
            | PeerError::Stalled { .. }
            | PeerError::Silent { .. }
            | PeerError::Certificate { .. }
            | PeerError::Lost { .. }
            | PeerError::Refused { .. }) => Err(error),
        }
    }
}

fn length_of(bytes: usize) -> u64 {
    u64::try_from(bytes).expect("a length fits 64 bits")
}

const READ_MAX: usize = 256 << 10;

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

/// How fast an incomplete frame or state grows, if it does not end: in [`Bounds::unfinished`], by [`PACE`] bytes, or by its share of
/// what its connection brings, which is what a slow link carries.
///
/// [`Bounds::unfinished`]: crate::transport::Bounds::unfinished
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Bytes that have arrived while it was waited for.
    gained: usize,
    waited: Duration,
    /// Bytes that the connection had brought before.
    before: Option<u64>,
}

impl Pace {
    /// Waits for the next bytes of `what`; `brought` says how many bytes its connection has brought so far.
    ///
    /// # Errors
    ///
    /// If it has not grown as it should within `after`.
    pub(super) async fn wait<T>(
        &mut self,
        what: &'static str,
        (after, brought): (Duration, impl Fn() -> u64),
        reading: impl Future<Output = T>,
    ) -> Result<T, Refusal> {
        let mut reading = pin!(reading);
        loop {
            let before = *self.before.get_or_insert_with(&brought);
            let began = Instant::now();
            let read = timeout(after.saturating_sub(self.waited), &mut reading).await;
            if let Ok(read) = read {
                self.waited += began.elapsed();
                return Ok(read);
            }
            let gained = length_of(self.gained);
            let all = brought().saturating_sub(before);
            if gained < LEAST || SHARES * gained < all {
                return Err(Refusal::Unfinished { what, after });
            }
            *self = Self::default();
        }
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
/// Bytes by which it grows at least, however slow the link is: one chunk of a state.
const LEAST: u64 = 64 << 10;
/// The least share that it has of a slow link: the other streams, repetitions and packet headers take the rest.
const SHARES: u64 = 8;
