//! Frames between operating-system processes: QUIC, mutually authenticated.
//!
//! An [`Endpoint`] has one socket. Two endpoints that trust the same authority share one connection,
//! whoever opened it, as a [`Peer`] at either end: an ordered stream of frames in each direction
//! ([`Sender`], [`Receiver`]), and a stream for every migrated state ([`StateReceiver`]). Who the other
//! is, its certificate says; a frame that this one may not send, that belongs to another job or to an
//! epoch gone by, or that has been here before, ends the connection and is counted. Everything a
//! stranger or a peer can make us keep is bounded by [`Bounds`].

mod bounds;
mod chunks;
mod close;
mod counters;
mod doorway;
mod endpoint;
mod greeting;
mod listener;
mod peer;
mod receiver;
mod refusal;
mod rights;
mod sender;
mod session;
mod source;
mod state;
mod tls;

pub use bounds::Bounds;
pub use chunks::CHUNK_LEN;
pub use close::{CloseCode, PeerError};
pub use counters::Counters;
pub use endpoint::{BindError, ConnectError, Endpoint};
pub use peer::{Party, Peer, Voice};
pub use receiver::{Received, Receiver};
pub use refusal::Refusal;
pub use sender::{Sender, TrySendError};
pub use session::JobId;
pub use state::{Body, Delivered, Opened, StateReceiver};
pub use tls::{Guests, alpn};
