//! Sets up connections: a bounded number of handshakes at a time, from the first packet to an authenticated peer.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use quinn::{Connection, ConnectionError, Incoming, SendStream};
use rustls::pki_types::CertificateDer;
use tokio::sync::mpsc;

use crate::Build;
use crate::identity::Certificate;
use crate::transport::admission::{Admission, Decision, HandshakePermit};
use crate::transport::close::{CloseCode, described};
use crate::transport::connection_permits::{ConnectionPermit, TooManyConnections};
use crate::transport::counters::{AtomicCounters, count};
use crate::transport::handshake::{
    CONTROL, HEAD_LEN, Handshake, HandshakeError, HandshakeHead, OPENING_LEN, check_opening,
};
use crate::transport::link::{FirstError, Link, Queue};
use crate::transport::session::Session;
use crate::transport::shared_bounds::SharedBounds;
use crate::transport::stream_reader::{StreamError, StreamReader};
use crate::transport::watchdog::{Watchdog, WatchedConnection};
use crate::transport::{Bounds, JobId, Peer, PeerInfo, Refusal};

/// Sets up the connections of an endpoint, and holds what they share.
#[derive(Clone, Debug)]
pub(super) struct ConnectionSetup {
    pub(super) bounds: Bounds,
    /// The build of this end.
    pub(super) build: Arc<Build>,
    pub(super) session: Arc<Session>,
    pub(super) counters: Arc<AtomicCounters>,
    pub(super) shared: SharedBounds,
}

/// Why a connection was not set up.
#[derive(Debug, thiserror::Error)]
pub(super) enum SetupError {
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
    TimedOut(std::time::Duration),
}

impl ConnectionSetup {
    /// Accepts connections of `endpoint` until it is closed, and sends authenticated peers to `accepted`.
    pub(super) async fn accept_all(self, endpoint: quinn::Endpoint, accepted: mpsc::Sender<Peer>) {
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
                    count(&self.counters.retries);
                    // Cannot fail: `may_retry` was checked above.
                    drop(incoming.retry());
                }
                Decision::Refuse => {
                    count(&self.counters.handshakes_refused);
                    incoming.refuse();
                }
                // Without an answer: an honest peer asks again, and a forged address gets no packets.
                Decision::Ignore => {
                    count(&self.counters.handshakes_ignored);
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
        let address = incoming.remote_address();
        match self.with_timeout(self.accept(incoming, address)).await {
            // The endpoint may be closing.
            Ok(peer) => drop(accepted.send(peer).await),
            Err(error) => {
                self.count(&error);
                if self.shared.connection_log.admits() {
                    tracing::warn!(%address, reason = %error, "refused a connection");
                }
            }
        }
        drop(permit);
    }

    async fn accept(&self, incoming: Incoming, address: SocketAddr) -> Result<Peer, SetupError> {
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
        let peer = (certificate, address, handshake.job);
        let link = self.link(connection, peer, Some(permit));
        Ok(Peer::new(link, handshake, outgoing, reader.into_stream()))
    }

    /// Exchanges handshake messages on a connection that this end has opened.
    pub(super) async fn initiate(
        &self,
        connection: Connection,
        address: SocketAddr,
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
        let link = self.link(connection, (certificate, address, job), None);
        Ok(Peer::new(link, handshake, outgoing, reader.into_stream()))
    }

    /// The result of `setting_up`, or an error after the time limit of a handshake.
    pub(super) async fn with_timeout<T>(
        &self,
        setting_up: impl Future<Output = Result<T, SetupError>>,
    ) -> Result<T, SetupError> {
        let limit = self.bounds.handshake;
        let done = tokio::time::timeout(limit, setting_up).await;
        done.unwrap_or(Err(SetupError::TimedOut(limit)))
    }

    pub(super) fn count(&self, error: &SetupError) {
        count(match error {
            SetupError::Handshake(HandshakeError::Job { .. } | HandshakeError::Epoch { .. }) => {
                &self.counters.handshakes_mismatched
            }
            SetupError::Connections(_) => &self.counters.connections_refused,
            SetupError::Connection(_)
            | SetupError::Reset
            | SetupError::Stream(_)
            | SetupError::Handshake(HandshakeError::Opening(_) | HandshakeError::Build(_))
            | SetupError::TimedOut(_) => &self.counters.handshakes_failed,
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
            certificate,
            standing: Arc::clone(&self.shared.standing),
            counters: Arc::clone(&self.counters),
            error: error.clone(),
            bounds: self.bounds,
            permit,
        });
        let link = Link {
            connection,
            peer,
            job,
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
