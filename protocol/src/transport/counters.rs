use std::sync::atomic::{AtomicU64, Ordering};

use crate::transport::Refusal;

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
    pub const fn refused(&self) -> u64 {
        let connections = self.handshakes_refused
            + self.handshakes_ignored
            + self.handshakes_failed
            + self.handshakes_mismatched
            + self.connections_refused
            + self.expired
            + self.revoked;
        let frames = self.foreign + self.stale + self.replayed + self.denied + self.malformed;
        connections + frames + self.unfinished + self.oversized
    }
}

#[derive(Debug, Default)]
pub(super) struct AtomicCounters {
    pub(super) retries: AtomicU64,
    pub(super) handshakes_refused: AtomicU64,
    pub(super) handshakes_ignored: AtomicU64,
    pub(super) handshakes_failed: AtomicU64,
    pub(super) handshakes_mismatched: AtomicU64,
    pub(super) connections_refused: AtomicU64,
    pub(super) expired: AtomicU64,
    pub(super) revoked: AtomicU64,
    foreign: AtomicU64,
    stale: AtomicU64,
    replayed: AtomicU64,
    denied: AtomicU64,
    malformed: AtomicU64,
    unfinished: AtomicU64,
    oversized: AtomicU64,
}

impl AtomicCounters {
    pub(super) fn count_refusal(&self, refusal: &Refusal) {
        count(match refusal {
            Refusal::Job { .. } => &self.foreign,
            Refusal::Epoch { .. } => &self.stale,
            Refusal::Sequence { .. } => &self.replayed,
            Refusal::Rights { .. }
            | Refusal::Connection { .. }
            | Refusal::Agent { .. }
            | Refusal::Content(_) => &self.denied,
            Refusal::Unfinished { .. } => &self.unfinished,
            Refusal::Share { .. } => &self.oversized,
            Refusal::Decode(_)
            | Refusal::Opening { .. }
            | Refusal::Ended { .. }
            | Refusal::Trailing
            | Refusal::Chunk { .. }
            | Refusal::Corrupted { .. }
            | Refusal::StateTooLong { .. }
            | Refusal::Memory { .. } => &self.malformed,
        });
    }

    pub(super) fn counters(&self) -> Counters {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Counters {
            retries: read(&self.retries),
            handshakes_refused: read(&self.handshakes_refused),
            handshakes_ignored: read(&self.handshakes_ignored),
            handshakes_failed: read(&self.handshakes_failed),
            handshakes_mismatched: read(&self.handshakes_mismatched),
            connections_refused: read(&self.connections_refused),
            expired: read(&self.expired),
            revoked: read(&self.revoked),
            foreign: read(&self.foreign),
            stale: read(&self.stale),
            replayed: read(&self.replayed),
            denied: read(&self.denied),
            malformed: read(&self.malformed),
            unfinished: read(&self.unfinished),
            oversized: read(&self.oversized),
        }
    }
}

pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
