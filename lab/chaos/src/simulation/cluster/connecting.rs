//! Processes connect to each other.

use std::sync::Arc;
use std::time::Duration;

use bsp::HostId;
use machines::JobError;
use machines::client::ClientEvent;
use machines::node::{ConnectionId, JobEvent, NewPeer, NodeEvent};
use protocol::transport::{ConnectError, JobId, SessionState};

use super::Cluster;
use super::wire::At;
use crate::simulation::connection::{Connection, Party};
use crate::simulation::happening::{Connecting, Happening, Owner};

impl Cluster<'_> {
    /// A process connects to another one, or tries again.
    pub(super) fn connect(&mut self, connecting: Connecting) {
        let (from, to) = (connecting.from, connecting.to);
        let is_current = match self.nodes.get(from.place) {
            Some(node) => node
                .as_ref()
                .is_some_and(|node| node.job.is_some() && node.jobs == connecting.number),
            None => true,
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
        if self.places[to].info.subject.role != connecting.role {
            let error = JobError::cluster("a peer in another role");
            return self.unreachable(&connecting, error);
        }
        self.connected(&connecting, session);
    }

    /// Both ends have a connection.
    pub(super) fn connected(&mut self, connecting: &Connecting, session: SessionState) {
        let (from, to) = (connecting.from, self.owner(connecting.to));
        let number = self.connections.len();
        let from_epoch = match self.nodes.get(from.place) {
            Some(Some(node)) => node.session.state().epoch,
            Some(None) | None => 0,
        };
        let mut id = |place: usize, end| match self.nodes.get_mut(place) {
            Some(Some(node)) => node.connect((number, end)),
            Some(None) | None => ConnectionId(0),
        };
        let ids = [id(from.place, 0), id(to.place, 1)];
        let party = |owner: Owner, epoch| Party {
            place: owner.place,
            incarnation: owner.incarnation,
            info: Arc::clone(&self.places[owner.place].info),
            epoch,
        };
        let (opening, answering) = (party(from, from_epoch), party(to, session.epoch));
        let connection = Connection::new(connecting.job, &opening, &answering, ids);
        self.connections.push(connection);
        self.update_silence();
        self.tell_of_connection((number, 1), connecting.job);
        if from.place == self.client_place() {
            self.client_connected((number, 0), connecting.to);
        } else {
            self.tell_of_connection((number, 0), connecting.job);
        }
    }

    pub(super) fn tell_of_connection(&mut self, at: At, job: Option<JobId>) {
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

    pub(super) fn unreachable(&mut self, connecting: &Connecting, error: JobError) {
        let place = connecting.from.place;
        if place == self.client_place() {
            let host = HostId::from_index(connecting.to);
            return self.tell_client(ClientEvent::Connected(host, Err(error)));
        }
        self.tell_node(place, JobEvent::Failed(error).into());
    }
}

/// How long a process tries to connect, in nanoseconds.
pub(super) const CONNECTING: u64 = 5_000_000_000;
/// After which time a process without an answer tries again.
const AGAIN: u64 = 200_000_000;
