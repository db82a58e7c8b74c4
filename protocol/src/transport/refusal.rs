//! Why frames and states are refused, and how many were.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::identity::{Name, Role};
use crate::transport::{CHUNK_LEN, JobId};
use crate::{Address, DecodeError};

/// Why a frame or a state was refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// It belongs to another job.
    #[error("it belongs to {}, {}", JobId::describe(*found), expected_job(*expected))]
    Job {
        /// The job it names.
        found: Option<JobId>,
        /// The job of the connection, if both ends are still at it.
        expected: Option<JobId>,
    },
    /// It belongs to the job of the connection, which is over at this end: the peer does not know yet.
    #[error("it belongs to {0}, which is over")]
    Over(JobId),
    /// It belongs to an old epoch.
    #[error("it belongs to epoch {found}, expected {oldest} or later")]
    Epoch {
        /// The epoch it names.
        found: u64,
        /// The oldest epoch that is accepted.
        oldest: u64,
    },
    /// It is a replay, or frames before it are missing.
    #[error("it has sequence number {found}, expected {expected}")]
    Sequence {
        /// Its sequence number.
        found: u64,
        /// The next sequence number.
        expected: u64,
    },
    /// Its sender may not send it.
    #[error("a {role} may not send {message} as {from:?}{}", hint(*role))]
    Rights {
        /// The sender's role.
        role: Role,
        /// The agent it claims to speak for.
        from: Address,
        /// The name of the message.
        message: String,
    },
    /// It belongs on another connection: messages of agents need a job, messages between clients and nodes need none.
    #[error("{message} may not be sent on a connection {} a job", if *has_job { "with" } else { "without" })]
    Connection {
        /// The name of the message.
        message: String,
        /// Whether the connection belongs to a job.
        has_job: bool,
    },
    /// It is sent in the name of an agent of another member.
    #[error("{name} may not speak for {from:?}")]
    Agent {
        /// The name of the sender.
        name: Name,
        /// The agent it claims to speak for.
        from: Address,
    },
    /// Its content contradicts the state of the job.
    #[error("{0}")]
    Content(String),
    /// It is not a message.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// A stream of another protocol.
    #[error("a stream of kind {found:02x?}, expected {expected:02x?}")]
    Opening {
        /// Its first bytes.
        found: [u8; 4],
        /// What was expected.
        expected: [u8; 4],
    },
    /// It ends too early.
    #[error("it ends after {found} bytes of {what}, expected {expected}")]
    Ended {
        /// The part that is incomplete.
        what: &'static str,
        /// Bytes that arrived.
        found: u64,
        /// Bytes that were announced.
        expected: u64,
    },
    /// It does not end, and does not grow as it should.
    #[error("{what} neither ends nor grows by 1 MiB, or its share of a slow link, in {} s", after.as_secs_f64())]
    Unfinished {
        /// The part that is incomplete.
        what: &'static str,
        /// The time for which it was waited for.
        after: Duration,
    },
    /// The incomplete frames of its member take too much memory.
    #[error("the incomplete frames of its sender take more than {limit} bytes")]
    Share {
        /// The bytes that they may take.
        limit: u64,
    },
    /// More bytes follow its end.
    #[error("more bytes follow, expected its end")]
    Trailing,
    /// A chunk that is too long.
    #[error("a chunk of {found} bytes at byte {at} of the state, expected at most {CHUNK_LEN}")]
    Chunk {
        /// Where it begins.
        at: u64,
        /// Its length.
        found: u32,
    },
    /// A state that is too long.
    #[error("a state of more than {limit} bytes")]
    StateTooLong {
        /// The bytes that it may have.
        limit: u64,
    },
    /// A chunk whose checksum is wrong.
    #[error(
        "the chunk at byte {at} of the state has checksum {found:08x}, expected {expected:08x}: send it again"
    )]
    Corrupted {
        /// Where it begins.
        at: u64,
        /// Its checksum.
        found: u32,
        /// The checksum sent with it.
        expected: u32,
    },
    /// A state that does not fit into memory.
    #[error("not enough memory for a state of {bytes} bytes")]
    Memory {
        /// Its length.
        bytes: u64,
    },
}

impl Refusal {
    /// The part `what` ends after `found` of `expected` bytes.
    pub(super) fn ended(what: &'static str, found: usize, expected: usize) -> Self {
        let count = |bytes: usize| u64::try_from(bytes).unwrap_or(u64::MAX);
        Self::Ended {
            what,
            found: count(found),
            expected: count(expected),
        }
    }
}

fn expected_job(job: Option<JobId>) -> String {
    job.map_or_else(
        || "and the connection has no job".to_owned(),
        |job| format!("expected {job}"),
    )
}

fn hint(role: Role) -> &'static str {
    match role {
        Role::Node => ": only set-managers send orders",
        Role::SetManager => "",
        Role::Client => ": clients speak for no agent",
    }
}

/// Connections and frames that an endpoint has refused since it was bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Peers asked to prove their address (Retry).
    pub retries: u64,
    /// Handshakes refused because too many were in progress.
    pub handshakes_refused: u64,
    /// Handshakes ignored because too many from the same address were in progress.
    pub handshakes_ignored: u64,
    /// Handshakes that failed: wrong certificate, wrong protocol, timeout.
    pub handshakes_failed: u64,
    /// Handshakes of another job or an old epoch.
    pub handshakes_mismatched: u64,
    /// Connections refused because their member, or all members together, had too many.
    pub connections_refused: u64,
    /// Connections ended because a certificate expired.
    pub expired: u64,
    /// Connections ended because a certificate was revoked.
    pub revoked: u64,
    /// Frames of another job.
    pub foreign: u64,
    /// Frames of an old epoch.
    pub stale: u64,
    /// Frames that were repeated or out of order.
    pub replayed: u64,
    /// Frames that their sender may not send, and connections of peers that have no part in a job.
    pub denied: u64,
    /// Bytes that are not a frame.
    pub malformed: u64,
    /// Frames and states that did not end in time.
    pub unfinished: u64,
    /// Frames that took too much memory, together with others of their member.
    pub oversized: u64,
}

impl Counters {
    /// The sum of all refusals. A Retry is not a refusal.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.by_reason().iter().map(|(_, count)| count).sum()
    }

    /// Each refusal by a word for its reason.
    #[must_use]
    pub const fn by_reason(&self) -> [(&'static str, u64); 14] {
        [
            ("handshakes", self.handshakes_refused),
            ("handshakes_of_address", self.handshakes_ignored),
            ("handshake_failed", self.handshakes_failed),
            ("other_job", self.handshakes_mismatched),
            ("connections", self.connections_refused),
            ("expired", self.expired),
            ("revoked", self.revoked),
            ("foreign", self.foreign),
            ("stale", self.stale),
            ("replayed", self.replayed),
            ("denied", self.denied),
            ("malformed", self.malformed),
            ("unfinished", self.unfinished),
            ("oversized", self.oversized),
        ]
    }
}

/// The counters of an endpoint, which its connections share.
#[derive(Debug, Default)]
pub(super) struct SharedCounters(Mutex<Counters>);

impl SharedCounters {
    /// Counts one more of `counter`.
    pub(super) fn count(&self, counter: impl FnOnce(&mut Counters) -> &mut u64) {
        *counter(&mut self.lock()) += 1;
    }

    pub(super) fn count_refusal(&self, refusal: &Refusal) {
        self.count(|counters| match refusal {
            Refusal::Job { .. } | Refusal::Over(_) => &mut counters.foreign,
            Refusal::Epoch { .. } => &mut counters.stale,
            Refusal::Sequence { .. } => &mut counters.replayed,
            Refusal::Rights { .. }
            | Refusal::Connection { .. }
            | Refusal::Agent { .. }
            | Refusal::Content(_) => &mut counters.denied,
            Refusal::Unfinished { .. } => &mut counters.unfinished,
            Refusal::Share { .. } => &mut counters.oversized,
            Refusal::Decode(_)
            | Refusal::Opening { .. }
            | Refusal::Ended { .. }
            | Refusal::Trailing
            | Refusal::Chunk { .. }
            | Refusal::Corrupted { .. }
            | Refusal::StateTooLong { .. }
            | Refusal::Memory { .. } => &mut counters.malformed,
        });
    }

    pub(super) fn counters(&self) -> Counters {
        *self.lock()
    }

    fn lock(&self) -> MutexGuard<'_, Counters> {
        // Assignments leave no partial value behind.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
