use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use quinn::{SendStream, VarInt, WriteError};
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore, TryAcquireError, mpsc, oneshot};

use crate::transport::link::{CloseCode, Link, PeerError};
use crate::transport::session::{STAMP_LEN, Stamp};
use crate::transport::state_stream::StreamContent;
use crate::transport::{Refusal, state_stream};
use crate::{Address, EncodedState, Frame};

/// Sends frames and states to a peer.
///
/// Frames wait in a queue of bounded length while the peer or the network is slower than the sender.
#[derive(Clone, Debug)]
pub struct Sender {
    link: Arc<Link>,
    queue: mpsc::UnboundedSender<Item>,
    /// Free bytes of the queue.
    room: Arc<Semaphore>,
    /// The sequence number of the next state.
    states: Arc<Mutex<u64>>,
}

/// Why a frame was not queued immediately.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TrySendError {
    /// The queue is full; the frame is returned.
    #[error("no room for a frame of {} bytes: the peer is slower than the sender", frame.head.len() + frame.payload.len())]
    Full {
        /// The frame.
        frame: Frame,
    },
    /// The connection has ended.
    #[error(transparent)]
    Peer(#[from] PeerError),
}

impl Sender {
    /// How long a round trip to the peer takes, and the greatest datagram on the way, as far as is known now.
    #[must_use]
    pub fn path(&self) -> (Duration, u16) {
        let path = self.link.connection.stats().path;
        (path.rtt, path.current_mtu)
    }

    /// A sender and the task that writes for it.
    pub(super) fn spawn(link: Arc<Link>, stream: SendStream) -> Self {
        let (queue, items) = mpsc::unbounded_channel();
        let room = Arc::clone(&link.queue.room);
        let writer = Writer {
            link: Arc::clone(&link),
            stream,
            items,
            room: Arc::clone(&room),
        };
        link.tasks.start(writer.run());
        Self {
            link,
            queue,
            room,
            states: Arc::default(),
        }
    }

    /// Sends `frame` after all frames queued before; waits while the queue is full.
    ///
    /// # Errors
    ///
    /// If the connection has ended.
    pub async fn send(&self, frame: Frame) -> Result<(), PeerError> {
        let room = Arc::clone(&self.room).acquire_many_owned(self.weight(&frame));
        let room = room.await.map_err(|_| self.link.gone())?;
        self.put(frame, Some(room))
    }

    /// Sends `frame` after all frames queued before, if the queue has room now.
    ///
    /// # Errors
    ///
    /// If the queue is full, or the connection has ended.
    pub fn try_send(&self, frame: Frame) -> Result<(), TrySendError> {
        match Arc::clone(&self.room).try_acquire_many_owned(self.weight(&frame)) {
            Ok(room) => Ok(self.put(frame, Some(room))?),
            Err(TryAcquireError::NoPermits) => Err(TrySendError::Full { frame }),
            Err(TryAcquireError::Closed) => Err(self.link.gone().into()),
        }
    }

    /// Sends `frame` after all frames queued before, even if the queue is full. For frames that are bounded by other
    /// means, such as the messages of a superstep.
    ///
    /// # Errors
    ///
    /// If the connection has ended.
    pub fn push(&self, frame: Frame) -> Result<(), PeerError> {
        self.put(frame, None)
    }

    /// Whether the connection has ended.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.link.connection.close_reason().is_some()
    }

    /// The estimated round-trip time of a packet.
    #[must_use]
    pub fn round_trip(&self) -> Duration {
        self.link.connection.rtt()
    }

    /// The shortest round-trip time of a packet so far: that of a link without a queue.
    #[must_use]
    pub fn round_trip_least(&self) -> Duration {
        self.link.connection.stats().path.min_rtt
    }

    /// The bandwidth that the transport allows, in bytes per second: its congestion window in every round trip.
    #[must_use]
    #[expect(
        clippy::as_conversions,
        clippy::cast_precision_loss,
        reason = "an estimate may be rounded"
    )]
    pub fn bandwidth(&self) -> f64 {
        let path = self.link.connection.stats().path;
        path.cwnd as f64 / path.rtt.as_secs_f64()
    }

    /// Sends the state of a process on a separate stream, and waits until the peer has received all of it.
    ///
    /// Dropping the future breaks the connection.
    ///
    /// # Errors
    ///
    /// If the connection has ended, or the peer does not receive states.
    pub async fn send_state(
        &self,
        from: Address,
        to: Address,
        state: EncodedState,
    ) -> Result<(), PeerError> {
        let (stream, stamp) = self.open_stream().await?;
        let sent = state_stream::send(stream, stamp, from, to, state).await;
        sent.map_err(|error| write_error(&self.link, error))
    }

    /// Sends `content` as [`Self::send_state`] sends a state, with a payload that arrives in chunks of [`CHUNK_LEN`], the
    /// last one shorter, perhaps empty. Only the chunks in transfer are held in memory. Returns the length of the payload.
    ///
    /// If the payload is incomplete, the stream is reset, and the peer reports a failure.
    ///
    /// # Errors
    ///
    /// As [`Self::send_state`].
    ///
    /// [`CHUNK_LEN`]: crate::transport::CHUNK_LEN
    pub async fn send_state_chunks(
        &self,
        from: Address,
        to: Address,
        content: StreamContent,
        payload: mpsc::Receiver<Bytes>,
    ) -> Result<u64, PeerError> {
        let (stream, stamp) = self.open_stream().await?;
        let sent = state_stream::send_chunks(stream, stamp, from, to, content, payload).await;
        match sent {
            Ok(Some(length)) => Ok(length),
            Ok(None) => Err(self.link.gone()),
            Err(error) => Err(write_error(&self.link, error)),
        }
    }

    /// Closes the connection in order, after all frames sent before and all states whose [`Self::send_state`] has
    /// returned.
    ///
    /// # Errors
    ///
    /// If the peer does not receive the remaining frames within [`Bounds::handshake`], or the connection has ended.
    ///
    /// [`Bounds::handshake`]: crate::transport::Bounds::handshake
    pub async fn close(&self, reason: &str) -> Result<(), PeerError> {
        let (done, flushed) = oneshot::channel();
        // If the writer has ended, `done` is dropped.
        drop(self.queue.send(Item::End(done)));
        match tokio::time::timeout(self.link.bounds.answer, flushed).await {
            Ok(Ok(())) => {
                let code = CloseCode::Done.to_wire();
                self.link.connection.close(code, reason.as_bytes());
                Ok(())
            }
            Ok(Err(_)) => Err(self.link.gone()),
            Err(_) => Err(self.link.stalled()),
        }
    }

    /// Closes the connection because of what the peer sent, which is counted.
    ///
    /// Returns the error of the connection, which names the peer and `problem`.
    #[must_use]
    pub fn refuse(&self, problem: String) -> PeerError {
        self.link.refuse(Refusal::Content(problem))
    }

    fn put(&self, frame: Frame, room: Option<OwnedSemaphorePermit>) -> Result<(), PeerError> {
        // The writer would notice later.
        if let Some(ended) = self.link.connection.close_reason() {
            return Err(self.link.lost(ended));
        }
        let epoch = self.epoch();
        let item = Item::Frame { frame, epoch, room };
        self.queue.send(item).map_err(|_| self.link.gone())
    }

    /// Opens a stream for a state, and makes its stamp.
    async fn open_stream(&self) -> Result<(SendStream, Stamp), PeerError> {
        // States are numbered in the order in which their streams are opened.
        let mut next = self.states.lock().await;
        let stream = self.link.connection.open_uni().await;
        let stream = stream.map_err(|error| self.link.lost(error))?;
        *next += 1;
        Ok((stream, self.stamp(*next - 1)))
    }

    fn stamp(&self, sequence: u64) -> Stamp {
        Stamp {
            job: self.link.job,
            epoch: self.epoch(),
            sequence,
        }
    }

    /// The epoch of frames sent now; 0 without a job.
    fn epoch(&self) -> u64 {
        let epoch = self.link.session.state().epoch;
        self.link.job.map_or(0, |_| epoch)
    }

    /// The share of the queue that `frame` takes. A frame larger than the queue takes all of it.
    fn weight(&self, frame: &Frame) -> u32 {
        let length = frame.head.len() + frame.payload.len() + ITEM_LEN;
        let queue = self.link.queue.length(&self.link.bounds);
        u32::try_from(length).map_or(queue, |length| length.min(queue))
    }
}

#[derive(Debug)]
enum Item {
    Frame {
        frame: Frame,
        epoch: u64,
        /// Released once the frame is written.
        room: Option<OwnedSemaphorePermit>,
    },
    /// The last item; the channel is notified when the peer has received everything.
    End(oneshot::Sender<()>),
}

/// Writes queued frames, many at a time.
struct Writer {
    link: Arc<Link>,
    stream: SendStream,
    items: mpsc::UnboundedReceiver<Item>,
    room: Arc<Semaphore>,
}

impl Writer {
    async fn run(mut self) {
        if let Err(error) = self.write().await {
            drop(write_error(&self.link, error));
        }
        self.room.close();
    }

    async fn write(&mut self) -> Result<(), WriteError> {
        let (mut items, mut batch) = (Vec::new(), Batch::default());
        let mut sequence = 0;
        while 0 < self.items.recv_many(&mut items, BATCH_MAX).await {
            let (mut rooms, mut end) = (Vec::new(), None);
            for item in items.drain(..) {
                match item {
                    // Frames after the end are too late.
                    Item::Frame { .. } if end.is_some() => {}
                    Item::Frame { frame, epoch, room } => {
                        let job = self.link.job;
                        let stamp = Stamp {
                            job,
                            epoch,
                            sequence,
                        };
                        sequence += 1;
                        batch.push(stamp, frame);
                        rooms.push(room);
                    }
                    Item::End(done) => end = Some(done),
                }
            }
            self.stream.write_all_chunks(batch.parts()).await?;
            batch.written();
            if let Some(done) = end {
                self.stream.finish()?;
                if self.stream.stopped().await == Ok(None) {
                    // `close` may have timed out.
                    done.send(()).unwrap_or_default();
                }
                return Ok(());
            }
        }
        // All senders were dropped without closing: a finished stream would look like an orderly end.
        self.stream.reset(VarInt::from_u32(0))?;
        Ok(())
    }
}

/// Frames to be written: small parts are copied together, large ones are not copied.
#[derive(Default)]
struct Batch {
    small: BytesMut,
    parts: Vec<Bytes>,
}

impl Batch {
    fn push(&mut self, stamp: Stamp, frame: Frame) {
        self.small.reserve(STAMP_LEN);
        stamp.put(&mut self.small);
        for part in [frame.head, frame.payload] {
            if part.len() <= COPIED_MAX {
                self.small.extend_from_slice(&part);
            } else {
                self.cut();
                self.parts.push(part);
            }
        }
    }

    fn parts(&mut self) -> &mut [Bytes] {
        self.cut();
        &mut self.parts
    }

    fn written(&mut self) {
        self.parts.clear();
    }

    fn cut(&mut self) {
        if !self.small.is_empty() {
            self.parts.push(self.small.split().freeze());
        }
    }
}

fn write_error(link: &Link, error: WriteError) -> PeerError {
    match error {
        WriteError::ConnectionLost(source) => link.lost(source),
        WriteError::Stopped(_) | WriteError::ClosedStream | WriteError::ZeroRttRejected => {
            link.stalled()
        }
    }
}

/// Frames written at a time.
const BATCH_MAX: usize = 256;
/// Largest part of a frame that is copied.
const COPIED_MAX: usize = 4 << 10;
/// Bytes that a frame takes of the queue in addition to its own.
const ITEM_LEN: usize = 128;
