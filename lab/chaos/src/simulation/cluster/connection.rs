//! Connections between processes of the operating system, and the paths that they take.

use std::collections::{BTreeMap, VecDeque};
use std::ops::{Index, IndexMut};
use std::sync::Arc;

use bsp::HostId;
use bsp::numbers::length;
use bsp::units::Seconds;
use bytes::{Bytes, BytesMut};
use machines::node::ConnectionId;
use protocol::transport::{
    CloseCode, FrameOrder, JobId, PeerError, PeerInfo, Refusal, SessionState, SpeakingRights,
    Stamp, StreamContent, check_message,
};
use protocol::{Address, DecodeError, EncodedState, Frame, Limits, Message, decode};

use crate::simulation::random::Random;

/// A connection between two processes of the operating system. The first end has opened it.
pub(super) struct Connection {
    pub(super) job: Option<JobId>,
    pub(super) ends: [End; 2],
}

/// All connections. Those of clients that attach have numbers of their own, so that they do not change the others.
#[derive(Default)]
pub(super) struct Connections {
    of_job: Vec<Connection>,
    of_followers: Vec<Connection>,
}

impl Connections {
    /// Adds a connection, of a client that attaches or another one. Returns its number.
    pub(super) fn add(&mut self, connection: Connection, is_of_follower: bool) -> usize {
        let number = self.next(is_of_follower);
        if is_of_follower {
            self.of_followers.push(connection);
        } else {
            self.of_job.push(connection);
        }
        number
    }

    /// The number of the connection that is added next.
    pub(super) const fn next(&self, is_of_follower: bool) -> usize {
        if is_of_follower {
            FOLLOWERS + self.of_followers.len()
        } else {
            self.of_job.len()
        }
    }

    /// Whether a connection is one of a client that attaches.
    pub(super) const fn is_of_follower(number: usize) -> bool {
        FOLLOWERS <= number
    }

    /// The numbers of those of clients that attach, after those of all others unless they are wanted `alone`.
    pub(super) fn numbers(&self, alone: bool) -> impl Iterator<Item = usize> + use<> {
        let of_job = if alone { 0 } else { self.of_job.len() };
        (0..of_job).chain(FOLLOWERS..self.next(true))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Connection> {
        self.of_job.iter_mut().chain(&mut self.of_followers)
    }
}

impl Index<usize> for Connections {
    type Output = Connection;

    fn index(&self, number: usize) -> &Connection {
        match number.checked_sub(FOLLOWERS) {
            Some(place) => &self.of_followers[place],
            None => &self.of_job[number],
        }
    }
}

impl IndexMut<usize> for Connections {
    fn index_mut(&mut self, number: usize) -> &mut Connection {
        match number.checked_sub(FOLLOWERS) {
            Some(place) => &mut self.of_followers[place],
            None => &mut self.of_job[number],
        }
    }
}

/// The number of the first connection of a client that attaches.
const FOLLOWERS: usize = 1 << 24;

/// A process that has a connection.
pub(super) struct Party {
    pub(super) place: usize,
    pub(super) incarnation: u64,
    /// What the other one sees of it.
    pub(super) info: Arc<PeerInfo>,
    /// The epoch in which it sends.
    pub(super) epoch: u64,
}

/// One end of a connection.
pub(super) struct End {
    /// The process that has it, and which of the processes that have run there.
    pub(super) place: usize,
    pub(super) incarnation: u64,
    /// Its number at a node.
    pub(super) id: ConnectionId,
    /// The process at the other end.
    pub(super) peer: Arc<PeerInfo>,
    pub(super) role: EndRole,
    /// Whether frames can be sent and are received.
    pub(super) is_open: bool,
    /// Why it has ended, if not because its process has closed it.
    pub(super) error: Option<PeerError>,
    /// Whether its process has closed it, and not all that was sent before has arrived.
    pub(super) is_closing: bool,
    /// What the peer may say, once it is known.
    pub(super) rights: Option<SpeakingRights>,
    orders: [FrameOrder; 2],
    /// The numbers of the next frame and the next state.
    sent: [u64; 2],
    /// When the last frame and the last state that were sent arrive.
    pub(super) arrivals: [u64; 2],
    /// What was sent and waits until the path is open.
    pub(super) held: BTreeMap<(Lane, u64), Packet>,
    /// The numbers of the next frame and state to arrive, and those that arrived before it.
    received: [u64; 2],
    early: BTreeMap<(Lane, u64), Packet>,
    /// What has arrived and is not read yet.
    pub(super) unread: VecDeque<Packet>,
    /// Since when nothing has arrived, not even signs of life.
    pub(super) silent_since: Option<u64>,
    /// States that were sent and have not been taken.
    pub(super) untaken: VecDeque<Untaken>,
}

/// What the owner of an end has decided about its peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EndRole {
    Undecided,
    /// A client, or a node that leads, of a node.
    Client,
    /// A node, of the leader of this number.
    Leader(u64),
    /// A node, of the client of this number that attaches.
    Follower(u64),
    /// The node of a host.
    Node(HostId),
}

/// Frames and states travel independently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Lane {
    Frames = 0,
    States = 1,
}

/// What travels.
#[derive(Clone)]
pub(super) enum Packet {
    Frame(Stamp, Bytes),
    State(Stamp, (Address, Address), EncodedState),
    /// The pieces of a node for the checkpoint before a superstep, encoded.
    Pieces(Stamp, (Address, Address), (u64, Bytes)),
    /// The last frame: the connection is closed in order.
    Close(String),
}

/// A state that was sent and has not been taken.
#[derive(Clone, Copy)]
pub(super) enum Untaken {
    /// The initial state of a process.
    Initial,
    /// The output of a process.
    Output,
    /// Pieces of a checkpoint.
    Pieces,
    /// The state of a process, to this host, sent at this time.
    State(HostId, u64, u64),
}

/// What a frame says, if its sender may say it.
type Checked<T> = Result<T, Refusal>;

impl Connection {
    /// A connection of `from`, which has opened it, and `to`.
    pub(super) fn new(
        job: Option<JobId>,
        from: &Party,
        to: &Party,
        ids: [ConnectionId; 2],
    ) -> Self {
        let end = |own: &Party, id, peer: &Party| End {
            place: own.place,
            incarnation: own.incarnation,
            id,
            peer: Arc::clone(&peer.info),
            role: EndRole::Undecided,
            is_open: true,
            error: None,
            is_closing: false,
            rights: None,
            orders: [(); 2].map(|()| FrameOrder::new(job, peer.epoch)),
            sent: [0; 2],
            arrivals: [0; 2],
            held: BTreeMap::new(),
            received: [0; 2],
            early: BTreeMap::new(),
            unread: VecDeque::new(),
            silent_since: None,
            untaken: VecDeque::new(),
        };
        let [first, second] = ids;
        Self {
            job,
            ends: [end(from, first, to), end(to, second, from)],
        }
    }

    /// Checks what has arrived at an end: the sender, the receiver and the message of a frame.
    pub(super) fn check_frame(
        &mut self,
        end: usize,
        (stamp, bytes): (Stamp, Bytes),
        session: SessionState,
    ) -> Checked<(Address, Address, Message)> {
        let job = self.job;
        let end = &mut self.ends[end];
        end.orders[0].accept(stamp, session)?;
        let (from, to, message) =
            decode(bytes, &Limits::default()).map_err(|error: DecodeError| Refusal::from(error))?;
        let rights = (job.is_some(), end.rights.as_ref());
        check_message(&end.peer.subject, rights, from, &message)?;
        Ok((from, to, message))
    }

    /// Checks a state, or pieces, that have arrived at an end.
    pub(super) fn check_stream(
        &mut self,
        end: usize,
        (stamp, from): (Stamp, Address),
        content: StreamContent,
        session: SessionState,
    ) -> Checked<()> {
        let job = self.job;
        let end = &mut self.ends[end];
        end.orders[1].accept(stamp, session)?;
        let rights = (job.is_some(), end.rights.as_ref());
        check_message(&end.peer.subject, rights, from, &content.into())
    }
}

impl End {
    /// The stamp of what is sent next.
    pub(super) fn stamp(&mut self, lane: Lane, job: Option<JobId>, epoch: u64) -> (Stamp, u64) {
        let next = &mut self.sent[lane as usize];
        let sequence = *next;
        *next += 1;
        let epoch = job.map_or(0, |_| epoch);
        let stamp = Stamp {
            job,
            epoch,
            sequence,
        };
        (stamp, sequence)
    }

    /// A packet has arrived. Returns all that can be read now, in order.
    pub(super) fn receive(&mut self, (lane, number): (Lane, u64), packet: Packet) -> Vec<Packet> {
        self.early.insert((lane, number), packet);
        let next = &mut self.received[lane as usize];
        let mut ready = Vec::new();
        while let Some(packet) = self.early.remove(&(lane, *next)) {
            *next += 1;
            ready.push(packet);
        }
        ready
    }

    /// The error of a connection whose peer is silent.
    pub(super) fn silent(&self, after: Seconds) -> PeerError {
        PeerError::Silent {
            peer: Arc::clone(&self.peer),
            after: std::time::Duration::from_secs_f64(after.get()),
        }
    }

    /// The error of a connection that the peer has ended because of `reason`.
    pub(super) fn aborted(&self, reason: String) -> PeerError {
        PeerError::Aborted {
            peer: Arc::clone(&self.peer),
            code: CloseCode::Frame,
            reason,
        }
    }

    /// The error of a connection that the peer has closed in order.
    pub(super) fn closed(&self, reason: String) -> PeerError {
        PeerError::Closed {
            peer: Arc::clone(&self.peer),
            reason,
        }
    }

    /// The error of a connection that has ended.
    pub(super) fn error(&self) -> PeerError {
        let peer = Arc::clone(&self.peer);
        let error = self.error.clone();
        error.unwrap_or(PeerError::Local { peer })
    }

    /// The error of a connection on which the peer sent what it may not.
    pub(super) fn refused(&self, source: Refusal) -> PeerError {
        PeerError::Refused {
            peer: Arc::clone(&self.peer),
            source,
        }
    }
}

impl Packet {
    /// A frame as it travels.
    pub(super) fn frame(stamp: Stamp, frame: &Frame) -> Self {
        let mut bytes = BytesMut::with_capacity(frame.head.len() + frame.payload.len());
        bytes.extend_from_slice(&frame.head);
        bytes.extend_from_slice(&frame.payload);
        Self::Frame(stamp, bytes.freeze())
    }

    pub(super) const fn lane(&self) -> Lane {
        match self {
            Self::Frame(..) | Self::Close(_) => Lane::Frames,
            Self::State(..) | Self::Pieces(..) => Lane::States,
        }
    }

    /// Whether it is the output of a process.
    pub(super) const fn is_output(&self) -> bool {
        matches!(self, Self::State(_, (Address::Node(_), Address::Client), _))
    }

    /// Its length in bytes.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Frame(_, bytes) => bytes.len(),
            Self::State(_, _, state) => state.payload.len(),
            Self::Pieces(_, _, (_, encoded)) => encoded.len(),
            Self::Close(reason) => reason.len(),
        }
    }
}

/// The paths between the processes of the operating system, and what faults do to them. Nodes are numbered by host; the
/// client comes after them, and then the clients that attach.
pub(super) struct Network {
    random: Random,
    /// That of messages from and to clients that attach: the others arrive as without these.
    random_of_followers: Random,
    /// The first of these clients.
    first_follower: usize,
    /// How long a message takes without faults.
    delay: (u64, u64),
    /// How much longer it takes for each byte.
    per_byte: u64,
    /// By sender and receiver: the number of faults that block the path.
    blocked: Vec<Vec<u32>>,
    /// By sender and receiver: how much longer messages take, in nanoseconds.
    late: Vec<Vec<u64>>,
    /// By process: by how much its messages are slower, and the probability of a loss in percent.
    disturbed: Vec<Disturbed>,
    /// By process: by how much longer its outputs take, in nanoseconds.
    late_outputs: Vec<u64>,
}

#[derive(Clone, Copy)]
struct Disturbed {
    factor: u64,
    loss: u64,
}

impl Network {
    /// The paths between `places` processes, of which those from `first_follower` on are clients that attach.
    pub(super) fn new(
        [random, random_of_followers]: [Random; 2],
        (delay, per_byte): ((u64, u64), u64),
        (places, first_follower): (usize, usize),
    ) -> Self {
        let undisturbed = Disturbed { factor: 1, loss: 0 };
        Self {
            random,
            random_of_followers,
            first_follower,
            delay,
            per_byte,
            blocked: vec![vec![0; places]; places],
            late: vec![vec![0; places]; places],
            disturbed: vec![undisturbed; places],
            late_outputs: vec![0; places],
        }
    }

    /// Whether messages arrive.
    pub(super) fn is_open(&self, from: usize, to: usize) -> bool {
        self.blocked[from][to] == 0
    }

    /// Whether messages arrive in both directions.
    pub(super) fn are_connected(&self, one: usize, other: usize) -> bool {
        self.is_open(one, other) && self.is_open(other, one)
    }

    /// Blocks a path, or ends that.
    pub(super) fn block(&mut self, from: usize, to: usize, is_blocked: bool) {
        let count = &mut self.blocked[from][to];
        *count = if is_blocked {
            *count + 1
        } else {
            count.saturating_sub(1)
        };
    }

    /// Makes the messages from one process to another late by `time` in addition, or ends that.
    pub(super) fn make_late(&mut self, from: usize, to: usize, time: u64, is_late: bool) {
        let late = &mut self.late[from][to];
        *late = if is_late {
            *late + time
        } else {
            late.saturating_sub(time)
        };
    }

    /// Makes the outputs that a process sends late by `time` in addition.
    pub(super) fn make_outputs_late(&mut self, from: usize, time: u64) {
        self.late_outputs[from] = time;
    }

    /// By how much later the outputs of a process arrive than other messages.
    pub(super) fn output_delay(&self, from: usize) -> u64 {
        self.late_outputs[from]
    }

    /// The random numbers of a path.
    fn random(&mut self, from: usize, to: usize) -> &mut Random {
        if self.first_follower <= from.max(to) {
            &mut self.random_of_followers
        } else {
            &mut self.random
        }
    }

    /// Makes the messages from and to a process slower.
    pub(super) fn slow_down(&mut self, place: usize, factor: u64) {
        self.disturbed[place].factor = factor;
    }

    /// Has packets from and to a process lost with this probability, in percent.
    pub(super) fn lose(&mut self, place: usize, probability: u64) {
        self.disturbed[place].loss = probability;
    }

    /// Whether a packet that is sent once is lost now.
    pub(super) fn loses(&mut self, from: usize, to: usize) -> bool {
        let loss = self.disturbed[from].loss.max(self.disturbed[to].loss);
        0 < loss && self.random(from, to).percent(loss)
    }

    /// How long a message of this length takes now. What is lost is sent again, later each time.
    pub(super) fn delay(&mut self, from: usize, to: usize, bytes: usize) -> u64 {
        let (least, most) = self.delay;
        let ends = [self.disturbed[from], self.disturbed[to]];
        let factor = ends.iter().map(|end| end.factor).max().unwrap_or(1);
        let loss = ends.iter().map(|end| end.loss).max().unwrap_or(0);
        let (late, per_byte) = (self.late[from][to], self.per_byte);
        let random = self.random(from, to);
        let mut delay = random.duration(least, most) * factor + late;
        let mut again = RETRANSMISSION;
        while random.percent(loss) && again < RETRANSMISSION << 4 {
            delay += again;
            again *= 2;
        }
        delay + length(bytes) * per_byte
    }
}

/// After which time a lost packet is sent again for the first time.
const RETRANSMISSION: u64 = 50_000_000;
