//! How processes connect, what travels between them, and connections whose ends hear nothing of each other.

use std::sync::Arc;
use std::time::Duration;

use bsp::units::Seconds;
use bytes::Bytes;
use checkpoint::Delta;
use machines::client::{ClientEvent, NodeWord};
use machines::node::frame;
use machines::node::{ConnectionId, IncomingPieces, JobEvent, NewPeer, NodeEvent, NodeInput};
use machines::{InputMemory, JobError};
use protocol::transport::{ConnectError, JobId, PeerError, SessionState, Stamp, StreamContent};
use protocol::{Address, EncodedState, Frame, JobMessage, Message, Pieces};

use crate::simulation::cluster::connection::{
    Connection, Connections, End, EndRole, Lane, Packet, Party, Untaken,
};
use crate::simulation::cluster::leader::CLIENT;
use crate::simulation::cluster::{By, Cluster, Connecting, Happening, Owner};

/// A connection and one of its ends.
pub(super) type At = (usize, usize);

impl Cluster<'_> {
    /// Sends a frame. Returns the error of a connection that has ended.
    pub(super) fn send_frame(
        &mut self,
        at: At,
        epoch: u64,
        frame: &Frame,
    ) -> Result<(), PeerError> {
        self.send(at, epoch, None, |stamp| Packet::frame(stamp, frame))
    }

    /// Sends a state.
    pub(super) fn send_state(
        &mut self,
        at: At,
        epoch: u64,
        (ends, state): ((Address, Address), EncodedState),
        untaken: Untaken,
    ) -> Result<(), PeerError> {
        self.send(at, epoch, Some(untaken), |stamp| {
            Packet::State(stamp, ends, state)
        })
    }

    /// Sends the pieces of a checkpoint, encoded, for the one before a superstep.
    pub(super) fn send_pieces(
        &mut self,
        at: At,
        epoch: u64,
        ends: (Address, Address),
        pieces: (u64, Bytes),
    ) -> Result<(), PeerError> {
        self.send(at, epoch, Some(Untaken::Pieces), |stamp| {
            Packet::Pieces(stamp, ends, pieces)
        })
    }

    /// Sends a packet, a frame or what its peer has to take.
    fn send(
        &mut self,
        at: At,
        epoch: u64,
        untaken: Option<Untaken>,
        packet: impl FnOnce(Stamp) -> Packet,
    ) -> Result<(), PeerError> {
        let (job, end) = self.end(at);
        if !end.is_open {
            return Err(end.error());
        }
        let lane = match untaken {
            None => Lane::Frames,
            Some(_) => Lane::States,
        };
        let (stamp, number) = end.stamp(lane, job, epoch);
        end.untaken.extend(untaken);
        self.transmit(at, (lane, number), packet(stamp));
        Ok(())
    }

    /// Closes a connection in order: what was sent before arrives. The packet that says so is sent once; if it is lost, the
    /// peer notices the silence.
    pub(super) fn close(&mut self, at: At, reason: &str) {
        let (_, end) = self.end(at);
        if !end.is_open {
            return;
        }
        end.is_open = false;
        let ends = &self.connections[at.0].ends;
        let (from, to) = (ends[at.1].place, ends[1 - at.1].place);
        if self.network.loses(from, to) {
            return self.update_silence_of(Connections::is_of_follower(at.0));
        }
        let (job, end) = self.end(at);
        end.is_closing = true;
        let (_, number) = end.stamp(Lane::Frames, job, 0);
        let packet = Packet::Close(reason.to_owned());
        self.transmit(at, (Lane::Frames, number), packet);
    }

    /// Closes a connection because of what the peer sent, which must not happen: all that take part are honest.
    pub(super) fn refuse(&mut self, at: At, reason: String) {
        let ends = &self.connections[at.0].ends;
        let name = |end: usize| &self.places[ends[end].place].info.subject.name;
        let (own, peer) = (name(at.1), name(1 - at.1));
        let violation = format!("{own} refuses what {peer} has sent: {reason}");
        self.violate(violation);
        self.abort(at, reason);
    }

    /// Closes a connection at once.
    pub(super) fn abort(&mut self, at: At, reason: String) {
        let (_, end) = self.end(at);
        if !std::mem::replace(&mut end.is_open, false) {
            return;
        }
        let other = (at.0, 1 - at.1);
        let delay = self.delay_to(other);
        let happening = Happening::Aborted(other.0, other.1, reason);
        self.queue.add(self.now + delay, happening);
        self.update_silence_of(Connections::is_of_follower(at.0));
    }

    /// How long a short message to an end takes now.
    fn delay_to(&mut self, at: At) -> u64 {
        let ends = &self.connections[at.0].ends;
        let (from, to) = (ends[1 - at.1].place, ends[at.1].place);
        self.network.delay(from, to, 100)
    }

    /// Passes a packet of an end to the network.
    pub(super) fn transmit(&mut self, at: At, number: (Lane, u64), packet: Packet) {
        let ends = &self.connections[at.0].ends;
        let (from, to) = (ends[at.1].place, ends[1 - at.1].place);
        if !self.network.is_open(from, to) {
            let (_, end) = self.end(at);
            end.held.insert(number, packet);
            return;
        }
        let mut arrival = self.now + self.network.delay(from, to, packet.len());
        if packet.is_output() {
            arrival += self.network.output_delay(from);
        }
        let (_, end) = self.end(at);
        let last = &mut end.arrivals[packet.lane() as usize];
        *last = arrival.max(*last);
        let date = *last;
        let happening = Happening::Arrive(at.0, 1 - at.1, number, Box::new(packet));
        self.queue.add(date, happening);
    }

    /// A packet arrives at an end, unless the path is blocked.
    pub(super) fn arrive(&mut self, at: At, number: (Lane, u64), packet: Packet) {
        let ends = &self.connections[at.0].ends;
        let (from, to) = (&ends[1 - at.1], &ends[at.1]);
        if !self.network.is_open(from.place, to.place) {
            let (_, sender) = self.end((at.0, 1 - at.1));
            sender.held.insert(number, packet);
            return;
        }
        if !to.is_open {
            return;
        }
        let (_, end) = self.end(at);
        for packet in end.receive(number, packet) {
            self.read(at, packet);
        }
    }

    /// A packet is next at an end: its owner reads it, or it waits until the owner does.
    fn read(&mut self, at: At, packet: Packet) {
        let (_, end) = self.end(at);
        if !end.is_open {
            return;
        }
        let (place, role) = (end.place, end.role);
        match (role, &packet) {
            (EndRole::Leader(id), _) => self.read_at_leader(id, at, packet),
            (EndRole::Follower(id), _) => self.read_at_follower(id, at, packet),
            (EndRole::Undecided, _) => self.end(at).1.unread.push_back(packet),
            (EndRole::Client, Packet::State(..)) if !self.reads_states(at) => {
                let (_, end) = self.end(at);
                end.unread.push_back(packet);
            }
            (EndRole::Client, _) => {
                if let Some(event) = self.event_of_client(at, packet) {
                    self.tell_node(place, event);
                }
            }
            (EndRole::Node(_), _) => {
                if let Some(event) = self.event_of_peer(at, packet)
                    && let Some(node) = &mut self.nodes[place]
                {
                    node.peer_events.push_back(event);
                    self.settle(place);
                }
            }
        }
    }

    /// Reads what has waited until the owner of an end decided to.
    pub(super) fn read_unread(&mut self, at: At) {
        let (_, end) = self.end(at);
        for packet in std::mem::take(&mut end.unread) {
            self.read(at, packet);
        }
    }

    /// The event of a node about a packet of a client.
    fn event_of_client(&mut self, at: At, packet: Packet) -> Option<NodeEvent> {
        let session = self.session(at);
        let (_, end) = self.end(at);
        let (place, id) = (end.place, end.id);
        let checked = match packet {
            Packet::Close(reason) => {
                let error = self.end(at).1.closed(reason);
                self.lose(at, error);
                return Some(NodeEvent::ClientGone(id, None));
            }
            Packet::Frame(stamp, bytes) => {
                let checked = self.connections[at.0].check_frame(at.1, (stamp, bytes), session);
                if let Ok((_, _, Message::Job(message))) = &checked {
                    match **message {
                        JobMessage::Inquire => {
                            self.answer(at);
                            return None;
                        }
                        JobMessage::Attach(job) => {
                            self.attach(at, job);
                            return None;
                        }
                        _ => {}
                    }
                }
                checked.map(|(_, _, message)| match message {
                    Message::Job(message) => {
                        self.note_leave(place, &message);
                        NodeEvent::FromClient(id, message)
                    }
                    Message::Agent(_) | Message::Node(_) => NodeEvent::ClientGone(id, None),
                })
            }
            Packet::Pieces(..) => return None,
            Packet::State(stamp, (from, _), state) => {
                let content = StreamContent::State(without_payload(&state));
                let connection = &mut self.connections[at.0];
                let checked = connection.check_stream(at.1, (stamp, from), content, session);
                match checked {
                    Ok(()) => {
                        self.take(at);
                        self.decode_initial(place, state);
                        return None;
                    }
                    Err(refusal) => Err(refusal),
                }
            }
        };
        Some(checked.unwrap_or_else(|refusal| {
            let error = self.end(at).1.refused(refusal.clone());
            self.refuse(at, refusal.to_string());
            NodeEvent::ClientGone(id, Some(error.into()))
        }))
    }

    /// A node says how it is.
    fn answer(&mut self, at: At) {
        let place = self.end(at).1.place;
        let now = self.instant();
        let Some(node) = &mut self.nodes[place] else {
            return;
        };
        let status = JobMessage::Status(Box::new(node.status(now)));
        // The end of the connection is an event of its own.
        drop(self.send_frame(at, 0, &frame(status)));
    }

    /// The client leaves the job: the node obeys it no more.
    fn note_leave(&mut self, place: usize, message: &JobMessage) {
        if let (JobMessage::Leave, Some(node)) = (message, &mut self.nodes[place]) {
            node.obeyed = None;
        }
    }

    /// The event of a node about a packet of another node.
    fn event_of_peer(&mut self, at: At, packet: Packet) -> Option<JobEvent> {
        let session = self.session(at);
        let (_, end) = self.end(at);
        let place = end.place;
        let EndRole::Node(host) = end.role else {
            return None;
        };
        let checked = match packet {
            Packet::Close(reason) => {
                let error = self.end(at).1.closed(reason.clone());
                self.lose(at, error);
                return Some(JobEvent::PeerGone(host, Ok(reason)));
            }
            Packet::Frame(stamp, bytes) => {
                let arrived = self.instant();
                let checked = self.connections[at.0].check_frame(at.1, (stamp, bytes), session);
                checked.map(|(from, to, message)| {
                    JobEvent::Message(Box::new(NodeInput {
                        host,
                        ends: (from, to),
                        message,
                        arrived,
                        transport: (Seconds::ZERO, 1e8),
                        memory: InputMemory::default(),
                    }))
                })
            }
            Packet::Pieces(stamp, ends, (superstep, encoded)) => {
                let pieces = Pieces {
                    count: 0,
                    payload: Bytes::new(),
                };
                let content = StreamContent::Pieces(superstep, pieces);
                let connection = &mut self.connections[at.0];
                let checked = connection.check_stream(at.1, (stamp, ends.0), content, session);
                checked.map(|()| {
                    self.take(at);
                    JobEvent::Pieces(Box::new(IncomingPieces {
                        host,
                        ends,
                        superstep,
                        deltas: Delta::decode_all(vec![encoded]),
                    }))
                })
            }
            Packet::State(stamp, ends, state) => {
                let content = StreamContent::State(without_payload(&state));
                let connection = &mut self.connections[at.0];
                match connection.check_stream(at.1, (stamp, ends.0), content, session) {
                    Ok(()) => {
                        self.take(at);
                        self.decode(place, host, ends, state);
                        return None;
                    }
                    Err(refusal) => Err(refusal),
                }
            }
        };
        Some(checked.unwrap_or_else(|refusal| {
            let error = self.end(at).1.refused(refusal.clone());
            self.refuse(at, refusal.to_string());
            JobEvent::PeerGone(host, Err(error.into()))
        }))
    }

    /// The state that has arrived at an end is taken: its sender receives an acknowledgement.
    pub(super) fn take(&mut self, at: At) {
        let other = (at.0, 1 - at.1);
        let delay = self.delay_to(other);
        self.queue
            .add(self.now + delay, Happening::Taken(other.0, other.1));
    }

    /// The first state of those that an end has sent has been taken.
    pub(super) fn taken(&mut self, at: At) {
        let (_, end) = self.end(at);
        let place = end.place;
        let Some(untaken) = end.untaken.pop_front().filter(|_| end.is_open) else {
            return;
        };
        match untaken {
            Untaken::Initial => self.tell_leader(CLIENT, ClientEvent::StateSent(Ok(()))),
            Untaken::Output | Untaken::Pieces => {}
            Untaken::State(host, bytes, began) => {
                let took = Duration::from_nanos(self.now - began);
                let took = machines::seconds(took);
                self.tell_node(place, JobEvent::Sent(host, bytes, took).into());
            }
        }
    }

    /// The other end has ended the connection.
    pub(super) fn aborted(&mut self, at: At, reason: String) {
        let ends = &self.connections[at.0].ends;
        if !ends[at.1].is_open || !self.network.is_open(ends[1 - at.1].place, ends[at.1].place) {
            return;
        }
        let error = ends[at.1].aborted(reason);
        self.end_with(at, error);
    }

    /// A connection ends with an error, which is an event of its owner.
    fn end_with(&mut self, at: At, error: PeerError) {
        let (_, end) = self.end(at);
        let (place, role, id) = (end.place, end.role, end.id);
        self.lose(at, error.clone());
        match role {
            EndRole::Undecided => {}
            EndRole::Leader(id) => {
                let error = JobError::from(error);
                self.tell_leader_of(id, at, NodeWord::Closed(Err(error)));
            }
            EndRole::Follower(id) => self.follower_lost(id, at, error.into()),
            EndRole::Client => {
                let gone = NodeEvent::ClientGone(id, Some(error.into()));
                self.tell_node(place, gone);
            }
            EndRole::Node(host) => {
                if let Some(node) = &mut self.nodes[place] {
                    let gone = JobEvent::PeerGone(host, Err(error.into()));
                    node.peer_events.push_back(gone);
                    self.settle(place);
                }
            }
        }
    }

    /// An end does not exist any more, because of `error`.
    pub(super) fn lose(&mut self, at: At, error: PeerError) {
        let (_, end) = self.end(at);
        end.is_open = false;
        end.error = Some(error);
        end.is_closing = false;
        end.held.clear();
        let (_, other) = self.end((at.0, 1 - at.1));
        other.is_closing = false;
        self.update_silence_of(Connections::is_of_follower(at.0));
    }

    /// An end, and the job of its connection.
    pub(super) fn end(&mut self, at: At) -> (Option<JobId>, &mut End) {
        let connection = &mut self.connections[at.0];
        (connection.job, &mut connection.ends[at.1])
    }

    fn session(&self, at: At) -> SessionState {
        let place = self.connections[at.0].ends[at.1].place;
        match self.nodes.get(place) {
            Some(Some(node)) => node.session.state(),
            Some(None) | None => SessionState::default(),
        }
    }
}

/// The head of a state.
fn without_payload(state: &EncodedState) -> EncodedState {
    EncodedState {
        payload: Bytes::new(),
        ..state.clone()
    }
}

impl Cluster<'_> {
    /// A process connects to another one, or tries again.
    pub(super) fn connect(&mut self, connecting: Connecting) {
        let (from, to) = (connecting.from, connecting.to);
        let is_current = match connecting.by {
            By::Leader(id) => {
                let leader = self.leaders.get(&id);
                leader.is_some_and(|leader| leader.view() == connecting.number)
            }
            By::Follower(id) => self.is_looking(id, connecting.number),
            By::Node => self.nodes[from.place]
                .as_ref()
                .is_some_and(|node| node.job.is_some() && node.jobs == connecting.number),
        };
        if !self.is_alive(from) || !is_current {
            return;
        }
        let target = self.owner(to);
        let answers = self.network.are_connected(from.place, to)
            && self.is_alive(target)
            && self.places[to].stopped == 0
            && self.places[from.place].stopped == 0;
        if !answers {
            if connecting.limit <= self.now {
                let peer = Arc::clone(&self.places[to].info);
                let after = Duration::from_nanos(CONNECTING);
                let error = ConnectError::TimedOut {
                    peer,
                    after,
                    is_closed: false,
                };
                return self.unreachable(&connecting, error.into());
            }
            let again = (self.now + AGAIN).min(connecting.limit);
            return self.queue.add(again, Happening::Connect(connecting));
        }
        let Some(node) = &self.nodes[to] else { return };
        let session = node.session.state();
        if connecting.job.is_some() && session.job != connecting.job {
            let error = ConnectError::Rejected {
                peer: Arc::clone(&self.places[to].info),
                problem: "it has another job".to_owned(),
            };
            return self.unreachable(&connecting, error.into());
        }
        let role = self.places[to].info.subject.role;
        if !role.serves_as(connecting.role) {
            let error = JobError::cluster("a peer in another role");
            return self.unreachable(&connecting, error);
        }
        self.connected(&connecting, session);
    }

    /// Both ends have a connection.
    fn connected(&mut self, connecting: &Connecting, session: SessionState) {
        let (from, to) = (connecting.from, self.owner(connecting.to));
        let is_of_follower = matches!(connecting.by, By::Follower(_));
        let number = self.connections.next(is_of_follower);
        let from_epoch = match (connecting.by, self.nodes.get(from.place)) {
            (By::Node, Some(Some(node))) => node.session.state().epoch,
            _ => 0,
        };
        let mut id = |place: usize, end| match self.nodes.get_mut(place) {
            Some(Some(node)) => node.connect((number, end)),
            Some(None) | None => ConnectionId(0),
        };
        let opening = match connecting.by {
            By::Leader(_) | By::Follower(_) => ConnectionId(0),
            By::Node => id(from.place, 0),
        };
        let ids = [opening, id(to.place, 1)];
        let party = |owner: Owner, epoch| Party {
            place: owner.place,
            incarnation: owner.incarnation,
            info: Arc::clone(&self.places[owner.place].info),
            epoch,
        };
        let (opening, answering) = (party(from, from_epoch), party(to, session.epoch));
        let connection = Connection::new(connecting.job, &opening, &answering, ids);
        self.connections.add(connection, is_of_follower);
        match connecting.by {
            By::Leader(id) => self.end((number, 0)).1.role = EndRole::Leader(id),
            By::Follower(id) => self.end((number, 0)).1.role = EndRole::Follower(id),
            By::Node => {}
        }
        self.update_silence_of(is_of_follower);
        self.tell_of_connection((number, 1), connecting.job);
        match connecting.by {
            By::Leader(id) => {
                self.leader_connected(id, (number, 0), (connecting.to, connecting.host));
            }
            By::Follower(id) => self.follower_connected(id, (number, 0), connecting.to),
            By::Node => self.tell_of_connection((number, 0), connecting.job),
        }
    }

    fn tell_of_connection(&mut self, at: At, job: Option<JobId>) {
        let (_, end) = self.end(at);
        let (place, connection, info) = (end.place, end.id, Arc::clone(&end.peer));
        let build = self.scenario.request.builds.own.clone();
        let peer = NewPeer {
            connection,
            info,
            job,
            build,
        };
        self.tell_node(place, NodeEvent::Connected(peer));
    }

    fn unreachable(&mut self, connecting: &Connecting, error: JobError) {
        let place = connecting.from.place;
        match connecting.by {
            By::Leader(id) => {
                let host = connecting.host;
                return self.tell_leader(id, ClientEvent::Connected(host, Err(error)));
            }
            By::Follower(id) => return self.follower_without(id, connecting.to, error),
            By::Node => {}
        }
        let gone = JobEvent::PeerGone(connecting.host, Err(error));
        self.tell_node(place, gone.into());
    }
}

/// How long a process tries to connect, in nanoseconds.
pub(super) const CONNECTING: u64 = 5_000_000_000;
/// After which time a process without an answer tries again.
const AGAIN: u64 = 200_000_000;

impl Cluster<'_> {
    /// Notes which ends hear their peers from now on.
    pub(super) fn update_silence(&mut self) {
        self.update_silence_of(false);
    }

    /// The same for connections of clients that attach, or for all.
    pub(super) fn update_silence_of(&mut self, followers_alone: bool) {
        for connection in self.connections.numbers(followers_alone) {
            for end in 0..2 {
                let is_heard = self.hears((connection, end));
                let own = &mut self.connections[connection].ends[end];
                match (own.is_open && !is_heard, own.silent_since) {
                    (false, _) => own.silent_since = None,
                    (true, Some(_)) => {}
                    (true, None) => {
                        own.silent_since = Some(self.now);
                        let random = if Connections::is_of_follower(connection) {
                            &mut self.followers.random
                        } else {
                            &mut self.random
                        };
                        let limit = SILENCE + random.between(0, SILENCE_SPREAD);
                        let happening = Happening::Silent(connection, end, self.now);
                        self.queue.add(self.now + limit, happening);
                    }
                }
            }
        }
    }

    /// Whether signs of life of the peer arrive at an end.
    fn hears(&self, at: At) -> bool {
        let ends = &self.connections[at.0].ends;
        let (own, peer) = (&ends[at.1], &ends[1 - at.1]);
        let owner = Owner {
            place: peer.place,
            incarnation: peer.incarnation,
        };
        (peer.is_open || peer.is_closing)
            && self.is_alive(owner)
            && self.network.is_open(peer.place, own.place)
            && self.places[peer.place].stopped == 0
            && self.places[own.place].stopped == 0
    }

    /// An end has heard nothing for too long, unless it has since `since`.
    pub(super) fn silent(&mut self, at: At, since: u64) {
        let own = &self.connections[at.0].ends[at.1];
        if !own.is_open || own.silent_since != Some(since) {
            return;
        }
        let after = Seconds::new(2.5).expect("finite");
        let error = own.silent(after);
        // What the peer sends from now on is answered: the connection is not known here.
        let other = (at.0, 1 - at.1);
        let delay = SIGN_OF_LIFE + self.delay_to(other);
        let reason = "the connection is not known any more".to_owned();
        self.queue.add(
            self.now + delay,
            Happening::Aborted(other.0, other.1, reason),
        );
        self.end_with(at, error);
    }
}

/// The silence after which a connection is lost, in nanoseconds, and by how much later it may be noticed.
const SILENCE: u64 = 2_500_000_000;
const SILENCE_SPREAD: u64 = 200_000_000;
/// The time between two signs of life.
const SIGN_OF_LIFE: u64 = 500_000_000;
