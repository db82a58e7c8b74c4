//! Processes that move between nodes: their states are encoded while they are sent, and decoded while they arrive.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant as Clock};

use agents::process_state::{self, PackingTimes, ProcessState};
use agents::{ChunkReader, ChunkSink, ChunkSource, ProgramType};
use bsp::units::Seconds;
use bsp::{HostId, MemorySize};
use bytes::Bytes;
use machines::node::JobEvent;
use machines::{ArrivedProcess, InputMemory, JobError, Transfer};
use protocol::transport::{CHUNK_LEN, Sender, StatePayload, StreamContent};
use protocol::{Address, EncodedState, Migrate};
use tokio::sync::{Semaphore, mpsc};

use crate::pace::elapsed;

/// The processes that leave this node.
pub(super) struct Departures {
    /// One permit for each state that may be encoded at the same time.
    encoders: Arc<Semaphore>,
    events: mpsc::UnboundedSender<JobEvent>,
}

impl Departures {
    /// No departures yet; `events` receives the event of each that is complete.
    pub(super) fn new(events: mpsc::UnboundedSender<JobEvent>) -> Self {
        Self {
            encoders: Arc::new(Semaphore::new(ENCODERS)),
            events,
        }
    }

    /// Sends the process that `order` moves to `peer`, the node that it names.
    pub(super) fn send(&self, order: Migrate, state: ProcessState, peer: Sender) {
        let (events, encoders) = (self.events.clone(), Arc::clone(&self.encoders));
        let frozen = Clock::now();
        drop(tokio::spawn(async move {
            let _permit = encoders.acquire().await;
            let began = Clock::now();
            let event = send_state(order, state, PackingClock { frozen, began }, peer).await;
            // The job may be over.
            drop(events.send(event));
        }));
    }
}

/// Encodes `state` while it is sent. Returns the event of its arrival, or of what is wrong.
async fn send_state(
    order: Migrate,
    state: ProcessState,
    clock: PackingClock,
    peer: Sender,
) -> JobEvent {
    let head = EncodedState {
        rank: order.rank,
        epoch: order.epoch,
        agent: u32::try_from(state.agent.len()).expect("an agent's state is small"),
        declared: state.program.declared().map(MemorySize::total),
        payload: Bytes::new(),
    };
    let (sender, chunks) = channel();
    // Encoding takes time in proportion to the state, so another thread does it.
    let encoding = tokio::task::spawn_blocking(move || {
        let ProcessState {
            program,
            agent,
            inbox,
        } = state;
        let mut sink = ChannelSink::new(sender);
        let times = |waited| Some(clock.times(waited));
        process_state::encode(order.rank, &*program, &agent, &inbox, &mut sink, times)
    });
    let (from, to) = (Address::Node(order.from), Address::Node(order.to));
    let content = StreamContent::State(head);
    let sent = peer.send_state_chunks(from, to, content, chunks).await;
    let encoded = encoding.await;
    match (encoded, sent) {
        (Err(panic), _) => JobEvent::Failed(JobError::program(panic.to_string())),
        // If the connection is lost, the encoder fails because its chunks are not read.
        (Ok(Err(error)), sent) if sent.is_ok() || !peer.is_lost() => JobEvent::Failed(error.into()),
        (Ok(_), Ok(bytes)) => JobEvent::Sent(order.to, bytes, elapsed(clock.began)),
        (Ok(_), Err(error)) => JobEvent::unsent(order.to, error),
    }
}

/// The clock of a process that leaves its host.
#[derive(Clone, Copy, Debug)]
struct PackingClock {
    /// When the process left its thread.
    frozen: Clock,
    /// When packing began: not more than some processes are packed at the same time.
    began: Clock,
}

impl PackingClock {
    /// The times of a process that has been written now, in which the network has held it up for `waited`.
    fn times(self, waited: Duration) -> PackingTimes {
        let lasted = self.began.elapsed();
        PackingTimes {
            queued: self.began.saturating_duration_since(self.frozen),
            packed: lasted.saturating_sub(waited),
            lasted,
        }
    }
}

/// The state of a process that has begun to arrive.
pub(super) struct Arrival {
    /// The host from which it arrives.
    pub(super) host: HostId,
    /// Its sender and its receiver.
    pub(super) ends: (Address, Address),
    /// Its head, without a payload.
    pub(super) head: EncodedState,
    /// When its first byte arrived.
    pub(super) began: Clock,
    /// The shortest round trip to its source so far.
    pub(super) round_trip: Seconds,
    /// Held until it has been handled.
    pub(super) memory: InputMemory,
}

impl Arrival {
    /// Decodes the state while its payload arrives. `None` if the sender is lost before all of it has arrived: that is an
    /// event of its connection.
    ///
    /// # Errors
    ///
    /// If it is no state of a process.
    pub(super) async fn decode(
        self,
        payload: StatePayload,
        program_type: ProgramType,
    ) -> Result<Option<ArrivedProcess>, JobError> {
        let (sender, chunks) = channel();
        // An error ends the connection, and the channel.
        drop(tokio::spawn(payload.read(sender)));
        // Decoding takes time in proportion to the state, so another thread does it.
        let decoding = tokio::task::spawn_blocking(move || self.read(program_type, chunks));
        let decoded = decoding.await;
        decoded
            .unwrap_or_else(|panic| Err(JobError::program(format!("decoding a process: {panic}"))))
    }

    fn read(
        self,
        program_type: ProgramType,
        chunks: mpsc::Receiver<Bytes>,
    ) -> Result<Option<ArrivedProcess>, JobError> {
        let decoding = Clock::now();
        let mut source = ChannelSource::new(chunks);
        let mut chunks = ChunkReader::new(&mut source);
        let decoded = process_state::decode(program_type, self.head.rank, &mut chunks);
        if chunks.is_truncated() {
            return Ok(None);
        }
        let decoded_at = Clock::now();
        let decoded = decoded?;
        let transfer = Transfer {
            packing: decoded.packing.unwrap_or_default(),
            arrived: source.arrived.saturating_duration_since(self.began),
            unpacked: (decoded_at - decoding).saturating_sub(source.waited),
            decoded: decoded_at - self.began,
        };
        Ok(Some(ArrivedProcess {
            host: self.host,
            ends: self.ends,
            head: self.head,
            decoded,
            transfer,
            round_trip: self.round_trip,
            memory: self.memory,
        }))
    }
}

/// The number of states that are encoded at the same time. Each takes a thread until it is sent, and there are some
/// hundreds of threads. If none were left to decode states, two nodes could wait for each other.
const ENCODERS: usize = 8;

/// A channel that holds [`CAPACITY`] chunks.
pub(crate) fn channel() -> (mpsc::Sender<Bytes>, mpsc::Receiver<Bytes>) {
    mpsc::channel(CAPACITY)
}

/// Sends chunks, and waits while the channel is full.
pub(crate) struct ChannelSink {
    chunks: mpsc::Sender<Bytes>,
    waited: Duration,
}

impl ChannelSink {
    pub(crate) const fn new(chunks: mpsc::Sender<Bytes>) -> Self {
        Self {
            chunks,
            waited: Duration::ZERO,
        }
    }
}

impl ChunkSink for ChannelSink {
    fn send(&mut self, chunk: Bytes) -> io::Result<()> {
        let began = Clock::now();
        let sent = self.chunks.blocking_send(chunk);
        self.waited += began.elapsed();
        sent.map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))
    }

    fn waited(&self) -> Duration {
        self.waited
    }
}

/// Receives chunks, and waits while the channel is empty. The first one that is shorter than [`CHUNK_LEN`] is the last.
pub(crate) struct ChannelSource {
    chunks: mpsc::Receiver<Bytes>,
    /// Whether the last chunk has been received.
    is_over: bool,
    /// How long it has waited for chunks to arrive.
    pub(crate) waited: Duration,
    /// When the latest chunk arrived.
    pub(crate) arrived: Clock,
}

impl ChannelSource {
    pub(crate) fn new(chunks: mpsc::Receiver<Bytes>) -> Self {
        Self {
            chunks,
            is_over: false,
            waited: Duration::ZERO,
            arrived: Clock::now(),
        }
    }
}

impl ChunkSource for ChannelSource {
    fn receive(&mut self) -> io::Result<Option<Bytes>> {
        if self.is_over {
            return Ok(None);
        }
        let began = Clock::now();
        let received = self.chunks.blocking_recv();
        self.arrived = Clock::now();
        self.waited += self.arrived - began;
        let chunk = received.ok_or(io::ErrorKind::UnexpectedEof)?;
        self.is_over = chunk.len() < CHUNK_LEN;
        Ok(Some(chunk))
    }
}

/// Chunks that wait. An encoder or decoder that does not run for a moment holds up nothing.
const CAPACITY: usize = 16;
