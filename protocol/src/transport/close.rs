use std::sync::Arc;
use std::time::{Duration, SystemTime};

use quinn::{ConnectionError, VarInt};

use crate::identity::Subject;
use crate::transport::refused_certificate::date;
use crate::transport::{PeerInfo, Refusal};
use crate::{displayed, displayed_message};

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
/// [`RefusedCertificate`]: crate::transport::refused_certificate::RefusedCertificate
pub(super) fn described(error: &ConnectionError) -> String {
    // It may have a reason of the peer.
    let text = displayed(&error.to_string(), REASON_MAX);
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
const REASON_MAX: usize = 1500;
const WRAPPING: &str = "Other(OtherError(";
const CLOCK: &str = "the clock of ";
