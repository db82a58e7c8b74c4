//! The connection to a peer: what its senders and receivers share, what watches it, and why it has ended.

use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use quinn::{Connection, ConnectionError, FrameStats, RecvStream, SendStream, VarInt};
use rustls::pki_types::UnixTime;
use tokio::sync::{Semaphore, watch};
use tokio::task::AbortHandle;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::identity::{Certificate, Identity, Subject, Validity, date};
use crate::transport::bounds::varint;
use crate::transport::endpoint::Handshake;
use crate::transport::limits::{ConnectionPermit, FrameRules, FrameShare, LogLimit, Standing};
use crate::transport::refusal::SharedCounters;
use crate::transport::renewal::{self, Binding};
use crate::transport::rights::{SpeakingRights, check_message};
use crate::transport::session::{FrameOrder, Session};
use crate::transport::tasks::Tasks;
use crate::transport::{Bounds, JobId, Receiver, Refusal, Sender, StateReceiver};
use crate::{Address, Build, Message, displayed, displayed_message};

/// A connection to another operating-system process.
///
/// Its parts may be used by different tasks. If all of them are dropped without [`Sender::close`], the other
/// end reports a failure.
#[derive(Debug)]
pub struct Peer {
    /// The process at the other end.
    pub info: Arc<PeerInfo>,
    /// The job of both ends. A connection without a job only carries messages between clients and nodes.
    pub job: Option<JobId>,
    /// The build that the peer runs, as it says.
    pub build: Build,
    /// How long the certificate is valid that it has shown first.
    pub validity: Validity,
    /// Sends frames and states to the peer.
    pub sender: Sender,
    /// Receives frames from the peer.
    pub messages: Receiver,
    /// Receives migrated states from the peer.
    pub states: StateReceiver,
}

impl Peer {
    /// The peer at the other end of `link`, after both handshake messages. Spawns a task.
    pub(super) fn new(
        (link, validity): (Link, Validity),
        handshake: Handshake,
        outgoing: SendStream,
        incoming: RecvStream,
    ) -> Self {
        let link = Arc::new(link);
        let epoch = handshake.epoch;
        let order = || FrameOrder::new(link.job, epoch);
        Self {
            info: Arc::clone(&link.peer),
            job: link.job,
            build: handshake.build,
            validity,
            sender: Sender::spawn(Arc::clone(&link), outgoing),
            messages: Receiver::new(Arc::clone(&link), incoming, order()),
            states: StateReceiver::new(Arc::clone(&link), order()),
        }
    }

    /// Refuses frames from hosts and Sets outside `rights`, from now on.
    ///
    /// # Panics
    ///
    /// If the peer is restricted already.
    pub fn restrict_to(&self, rights: SpeakingRights) {
        let set = self.messages.link().rights.set(rights);
        assert!(set.is_ok(), "{} is restricted once", self.info);
    }
}

/// The name, role and address of the process at the other end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerInfo {
    /// The subject of its certificate.
    pub subject: Subject,
    /// The address of its socket.
    pub address: SocketAddr,
}

impl fmt::Display for PeerInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Subject { role, name, .. } = &self.subject;
        write!(f, "{role} {name} at {}", self.address)
    }
}

/// The connection to a peer, shared by the parts that send and receive.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) connection: Connection,
    pub(super) peer: Arc<PeerInfo>,
    pub(super) job: Option<JobId>,
    pub(super) tasks: Tasks,
    pub(super) session: Arc<Session>,
    pub(super) counters: Arc<SharedCounters>,
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
    /// Closes the connection because of a frame that the peer sent: in order, if its job is over here.
    pub(super) fn refuse(&self, refusal: Refusal) -> PeerError {
        self.counters.count_refusal(&refusal);
        let reason = refusal.to_string();
        let refusal = match displayed(&reason, REASON_MAX) {
            shown if shown == reason => refusal,
            // It repeats what the peer has sent.
            shown => Refusal::Content(shown),
        };
        let is_late = matches!(refusal, Refusal::Over(_));
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
        let code = if is_late {
            CloseCode::Done
        } else {
            CloseCode::Frame
        };
        self.fail(error, code, &reason)
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

    /// Bytes of datagrams that the peer has sent.
    pub(super) fn brought(&self) -> u64 {
        self.connection.stats().udp_rx.bytes
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

/// Bytes of a reason that is sent to the peer.
const REASON_MAX: usize = 1000;

/// The reason for closing a connection, as a number on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseCode {
    /// Dropped without a reason: its owner failed.
    Dropped,
    /// Closed in order.
    Done,
    /// A frame was refused.
    Frame,
    /// A handshake message was refused.
    Handshake,
    /// The peer was silent.
    Silence,
    /// A certificate is no longer valid.
    Certificate,
}

/// Why a certificate is no longer valid, though it was when the connection began.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CertificateEnd {
    /// It has expired.
    #[error("the certificate of {} {} has expired: issue a new one", subject.role, subject.name)]
    Expired {
        /// Its holder.
        subject: Subject,
    },
    /// The authority has revoked it.
    #[error("the certificate of {} {} has been revoked", subject.role, subject.name)]
    Revoked {
        /// Its holder.
        subject: Subject,
    },
}

/// Why a connection to a peer has ended.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PeerError {
    /// The peer closed the connection in order.
    #[error("{peer} has closed the connection: {reason}")]
    Closed {
        /// Which peer.
        peer: Arc<PeerInfo>,
        /// The reason it gave.
        reason: String,
    },
    /// The peer closed the connection because of an error.
    #[error("{peer} aborted the connection: {}", abort_reason(*code, reason))]
    Aborted {
        /// Which peer.
        peer: Arc<PeerInfo>,
        /// The kind of error.
        code: CloseCode,
        /// The reason it gave.
        reason: String,
    },
    /// This end closed the connection.
    #[error("the connection to {peer} is closed at this end")]
    Local {
        /// Which peer.
        peer: Arc<PeerInfo>,
    },
    /// The peer has stopped reading.
    #[error("{peer} has stopped reading: check whether it is stuck")]
    Stalled {
        /// Which peer.
        peer: Arc<PeerInfo>,
    },
    /// The peer is silent.
    #[error(
        "{peer} is lost: nothing was received for {} s: check whether it runs and can be reached",
        after.as_secs_f64()
    )]
    Silent {
        /// Which peer.
        peer: Arc<PeerInfo>,
        /// The time without a sign of life.
        after: Duration,
    },
    /// The certificate of the peer, or of this end, is no longer valid.
    #[error("the connection to {peer} has ended: {source}")]
    Certificate {
        /// Which peer.
        peer: Arc<PeerInfo>,
        /// Which certificate, and why.
        source: CertificateEnd,
    },
    /// The peer no longer speaks QUIC.
    #[error(
        "{peer} is lost: {}: check whether it runs and can be reached",
        described(source)
    )]
    Lost {
        /// Which peer.
        peer: Arc<PeerInfo>,
        /// The error of the connection.
        source: ConnectionError,
    },
    /// The peer sent a frame that is not allowed.
    #[error("refused a frame of {peer}: {source}")]
    Refused {
        /// Which peer.
        peer: Arc<PeerInfo>,
        /// Why the frame was refused.
        source: Refusal,
    },
}

impl CloseCode {
    pub(super) const fn to_wire(self) -> VarInt {
        VarInt::from_u32(match self {
            Self::Dropped => 0,
            Self::Done => 1,
            Self::Frame => 2,
            Self::Handshake => 3,
            Self::Silence => 4,
            Self::Certificate => 5,
        })
    }

    pub(super) fn from_wire(code: VarInt) -> Self {
        let known = [
            Self::Done,
            Self::Frame,
            Self::Handshake,
            Self::Silence,
            Self::Certificate,
        ];
        let found = known.into_iter().find(|known| known.to_wire() == code);
        found.unwrap_or(Self::Dropped)
    }
}

impl PeerError {
    pub(super) fn from_connection_error(peer: &Arc<PeerInfo>, source: ConnectionError) -> Self {
        let peer = Arc::clone(peer);
        match source {
            ConnectionError::ApplicationClosed(close) => {
                let reason = displayed_message(&String::from_utf8_lossy(&close.reason));
                match CloseCode::from_wire(close.error_code) {
                    CloseCode::Done => Self::Closed { peer, reason },
                    code @ (CloseCode::Dropped
                    | CloseCode::Frame
                    | CloseCode::Handshake
                    | CloseCode::Silence
                    | CloseCode::Certificate) => Self::Aborted { peer, code, reason },
                }
            }
            ConnectionError::LocallyClosed => Self::Local { peer },
            ConnectionError::VersionMismatch
            | ConnectionError::TransportError(_)
            | ConnectionError::ConnectionClosed(_)
            | ConnectionError::Reset
            | ConnectionError::TimedOut
            | ConnectionError::CidsExhausted => Self::Lost { peer, source },
        }
    }
}

fn abort_reason(code: CloseCode, reason: &str) -> &str {
    match code {
        CloseCode::Dropped => "it gave no reason; see its log",
        CloseCode::Done
        | CloseCode::Frame
        | CloseCode::Handshake
        | CloseCode::Silence
        | CloseCode::Certificate => reason,
    }
}

/// The text of `error`; if a certificate is refused, what [`RefusedCertificate`] says, which `rustls` wraps. What another
/// host says of dates names its clock, so this one is named as well.
///
/// [`RefusedCertificate`]: crate::transport::tls::RefusedCertificate
pub(super) fn described(error: &ConnectionError) -> String {
    // It may have a reason of the peer.
    let text = displayed(&error.to_string(), DESCRIBED_MAX);
    let Some((_, wrapped)) = text.split_once(WRAPPING) else {
        return text;
    };
    let sentence = wrapped.strip_suffix("))").unwrap_or(wrapped);
    let is_of_peer = matches!(error, ConnectionError::ConnectionClosed(_));
    if is_of_peer && sentence.contains(CLOCK) {
        return format!(
            "{sentence}; the clock here says {}",
            date(SystemTime::now())
        );
    }
    sentence.to_owned()
}

/// Bytes of a reason: a packet has no more.
const DESCRIBED_MAX: usize = 1500;
const WRAPPING: &str = "Other(OtherError(";
const CLOCK: &str = "the clock of ";

// Ends the connection of a peer that is silent, or whose certificate is no longer valid.
//
// QUIC's own idle timer is a safety net of at least 20 s. It restarts with the first packet sent after the last
// received, so it cannot keep a limit.

/// The task that watches a connection; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct Watchdog(AbortHandle);

/// A connection, and what has to hold for it to go on.
#[derive(Debug)]
pub(super) struct WatchedConnection {
    pub(super) connection: Connection,
    pub(super) peer: Arc<PeerInfo>,
    /// The last certificate that the peer has shown.
    pub(super) certificate: Mutex<Certificate>,
    pub(super) standing: Arc<Standing>,
    /// Learns when the identity of this end is replaced, since before the handshake.
    pub(super) renewals: watch::Receiver<Arc<Identity>>,
    pub(super) counters: Arc<SharedCounters>,
    pub(super) error: FirstError,
    /// Whether a job starts.
    pub(super) patience: Arc<AtomicBool>,
    /// Lines about refused certificates in the log.
    pub(super) log: Arc<LogLimit>,
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
        let renewed = async {
            tokio::join!(self.show_renewals(), self.see_renewals());
            // The connection goes on with the certificates that are known.
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = closed => {}
            () = renewed => {}
            (error, code, reason) = self.fault() => {
                tracing::warn!(peer = %self.peer, reason, "ended a connection");
                drop(self.error.close(&self.connection, error, (code, &reason)));
            }
        }
        drop(self.permit);
    }

    /// Shows the certificate of this end whenever it is replaced.
    async fn show_renewals(&self) {
        let Some(binding) = Binding::new(&self.connection, self.connection.side()) else {
            return;
        };
        let mut renewals = self.renewals.clone();
        while renewals.changed().await.is_ok() {
            let identity = Arc::clone(&renewals.borrow_and_update());
            match renewal::show(&identity, binding) {
                // A peer that takes no such stream knows nothing of renewals.
                Ok(bytes) => drop(self.show(&bytes).await),
                Err(error) => {
                    tracing::warn!(peer = %self.peer, %error, "cannot show the new certificate");
                }
            }
        }
    }

    async fn show(&self, bytes: &[u8]) -> Result<(), quinn::WriteError> {
        let (mut stream, _) = self.connection.open_bi().await?;
        stream.write_all(bytes).await?;
        // It cannot be finished already.
        drop(stream.finish());
        Ok(())
    }

    /// Takes the certificates that the peer shows, one in each tick at most.
    async fn see_renewals(&self) {
        let Some(binding) = Binding::new(&self.connection, !self.connection.side()) else {
            return;
        };
        while let Ok((mut answer, mut shown)) = self.connection.accept_bi().await {
            // There is none.
            drop(answer.finish());
            let Ok(bytes) = shown.read_to_end(renewal::SHOWN_MAX).await else {
                self.counters.count(|counters| &mut counters.malformed);
                continue;
            };
            let (identity, revocations) = (self.standing.identity(), self.standing.revocations());
            let certificate = renewal::check(
                &bytes,
                (&self.peer.subject, binding),
                (&identity, revocations.as_deref()),
                UnixTime::now(),
            );
            match certificate {
                Ok(certificate) => {
                    tracing::debug!(peer = %self.peer, "the peer has renewed its certificate");
                    *self.certificate() = certificate;
                }
                Err(error) => {
                    self.counters.count(|counters| &mut counters.malformed);
                    if self.log.admits() {
                        tracing::warn!(peer = %self.peer, reason = %error, "refused a renewed certificate");
                    }
                }
            }
            tokio::time::sleep(self.tick()).await;
        }
    }

    fn certificate(&self) -> MutexGuard<'_, Certificate> {
        // Assignments leave no partial value behind.
        self.certificate
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The time between two looks at the connection.
    fn tick(&self) -> Duration {
        self.bounds.silence / TICKS
    }

    /// Waits until the connection has to be ended.
    ///
    /// Silence is counted in ticks of this task and not by a clock: if this process was stopped or starved, its peers
    /// were not silent for that time.
    async fn fault(&self) -> (PeerError, CloseCode, String) {
        let peer = || Arc::clone(&self.peer);
        let tick = self.tick();
        let mut ticks = interval_at(Instant::now() + tick, tick);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut heard, mut silent) = (self.heard(), 0);
        loop {
            ticks.tick().await;
            let end = self.standing.end(&self.certificate(), SystemTime::now());
            if let Some(source) = end {
                self.counters.count(|counters| match source {
                    CertificateEnd::Expired { .. } => &mut counters.expired,
                    CertificateEnd::Revoked { .. } => &mut counters.revoked,
                });
                let (peer, reason) = (peer(), source.to_string());
                let error = PeerError::Certificate { peer, source };
                return (error, CloseCode::Certificate, reason);
            }
            let now = self.heard();
            silent = if now == heard { silent + 1 } else { 0 };
            heard = now;
            let Bounds {
                silence, starting, ..
            } = self.bounds;
            let after = if self.patience.load(Ordering::Relaxed) {
                silence.max(starting)
            } else {
                silence
            };
            if after <= tick * silent {
                let peer = peer();
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
