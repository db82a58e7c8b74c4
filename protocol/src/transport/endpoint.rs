use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;

use quinn::{
    ClientConfig, ConnectionError, EndpointConfig, ServerConfig, TokioRuntime, TransportConfig,
};
use tokio::sync::{Mutex, mpsc};

use crate::identity::{Identity, Name, Role, Subject};
use crate::transport::close::CloseCode;
use crate::transport::counters::Tally;
use crate::transport::listener::{Failure, House};
use crate::transport::session::Session;
use crate::transport::{Bounds, Counters, Guests, JobId, Party, Peer, PeerError, tls};

/// The one socket of an operating-system process.
///
/// Lives on a tokio runtime that has nothing else to compute: a network that waits for a computation
/// loses its connections.
#[derive(Debug)]
pub struct Endpoint {
    inner: quinn::Endpoint,
    identity: Identity,
    transport: Arc<TransportConfig>,
    house: House,
    arrived: Mutex<mpsc::Receiver<Peer>>,
}

/// Why there is no endpoint.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// There is no tokio runtime here.
    #[error("no tokio runtime here: bind inside of one")]
    Runtime,
    /// The system does not give the socket.
    #[error("binding {address}: {source}: choose another address or port")]
    Socket {
        /// Where it should have been.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// Datagrams of a length that QUIC does not know.
    #[error("datagrams of {met} bytes, expected 1200 to 65527")]
    Datagram {
        /// Their length.
        met: u16,
    },
    /// An identity that TLS does not take.
    #[error("the identity of {subject}: {source}")]
    Identity {
        /// Whose.
        subject: Subject,
        /// What TLS says.
        source: rustls::Error,
    },
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// Nothing was tried.
    #[error("connecting to {peer}: {problem}")]
    Local {
        /// To whom.
        peer: Arc<Party>,
        /// What is wrong.
        problem: String,
    },
    /// It did not answer in time.
    #[error(
        "connecting to {peer}: no answer in {} s: see whether it runs and its port is open",
        .after.as_secs_f64()
    )]
    Silent {
        /// To whom.
        peer: Arc<Party>,
        /// How long we waited.
        after: std::time::Duration,
    },
    /// We refused what we found there.
    #[error("connecting to {peer}: refused what is there: {problem}")]
    Refused {
        /// To whom.
        peer: Arc<Party>,
        /// What is wrong.
        problem: String,
    },
    /// It refused us.
    #[error("connecting to {peer}: it does not let us in: {problem}")]
    Unwelcome {
        /// To whom.
        peer: Arc<Party>,
        /// Its words.
        problem: String,
    },
    /// It broke the connection off, or was lost.
    #[error(transparent)]
    Peer(#[from] PeerError),
}

impl Endpoint {
    /// Binds a socket to `address` (port 0: any), where `guests` may come. The runtime has to have time and
    /// input and output enabled.
    ///
    /// # Errors
    ///
    /// See [`BindError`].
    pub fn bind(
        identity: Identity,
        address: SocketAddr,
        guests: Guests,
        bounds: Bounds,
    ) -> Result<Self, BindError> {
        drop(tokio::runtime::Handle::try_current().map_err(|_| BindError::Runtime)?);
        let subject = &identity.certificate().subject;
        let transport = bounds.transport();
        let takes_guests = guests != Guests::Nobody;
        let tls = tls::server(&identity, guests).map_err(|source| BindError::Identity {
            subject: subject.clone(),
            source,
        })?;
        let mut server = ServerConfig::with_crypto(tls);
        server
            .transport_config(Arc::clone(&transport))
            .max_incoming(INCOMING_MAX)
            .incoming_buffer_size(INCOMING_BUFFER)
            .incoming_buffer_size_total(INCOMING_BUFFERS);
        let mut config = EndpointConfig::default();
        let met = bounds.datagram;
        config
            .max_udp_payload_size(met)
            .map_err(|_| BindError::Datagram { met })?;
        let inner = UdpSocket::bind(address).and_then(|socket| {
            let server = takes_guests.then_some(server);
            quinn::Endpoint::new(config, server, socket, Arc::new(TokioRuntime))
        });
        let inner = inner.map_err(|source| BindError::Socket { address, source })?;
        let house = House {
            bounds,
            session: Arc::new(Session::default()),
            tally: Arc::new(Tally::default()),
        };
        let (arriving, arrived) = mpsc::channel(ARRIVED_MAX);
        drop(tokio::spawn(house.clone().listen(inner.clone(), arriving)));
        Ok(Self {
            inner,
            identity,
            transport,
            house,
            arrived: Mutex::new(arrived),
        })
    }

    /// Connects to `name` in `role`, who is expected at `address`.
    ///
    /// # Errors
    ///
    /// If it is not there, is somebody else, does not let us in, or is at another job.
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
        let peer = Arc::new(Party {
            subject: subject.clone(),
            address,
        });
        let local = |problem: String| ConnectError::Local {
            peer: Arc::clone(&peer),
            problem,
        };
        let tls = tls::client(&self.identity, subject).map_err(|error| local(error.to_string()))?;
        let mut config = ClientConfig::new(tls);
        config.transport_config(Arc::clone(&self.transport));
        let connecting = self.inner.connect_with(config, address, name.as_str());
        let connecting = connecting.map_err(|error| local(error.to_string()))?;
        let set_up = async { self.house.call(connecting.await?, address).await };
        let set_up = self.house.in_time(set_up).await;
        set_up.map_err(|failure| {
            self.house.count(&failure);
            tracing::warn!(%peer, reason = %failure, "no connection");
            of_failure(peer, failure)
        })
    }

    /// The next peer that has come to us; none once the endpoint is closed.
    pub async fn accept(&self) -> Option<Peer> {
        self.arrived.lock().await.recv().await
    }

    /// Takes part in `job` from now on. Frames of other jobs are refused, and so are peers.
    pub fn begin(&self, job: JobId, epoch: u64) {
        self.house.session.begin(job, epoch);
    }

    /// Stamps what is sent from now on with `epoch`; others may still send with earlier ones.
    ///
    /// # Panics
    ///
    /// If epochs go back.
    pub fn advance(&self, epoch: u64) {
        self.house.session.advance(epoch);
    }

    /// Refuses frames of epochs before `oldest`.
    ///
    /// # Panics
    ///
    /// If `oldest` goes back, or is later than our own epoch.
    pub fn retire(&self, oldest: u64) {
        self.house.session.retire(oldest);
    }

    /// Takes part in no job from now on.
    pub fn end(&self) {
        self.house.session.end();
    }

    /// Where others find us.
    ///
    /// # Errors
    ///
    /// If the system does not tell.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }

    /// Who we are.
    #[must_use]
    pub const fn identity(&self) -> &Identity {
        &self.identity
    }

    /// What has been refused so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.house.tally.counters()
    }

    /// Breaks off all connections that are still open, and waits until the peers have been told.
    pub async fn close(self) {
        let (inner, limit) = (self.inner.clone(), self.house.bounds.handshake);
        drop(self);
        // Who does not hear it finds out by itself.
        drop(tokio::time::timeout(limit, inner.wait_idle()).await);
    }
}

impl Drop for Endpoint {
    /// Breaks off all connections that are still open.
    fn drop(&mut self) {
        self.inner.close(CloseCode::Dropped.to_wire(), b"");
    }
}

fn of_failure(peer: Arc<Party>, failure: Failure) -> ConnectError {
    let problem = failure.to_string();
    match failure {
        Failure::Silent(after) => ConnectError::Silent { peer, after },
        Failure::Connection(ConnectionError::TimedOut) => ConnectError::Peer(PeerError::Lost {
            peer,
            source: ConnectionError::TimedOut,
        }),
        Failure::Connection(ConnectionError::TransportError(_))
        | Failure::Greeting(_)
        | Failure::Stream(_)
        | Failure::Reset => ConnectError::Refused { peer, problem },
        Failure::Connection(ConnectionError::ConnectionClosed(_)) => {
            ConnectError::Unwelcome { peer, problem }
        }
        Failure::Connection(source) => PeerError::of(&peer, source).into(),
    }
}

/// Bytes kept of one stranger before it is looked at: its first flight.
const INCOMING_BUFFER: u64 = 16 << 10;
/// The same of all of them.
const INCOMING_BUFFERS: u64 = 4 << 20;
/// Strangers that wait for being looked at, which is done at once; more are ignored.
const INCOMING_MAX: usize = 256;
/// Peers that have come and nobody has taken.
const ARRIVED_MAX: usize = 16;
