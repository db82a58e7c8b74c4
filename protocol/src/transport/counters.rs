use std::sync::atomic::{AtomicU64, Ordering};

use crate::transport::Refusal;

/// What an endpoint has refused since it was bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Strangers asked to prove their address.
    pub retries: u64,
    /// Strangers turned away because too many others were being served.
    pub turned_away: u64,
    /// Strangers ignored because too many others of the same address were being served.
    pub crowded: u64,
    /// Connections that failed before frames could come: certificates, protocols, time.
    pub handshakes: u64,
    /// Connections of another job or an old epoch.
    pub greetings: u64,
    /// Frames of another job.
    pub foreign: u64,
    /// Frames of an epoch gone by.
    pub stale: u64,
    /// Frames that came again, or out of order.
    pub replayed: u64,
    /// Frames that their sender may not send.
    pub denied: u64,
    /// Bytes that are no frame.
    pub malformed: u64,
}

impl Counters {
    /// Everybody and everything that was refused; whoever was only asked to prove its address was not.
    #[must_use]
    pub const fn refused(&self) -> u64 {
        let connections = self.turned_away + self.crowded + self.handshakes + self.greetings;
        connections + self.foreign + self.stale + self.replayed + self.denied + self.malformed
    }
}

#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) retries: AtomicU64,
    pub(super) turned_away: AtomicU64,
    pub(super) crowded: AtomicU64,
    pub(super) handshakes: AtomicU64,
    pub(super) greetings: AtomicU64,
    foreign: AtomicU64,
    stale: AtomicU64,
    replayed: AtomicU64,
    denied: AtomicU64,
    malformed: AtomicU64,
}

impl Tally {
    pub(super) fn refused(&self, refusal: &Refusal) {
        count(match refusal {
            Refusal::Job { .. } => &self.foreign,
            Refusal::Epoch { .. } => &self.stale,
            Refusal::Sequence { .. } => &self.replayed,
            Refusal::Rights { .. } | Refusal::Place { .. } | Refusal::Voice { .. } => &self.denied,
            Refusal::Decode(_)
            | Refusal::Opening { .. }
            | Refusal::Ended { .. }
            | Refusal::Trailing
            | Refusal::Chunk { .. }
            | Refusal::Corrupted { .. }
            | Refusal::Memory { .. } => &self.malformed,
        });
    }

    pub(super) fn counters(&self) -> Counters {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Counters {
            retries: read(&self.retries),
            turned_away: read(&self.turned_away),
            crowded: read(&self.crowded),
            handshakes: read(&self.handshakes),
            greetings: read(&self.greetings),
            foreign: read(&self.foreign),
            stale: read(&self.stale),
            replayed: read(&self.replayed),
            denied: read(&self.denied),
            malformed: read(&self.malformed),
        }
    }
}

pub(super) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
