//! What happens in a fault simulation, and when.

use std::collections::BTreeMap;

use bytes::Bytes;
use machines::client::ClientEvent;
use machines::node::JobEvent;
use protocol::identity::Role;
use protocol::transport::JobId;

use super::connection::{Lane, Packet};

/// Something that happens at a date.
pub(super) enum Happening {
    /// A packet arrives at an end of a connection.
    Arrive(usize, usize, (Lane, u64), Box<Packet>),
    /// The peer has ended the connection because of what this end sent, or no longer knows it.
    Aborted(usize, usize, String),
    /// The state that an end sent first of those under way has been taken.
    Taken(usize, usize),
    /// An end has heard nothing for too long, if it has heard nothing since this date.
    Silent(usize, usize, u64),
    /// A process connects to another one.
    Connect(Connecting),
    /// Something that a node has caused itself, in its job of this number.
    Local(Owner, u64, Box<JobEvent>),
    /// Something that the client has caused itself.
    ClientLocal(u64, Box<ClientEvent>),
    /// A process wakes at a date it has chosen.
    Timer(Owner, u64),
    /// A fault ends.
    Heal(usize),
    /// A node ends after its signal to end.
    Exit(Owner),
    /// A change of the checkpoint folder is made.
    Disk(u64),
    /// Executions of a node have ended.
    Executed(Owner, u64, u64),
}

/// A process of the operating system: its place, and which of those that have run there it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) place: usize,
    pub(super) incarnation: u64,
}

/// A process connects to another one.
pub(super) struct Connecting {
    pub(super) from: Owner,
    pub(super) to: usize,
    pub(super) job: Option<JobId>,
    /// Which of the jobs of the node that connects.
    pub(super) number: u64,
    /// The role that the other one has to have.
    pub(super) role: Role,
    /// When it gives up.
    pub(super) limit: u64,
}

/// What happens, by date; at one date, in the order in which it was added.
#[derive(Default)]
pub(super) struct Queue {
    happenings: BTreeMap<(u64, u64), Happening>,
    added: u64,
}

impl Queue {
    pub(super) fn add(&mut self, at: u64, happening: Happening) {
        self.happenings.insert((at, self.added), happening);
        self.added += 1;
    }

    /// Removes what happens next, with its date.
    pub(super) fn next(&mut self) -> Option<(u64, Happening)> {
        let ((at, _), happening) = self.happenings.pop_first()?;
        Some((at, happening))
    }

    /// When something happens next.
    pub(super) fn next_date(&self) -> Option<u64> {
        self.happenings.keys().next().map(|(at, _)| *at)
    }
}

impl Happening {
    /// The process that has to run for it to happen, if one has to.
    pub(super) fn needs(&self, place_of: impl Fn(usize, usize) -> usize) -> Option<usize> {
        match self {
            Self::Arrive(connection, end, ..)
            | Self::Aborted(connection, end, _)
            | Self::Taken(connection, end)
            | Self::Silent(connection, end, _) => Some(place_of(*connection, *end)),
            Self::Local(owner, ..)
            | Self::Timer(owner, _)
            | Self::Executed(owner, ..)
            | Self::Exit(owner) => Some(owner.place),
            Self::Connect(_) | Self::ClientLocal(..) | Self::Heal(_) | Self::Disk(_) => None,
        }
    }

    /// A number for the kind and two for the content, for the identity of a trace.
    pub(super) fn identity(&self) -> [u64; 3] {
        let number = |index: &usize| u64::try_from(*index).unwrap_or(u64::MAX);
        match self {
            Self::Arrive(connection, end, (lane, sequence), packet) => {
                let length = number(&packet.len());
                let check = match &**packet {
                    Packet::Frame(_, bytes) => checksum(bytes),
                    Packet::State(_, _, state) => checksum(&state.payload),
                    Packet::Pieces(_, _, (_, encoded)) => checksum(encoded),
                    Packet::Close(reason) => checksum(&Bytes::copy_from_slice(reason.as_bytes())),
                };
                [
                    *lane as u64 + 1,
                    number(connection) << 32 | number(end) << 24 | *sequence,
                    length << 32 | check,
                ]
            }
            Self::Aborted(connection, end, _) => [3, number(connection), number(end)],
            Self::Taken(connection, end) => [4, number(connection), number(end)],
            Self::Silent(connection, end, since) => {
                [5, number(connection) << 1 | number(end), *since]
            }
            Self::Connect(connecting) => {
                [6, number(&connecting.from.place), number(&connecting.to)]
            }
            Self::Local(owner, job, _) => [7, number(&owner.place), *job],
            Self::ClientLocal(incarnation, _) => [8, *incarnation, 0],
            Self::Timer(owner, at) => [9, number(&owner.place), *at],
            Self::Heal(fault) => [10, number(fault), 0],
            Self::Disk(number) => [11, *number, 0],
            Self::Exit(owner) => [12, number(&owner.place), owner.incarnation],
            Self::Executed(owner, job, count) => [14, number(&owner.place) << 32 | *job, *count],
        }
    }
}

fn checksum(bytes: &Bytes) -> u64 {
    crc32fast::hash(bytes).into()
}
