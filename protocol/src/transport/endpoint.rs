use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;

use quinn::{
    ClientConfig, ConnectionError, EndpointConfig, ServerConfig, TokioRuntime, TransportConfig,
};
use rustix::net::sockopt;
use tokio::sync::{Mutex, mpsc};
use tokio::time::timeout;

use crate::Build;
use crate::identity::{Identity, Name, PemError, Revocations, Role, Subject};
use crate::transport::close::CloseCode;
use crate::transport::connection_setup::{ConnectionSetup, SetupError};
use crate::transport::counters::AtomicCounters;
use crate::transport::session::Session;
use crate::transport::shared_bounds::{SharedBounds, Standing};
use crate::transport::{Bounds, Counters, JobId, Peer, PeerError, PeerInfo, PeerPolicy, tls};

/// The socket of an operating-system process, and its connections.
///
/// Its tokio runtime must not run computations: connections are lost while the network waits for one.
#[derive(Debug)]
pub struct Endpoint {
    inner: quinn::Endpoint,
    identity: Identity,
    policy: PeerPolicy,
    /// Of connections that this end opens.
    transport: Arc<TransportConfig>,
    setup: ConnectionSetup,
    accepted: Mutex<mpsc::Receiver<Peer>>,
}

/// Why an endpoint could not be bound.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// There is no tokio runtime.
    #[error("no tokio runtime: bind inside of one")]
    Runtime,
    /// The system refused the socket.
    #[error("binding {address}: {source}: choose another address or port")]
    Socket {
        /// The address to bind to.
        address: SocketAddr,
        /// The error of the system.
        source: io::Error,
    },
    /// A datagram length that QUIC does not support.
    #[error("invalid length `{found}` of datagrams: must be 1200 to 65527 bytes")]
    Datagram {
        /// The length.
        found: u16,
    },
    /// An identity that TLS does not accept.
    #[error("the identity of {subject}: {source}")]
    Identity {
        /// The subject of the identity.
        subject: Subject,
        /// The error of TLS.
        source: rustls::Error,
    },
}

/// Why a connection could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The connection could not be attempted.
    #[error("connecting to {peer}: {problem}")]
    Local {
        /// The expected peer.
        peer: Arc<PeerInfo>,
        /// The reason.
        problem: String,
    },
    /// The peer did not answer in time.
    #[error("connecting to {peer}: no answer in {} s: {}", .after.as_secs_f64(), silence(*is_closed))]
    TimedOut {
        /// The expected peer.
        peer: Arc<PeerInfo>,
        /// The time limit.
        after: std::time::Duration,
        /// Whether its host says that nothing has the port.
        is_closed: bool,
    },
    /// This end refused the peer.
    #[error("connecting to {peer}: refused the peer: {problem}")]
    Refused {
        /// The expected peer.
        peer: Arc<PeerInfo>,
        /// The reason.
        problem: String,
    },
    /// The peer refused the connection.
    #[error("connecting to {peer}: the peer refused the connection: {problem}")]
    Rejected {
        /// The expected peer.
        peer: Arc<PeerInfo>,
        /// The reason it gave.
        problem: String,
    },
    /// The peer aborted the connection, or was lost.
    #[error(transparent)]
    Peer(#[from] PeerError),
}

impl Endpoint {
    /// Binds a socket to `address` (port 0: any free port) and accepts the peers that `policy` allows. Peers learn
    /// that this end runs `build`. The tokio runtime must have time and I/O enabled.
    ///
    /// # Errors
    ///
    /// See [`BindError`].
    pub fn bind(
        identity: Identity,
        address: SocketAddr,
        policy: PeerPolicy,
        bounds: Bounds,
        build: Build,
    ) -> Result<Self, BindError> {
        drop(tokio::runtime::Handle::try_current().map_err(|_| BindError::Runtime)?);
        let revocations = identity.revocations().cloned();
        let server = server_config(&identity, revocations.as_ref(), (&policy, &bounds));
        let server = server.map_err(|source| BindError::Identity {
            subject: identity.certificate().subject.clone(),
            source,
        })?;
        let mut config = EndpointConfig::default();
        let found = bounds.datagram;
        config
            .max_udp_payload_size(found)
            .map_err(|_| BindError::Datagram { found })?;
        let inner = UdpSocket::bind(address).and_then(|socket| {
            // The system may grant less.
            sockopt::set_socket_recv_buffer_size(&socket, SOCKET_BUFFER)?;
            sockopt::set_socket_send_buffer_size(&socket, SOCKET_BUFFER)?;
            quinn::Endpoint::new(config, server, socket, Arc::new(TokioRuntime))
        });
        let inner = inner.map_err(|source| BindError::Socket { address, source })?;
        let standing = Standing::new(identity.certificate().clone(), revocations);
        let setup = ConnectionSetup {
            bounds,
            build: Arc::new(build),
            session: Arc::new(Session::default()),
            counters: Arc::new(AtomicCounters::default()),
            shared: SharedBounds::new(bounds, standing),
        };
        let (accepting, accepted) = mpsc::channel(ACCEPTED_MAX);
        drop(tokio::spawn(
            setup.clone().accept_all(inner.clone(), accepting),
        ));
        Ok(Self {
            inner,
            identity,
            policy,
            transport: bounds.transport(bounds.connection_window()),
            setup,
            accepted: Mutex::new(accepted),
        })
    }

    /// Connects to the peer `name` with `role` at `address`.
    ///
    /// # Errors
    ///
    /// If the peer does not answer, has another certificate, refuses the connection, or has another job.
    pub async fn connect(
        &self,
        address: SocketAddr,
        role: Role,
        name: &Name,
    ) -> Result<Peer, ConnectError> {
        let cluster = self.identity.certificate().subject.cluster.clone();
        let subject = Subject {
            cluster,
            role,
            name: name.clone(),
        };
        let peer = Arc::new(PeerInfo {
            subject: subject.clone(),
            address,
        });
        let local = |problem: String| ConnectError::Local {
            peer: Arc::clone(&peer),
            problem,
        };
        let revocations = self.setup.shared.standing.revocations();
        let tls = tls::client(&self.identity, revocations.as_deref(), subject);
        let tls = tls.map_err(|error| local(error.to_string()))?;
        let mut config = ClientConfig::new(tls);
        config.transport_config(Arc::clone(&self.transport));
        let connecting = self.inner.connect_with(config, address, name.as_str());
        let mut connecting = connecting.map_err(|error| local(error.to_string()))?;
        let set_up = async {
            let limit = self.setup.bounds.answer;
            let answered = timeout(limit, connecting.handshake_data()).await;
            drop(answered.map_err(|_| SetupError::TimedOut(limit))??);
            self.setup.initiate(connecting.await?, address).await
        };
        match self.setup.with_timeout(set_up).await {
            Ok(peer) => Ok(peer),
            Err(error) => {
                self.setup.count(&error);
                // The caller reports it.
                tracing::debug!(%peer, reason = %error, "no connection");
                let is_silent = matches!(error, SetupError::TimedOut(_));
                let is_closed = is_silent && is_closed(address).await;
                Err(connect_error(peer, error, is_closed))
            }
        }
    }

    /// The next peer that has connected; `None` once the endpoint is closed.
    pub async fn accept(&self) -> Option<Peer> {
        self.accepted.lock().await.recv().await
    }

    /// Refuses peers whose certificates `revocations` contain, and ends open connections to them. If the certificate of
    /// this endpoint is among them, all its connections end.
    ///
    /// # Errors
    ///
    /// If the authority did not sign `revocations`, or if they are older than the list in force, which then stays.
    pub fn set_revocations(&self, revocations: Revocations) -> Result<(), PemError> {
        self.identity.check_signature(&revocations)?;
        if let Some(known) = self.setup.shared.standing.revocations() {
            revocations.check_succeeds(&known)?;
        }
        let of = (&self.policy, &self.setup.bounds);
        let server = server_config(&self.identity, Some(&revocations), of);
        let server = server.map_err(|error| PemError::Revocations {
            problem: error.to_string(),
        })?;
        self.setup.shared.standing.set_revocations(revocations);
        self.inner.set_server_config(server);
        Ok(())
    }

    /// Joins `job`. Frames and peers of other jobs are refused from now on.
    pub fn begin(&self, job: JobId, epoch: u64) {
        self.setup.session.begin(job, epoch);
    }

    /// Stamps frames sent from now on with `epoch`. Peers may still send with earlier epochs.
    ///
    /// # Panics
    ///
    /// If `epoch` is before the current one.
    pub fn advance(&self, epoch: u64) {
        self.setup.session.advance(epoch);
    }

    /// Leaves the job.
    pub fn end(&self) {
        self.setup.session.end();
    }

    /// The local address of the socket.
    ///
    /// # Errors
    ///
    /// If the system does not report it.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }

    /// The build that this end runs.
    #[must_use]
    pub fn build(&self) -> &Build {
        &self.setup.build
    }

    /// The identity of this endpoint.
    #[must_use]
    pub const fn identity(&self) -> &Identity {
        &self.identity
    }

    /// What this endpoint has refused so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.setup.counters.counters()
    }

    /// Aborts all open connections, and waits until the peers have been notified.
    pub async fn close(self) {
        let (inner, limit) = (self.inner.clone(), self.setup.bounds.answer);
        drop(self);
        // A peer that misses the notification times out.
        drop(timeout(limit, inner.wait_idle()).await);
    }
}

impl Drop for Endpoint {
    /// Aborts all open connections.
    fn drop(&mut self) {
        self.inner.close(CloseCode::Dropped.to_wire(), b"");
    }
}

/// The configuration for accepting peers; `None` if `policy` allows none.
fn server_config(
    identity: &Identity,
    revocations: Option<&Revocations>,
    (policy, bounds): (&PeerPolicy, &Bounds),
) -> Result<Option<ServerConfig>, rustls::Error> {
    let tls = tls::server(identity, revocations, policy.clone())?;
    let mut server = ServerConfig::with_crypto(tls);
    server
        .transport_config(bounds.transport(bounds.visitor_window.into()))
        .max_incoming(INCOMING_MAX)
        .incoming_buffer_size(INCOMING_BUFFER)
        .incoming_buffer_size_total(INCOMING_BUFFERS);
    Ok((*policy != PeerPolicy::RefuseAll).then_some(server))
}

/// Whether the host at `address` says that nothing has its port, by ICMP. Sockets with several peers do not hear that,
/// so another one asks.
async fn is_closed(address: SocketAddr) -> bool {
    let any: IpAddr = match address {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let ask = async {
        let socket = tokio::net::UdpSocket::bind((any, 0)).await?;
        socket.connect(address).await?;
        // No packet of QUIC, so that nothing answers that has the port.
        socket.send(&[0]).await?;
        socket.recv(&mut [0]).await
    };
    match timeout(ASKING, ask).await {
        Ok(Err(error)) => error.kind() == io::ErrorKind::ConnectionRefused,
        Ok(Ok(_)) | Err(_) => false,
    }
}

const fn silence(is_closed: bool) -> &'static str {
    if is_closed {
        "its host says that nothing has this port: check whether it runs, and with this port"
    } else {
        "check whether it runs and its port is open, for UDP and datagrams of 1200 bytes"
    }
}

fn connect_error(peer: Arc<PeerInfo>, error: SetupError, is_closed: bool) -> ConnectError {
    let problem = error.to_string();
    match error {
        SetupError::TimedOut(after) => ConnectError::TimedOut {
            peer,
            after,
            is_closed,
        },
        SetupError::Connection(ConnectionError::TimedOut) => ConnectError::Peer(PeerError::Lost {
            peer,
            source: ConnectionError::TimedOut,
        }),
        SetupError::Connection(ConnectionError::TransportError(_))
        | SetupError::Handshake(_)
        | SetupError::Stream(_)
        | SetupError::Connections(_)
        | SetupError::Reset => ConnectError::Refused { peer, problem },
        SetupError::Connection(ConnectionError::ConnectionClosed(_)) => {
            ConnectError::Rejected { peer, problem }
        }
        SetupError::Connection(source) => PeerError::from_connection_error(&peer, source).into(),
    }
}

/// How long an answer of ICMP is waited for.
const ASKING: std::time::Duration = std::time::Duration::from_millis(300);

/// Bytes of the buffers of the socket, as far as the system grants them. With those of most systems, 208 KiB, a host loses
/// parts of images whenever its thread does not run for a millisecond.
const SOCKET_BUFFER: usize = 4 << 20;
/// Bytes kept of one unprocessed handshake: its first flight.
const INCOMING_BUFFER: u64 = 16 << 10;
/// Bytes kept of all unprocessed handshakes.
const INCOMING_BUFFERS: u64 = 4 << 20;
/// Unprocessed handshakes, which are processed immediately; more are ignored.
const INCOMING_MAX: usize = 256;
/// Peers that have connected and are not yet accepted.
const ACCEPTED_MAX: usize = 16;
