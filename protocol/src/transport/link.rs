use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use quinn::{Connection, ConnectionError};
use tokio::sync::Semaphore;

use crate::transport::bounds::varint;
use crate::transport::close::{CloseCode, PeerError};
use crate::transport::counters::AtomicCounters;
use crate::transport::frame_budget::{FrameRules, FrameShare};
use crate::transport::log_limit::LogLimit;
use crate::transport::rights::{SpeakingRights, check_message};
use crate::transport::session::Session;
use crate::transport::watchdog::Watchdog;
use crate::transport::{Bounds, JobId, PeerInfo, Refusal};
use crate::{Address, Message, displayed};

/// The connection to a peer, shared by the parts that send and receive.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) connection: Connection,
    pub(super) peer: Arc<PeerInfo>,
    pub(super) job: Option<JobId>,
    pub(super) session: Arc<Session>,
    pub(super) counters: Arc<AtomicCounters>,
    pub(super) bounds: Bounds,
    /// The hosts and Sets that the peer speaks for, once they are known.
    pub(super) rights: OnceLock<SpeakingRights>,
    /// The first error found at this end.
    pub(super) error: FirstError,
    pub(super) frames: FrameRules,
    pub(super) queue: Queue,
    /// Lines about refused frames in the log.
    pub(super) log: Arc<LogLimit>,
    pub(super) _watchdog: Watchdog,
}

/// The frames that wait to be sent.
#[derive(Debug)]
pub(super) struct Queue {
    /// Free bytes.
    pub(super) room: Arc<Semaphore>,
    /// Whether the queue, as the windows, is as long as for a peer that is no visitor.
    is_wide: AtomicBool,
}

/// The first error that this end has found on a connection, which ended it.
#[derive(Clone, Debug, Default)]
pub(super) struct FirstError(Arc<OnceLock<PeerError>>);

impl FirstError {
    /// The error, if there is one.
    pub(super) fn get(&self) -> Option<PeerError> {
        self.0.get().cloned()
    }

    /// Closes `connection` because of `error`, unless another error has done so. Returns the first error.
    pub(super) fn close(
        &self,
        connection: &Connection,
        error: PeerError,
        (code, reason): (CloseCode, &str),
    ) -> PeerError {
        let error = self.0.get_or_init(|| error).clone();
        connection.close(code.to_wire(), reason.as_bytes());
        error
    }
}

impl Queue {
    /// A queue of a visitor.
    pub(super) fn narrow(bounds: &Bounds) -> Self {
        Self {
            room: Arc::new(Semaphore::new(to_usize(
                bounds.visitor_window.min(bounds.queue),
            ))),
            is_wide: AtomicBool::new(false),
        }
    }

    /// The bytes of an empty queue.
    pub(super) fn length(&self, bounds: &Bounds) -> u32 {
        if self.is_wide.load(Ordering::Relaxed) {
            bounds.queue
        } else {
            bounds.visitor_window.min(bounds.queue)
        }
    }
}

impl Link {
    /// Closes the connection because of a frame that the peer sent.
    pub(super) fn refuse(&self, refusal: Refusal) -> PeerError {
        self.counters.count_refusal(&refusal);
        let reason = refusal.to_string();
        let refusal = match displayed(&reason, REASON_MAX) {
            shown if shown == reason => refusal,
            // It repeats what the peer has sent.
            shown => Refusal::Content(shown),
        };
        // A frame that comes when the job is over is no reason to warn: its sender may not know yet.
        let is_late = matches!(refusal, Refusal::Job { expected: None, .. });
        if self.log.admits() {
            if is_late {
                tracing::info!(peer = %self.peer, reason = %refusal, "refused a frame");
            } else {
                tracing::warn!(peer = %self.peer, reason = %refusal, "refused a frame");
            }
        }
        let reason = refusal.to_string();
        let error = PeerError::Refused {
            peer: Arc::clone(&self.peer),
            source: refusal,
        };
        self.fail(error, CloseCode::Frame, &reason)
    }

    /// Closes the connection because the peer has stopped reading.
    pub(super) fn stalled(&self) -> PeerError {
        let error = PeerError::Stalled {
            peer: Arc::clone(&self.peer),
        };
        self.fail(error, CloseCode::Dropped, "")
    }

    /// The error of a connection that has ended with `source`.
    pub(super) fn lost(&self, source: ConnectionError) -> PeerError {
        let known = self.error.get();
        known.unwrap_or_else(|| PeerError::from_connection_error(&self.peer, source))
    }

    /// The error of a connection that has ended, or of a peer that has stopped reading.
    pub(super) fn gone(&self) -> PeerError {
        let ended = self.connection.close_reason();
        self.lost(ended.unwrap_or(ConnectionError::LocallyClosed))
    }

    /// Checks that the peer may send `message` in the name of `from`.
    pub(super) fn check(&self, from: Address, message: &Message) -> Result<(), Refusal> {
        let (subject, rights) = (&self.peer.subject, self.rights.get());
        check_message(subject, (self.job.is_some(), rights), from, message)
    }

    /// The share of the next incomplete frame.
    pub(super) fn frame_share(&self) -> FrameShare {
        FrameShare::new(&self.frames)
    }

    /// Gives the connection the windows and the queue of a peer that is no visitor.
    pub(super) fn widen(&self) {
        if !self.queue.is_wide.swap(true, Ordering::Relaxed) {
            let window = self.bounds.connection_window();
            self.connection.set_receive_window(varint(window));
            self.connection.set_send_window(window);
            let Bounds {
                queue,
                visitor_window,
                ..
            } = self.bounds;
            let more = queue.saturating_sub(visitor_window);
            self.queue.room.add_permits(to_usize(more));
        }
    }

    fn fail(&self, error: PeerError, code: CloseCode, reason: &str) -> PeerError {
        self.error.close(&self.connection, error, (code, reason))
    }
}

fn to_usize(count: u32) -> usize {
    usize::try_from(count).expect("32 bits fit a usize")
}

/// Bytes of a reason: more cannot be told to the peer.
const REASON_MAX: usize = 1000;
