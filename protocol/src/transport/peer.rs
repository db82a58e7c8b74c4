use std::collections::BTreeSet;
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use bsp::{HostId, SetId};
use quinn::{Connection, ConnectionError, RecvStream, SendStream};

use crate::identity::Subject;
use crate::transport::close::{CloseCode, PeerError};
use crate::transport::counters::Tally;
use crate::transport::greeting::Greeting;
use crate::transport::rights;
use crate::transport::session::{Order, Session};
use crate::transport::{Bounds, JobId, Receiver, Refusal, Sender, StateReceiver};
use crate::{Address, AgentMessage, Message};

/// Another operating-system process, and the two ways to hear from it.
///
/// The parts may go to different tasks. Letting go of all of them without [`Sender::close`] counts as a
/// failure at the other end.
#[derive(Debug)]
pub struct Peer {
    /// Who it is.
    pub party: Arc<Party>,
    /// The job both are at; without one only errands are exchanged.
    pub job: Option<JobId>,
    /// What goes to it.
    pub sender: Sender,
    /// The frames that come from it.
    pub messages: Receiver,
    /// The migrated states that come from it.
    pub states: StateReceiver,
}

/// The one at the other end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Party {
    /// What its certificate says.
    pub subject: Subject,
    /// Where it is.
    pub address: SocketAddr,
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Subject { role, name, .. } = &self.subject;
        write!(f, "{role} {name} at {}", self.address)
    }
}

impl Peer {
    /// The peer at the other end of `link`, after greetings. To be called where tasks can be spawned.
    pub(super) fn new(
        link: Link,
        greeting: Greeting,
        outgoing: SendStream,
        incoming: RecvStream,
    ) -> Self {
        let link = Arc::new(link);
        let order = || Order::new(link.job, greeting.epoch);
        Self {
            party: Arc::clone(&link.peer),
            job: link.job,
            sender: Sender::spawn(Arc::clone(&link), outgoing),
            messages: Receiver::new(Arc::clone(&link), incoming, order()),
            states: StateReceiver::new(Arc::clone(&link), order()),
        }
    }

    /// Refuses frames of hosts and Sets that are not the peer's, from now on.
    ///
    /// # Panics
    ///
    /// If that has been said before.
    pub fn speaks_for(&self, voice: Voice) {
        let said = self.messages.link().voice.set(voice);
        assert!(said.is_ok(), "{} speaks for one list of agents", self.party);
    }
}

/// For which hosts and Sets a peer speaks in its job; for processes, where they are placed says it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Voice {
    /// The hosts it stands for.
    pub hosts: BTreeSet<HostId>,
    /// The Sets it manages.
    pub sets: BTreeSet<SetId>,
}

/// What the parts of a peer share.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) connection: Connection,
    pub(super) peer: Arc<Party>,
    pub(super) job: Option<JobId>,
    pub(super) session: Arc<Session>,
    pub(super) tally: Arc<Tally>,
    pub(super) bounds: Bounds,
    /// Whom the peer speaks for, once that is known.
    pub(super) voice: OnceLock<Voice>,
    /// What went wrong first, if it was found out at this end.
    pub(super) fault: OnceLock<PeerError>,
}

impl Link {
    /// Ends the connection because of what the peer sent.
    pub(super) fn refuse(&self, refusal: Refusal) -> PeerError {
        self.tally.refused(&refusal);
        tracing::warn!(peer = %self.peer, reason = %refusal, "refused a frame");
        let reason = refusal.to_string();
        let error = PeerError::Refused {
            peer: Arc::clone(&self.peer),
            source: refusal,
        };
        self.fail(error, CloseCode::Frame, &reason)
    }

    /// Ends the connection because the peer takes nothing any more.
    pub(super) fn unread(&self) -> PeerError {
        let error = PeerError::Unread {
            peer: Arc::clone(&self.peer),
        };
        self.fail(error, CloseCode::Dropped, "")
    }

    /// The error of a connection that `source` has ended.
    pub(super) fn lost(&self, source: ConnectionError) -> PeerError {
        let known = self.fault.get().cloned();
        known.unwrap_or_else(|| PeerError::of(&self.peer, source))
    }

    /// The error of a connection that is over, or of a peer that reads no more.
    pub(super) fn gone(&self) -> PeerError {
        let ended = self.connection.close_reason();
        self.lost(ended.unwrap_or(ConnectionError::LocallyClosed))
    }

    /// Whether the peer may send `message` as `from`.
    pub(super) fn check(&self, from: Address, message: &Message) -> Result<(), Refusal> {
        let Subject { role, name, .. } = &self.peer.subject;
        let has_job = self.job.is_some();
        // Processes come from a client, and what they leave goes there.
        let may_be_either = matches!(message, Message::Agent(AgentMessage::ProcessImage(_)));
        let is_of_a_job = if may_be_either {
            has_job
        } else {
            !matches!(message, Message::Job(_))
        };
        if is_of_a_job != has_job {
            let message = rights::name(message);
            return Err(Refusal::Place { message, has_job });
        }
        rights::check(*role, from, message)?;
        let is_own = self.voice.get().is_none_or(|voice| match from {
            Address::Process(_) | Address::Client => true,
            Address::Node(host) => voice.hosts.contains(&host),
            Address::SetManager(set) => voice.sets.contains(&set),
        });
        let name = name.clone();
        is_own.then_some(()).ok_or(Refusal::Voice { name, from })
    }

    fn fail(&self, error: PeerError, code: CloseCode, reason: &str) -> PeerError {
        let error = self.fault.get_or_init(|| error).clone();
        self.connection.close(code.to_wire(), reason.as_bytes());
        error
    }
}
