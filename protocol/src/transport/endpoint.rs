//! An endpoint: its socket, and the connections that it accepts and opens, up to an authenticated peer.

use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use bytes::{BufMut, BytesMut};
use quinn::{
    ClientConfig, Connecting, Connection, ConnectionError, EndpointConfig, Incoming, SendStream,
    ServerConfig, TransportConfig,
};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with, sockopt};
use rustls::pki_types::{CertificateDer, UnixTime};
use tokio::sync::{Mutex, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::identity::{Certificate, Identity, Name, PemError, Revocations, Role, Subject};
use crate::transport::limits::{
    Admission, ConnectionPermit, Decision, HandshakePermit, SharedBounds, Standing,
    TooManyConnections,
};
use crate::transport::link::{
    CloseCode, FirstError, Link, Queue, Watchdog, WatchedConnection, described,
};
use crate::transport::receiver::{StreamError, StreamReader};
use crate::transport::refusal::SharedCounters;
use crate::transport::session::{Session, SessionState};
use crate::transport::tasks::Tasks;
use crate::transport::{
    Bounds, Counters, JobId, Peer, PeerError, PeerInfo, PeerPolicy, Refusal, RenewalError, tls,
};
use crate::{Build, BuildError, WIRE_VERSION};

/// The socket of an operating-system process, and its connections.
///
/// Its tokio runtime must not run computations: connections are lost while the network waits for one.
#[derive(Debug)]
pub struct Endpoint {
    inner: quinn::Endpoint,
    /// Of its identity, whichever that is.
    subject: Subject,
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
    #[error(
        "connecting to {peer}: no answer in {} s: check whether it runs and its port is open, for UDP and datagrams of \
         1200 bytes",
        .after.as_secs_f64()
    )]
    TimedOut {
        /// The expected peer.
        peer: Arc<PeerInfo>,
        /// The time limit.
        after: Duration,
    },
    /// The system, or a host on the way, says that nothing is reached there.
    #[error("connecting to {peer}: {problem}")]
    Unreachable {
        /// The expected peer.
        peer: Arc<PeerInfo>,
        /// What it says, and what would do.
        problem: String,
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
        Self::bind_with(Tasks::Runtime, identity, address, (policy, bounds, build))
    }

    /// The same in a [`LocalSet`](tokio::task::LocalSet), in which its tasks run beside those that use it: a message then passes from the
    /// socket to its receiver, and an answer back, before the runtime looks for other events. It does so whenever it goes from
    /// tasks of its own to those of the set, which is a system call.
    ///
    /// # Errors
    ///
    /// See [`BindError`].
    ///
    /// # Panics
    ///
    /// Outside of a `LocalSet`.
    pub fn bind_local(
        identity: Identity,
        address: SocketAddr,
        policy: PeerPolicy,
        bounds: Bounds,
        build: Build,
    ) -> Result<Self, BindError> {
        Self::bind_with(Tasks::local(), identity, address, (policy, bounds, build))
    }

    fn bind_with(
        tasks: Tasks,
        identity: Identity,
        address: SocketAddr,
        (policy, bounds, build): (PeerPolicy, Bounds, Build),
    ) -> Result<Self, BindError> {
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
        let inner = bound(address).and_then(|socket| {
            // The system may grant less.
            sockopt::set_socket_recv_buffer_size(&socket, SOCKET_BUFFER)?;
            sockopt::set_socket_send_buffer_size(&socket, SOCKET_BUFFER)?;
            quinn::Endpoint::new(config, server, socket, Arc::new(tasks.clone()))
        });
        let inner = inner.map_err(|source| BindError::Socket { address, source })?;
        let subject = identity.certificate().subject.clone();
        let standing = Standing::new(identity, revocations);
        let setup = ConnectionSetup {
            tasks,
            bounds,
            build: Arc::new(build),
            session: Arc::new(Session::default()),
            counters: Arc::new(SharedCounters::default()),
            shared: SharedBounds::new(bounds, standing),
        };
        let (accepting, accepted) = mpsc::channel(ACCEPTED_MAX);
        drop(tokio::spawn(
            setup.clone().accept_all(inner.clone(), accepting),
        ));
        Ok(Self {
            inner,
            subject,
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
        self.connect_any(&[address], role, name).await
    }

    /// Connects to the peer `name` with `role` at one of its `addresses`: calls one after the other, the next one when one fails, or has
    /// not answered for 250 ms, and takes the first that completes its handshake (RFC 8305).
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect), of the address that has come furthest; or if there is no address.
    pub async fn connect_any(
        &self,
        addresses: &[SocketAddr],
        role: Role,
        name: &Name,
    ) -> Result<Peer, ConnectError> {
        let cluster = self.subject.cluster.clone();
        let subject = Subject {
            cluster,
            role,
            name: name.clone(),
        };
        let limit = self.setup.bounds.handshake;
        let connecting = self.first_of(addresses, &subject);
        let connected = timeout(limit, connecting).await;
        connected
            .unwrap_or_else(|_| {
                let address = addresses.first().copied();
                Err((address, SetupError::TimedOut(limit)))
            })
            .map_err(|(address, error)| {
                let none = SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0));
                let address = address.unwrap_or(none);
                let peer = Arc::new(PeerInfo { subject, address });
                self.setup.count(&error);
                // The caller reports it.
                tracing::debug!(%peer, reason = %error, "no connection");
                connect_error(peer, error)
            })
    }

    /// The peer `expected` at the first of `addresses` that completes its handshake.
    async fn first_of(
        &self,
        addresses: &[SocketAddr],
        expected: &Subject,
    ) -> Result<Peer, (Option<SocketAddr>, SetupError)> {
        let standing = &self.setup.shared.standing;
        let (renewals, identity) = (standing.renewals(), standing.identity());
        let revocations = standing.revocations();
        let tls = tls::client(&identity, revocations.as_deref(), expected.clone());
        let tls = tls.map_err(|error| {
            let problem = error.to_string();
            (addresses.first().copied(), SetupError::Local(problem))
        })?;
        let mut config = ClientConfig::new(tls);
        config.transport_config(Arc::clone(&self.transport));
        // What has not come first is given up when this is dropped.
        let mut calls = JoinSet::new();
        let mut left = addresses.iter().copied();
        let mut failure = (None, SetupError::Local("it has no address".to_owned()));
        loop {
            if let Some(address) = left.next() {
                let name = expected.name.as_str();
                let connecting = self.inner.connect_with(config.clone(), address, name);
                let answer = self.setup.bounds.answer;
                drop(calls.spawn(async move {
                    let connecting =
                        connecting.map_err(|error| SetupError::Local(error.to_string()));
                    let opened = async { call(connecting?, address, answer).await };
                    (address, opened.await)
                }));
            }
            let has_more = 0 < left.len();
            tokio::select! {
                biased;
                called = calls.join_next() => match called {
                    Some(Ok((address, Ok(connection)))) => {
                        let initiated = self.setup.initiate(connection, address, renewals);
                        return initiated.await.map_err(|error| (Some(address), error));
                    }
                    Some(Ok((address, Err(error)))) => {
                        if failure.0.is_none() || failure.1.progress() < error.progress() {
                            failure = (Some(address), error);
                        }
                    }
                    // Only a call that has panicked does not end.
                    Some(Err(_)) => {}
                    None => return Err(failure),
                },
                () = tokio::time::sleep(NEXT_CALL), if has_more => {}
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
        let identity = self.identity();
        identity.check_signature(&revocations)?;
        if let Some(known) = self.setup.shared.standing.revocations() {
            revocations.check_succeeds(&known)?;
        }
        let of = (&self.policy, &self.setup.bounds);
        let server = server_config(&identity, Some(&revocations), of);
        let server = server.map_err(|error| PemError::Revocations {
            problem: error.to_string(),
        })?;
        self.setup.shared.standing.set_revocations(revocations);
        self.inner.set_server_config(server);
        Ok(())
    }

    /// Replaces the identity of this endpoint by a renewed one: new connections have it, and open ones are shown it.
    ///
    /// # Errors
    ///
    /// If `identity` has another subject or another authority, or peers would refuse it at `now`. The one in use then stays.
    pub fn set_identity(&self, identity: Identity, now: SystemTime) -> Result<(), RenewalError> {
        let current = self.identity();
        if identity.own() == current.own() {
            return Ok(());
        }
        let subject = &identity.certificate().subject;
        if *subject != self.subject {
            return Err(RenewalError::Subject {
                found: Box::new(subject.clone()),
                expected: Box::new(self.subject.clone()),
            });
        }
        if identity.authority() != current.authority() {
            return Err(RenewalError::Authority);
        }
        let standing = &self.setup.shared.standing;
        let revocations = standing.revocations();
        let since = now.duration_since(SystemTime::UNIX_EPOCH);
        let since = UnixTime::since_unix_epoch(since.unwrap_or_default());
        let refused = |problem: String| RenewalError::Certificate { problem };
        let checked = tls::member(&current, revocations.as_deref(), identity.own(), since);
        drop(checked.map_err(|error| refused(error.to_string()))?);
        let of = (&self.policy, &self.setup.bounds);
        let server = server_config(&identity, revocations.as_deref(), of);
        let server = server.map_err(|error| refused(error.to_string()))?;
        self.inner.set_server_config(server);
        standing.set_identity(identity);
        Ok(())
    }

    /// Joins `job`. Frames and peers of other jobs are refused from now on.
    pub fn begin(&self, job: JobId, epoch: u64) {
        self.setup.session.begin(job, epoch);
    }

    /// While it is patient, peers may be silent for longer: while a job starts, before its first superstep.
    pub fn set_patience(&self, is_patient: bool) {
        let patience = &self.setup.shared.patience;
        patience.store(is_patient, Ordering::Relaxed);
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

    /// The identity of this endpoint, as it is now.
    #[must_use]
    pub fn identity(&self) -> Arc<Identity> {
        self.setup.shared.standing.identity()
    }

    /// The subject of its certificate, which a renewal does not change.
    #[must_use]
    pub const fn subject(&self) -> &Subject {
        &self.subject
    }

    /// What this endpoint has refused so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.setup.counters.counters()
    }

    /// Aborts all open connections, and waits until the peers have been notified.
    pub async fn close(&self) {
        self.inner.close(CloseCode::Dropped.to_wire(), b"");
        // A peer that misses the notification times out.
        drop(timeout(self.setup.bounds.answer, self.inner.wait_idle()).await);
    }
}

impl Drop for Endpoint {
    /// Aborts all open connections.
    fn drop(&mut self) {
        self.inner.close(CloseCode::Dropped.to_wire(), b"");
    }
}

/// A socket at `address`. One for all addresses of IPv6 has those of IPv4 as well, whatever the system's default is.
fn bound(address: SocketAddr) -> io::Result<UdpSocket> {
    if address.ip() != IpAddr::V6(Ipv6Addr::UNSPECIFIED) {
        return UdpSocket::bind(address);
    }
    let socket = socket_with(
        AddressFamily::INET6,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        None,
    )?;
    sockopt::set_ipv6_v6only(&socket, false)?;
    bind(&socket, &address)?;
    Ok(socket.into())
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

/// `address` as it is without IPv6, if it has come from there.
fn canonical(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        IpAddr::V4(ip) => (ip, address.port()).into(),
        // It may have a scope.
        IpAddr::V6(_) => address,
    }
}

/// The connection to `address`, once its TLS handshake is complete.
async fn call(
    mut connecting: Connecting,
    address: SocketAddr,
    answer: Duration,
) -> Result<Connection, SetupError> {
    tokio::select! {
        biased;
        answered = timeout(answer, connecting.handshake_data()) => {
            drop(answered.map_err(|_| SetupError::TimedOut(answer))??);
        }
        refused = refusal(address) => return Err(SetupError::Unreachable(refused)),
    }
    Ok(connecting.await?)
}

/// Waits until the system or, by ICMP, a host on the way says that nothing is reached at `address`. Sockets with several peers do not
/// hear that, so another one asks.
async fn refusal(address: SocketAddr) -> io::Error {
    let any: IpAddr = match address {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    loop {
        let ask = async {
            let socket = tokio::net::UdpSocket::bind((any, 0)).await?;
            socket.connect(address).await?;
            // One that answers is not asked.
            tokio::time::sleep(UNANSWERED).await;
            // No packet of QUIC, so that nothing answers that has the port.
            socket.send(&[0]).await?;
            socket.recv(&mut [0]).await
        };
        if let Ok(Err(error)) = timeout(ASKING, ask).await {
            let is_refusal = matches!(
                error.kind(),
                io::ErrorKind::ConnectionRefused
                    | io::ErrorKind::HostUnreachable
                    | io::ErrorKind::NetworkUnreachable
            );
            if is_refusal {
                return error;
            }
            tokio::time::sleep(ASKING).await;
        }
    }
}

fn unreachable(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::ConnectionRefused {
        "its host says that nothing has this port: check whether it runs, and with this port"
            .to_owned()
    } else {
        format!("{error}: check its address, and the routes and firewalls on the way")
    }
}

fn connect_error(peer: Arc<PeerInfo>, error: SetupError) -> ConnectError {
    let problem = error.to_string();
    match error {
        SetupError::TimedOut(after) => ConnectError::TimedOut { peer, after },
        SetupError::Unreachable(error) => {
            let problem = unreachable(&error);
            ConnectError::Unreachable { peer, problem }
        }
        SetupError::Local(problem) => ConnectError::Local { peer, problem },
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

/// The time after which the next address of a peer is called, as RFC 8305 has it.
const NEXT_CALL: Duration = Duration::from_millis(250);
/// The time after which it is asked whether nothing is reached at an address.
const UNANSWERED: Duration = Duration::from_millis(100);
/// How long an answer to that is waited for.
const ASKING: Duration = Duration::from_millis(500);

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

/// Learns when the identity of an endpoint is replaced.
type Renewals = watch::Receiver<Arc<Identity>>;

/// Sets up the connections of an endpoint, and holds what they share.
#[derive(Clone, Debug)]
struct ConnectionSetup {
    tasks: Tasks,
    pub(super) bounds: Bounds,
    /// The build of this end.
    pub(super) build: Arc<Build>,
    pub(super) session: Arc<Session>,
    pub(super) counters: Arc<SharedCounters>,
    pub(super) shared: SharedBounds,
}

/// Why a connection was not set up.
#[derive(Debug, thiserror::Error)]
enum SetupError {
    #[error("{}", described(.0))]
    Connection(#[from] ConnectionError),
    #[error(transparent)]
    Connections(#[from] TooManyConnections),
    #[error("the handshake ends too early")]
    Reset,
    #[error("handshake: {0}")]
    Stream(Refusal),
    #[error(transparent)]
    Handshake(#[from] HandshakeError),
    #[error("no answer in {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    #[error("{}", unreachable(.0))]
    Unreachable(io::Error),
    #[error("{0}")]
    Local(String),
}

impl SetupError {
    /// How far the call of an address has come: of several errors, the one that is farthest says most.
    const fn progress(&self) -> u8 {
        match self {
            Self::Local(_) => 0,
            Self::Unreachable(_) => 1,
            Self::TimedOut(_) => 2,
            Self::Connection(_)
            | Self::Connections(_)
            | Self::Reset
            | Self::Stream(_)
            | Self::Handshake(_) => 3,
        }
    }
}

impl ConnectionSetup {
    /// Accepts connections of `endpoint` until it is closed, and sends authenticated peers to `accepted`.
    async fn accept_all(self, endpoint: quinn::Endpoint, accepted: mpsc::Sender<Peer>) {
        let admission = Arc::new(Admission::new(self.bounds));
        while let Some(incoming) = endpoint.accept().await {
            let is_proved = incoming.remote_address_validated() || !incoming.may_retry();
            match admission.decide(incoming.remote_address().ip(), is_proved) {
                Decision::Admit(permit) => {
                    let accepted = accepted.clone();
                    drop(tokio::spawn(
                        self.clone().handle_incoming(incoming, permit, accepted),
                    ));
                }
                Decision::Retry => {
                    self.counters.count(|counters| &mut counters.retries);
                    // Cannot fail: `may_retry` was checked above.
                    drop(incoming.retry());
                }
                Decision::Refuse => {
                    self.counters
                        .count(|counters| &mut counters.handshakes_refused);
                    incoming.refuse();
                }
                // Without an answer: an honest peer asks again, and a forged address gets no packets.
                Decision::Ignore => {
                    self.counters
                        .count(|counters| &mut counters.handshakes_ignored);
                    incoming.ignore();
                }
            }
        }
    }

    async fn handle_incoming(
        self,
        incoming: Incoming,
        permit: HandshakePermit,
        accepted: mpsc::Sender<Peer>,
    ) {
        let address = canonical(incoming.remote_address());
        match self.with_timeout(self.accept(incoming, address)).await {
            // The endpoint may be closing.
            Ok(peer) => drop(accepted.send(peer).await),
            Err(error) => {
                self.count(&error);
                // Its job may be over, or begin here a moment later.
                let is_of_job = matches!(error, SetupError::Handshake(HandshakeError::Job { .. }));
                if is_of_job {
                    tracing::debug!(%address, reason = %error, "refused a connection");
                } else if self.shared.connection_log.admits() {
                    tracing::warn!(%address, reason = %error, "refused a connection");
                }
            }
        }
        drop(permit);
    }

    async fn accept(&self, incoming: Incoming, address: SocketAddr) -> Result<Peer, SetupError> {
        let renewals = self.shared.standing.renewals();
        let connection = incoming.accept()?.await?;
        let certificate = certificate_of(&connection);
        let permit = self.shared.permits.take(&certificate.subject);
        let permit = permit.inspect_err(|error| {
            let reason = error.to_string();
            connection.close(CloseCode::Handshake.to_wire(), reason.as_bytes());
        })?;
        let (handshake, reader) = self.receive_handshake(&connection).await?;
        let own = self.handshake(handshake.job);
        let outgoing = send_handshake(&connection, &own).await?;
        let validity = certificate.validity;
        let peer = (certificate, address, handshake.job);
        let link = self.link(connection, peer, Some(permit), renewals);
        let stream = reader.into_stream();
        Ok(Peer::new((link, validity), handshake, outgoing, stream))
    }

    /// Exchanges handshake messages on a connection that this end has opened.
    async fn initiate(
        &self,
        connection: Connection,
        address: SocketAddr,
        renewals: Renewals,
    ) -> Result<Peer, SetupError> {
        let certificate = certificate_of(&connection);
        let job = self.session.state().job;
        let outgoing = send_handshake(&connection, &self.handshake(job)).await?;
        let (handshake, reader) = self.receive_handshake(&connection).await?;
        if handshake.job != job {
            let found = handshake.job;
            let error = HandshakeError::Job { found };
            return Err(self.refuse(&connection, error.into()));
        }
        let validity = certificate.validity;
        let link = self.link(connection, (certificate, address, job), None, renewals);
        let stream = reader.into_stream();
        Ok(Peer::new((link, validity), handshake, outgoing, stream))
    }

    /// The result of `setting_up`, or an error after the time limit of a handshake.
    async fn with_timeout<T>(
        &self,
        setting_up: impl Future<Output = Result<T, SetupError>>,
    ) -> Result<T, SetupError> {
        let limit = self.bounds.handshake;
        let done = timeout(limit, setting_up).await;
        done.unwrap_or(Err(SetupError::TimedOut(limit)))
    }

    pub(super) fn count(&self, error: &SetupError) {
        self.counters.count(|counters| match error {
            SetupError::Handshake(HandshakeError::Job { .. } | HandshakeError::Epoch { .. }) => {
                &mut counters.handshakes_mismatched
            }
            SetupError::Connections(_) => &mut counters.connections_refused,
            SetupError::Connection(_)
            | SetupError::Reset
            | SetupError::Stream(_)
            | SetupError::Handshake(HandshakeError::Opening(_) | HandshakeError::Build(_))
            | SetupError::TimedOut(_)
            | SetupError::Unreachable(_)
            | SetupError::Local(_) => &mut counters.handshakes_failed,
        });
    }

    /// Receives and checks the handshake message of the peer.
    async fn receive_handshake(
        &self,
        connection: &Connection,
    ) -> Result<(Handshake, StreamReader), SetupError> {
        let mut reader = StreamReader::new(connection.accept_uni().await?);
        let received = read_handshake(&mut reader).await;
        let checked = received.and_then(|handshake| {
            handshake.check(self.session.state())?;
            Ok(handshake)
        });
        let handshake = checked.map_err(|error| self.refuse(connection, error))?;
        Ok((handshake, reader))
    }

    /// Closes the connection if `error` is about the handshake message of the peer.
    fn refuse(&self, connection: &Connection, error: SetupError) -> SetupError {
        if let SetupError::Handshake(refused) = &error {
            let reason = refused.to_string();
            connection.close(CloseCode::Handshake.to_wire(), reason.as_bytes());
        }
        error
    }

    fn handshake(&self, job: Option<JobId>) -> Handshake {
        Handshake {
            job,
            epoch: self.session.state().epoch,
            build: Build::clone(&self.build),
        }
    }

    /// The link to a peer, which has opened the connection if it has a permit.
    fn link(
        &self,
        connection: Connection,
        (certificate, address, job): (Certificate, SocketAddr, Option<JobId>),
        permit: Option<ConnectionPermit>,
        renewals: Renewals,
    ) -> Link {
        let subject = certificate.subject.clone();
        let peer = Arc::new(PeerInfo { subject, address });
        let is_visitor = permit.is_some() && job.is_none();
        let counted = permit.as_ref().map(ConnectionPermit::frames);
        let frames = self
            .shared
            .frame_rules(is_visitor, counted.unwrap_or_default());
        let error = FirstError::default();
        let watchdog = Watchdog::spawn(WatchedConnection {
            connection: connection.clone(),
            peer: Arc::clone(&peer),
            certificate: std::sync::Mutex::new(certificate),
            standing: Arc::clone(&self.shared.standing),
            renewals,
            counters: Arc::clone(&self.counters),
            error: error.clone(),
            log: Arc::clone(&self.shared.connection_log),
            patience: Arc::clone(&self.shared.patience),
            bounds: self.bounds,
            permit,
        });
        let link = Link {
            connection,
            peer,
            job,
            tasks: self.tasks.clone(),
            session: Arc::clone(&self.session),
            counters: Arc::clone(&self.counters),
            bounds: self.bounds,
            rights: OnceLock::new(),
            error,
            frames,
            queue: Queue::narrow(&self.bounds),
            log: Arc::clone(&self.shared.frame_log),
            _watchdog: watchdog,
        };
        if !is_visitor {
            link.widen();
        }
        link
    }
}

impl From<StreamError> for SetupError {
    fn from(error: StreamError) -> Self {
        match error {
            StreamError::Lost(source) => Self::Connection(source),
            StreamError::Reset => Self::Reset,
            StreamError::Refused(refusal) => Self::Stream(refusal),
        }
    }
}

/// Reads a handshake message. The opening is checked first, because the rest depends on the version that it names.
async fn read_handshake(reader: &mut StreamReader) -> Result<Handshake, SetupError> {
    let opening = reader.read_array::<OPENING_LEN>("a handshake").await?;
    check_opening(&opening, CONTROL).map_err(HandshakeError::Opening)?;
    let head = reader.read_array::<HEAD_LEN>("a handshake").await?;
    let head = HandshakeHead::decode(&head)?;
    let mut text = [0; 2 * Build::TEXT_MAX];
    let text = &mut text[..head.text_len()];
    reader.read_into(text, "a handshake").await?;
    Ok(head.complete(text)?)
}

/// Opens the control stream, and sends `handshake` on it.
async fn send_handshake(
    connection: &Connection,
    handshake: &Handshake,
) -> Result<SendStream, SetupError> {
    let mut stream = connection.open_uni().await?;
    // An error this early means that the connection has ended.
    match stream.write_chunk(handshake.encode().freeze()).await {
        Ok(()) => Ok(stream),
        Err(_) => Err(connection.closed().await.into()),
    }
}

/// The peer's certificate, which the TLS handshake has verified.
fn certificate_of(connection: &Connection) -> Certificate {
    let certificates = connection
        .peer_identity()
        .and_then(|identity| identity.downcast::<Vec<CertificateDer<'static>>>().ok())
        .expect("a peer has presented its certificate");
    let certificate = Certificate::parse(&certificates[0]);
    certificate.expect("the TLS handshake has parsed it")
}

/// The first message of each end on its control stream.
///
/// | bytes | field |
/// |---|---|
/// | 0..4 | `0xB5`, [`WIRE_VERSION`], kind 1 |
/// | 4..8 | zero |
/// | 8..16 | the job, 0 if none |
/// | 16..24 | the epoch |
/// | 24..56 | SHA-256 of the sender's binary |
/// | 56 | length of the name of its program: 1 to [`Build::TEXT_MAX`] |
/// | 57 | length of its version: 1 to [`Build::TEXT_MAX`] |
/// | 58.. | the name, then the version |
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Handshake {
    pub(super) job: Option<JobId>,
    pub(super) epoch: u64,
    pub(super) build: Build,
}

/// The part of a handshake message between the opening and the texts.
#[derive(Clone, Debug, PartialEq, Eq)]
struct HandshakeHead {
    job: Option<JobId>,
    epoch: u64,
    digest: [u8; Build::DIGEST_LEN],
    program_len: usize,
    version_len: usize,
}

/// Why a handshake message was refused.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(super) enum HandshakeError {
    #[error("handshake: {0}: run one build at both ends")]
    Opening(Refusal),
    #[error("handshake: {0}")]
    Build(#[from] BuildError),
    // Without the job of this end, which only its members know.
    #[error("it belongs to {}, this end does not", JobId::describe(*found))]
    Job { found: Option<JobId> },
    #[error("in epoch {found}, expected {oldest} or later")]
    Epoch { found: u64, oldest: u64 },
}

impl Handshake {
    pub(super) fn encode(&self) -> BytesMut {
        let (program, version) = (self.build.program(), self.build.version());
        let len = OPENING_LEN + HEAD_LEN + program.len() + version.len();
        let mut bytes = BytesMut::with_capacity(len);
        bytes.put_slice(&CONTROL);
        bytes.put_u64_le(JobId::to_wire(self.job));
        bytes.put_u64_le(self.epoch);
        bytes.put_slice(self.build.digest());
        for text in [program, version] {
            bytes.put_u8(u8::try_from(text.len()).expect("texts of a build are short"));
        }
        bytes.put_slice(program.as_bytes());
        bytes.put_slice(version.as_bytes());
        bytes
    }

    /// Checks that a peer that sends this may connect. A peer without a job may always connect; builds are compared
    /// when a job begins.
    pub(super) fn check(&self, state: SessionState) -> Result<(), HandshakeError> {
        let found = self.job;
        if found.is_some() && found != state.job {
            return Err(HandshakeError::Job { found });
        }
        let oldest = state.oldest;
        if found.is_some() && self.epoch < oldest {
            let found = self.epoch;
            return Err(HandshakeError::Epoch { found, oldest });
        }
        Ok(())
    }
}

impl HandshakeHead {
    pub(super) fn decode(bytes: &[u8; HEAD_LEN]) -> Result<Self, HandshakeError> {
        let (job, rest) = bytes.split_at(8);
        let (epoch, rest) = rest.split_at(8);
        let (digest, lengths) = rest.split_at(Build::DIGEST_LEN);
        let word = |bytes: &[u8]| {
            let bytes = bytes.try_into().expect("a word has 8 bytes");
            u64::from_le_bytes(bytes)
        };
        let length = |part, length: u8| {
            let found = usize::from(length);
            let is_valid = (1..=Build::TEXT_MAX).contains(&found);
            let problem = BuildError::Length { part, found };
            is_valid.then_some(found).ok_or(problem)
        };
        Ok(Self {
            job: JobId::from_wire(word(job)),
            epoch: word(epoch),
            digest: digest.try_into().expect("a digest has its length"),
            program_len: length("program", lengths[0])?,
            version_len: length("version", lengths[1])?,
        })
    }

    /// The number of bytes that follow.
    const fn text_len(&self) -> usize {
        self.program_len + self.version_len
    }

    /// The whole message; `text` has the bytes that follow.
    pub(super) fn complete(self, text: &[u8]) -> Result<Handshake, HandshakeError> {
        let (program, version) = text.split_at(self.program_len);
        let read =
            |part, bytes| std::str::from_utf8(bytes).map_err(|_| BuildError::Unprintable { part });
        let (program, version) = (read("program", program)?, read("version", version)?);
        Ok(Handshake {
            job: self.job,
            epoch: self.epoch,
            build: Build::new(program, version, self.digest)?,
        })
    }
}

/// Checks the first bytes of a stream.
pub(super) fn check_opening(bytes: &[u8], expected: [u8; OPENING_LEN]) -> Result<(), Refusal> {
    if bytes == expected {
        return Ok(());
    }
    let first = |bytes: &[u8]| {
        let mut first = [0; 4];
        first.copy_from_slice(&bytes[..4]);
        first
    };
    Err(Refusal::Opening {
        found: first(bytes),
        expected: first(&expected),
    })
}

pub(super) const OPENING_LEN: usize = 8;
/// Bytes of a handshake message between the opening and the texts.
const HEAD_LEN: usize = 8 + 8 + Build::DIGEST_LEN + 2;
/// The first bytes of a control stream.
const CONTROL: [u8; OPENING_LEN] = [0xB5, WIRE_VERSION, 1, 0, 0, 0, 0, 0];
/// The first bytes of the stream of a state.
pub(super) const STATE: [u8; OPENING_LEN] = [0xB5, WIRE_VERSION, 2, 0, 0, 0, 0, 0];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text;

    fn decode(bytes: &[u8]) -> Option<Result<Handshake, HandshakeError>> {
        let head = bytes.get(OPENING_LEN..OPENING_LEN + HEAD_LEN)?;
        let head = HandshakeHead::decode(head.try_into().ok()?);
        let text = bytes.get(OPENING_LEN + HEAD_LEN..)?;
        match head {
            Ok(head) => {
                let text = text.get(..head.text_len())?;
                Some(head.complete(text))
            }
            Err(error) => Some(Err(error)),
        }
    }

    // `\PC` has the separators of lines and paragraphs.
    fn displayable() -> impl Strategy<Value = String> {
        "\\PC{1,16}".prop_filter("it is displayed as it is", |text| {
            text::is_displayable(text)
        })
    }

    proptest! {
        #[test]
        fn a_message_is_decoded_as_it_was_encoded(
            job in any::<u64>(),
            epoch in any::<u64>(),
            digest in any::<[u8; Build::DIGEST_LEN]>(),
            program in displayable(),
            version in displayable(),
        ) {
            let build = Build::new(&program, &version, digest).unwrap();
            let job = JobId::from_wire(job);
            let message = Handshake { job, epoch, build };
            prop_assert_eq!(decode(&message.encode()), Some(Ok(message)));
        }

        #[test]
        fn any_bytes_are_decoded_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Some(Ok(message)) = decode(&bytes) {
                let encoded = message.encode();
                prop_assert_eq!(&encoded[OPENING_LEN..], &bytes[OPENING_LEN..encoded.len()]);
            }
        }
    }
}
