use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use quinn::{SendStream, VarInt, WriteError};
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore, TryAcquireError, mpsc, oneshot};

use crate::transport::close::{CloseCode, PeerError};
use crate::transport::peer::Link;
use crate::transport::session::{STAMP_LEN, Stamp};
use crate::transport::state;
use crate::{Address, AgentMessage, Frame, Message, ProcessImage};

/// What goes to a peer.
///
/// Frames wait in a queue of bounded length while the peer, or the way to it, takes no more.
#[derive(Clone, Debug)]
pub struct Sender {
    link: Arc<Link>,
    queue: mpsc::UnboundedSender<Item>,
    /// Bytes that the queue still takes.
    room: Arc<Semaphore>,
    /// The number of the next state.
    states: Arc<Mutex<u64>>,
}

/// Why a frame was not sent at once.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TrySendError {
    /// The queue is full; the frame comes back.
    #[error("a frame of {} bytes has to wait: the peer is slower than we", frame.head.len() + frame.payload.len())]
    Full {
        /// The frame.
        frame: Frame,
    },
    /// The connection is over.
    #[error(transparent)]
    Peer(#[from] PeerError),
}

impl Sender {
    /// A sender and the task that writes for it.
    pub(super) fn spawn(link: Arc<Link>, stream: SendStream) -> Self {
        let (queue, items) = mpsc::unbounded_channel();
        let room = Arc::new(Semaphore::new(usize_of(link.bounds.queue)));
        let writer = Writer {
            link: Arc::clone(&link),
            stream,
            items,
            room: Arc::clone(&room),
        };
        drop(tokio::spawn(writer.run()));
        Self {
            link,
            queue,
            room,
            states: Arc::default(),
        }
    }

    /// Sends `frame` behind all others; waits while the queue is full.
    ///
    /// # Errors
    ///
    /// If the connection is over.
    pub async fn send(&self, frame: Frame) -> Result<(), PeerError> {
        let room = Arc::clone(&self.room).acquire_many_owned(self.weight(&frame));
        let room = room.await.map_err(|_| self.link.gone())?;
        self.put(frame, Some(room))
    }

    /// Sends `frame` behind all others if the queue takes it now.
    ///
    /// # Errors
    ///
    /// If it does not, or the connection is over.
    pub fn try_send(&self, frame: Frame) -> Result<(), TrySendError> {
        match Arc::clone(&self.room).try_acquire_many_owned(self.weight(&frame)) {
            Ok(room) => Ok(self.put(frame, Some(room))?),
            Err(TryAcquireError::NoPermits) => Err(TrySendError::Full { frame }),
            Err(TryAcquireError::Closed) => Err(self.link.gone().into()),
        }
    }

    /// Sends `frame` behind all others, however many wait: for what is bounded by other means, as the messages
    /// of a superstep are.
    ///
    /// # Errors
    ///
    /// If the connection is over.
    pub fn push(&self, frame: Frame) -> Result<(), PeerError> {
        self.put(frame, None)
    }

    /// Whether the connection is over.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.link.connection.close_reason().is_some()
    }

    /// How long a packet takes to the peer and back, as far as is known.
    #[must_use]
    pub fn round_trip(&self) -> Duration {
        self.link.connection.rtt()
    }

    /// Sends the state of a process on a stream of its own, and waits until the peer has all of it.
    ///
    /// Dropping the future breaks the connection.
    ///
    /// # Errors
    ///
    /// If the connection is over, or the peer takes no states.
    ///
    /// # Panics
    ///
    /// If the state is shorter than its agent's part of it.
    pub async fn send_state(
        &self,
        from: Address,
        to: Address,
        state: ProcessImage,
    ) -> Result<(), PeerError> {
        let (stream, stamp) = self.open_stream().await?;
        let sent = state::send(stream, stamp, from, to, state).await;
        sent.map_err(|error| of_write(&self.link, error))
    }

    /// Sends the state of a process as [`Self::send_state`] does, but its payload of so many bytes as it is made, in
    /// pieces of [`CHUNK_LEN`] but the last: no more of it is kept than is on its way.
    ///
    /// If less is made, the peer is told that the state is given up, which it takes for a failure.
    ///
    /// # Errors
    ///
    /// As [`Self::send_state`].
    ///
    /// # Panics
    ///
    /// If a piece is not as long as it should be.
    ///
    /// [`CHUNK_LEN`]: crate::transport::CHUNK_LEN
    pub async fn send_pieces(
        &self,
        from: Address,
        to: Address,
        state: ProcessImage,
        payload: (u64, mpsc::Receiver<Bytes>),
    ) -> Result<(), PeerError> {
        let (stream, stamp) = self.open_stream().await?;
        let message = Message::Agent(AgentMessage::ProcessImage(Box::new(state)));
        let sent = state::send_pieces(stream, stamp, (from, to, &message), payload).await;
        match sent {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.link.gone()),
            Err(error) => Err(of_write(&self.link, error)),
        }
    }

    /// Closes the connection in order, after everything that was sent before: frames, and states whose
    /// [`Self::send_state`] has returned.
    ///
    /// # Errors
    ///
    /// If the peer does not take what is still to be sent in the time of [`Bounds::handshake`], or is
    /// gone already.
    ///
    /// [`Bounds::handshake`]: crate::transport::Bounds::handshake
    pub async fn close(&self, reason: &str) -> Result<(), PeerError> {
        let (done, flushed) = oneshot::channel();
        // If the writer is gone, so is `done`.
        drop(self.queue.send(Item::End(done)));
        match tokio::time::timeout(self.link.bounds.handshake, flushed).await {
            Ok(Ok(())) => {
                let code = CloseCode::Done.to_wire();
                self.link.connection.close(code, reason.as_bytes());
                Ok(())
            }
            Ok(Err(_)) => Err(self.link.gone()),
            Err(_) => Err(self.link.unread()),
        }
    }

    fn put(&self, frame: Frame, room: Option<OwnedSemaphorePermit>) -> Result<(), PeerError> {
        // The writer finds out later.
        if let Some(ended) = self.link.connection.close_reason() {
            return Err(self.link.lost(ended));
        }
        let epoch = self.epoch();
        let item = Item::Frame { frame, epoch, room };
        self.queue.send(item).map_err(|_| self.link.gone())
    }

    /// A stream for a state, and its stamp.
    async fn open_stream(&self) -> Result<(SendStream, Stamp), PeerError> {
        // The number says in which order the streams were opened.
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

    /// What is sent now is stamped with; without a job there are no epochs.
    fn epoch(&self) -> u64 {
        let epoch = self.link.session.standing().epoch;
        self.link.job.map_or(0, |_| epoch)
    }

    /// What `frame` takes of the queue: a frame larger than the queue takes all of it.
    fn weight(&self, frame: &Frame) -> u32 {
        let length = frame.head.len() + frame.payload.len() + ITEM_LEN;
        u32::try_from(length).map_or(self.link.bounds.queue, |length| {
            length.min(self.link.bounds.queue)
        })
    }
}

#[derive(Debug)]
enum Item {
    Frame {
        frame: Frame,
        epoch: u64,
        /// Given back once the frame is written.
        room: Option<OwnedSemaphorePermit>,
    },
    /// Nothing comes behind it; say when the peer has everything.
    End(oneshot::Sender<()>),
}

/// Writes what is queued, many frames at a time.
struct Writer {
    link: Arc<Link>,
    stream: SendStream,
    items: mpsc::UnboundedReceiver<Item>,
    room: Arc<Semaphore>,
}

impl Writer {
    async fn run(mut self) {
        if let Err(error) = self.write().await {
            drop(of_write(&self.link, error));
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
                    // Frames behind the end come too late.
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
            self.stream.write_all_chunks(batch.pieces()).await?;
            batch.written();
            if let Some(done) = end {
                self.stream.finish()?;
                if self.stream.stopped().await == Ok(None) {
                    // Whoever closes may have given up waiting.
                    done.send(()).unwrap_or_default();
                }
                return Ok(());
            }
        }
        // All senders are gone without closing: finishing would look like an orderly end.
        self.stream.reset(VarInt::from_u32(0))?;
        Ok(())
    }
}

/// Frames on their way to the stream: small pieces copied together, large ones as they are.
#[derive(Default)]
struct Batch {
    small: BytesMut,
    pieces: Vec<Bytes>,
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
                self.pieces.push(part);
            }
        }
    }

    fn pieces(&mut self) -> &mut [Bytes] {
        self.cut();
        &mut self.pieces
    }

    fn written(&mut self) {
        self.pieces.clear();
    }

    fn cut(&mut self) {
        if !self.small.is_empty() {
            self.pieces.push(self.small.split().freeze());
        }
    }
}

fn of_write(link: &Link, error: WriteError) -> PeerError {
    match error {
        WriteError::ConnectionLost(source) => link.lost(source),
        WriteError::Stopped(_) | WriteError::ClosedStream | WriteError::ZeroRttRejected => {
            link.unread()
        }
    }
}

fn usize_of(count: u32) -> usize {
    usize::try_from(count).expect("32 bits fit a usize")
}

/// Frames written at a time.
const BATCH_MAX: usize = 256;
/// Bytes of a piece that is rather copied than handed on.
const COPIED_MAX: usize = 4 << 10;
/// What a frame takes of the queue beside its bytes.
const ITEM_LEN: usize = 128;
