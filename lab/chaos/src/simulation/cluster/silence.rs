//! Connections whose ends hear nothing of each other.

use bsp::units::Seconds;

use super::Cluster;
use super::wire::At;
use crate::simulation::happening::{Happening, Owner};

impl Cluster<'_> {
    /// Notes which ends hear their peers from now on.
    pub(super) fn update_silence(&mut self) {
        for connection in 0..self.connections.len() {
            for end in 0..2 {
                let is_heard = self.hears((connection, end));
                let own = &mut self.connections[connection].ends[end];
                match (own.is_open && !is_heard, own.silent_since) {
                    (false, _) => own.silent_since = None,
                    (true, Some(_)) => {}
                    (true, None) => {
                        own.silent_since = Some(self.now);
                        let limit = SILENCE + self.random.between(0, SILENCE_SPREAD);
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
