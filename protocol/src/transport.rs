//! Frames between operating-system processes, over QUIC with certificates at both ends.
//!
//! An [`Endpoint`] has one socket. Two endpoints that trust the same authority share one connection and see it
//! as a [`Peer`]: an ordered stream of frames in each direction ([`Sender`], [`Receiver`]), and one stream for
//! each migrated state ([`StateReceiver`]). The certificate of a peer says its name and role. A frame ends the
//! connection and is counted if its sender may not send it, if it belongs to another job or an old epoch, or if
//! it is a replay. [`Bounds`] limits the memory that a peer, authenticated or not, can make an endpoint use.
//!
//! * **TLS 1.3 alone, mutual, without resumption.** The side that connects expects a role and a name; the side that
//!   accepts has a policy. Both are checked inside the handshake, so nothing of an unauthenticated peer is parsed
//!   except QUIC, TLS and its certificate. Why a certificate is refused is a sentence, which QUIC carries to the other
//!   end. The first bytes of each control stream repeat version, job and epoch, and name the build of the sender.
//! * **A certificate that is renewed is shown on the connections that exist**, on a stream of its own and signed for each of
//!   them. One that expires and is not, ends them.
//! * **Every frame has a stamp**: job, epoch, number. A frame is refused too if the sender's role, or its list of hosts
//!   and Sets, does not allow it. A refusal ends the connection, with the reason at both ends.
//! * **One ordered stream in each direction for frames**, because agents rely on order. A state has a stream of its
//!   own, in chunks with a CRC-32 each, and is encoded while it is sent and decoded while it arrives.
//! * **Incomplete frames share a budget**, taken as bytes arrive and not as announced. Small frames never wait: their
//!   bytes are not counted, and cost no lock.
//! * **A visitor**, a peer that has connected without a job, has narrow windows and short frames. The windows widen
//!   when a node receives states from a client, whose job it has accepted.
//! * **An orderly end is announced.** `Sender::close` flushes, then closes; a peer that just stops is a failure.
//! * **The runtime that carries messages computes nothing else.** A busy thread loses its connections. Where what sends and receives
//!   are tasks of one `LocalSet`, those of the endpoint are too (`Endpoint::bind_local`).

mod bounds;
mod endpoint;
mod limits;
mod link;
mod receiver;
mod refusal;
mod renewal;
mod rights;
mod sender;
mod session;
mod state_stream;
mod tasks;
mod tls;

pub use bounds::Bounds;
pub use endpoint::{BindError, ConnectError, Endpoint};
pub use limits::LogLimit;
pub use link::{CertificateEnd, CloseCode, Peer, PeerError, PeerInfo};
pub use receiver::{Received, Receiver};
pub use refusal::{Counters, Refusal};
pub use renewal::RenewalError;
pub use rights::{SpeakingRights, check_message};
pub use sender::{Sender, TrySendError};
pub use session::{FrameOrder, JobId, Session, SessionState, Stamp};
pub use state_stream::{
    CHUNK_LEN, ReceivedState, StatePayload, StateReceiver, StateStream, StreamContent,
};
pub use tls::{PeerPolicy, alpn};
