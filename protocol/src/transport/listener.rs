//! Lets strangers in, a bounded number at a time, and hands over those who have proved who they are.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use quinn::{Connection, ConnectionError, Incoming, SendStream};
use rustls::pki_types::CertificateDer;
use tokio::sync::mpsc;

use crate::identity::{Certificate, Subject};
use crate::transport::close::CloseCode;
use crate::transport::counters::{Tally, count};
use crate::transport::doorway::{Doorway, Place, Verdict};
use crate::transport::greeting::{GREETING_LEN, Greeting, GreetingError};
use crate::transport::peer::Link;
use crate::transport::session::Session;
use crate::transport::source::{Fault, Source};
use crate::transport::{Bounds, JobId, Party, Peer, Refusal};

/// What all connections of an endpoint share.
#[derive(Clone, Debug)]
pub(super) struct House {
    pub(super) bounds: Bounds,
    pub(super) session: Arc<Session>,
    pub(super) tally: Arc<Tally>,
}

/// Why a connection was not set up.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failure {
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    #[error("a greeting that ends too soon")]
    Reset,
    #[error("a greeting: {0}")]
    Stream(Refusal),
    #[error(transparent)]
    Greeting(#[from] GreetingError),
    #[error("nothing heard for {} s", .0.as_secs_f64())]
    Silent(std::time::Duration),
}

impl House {
    /// Takes strangers from `endpoint` until it is closed, and puts peers into `arrived`.
    pub(super) async fn listen(self, endpoint: quinn::Endpoint, arrived: mpsc::Sender<Peer>) {
        let doorway = Arc::new(Doorway::new(self.bounds));
        while let Some(stranger) = endpoint.accept().await {
            let is_proved = stranger.remote_address_validated() || !stranger.may_retry();
            match doorway.meet(stranger.remote_address().ip(), is_proved) {
                Verdict::Enter(place) => {
                    let arrived = arrived.clone();
                    drop(tokio::spawn(self.clone().admit(stranger, place, arrived)));
                }
                Verdict::Prove => {
                    count(&self.tally.retries);
                    // It may: asked above.
                    drop(stranger.retry());
                }
                Verdict::Full => {
                    count(&self.tally.turned_away);
                    stranger.refuse();
                }
                // Without a word: who is honest asks again, and others get no answer to send on.
                Verdict::Crowded => {
                    count(&self.tally.crowded);
                    stranger.ignore();
                }
            }
        }
    }

    async fn admit(self, stranger: Incoming, place: Place, arrived: mpsc::Sender<Peer>) {
        let address = stranger.remote_address();
        match self.in_time(self.welcome(stranger, address)).await {
            // The endpoint may be closing.
            Ok(peer) => drop(arrived.send(peer).await),
            Err(failure) => {
                self.count(&failure);
                tracing::warn!(%address, reason = %failure, "refused a connection");
            }
        }
        drop(place);
    }

    async fn welcome(&self, stranger: Incoming, address: SocketAddr) -> Result<Peer, Failure> {
        let connection = stranger.accept()?.await?;
        let subject = subject_of(&connection);
        let (greeting, source) = self.greeted(&connection).await?;
        let own = self.greeting(greeting.job);
        let outgoing = greet(&connection, &own).await?;
        let link = self.link(connection, subject, address, greeting.job);
        Ok(Peer::new(link, greeting, outgoing, source.into_stream()))
    }

    /// Greets the one at the other end of `connection`, whom we called, and hears its greeting.
    pub(super) async fn call(
        &self,
        connection: Connection,
        address: SocketAddr,
    ) -> Result<Peer, Failure> {
        let subject = subject_of(&connection);
        let job = self.session.standing().job;
        let outgoing = greet(&connection, &self.greeting(job)).await?;
        let (greeting, source) = self.greeted(&connection).await?;
        if greeting.job != job {
            let (met, expected) = (greeting.job, job);
            return Err(self.refuse(&connection, GreetingError::Job { met, expected }));
        }
        let link = self.link(connection, subject, address, job);
        Ok(Peer::new(link, greeting, outgoing, source.into_stream()))
    }

    /// Whatever `setting_up` comes to, in the time that it may take.
    pub(super) async fn in_time<T>(
        &self,
        setting_up: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let limit = self.bounds.handshake;
        let done = tokio::time::timeout(limit, setting_up).await;
        done.unwrap_or(Err(Failure::Silent(limit)))
    }

    pub(super) fn count(&self, failure: &Failure) {
        count(match failure {
            Failure::Greeting(GreetingError::Job { .. } | GreetingError::Epoch { .. }) => {
                &self.tally.greetings
            }
            Failure::Connection(_)
            | Failure::Reset
            | Failure::Stream(_)
            | Failure::Greeting(GreetingError::Opening(_))
            | Failure::Silent(_) => &self.tally.handshakes,
        });
    }

    /// The greeting that comes over `connection`.
    async fn greeted(&self, connection: &Connection) -> Result<(Greeting, Source), Failure> {
        let mut source = Source::new(connection.accept_uni().await?);
        let bytes = source.array::<GREETING_LEN>("a greeting").await;
        let bytes = bytes.map_err(|fault| match fault {
            Fault::Lost(source) => Failure::Connection(source),
            Fault::Reset => Failure::Reset,
            Fault::Refused(refusal) => Failure::Stream(refusal),
        })?;
        let greeting = Greeting::decode(&bytes);
        let checked = greeting.and_then(|greeting| {
            greeting.check(self.session.standing())?;
            Ok(greeting)
        });
        let greeting = checked.map_err(|error| self.refuse(connection, error))?;
        Ok((greeting, source))
    }

    fn refuse(&self, connection: &Connection, error: GreetingError) -> Failure {
        let reason = error.to_string();
        connection.close(CloseCode::Greeting.to_wire(), reason.as_bytes());
        Failure::Greeting(error)
    }

    fn greeting(&self, job: Option<JobId>) -> Greeting {
        let epoch = self.session.standing().epoch;
        Greeting { job, epoch }
    }

    fn link(
        &self,
        connection: Connection,
        subject: Subject,
        address: SocketAddr,
        job: Option<JobId>,
    ) -> Link {
        Link {
            connection,
            peer: Arc::new(Party { subject, address }),
            job,
            session: Arc::clone(&self.session),
            tally: Arc::clone(&self.tally),
            bounds: self.bounds,
            voice: OnceLock::new(),
            fault: OnceLock::new(),
        }
    }
}

async fn greet(connection: &Connection, greeting: &Greeting) -> Result<SendStream, Failure> {
    let mut stream = connection.open_uni().await?;
    // Whatever ends a stream this early has ended the connection.
    match stream.write_chunk(greeting.encode().freeze()).await {
        Ok(()) => Ok(stream),
        Err(_) => Err(connection.closed().await.into()),
    }
}

/// Who the certificate at the other end is for; the handshake has read it already.
fn subject_of(connection: &Connection) -> Subject {
    let certificates = connection
        .peer_identity()
        .and_then(|identity| identity.downcast::<Vec<CertificateDer<'static>>>().ok())
        .expect("a peer has shown its certificate");
    let certificate = Certificate::parse(&certificates[0]);
    certificate.expect("the handshake has read it").subject
}
