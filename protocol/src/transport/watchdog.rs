//! Ends the connection of a peer that is silent, or whose certificate is no longer valid.
//!
//! QUIC's own idle timer is a safety net of at least 20 s. It restarts with the first packet sent after the last
//! received, so it cannot keep a limit.

use std::sync::Arc;
use std::time::SystemTime;

use quinn::{Connection, FrameStats};
use tokio::task::AbortHandle;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::identity::Certificate;
use crate::transport::close::{CertificateEnd, CloseCode, PeerError};
use crate::transport::connection_permits::ConnectionPermit;
use crate::transport::counters::{AtomicCounters, count};
use crate::transport::link::FirstError;
use crate::transport::shared_bounds::Standing;
use crate::transport::{Bounds, PeerInfo};

/// The task that watches a connection; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct Watchdog(AbortHandle);

/// A connection, and what has to hold for it to go on.
#[derive(Debug)]
pub(super) struct WatchedConnection {
    pub(super) connection: Connection,
    pub(super) peer: Arc<PeerInfo>,
    pub(super) certificate: Certificate,
    pub(super) standing: Arc<Standing>,
    pub(super) counters: Arc<AtomicCounters>,
    pub(super) error: FirstError,
    pub(super) bounds: Bounds,
    /// Given back when the connection ends.
    pub(super) permit: Option<ConnectionPermit>,
}

impl Watchdog {
    /// Watches `watched` until it ends.
    pub(super) fn spawn(watched: WatchedConnection) -> Self {
        Self(tokio::spawn(watched.watch()).abort_handle())
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl WatchedConnection {
    async fn watch(self) {
        let closed = async {
            drop(self.connection.closed().await);
        };
        tokio::select! {
            () = closed => {}
            (error, code, reason) = self.fault() => {
                tracing::warn!(peer = %self.peer, reason, "ended a connection");
                drop(self.error.close(&self.connection, error, (code, &reason)));
            }
        }
        drop(self.permit);
    }

    /// Waits until the connection has to be ended.
    ///
    /// Silence is counted in ticks of this task and not by a clock: if this process was stopped or starved, its peers
    /// were not silent for that time.
    async fn fault(&self) -> (PeerError, CloseCode, String) {
        let peer = || Arc::clone(&self.peer);
        let tick = self.bounds.silence / TICKS;
        let mut ticks = interval_at(Instant::now() + tick, tick);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut heard, mut silent) = (self.heard(), 0);
        loop {
            ticks.tick().await;
            let end = self.standing.end(&self.certificate, SystemTime::now());
            if let Some(source) = end {
                count(match source {
                    CertificateEnd::Expired { .. } => &self.counters.expired,
                    CertificateEnd::Revoked { .. } => &self.counters.revoked,
                });
                let (peer, reason) = (peer(), source.to_string());
                let error = PeerError::Certificate { peer, source };
                return (error, CloseCode::Certificate, reason);
            }
            let now = self.heard();
            silent = if now == heard { silent + 1 } else { 0 };
            heard = now;
            if silent == TICKS {
                let (peer, after) = (peer(), self.bounds.silence);
                let reason = format!("nothing was received for {} s", after.as_secs_f64());
                return (
                    PeerError::Silent { peer, after },
                    CloseCode::Silence,
                    reason,
                );
            }
        }
    }

    /// A number that grows with every sign of life: data, acknowledgements, pings. Packets that are not the peer's, and
    /// repetitions of old ones, do not count.
    fn heard(&self) -> u64 {
        let FrameStats {
            acks, ping, stream, ..
        } = self.connection.stats().frame_rx;
        acks + ping + stream
    }
}

/// Ticks in the time after which a silent peer is lost.
const TICKS: u32 = 20;
