//! The nodes that take no part in a job and may join it.

use std::time::{Duration, Instant as Clock};

use protocol::Build;
use protocol::identity::Role;

/// What is known of the nodes of a pool, by their places in it.
#[derive(Debug)]
pub(super) struct Pool(Vec<PoolNode>);

#[derive(Debug)]
struct PoolNode {
    /// When it is asked next.
    at: Clock,
    state: State,
}

#[derive(Debug)]
enum State {
    /// There is no connection to it.
    Away,
    Connecting,
    Connected(Known),
    /// It has been asked how it is.
    Asked(Known),
    /// It has no job.
    Free(Known),
    /// It cannot take part.
    LeftOut,
    /// It is not asked until it is time, if ever.
    HeldBack,
}

/// The build and the role of a node.
type Known = (Build, Role);

/// How a node of a pool is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asking {
    /// Connect to it.
    Connect,
    /// Ask for its status.
    Inquire,
}

impl Pool {
    /// Nodes that are asked from these dates on.
    pub(super) fn new(from: Vec<Clock>) -> Self {
        let nodes = from.into_iter().map(|at| PoolNode {
            at,
            state: State::Away,
        });
        Self(nodes.collect())
    }

    /// Adds a node, which is asked from this date on.
    pub(super) fn add(&mut self, at: Clock) {
        let state = State::Away;
        self.0.push(PoolNode { at, state });
    }

    /// When the next node is asked.
    pub(super) fn next_timeout(&self) -> Option<Clock> {
        let waiting = self
            .0
            .iter()
            .filter(|node| matches!(node.state, State::Away | State::Connected(..)));
        waiting.map(|node| node.at).min()
    }

    /// The nodes that are asked now.
    pub(super) fn advance(&mut self, now: Clock) -> Vec<(usize, Asking)> {
        let due = self.0.iter_mut().enumerate();
        let due = due.filter(|(_, node)| node.at <= now);
        due.filter_map(|(place, node)| {
            let asking = match node.state {
                State::Away => {
                    node.state = State::Connecting;
                    Asking::Connect
                }
                State::Connected(ref known) => {
                    node.state = State::Asked(known.clone());
                    Asking::Inquire
                }
                State::Connecting
                | State::Asked(..)
                | State::Free(..)
                | State::LeftOut
                | State::HeldBack => return None,
            };
            Some((place, asking))
        })
        .collect()
    }

    /// A node cannot take part: it is not asked again.
    pub(super) fn leave_out(&mut self, place: usize) {
        if let Some(node) = self.0.get_mut(place) {
            node.state = State::LeftOut;
        }
    }

    /// A node is not asked until it is time.
    pub(super) fn hold_back(&mut self, place: usize) {
        if let Some(node) = self.0.get_mut(place) {
            node.state = State::HeldBack;
        }
    }

    /// It is time to ask a node that was held back.
    pub(super) fn release(&mut self, place: usize, now: Clock) {
        if let Some(node) = self.0.get_mut(place)
            && matches!(node.state, State::HeldBack)
        {
            (node.at, node.state) = (now, State::Away);
        }
    }

    /// There is a connection to a node, of this build and role, or none any more.
    pub(super) fn connect(&mut self, place: usize, connected: Option<Known>, now: Clock) {
        if let Some(node) = self.0.get_mut(place)
            && !matches!(node.state, State::LeftOut)
        {
            (node.at, node.state) = match connected {
                Some(known) => (now, State::Connected(known)),
                None => (now + AGAIN, State::Away),
            };
        }
    }

    /// A node says whether it is free.
    pub(super) fn answer(&mut self, place: usize, is_free: bool, now: Clock) {
        if let Some(node) = self.0.get_mut(place)
            && let State::Asked(known) = &node.state
        {
            let known = known.clone();
            (node.at, node.state) = if is_free {
                (now, State::Free(known))
            } else {
                (now + AGAIN, State::Connected(known))
            };
        }
    }

    /// Whether a node that has been asked may lead a job.
    pub(super) fn may_lead(&self, place: usize) -> bool {
        let node = self.0.get(place).map(|node| &node.state);
        matches!(node, Some(State::Asked((_, Role::SetManager))))
    }

    /// The nodes that are free, with their builds and roles.
    pub(super) fn free(&self) -> impl Iterator<Item = (usize, &Known)> {
        let nodes = self.0.iter().enumerate();
        nodes.filter_map(|(place, node)| match &node.state {
            State::Free(known) => Some((place, known)),
            _ => None,
        })
    }
}

/// The time after which a node is asked again that was not there or busy.
const AGAIN: Duration = Duration::from_secs(1);
