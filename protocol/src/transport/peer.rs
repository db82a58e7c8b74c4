use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use quinn::{RecvStream, SendStream};

use crate::Build;
use crate::identity::Subject;
use crate::transport::handshake::Handshake;
use crate::transport::link::Link;
use crate::transport::session::FrameOrder;
use crate::transport::{JobId, Receiver, Sender, SpeakingRights, StateReceiver};

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
        link: Link,
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
