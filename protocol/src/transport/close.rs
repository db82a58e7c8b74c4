use std::sync::Arc;

use quinn::{ConnectionError, VarInt};

use crate::transport::{Party, Refusal};

/// Why a peer closed a connection, as a number on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseCode {
    /// Let go of without a word: its owner failed.
    Dropped,
    /// In order.
    Done,
    /// A frame was refused.
    Frame,
    /// A greeting was refused.
    Greeting,
}

/// Why nothing comes from a peer any more, and nothing goes to it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PeerError {
    /// It closed the connection in order, and this came too late.
    #[error("{peer} has closed the connection: {reason}")]
    Closed {
        /// Which peer.
        peer: Arc<Party>,
        /// Its words.
        reason: String,
    },
    /// It closed the connection because something was wrong.
    #[error("{peer} broke the connection off: {}", broken(*code, reason))]
    Broken {
        /// Which peer.
        peer: Arc<Party>,
        /// What kind of thing was wrong.
        code: CloseCode,
        /// Its words.
        reason: String,
    },
    /// We closed the connection.
    #[error("the connection to {peer} is closed at this end")]
    Local {
        /// Which peer.
        peer: Arc<Party>,
    },
    /// It takes nothing any more.
    #[error("{peer} reads no more of what we send: see whether it is stuck")]
    Unread {
        /// Which peer.
        peer: Arc<Party>,
    },
    /// Nothing is heard of it any more, or what is heard is no QUIC.
    #[error("{peer} is lost: {source}: see whether it still runs and can be reached")]
    Lost {
        /// Which peer.
        peer: Arc<Party>,
        /// What happened.
        source: ConnectionError,
    },
    /// It sent what it may not.
    #[error("refused what {peer} sent: {source}")]
    Refused {
        /// Which peer.
        peer: Arc<Party>,
        /// What was wrong.
        source: Refusal,
    },
}

impl CloseCode {
    pub(super) const fn to_wire(self) -> VarInt {
        VarInt::from_u32(match self {
            Self::Dropped => 0,
            Self::Done => 1,
            Self::Frame => 2,
            Self::Greeting => 3,
        })
    }

    pub(super) fn from_wire(code: VarInt) -> Self {
        [Self::Done, Self::Frame, Self::Greeting]
            .into_iter()
            .find(|known| known.to_wire() == code)
            .unwrap_or(Self::Dropped)
    }
}

impl PeerError {
    pub(super) fn of(peer: &Arc<Party>, source: ConnectionError) -> Self {
        let peer = Arc::clone(peer);
        match source {
            ConnectionError::ApplicationClosed(close) => {
                let reason = String::from_utf8_lossy(&close.reason).into_owned();
                match CloseCode::from_wire(close.error_code) {
                    CloseCode::Done => Self::Closed { peer, reason },
                    code @ (CloseCode::Dropped | CloseCode::Frame | CloseCode::Greeting) => {
                        Self::Broken { peer, code, reason }
                    }
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

fn broken(code: CloseCode, reason: &str) -> &str {
    match code {
        CloseCode::Dropped => "it let go of it without a word; see its log",
        CloseCode::Done | CloseCode::Frame | CloseCode::Greeting => reason,
    }
}
