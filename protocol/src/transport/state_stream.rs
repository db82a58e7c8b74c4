use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use quinn::{SendStream, VarInt, WriteError};
use tokio::sync::mpsc;

use crate::transport::endpoint::{OPENING_LEN, STATE, check_opening};
use crate::transport::link::{Link, PeerError};
use crate::transport::receiver::{Pace, StreamError, StreamReader, in_time};
use crate::transport::session::{FrameOrder, STAMP_LEN, Stamp};
use crate::transport::{Bounds, Refusal, rights};
use crate::{
    Address, AgentMessage, CheckpointMessage, EncodedState, Limits, Message, NodeMessage,
    PREFIX_LEN, Pieces, Prefix, encode,
};

/// Receives the migrated states of a peer and the pieces of its checkpoints, each on a separate stream.
///
/// A stream begins with 8 bytes that identify its kind, and a stamp, as every frame does. A frame without a payload
/// follows, then the payload in chunks.
#[derive(Debug)]
pub struct StateReceiver {
    link: Arc<Link>,
    order: FrameOrder,
}

/// A state that has been received.
#[derive(Clone, Debug, PartialEq)]
pub struct ReceivedState {
    /// Its sender.
    pub from: Address,
    /// Its receiver.
    pub to: Address,
    /// The state.
    pub state: EncodedState,
    /// The time from its first byte to its last.
    pub took: Duration,
}

/// What a stream has.
#[derive(Clone, Debug, PartialEq)]
pub enum StreamContent {
    /// The state of a process.
    State(EncodedState),
    /// The pieces of a node for the checkpoint before a superstep.
    Pieces(u64, Pieces),
}

/// A state, or pieces, that are being received.
#[derive(Debug)]
pub struct StateStream {
    /// The sender.
    pub from: Address,
    /// The receiver.
    pub to: Address,
    /// What is received, without the payload.
    pub content: StreamContent,
    /// When the first byte arrived.
    pub began: Instant,
    /// The payload.
    pub payload: StatePayload,
}

/// The payload of a state, yet to be read.
#[derive(Debug)]
pub struct StatePayload {
    link: Arc<Link>,
    reader: StreamReader,
}

impl StateReceiver {
    pub(super) const fn new(link: Arc<Link>, order: FrameOrder) -> Self {
        Self { link, order }
    }

    /// Receives the next state.
    ///
    /// Call it in a separate task: dropping the future loses the state that was being received.
    ///
    /// # Errors
    ///
    /// If the connection has ended, in order or not, or the peer sent something that is not allowed.
    pub async fn receive(&mut self) -> Result<ReceivedState, PeerError> {
        let link = Arc::clone(&self.link);
        self.read().await.map_err(|error| read_error(&link, error))
    }

    /// Receives the head of the next state. The payloads of several states may be read at the same time.
    ///
    /// # Errors
    ///
    /// As [`Self::receive`].
    pub async fn accept(&mut self) -> Result<StateStream, PeerError> {
        let link = Arc::clone(&self.link);
        self.begin().await.map_err(|error| read_error(&link, error))
    }

    async fn read(&mut self) -> Result<ReceivedState, StreamError> {
        let opened = self.begin().await?;
        let StateStream {
            from,
            to,
            content,
            began,
            mut payload,
        } = opened;
        let state = match content {
            StreamContent::State(state) => state,
            StreamContent::Pieces(..) => {
                let role = self.link.peer.subject.role;
                return Err(rights::denied(role, from, &content.into()).into());
            }
        };
        let limits = payload_limits(&self.link.bounds);
        let reader = &mut payload.reader;
        let link = Arc::clone(&self.link);
        let payload = read_whole(reader, limits, || link.brought()).await?;
        in_time(limits.unfinished, reader.expect_end()).await?;
        Ok(ReceivedState {
            from,
            to,
            state: EncodedState { payload, ..state },
            took: began.elapsed(),
        })
    }

    async fn begin(&mut self) -> Result<StateStream, StreamError> {
        self.link.widen();
        let stream = self.link.connection.accept_uni().await;
        let reader = StreamReader::new(stream.map_err(StreamError::Lost)?);
        in_time(self.link.bounds.unfinished, self.open(reader)).await
    }

    async fn open(&mut self, mut reader: StreamReader) -> Result<StateStream, StreamError> {
        let began = Instant::now();
        check_opening(
            &reader.read_array::<OPENING_LEN>("an opening").await?,
            STATE,
        )?;
        let stamp = Stamp::decode(&reader.read_array("a stamp").await?);
        self.order.accept(stamp, self.link.session.state())?;
        let prefix = reader.read_array::<PREFIX_LEN>("a prefix").await?;
        let limits = Limits {
            payload: 0,
            ..self.link.bounds.state
        };
        let prefix = Prefix::decode(&prefix, &limits).map_err(Refusal::from)?;
        let mut head = Vec::new();
        while head.len() < prefix.head_len() {
            let left = prefix.head_len() - head.len();
            let Some(bytes) = reader.read_some(left).await? else {
                return Err(Refusal::ended("a head", head.len(), prefix.head_len()).into());
            };
            head.extend_from_slice(&bytes);
        }
        let (from, to, message) = prefix.open(&head, Bytes::new()).map_err(Refusal::from)?;
        self.link.check(from, &message)?;
        let content = match message {
            Message::Agent(AgentMessage::State(state)) => StreamContent::State(*state),
            Message::Node(NodeMessage::Checkpoint(at, CheckpointMessage::Pieces(pieces))) => {
                StreamContent::Pieces(at, pieces)
            }
            Message::Agent(_) | Message::Node(_) | Message::Job(_) => {
                let role = self.link.peer.subject.role;
                return Err(rights::denied(role, from, &message).into());
            }
        };
        let payload = StatePayload {
            link: Arc::clone(&self.link),
            reader,
        };
        Ok(StateStream {
            from,
            to,
            content,
            began,
            payload,
        })
    }
}

impl From<StreamContent> for Message {
    fn from(content: StreamContent) -> Self {
        match content {
            StreamContent::State(state) => Self::Agent(AgentMessage::State(Box::new(state))),
            StreamContent::Pieces(superstep, pieces) => Self::Node(NodeMessage::Checkpoint(
                superstep,
                CheckpointMessage::Pieces(pieces),
            )),
        }
    }
}

impl StatePayload {
    /// Reads the payload, and sends its verified chunks of [`CHUNK_LEN`] to `chunks`; the last one is shorter, and may be
    /// empty. Waits while the channel is full.
    ///
    /// # Errors
    ///
    /// If the connection has ended, or the peer sent something that is not allowed.
    ///
    /// [`CHUNK_LEN`]: crate::transport::CHUNK_LEN
    pub async fn read(mut self, chunks: mpsc::Sender<Bytes>) -> Result<(), PeerError> {
        let read = async {
            let limits = payload_limits(&self.link.bounds);
            let brought = || self.link.brought();
            read_chunks(&mut self.reader, (limits, brought), &chunks).await?;
            in_time(limits.unfinished, self.reader.expect_end()).await
        };
        let read = read.await;
        read.map_err(|error| read_error(&self.link, error))
    }
}

fn read_error(link: &Link, error: StreamError) -> PeerError {
    match error {
        StreamError::Refused(refusal) => link.refuse(refusal),
        StreamError::Lost(source) => link.lost(source),
        StreamError::Reset => link.refuse(Refusal::ended("a state", 0, OPENING_LEN)),
    }
}

fn payload_limits(bounds: &Bounds) -> PayloadLimits {
    PayloadLimits {
        bytes: bounds.state.payload,
        unfinished: bounds.unfinished,
    }
}

/// Sends `content` on `stream`, its payload in chunks as they become available, and waits until the peer has received
/// all of it. Returns the length of the payload, if it was complete.
pub(super) async fn send_chunks(
    mut stream: SendStream,
    stamp: Stamp,
    from: Address,
    to: Address,
    content: StreamContent,
    chunks: mpsc::Receiver<Bytes>,
) -> Result<Option<u64>, WriteError> {
    write_head(&mut stream, stamp, from, to, content).await?;
    let length = write_chunks(&mut stream, chunks).await?;
    if length.is_some() {
        finish(stream).await?;
    } else {
        stream.reset(VarInt::from_u32(0))?;
    }
    Ok(length)
}

/// Sends `state` on `stream`, and waits until the peer has received all of it.
pub(super) async fn send(
    mut stream: SendStream,
    stamp: Stamp,
    from: Address,
    to: Address,
    mut state: EncodedState,
) -> Result<(), WriteError> {
    let payload = std::mem::take(&mut state.payload);
    let content = StreamContent::State(state);
    write_head(&mut stream, stamp, from, to, content).await?;
    write_whole(&mut stream, payload).await?;
    finish(stream).await
}

/// Writes what comes before the payload of `content`.
async fn write_head(
    stream: &mut SendStream,
    stamp: Stamp,
    from: Address,
    to: Address,
    content: StreamContent,
) -> Result<(), WriteError> {
    let head = encode(from, to, &content.into()).head;
    let mut before = BytesMut::with_capacity(OPENING_LEN + STAMP_LEN + head.len());
    before.extend_from_slice(&STATE);
    stamp.put(&mut before);
    before.extend_from_slice(&head);
    stream.write_chunk(before.freeze()).await
}

async fn finish(mut stream: SendStream) -> Result<(), WriteError> {
    stream.finish()?;
    match stream.stopped().await {
        Ok(None) => Ok(()),
        Ok(Some(code)) => Err(WriteError::Stopped(code)),
        Err(error) => Err(error.into()),
    }
}

// A payload in chunks, each with a checksum: an error is found before the whole payload has arrived.
//
// | bytes | field |
// |---|---|
// | 0..4 | length of the chunk: [`CHUNK_LEN`], less in the last one, which may be empty |
// | 4..8 | CRC-32 of the chunk |
// | 8.. | the chunk |
//
// The length of a payload is not announced, so that it can be sent while it is encoded: it ends with the first chunk that
// is shorter than [`CHUNK_LEN`]. A stream that ends without one is incomplete.
//
// The cipher of QUIC detects what the network changes. The checksum detects errors in memory and in programs.

/// Bytes of each chunk of a state but the last.
///
/// The first chunk is sent when it is packed, and the last one unpacked when it has arrived: the longer chunks are, the
/// less of packing and unpacking is done while a state is sent.
pub const CHUNK_LEN: usize = 64 << 10;

/// What a payload that arrives may take.
#[derive(Clone, Copy)]
struct PayloadLimits {
    /// Bytes of all chunks.
    pub(super) bytes: u64,
    /// The time in which it has to end, or grow by 1 MiB, or its share of a slow link.
    pub(super) unfinished: Duration,
}

/// Writes `payload` without copying it.
async fn write_whole(stream: &mut SendStream, mut payload: Bytes) -> Result<(), WriteError> {
    loop {
        let chunk = payload.split_to(payload.len().min(CHUNK_LEN));
        let is_last = chunk.len() < CHUNK_LEN;
        stream
            .write_all_chunks(&mut [header(&chunk), chunk])
            .await?;
        if is_last {
            return Ok(());
        }
    }
}

/// Writes a payload as its chunks become available. Returns its length; `None` if not all of its chunks have become
/// available, or one is too long.
async fn write_chunks(
    stream: &mut SendStream,
    mut chunks: mpsc::Receiver<Bytes>,
) -> Result<Option<u64>, WriteError> {
    let mut length = 0;
    while let Some(chunk) = chunks.recv().await {
        let chunk_len = chunk.len();
        if CHUNK_LEN < chunk_len {
            return Ok(None);
        }
        length += u64::from(length_of(chunk_len));
        stream
            .write_all_chunks(&mut [header(&chunk), chunk])
            .await?;
        if chunk_len < CHUNK_LEN {
            return Ok(Some(length));
        }
    }
    Ok(None)
}

/// Reads a payload into one piece of memory, which doubles as bytes arrive. Fails if it does not keep its [`Pace`].
async fn read_whole(
    reader: &mut StreamReader,
    limits: PayloadLimits,
    brought: impl Fn() -> u64,
) -> Result<Bytes, StreamError> {
    let mut payload = Vec::new();
    let mut pace = Pace::default();
    loop {
        let begin = payload.len();
        let at = u64::try_from(begin).unwrap_or(u64::MAX);
        let reading = read_chunk(reader, &mut payload, at, limits.bytes);
        let limit = (limits.unfinished, &brought);
        pace.wait("a state", limit, reading).await??;
        if payload.len() - begin < CHUNK_LEN {
            return Ok(payload.into());
        }
        pace.gain(CHUNK_LEN);
    }
}

/// Reads a payload and sends each valid chunk to `chunks`, the last one too if it is empty. If the receiver is gone, the
/// rest is discarded. Fails if the payload does not keep its [`Pace`].
async fn read_chunks(
    reader: &mut StreamReader,
    (limits, brought): (PayloadLimits, impl Fn() -> u64),
    chunks: &mpsc::Sender<Bytes>,
) -> Result<(), StreamError> {
    let mut begin = 0;
    let mut pace = Pace::default();
    loop {
        let mut chunk = Vec::new();
        let reading = read_chunk(reader, &mut chunk, begin, limits.bytes);
        let limit = (limits.unfinished, &brought);
        pace.wait("a state", limit, reading).await??;
        let length = chunk.len();
        pace.gain(length);
        begin += u64::from(length_of(length));
        // A receiver that has given up reports its reason elsewhere.
        drop(chunks.send(chunk.into()).await);
        if length < CHUNK_LEN {
            return Ok(());
        }
    }
}

/// Appends the chunk that begins at byte `begin` of a payload of at most `limit` bytes. Memory is reserved for bytes that
/// have arrived.
async fn read_chunk(
    reader: &mut StreamReader,
    payload: &mut Vec<u8>,
    begin: u64,
    limit: u64,
) -> Result<(), StreamError> {
    let (length, expected) = read_header(reader, begin, limit).await?;
    let mut hasher = crc32fast::Hasher::new();
    let end = payload.len() + length;
    while payload.len() < end {
        let left = end - payload.len();
        let count = |length: usize| begin + u64::from(length_of(length));
        let Some(bytes) = reader.read_some(left).await? else {
            return Err(Refusal::Ended {
                what: "a state",
                found: count(length - left),
                expected: count(length),
            }
            .into());
        };
        if payload.capacity() < payload.len() + bytes.len() {
            let more = payload.len().max(left);
            let reserved = payload.try_reserve_exact(more);
            reserved.map_err(|_| Refusal::Memory {
                bytes: count(length),
            })?;
        }
        hasher.update(&bytes);
        payload.extend_from_slice(&bytes);
    }
    let found = hasher.finalize();
    if found != expected {
        let at = begin;
        return Err(Refusal::Corrupted {
            at,
            found,
            expected,
        }
        .into());
    }
    Ok(())
}

/// Reads the header of a chunk, and returns its length and its checksum.
async fn read_header(
    reader: &mut StreamReader,
    begin: u64,
    limit: u64,
) -> Result<(usize, u32), StreamError> {
    let [l0, l1, l2, l3, c0, c1, c2, c3] = reader.read_array("the header of a chunk").await?;
    let found = u32::from_le_bytes([l0, l1, l2, l3]);
    let length = usize::try_from(found).unwrap_or(usize::MAX);
    if CHUNK_LEN < length {
        return Err(Refusal::Chunk { at: begin, found }.into());
    }
    if limit < begin.saturating_add(found.into()) {
        return Err(Refusal::StateTooLong { limit }.into());
    }
    Ok((length, u32::from_le_bytes([c0, c1, c2, c3])))
}

fn header(chunk: &[u8]) -> Bytes {
    let length = length_of(chunk.len()).to_le_bytes();
    let checksum = crc32fast::hash(chunk).to_le_bytes();
    Bytes::from([length, checksum].concat())
}

fn length_of(chunk: usize) -> u32 {
    u32::try_from(chunk).expect("a chunk has less than 4 GiB")
}
