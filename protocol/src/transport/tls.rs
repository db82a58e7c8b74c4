//! TLS 1.3 with certificates at both ends, and what they have to say beside being signed.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{NoServerSessionStorage, VerifierBuilderError, WebPkiClientVerifier};
use rustls::version::TLS13;
use rustls::{
    CertificateError as Unfit, DigitallySignedStruct, DistinguishedName, OtherError, RootCertStore,
    SignatureScheme,
};

use crate::WIRE_VERSION;
use crate::identity::{Certificate, CertificateError, Identity, Name, Role, Subject};

/// Whom an endpoint lets in, of those that the authority of its cluster knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Guests {
    /// Nobody: connections are only made from here.
    Nobody,
    /// Everybody in one of these roles.
    Roles(BTreeSet<Role>),
    /// Those with these names, each in its role.
    Listed(BTreeSet<(Name, Role)>),
}

/// Why a certificate that the authority signed is not good enough.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
enum Mismatch {
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    #[error("a certificate of cluster {met}, expected {expected}")]
    Cluster { met: Name, expected: Name },
    #[error("a certificate for {met}, expected {expected}")]
    Subject { met: String, expected: String },
}

/// In words: `rustls` prints errors of others so.
impl fmt::Debug for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What both ends say they speak.
#[must_use]
pub fn alpn() -> Vec<u8> {
    format!("migbsp/{WIRE_VERSION}").into_bytes()
}

/// What an endpoint that is connected to asks of those who connect.
pub(super) fn server(
    identity: &Identity,
    guests: Guests,
) -> Result<Arc<QuicServerConfig>, rustls::Error> {
    let config = QuicServerConfig::try_from(server_config(identity, guests)?);
    Ok(Arc::new(config.expect("TLS 1.3 of ring has initial keys")))
}

fn server_config(
    identity: &Identity,
    guests: Guests,
) -> Result<rustls::ServerConfig, rustls::Error> {
    let provider = provider();
    let roots = Arc::new(roots(identity)?);
    let inner = WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(&provider))
        .with_crls(identity.revoked())
        .only_check_end_entity_revocation()
        .build()
        .map_err(|error| of_builder(&error))?;
    let check = GuestCheck {
        inner,
        cluster: identity.certificate().subject.cluster.clone(),
        guests,
    };
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])?
        .with_client_cert_verifier(Arc::new(check))
        .with_single_cert(vec![identity.own().clone()], identity.key())?;
    config.alpn_protocols = vec![alpn()];
    // No resumption, so no data ahead of the handshake.
    config.send_tls13_tickets = 0;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.max_early_data_size = 0;
    Ok(config)
}

/// What an endpoint that connects asks of the one it finds.
pub(super) fn client(
    identity: &Identity,
    expected: Subject,
) -> Result<Arc<QuicClientConfig>, rustls::Error> {
    let config = QuicClientConfig::try_from(client_config(identity, expected)?);
    Ok(Arc::new(config.expect("TLS 1.3 of ring has initial keys")))
}

fn client_config(
    identity: &Identity,
    expected: Subject,
) -> Result<rustls::ClientConfig, rustls::Error> {
    let provider = provider();
    let roots = Arc::new(roots(identity)?);
    let inner = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider))
        .with_crls(identity.revoked())
        .only_check_end_entity_revocation()
        .build()
        .map_err(|error| of_builder(&error))?;
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(HostCheck { inner, expected }))
        .with_client_auth_cert(vec![identity.own().clone()], identity.key())?;
    config.alpn_protocols = vec![alpn()];
    config.resumption = Resumption::disabled();
    config.enable_early_data = false;
    Ok(config)
}

impl Guests {
    fn admit(&self, subject: &Subject) -> Result<(), Mismatch> {
        let (is_welcome, expected) = match self {
            Self::Nobody => (false, "nobody".to_owned()),
            Self::Roles(roles) => {
                let names: Vec<_> = roles.iter().map(Role::to_string).collect();
                (roles.contains(&subject.role), names.join(" or "))
            }
            Self::Listed(guests) => {
                let key = (subject.name.clone(), subject.role);
                let listed = format!("one of the {} that are listed here", guests.len());
                (guests.contains(&key), listed)
            }
        };
        let met = subject.to_string();
        is_welcome
            .then_some(())
            .ok_or(Mismatch::Subject { met, expected })
    }
}

/// Asks of a certificate what the authority is asked for, and then who it is for.
#[derive(Debug)]
struct GuestCheck {
    inner: Arc<dyn ClientCertVerifier>,
    cluster: Name,
    guests: Guests,
}

impl ClientCertVerifier for GuestCheck {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.inner.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        let verified = self
            .inner
            .verify_client_cert(end_entity, intermediates, now)?;
        subject(end_entity, &self.cluster)
            .and_then(|subject| self.guests.admit(&subject))
            .map_err(unfit)?;
        Ok(verified)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

/// The same for the one we connect to, of whom we know whom to expect.
#[derive(Debug)]
struct HostCheck {
    inner: Arc<WebPkiServerVerifier>,
    expected: Subject,
}

impl ServerCertVerifier for HostCheck {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let verified = self.inner.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        )?;
        let met = subject(end_entity, &self.expected.cluster).map_err(unfit)?;
        if met != self.expected {
            return Err(unfit(Mismatch::Subject {
                met: met.to_string(),
                expected: self.expected.to_string(),
            }));
        }
        Ok(verified)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

fn subject(certificate: &CertificateDer<'_>, cluster: &Name) -> Result<Subject, Mismatch> {
    let subject = Certificate::parse(certificate)?.subject;
    if subject.cluster != *cluster {
        return Err(Mismatch::Cluster {
            met: subject.cluster,
            expected: cluster.clone(),
        });
    }
    Ok(subject)
}

fn unfit(mismatch: Mismatch) -> rustls::Error {
    rustls::Error::InvalidCertificate(Unfit::Other(OtherError(Arc::new(mismatch))))
}

fn of_builder(error: &VerifierBuilderError) -> rustls::Error {
    rustls::Error::General(error.to_string())
}

fn roots(identity: &Identity) -> Result<RootCertStore, rustls::Error> {
    let mut roots = RootCertStore::empty();
    roots.add(identity.authority().clone())?;
    Ok(roots)
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use rustls::version::TLS12;
    use rustls::{ClientConnection, ServerConnection};

    use super::*;
    use crate::identity::{Authority, Validity};

    fn identity() -> Identity {
        let day = Validity::starting(SystemTime::now(), Duration::from_secs(86_400)).unwrap();
        let authority = Authority::generate("lab".parse().unwrap(), day).unwrap();
        let name = "n2".parse().unwrap();
        authority.issue(Role::Node, &name, day).unwrap()
    }

    /// What `server` says of the first words of `client`.
    fn greeted(client: rustls::ClientConfig, server: rustls::ServerConfig) -> rustls::Error {
        let name = ServerName::try_from("n2").unwrap();
        let mut client = ClientConnection::new(Arc::new(client), name).unwrap();
        let mut hello = Vec::new();
        client.write_tls(&mut hello).unwrap();
        let mut server = ServerConnection::new(Arc::new(server)).unwrap();
        server.read_tls(&mut &hello[..]).unwrap();
        server.process_new_packets().unwrap_err()
    }

    #[test]
    fn older_tls_is_refused_whoever_speaks_it() {
        let identity = identity();
        let subject = identity.certificate().subject.clone();
        let old_client = rustls::ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS12])
            .unwrap()
            .with_root_certificates(roots(&identity).unwrap())
            .with_no_client_auth();
        let old_server = rustls::ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS12])
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![identity.own().clone()], identity.key())
            .unwrap();
        let guests = Guests::Roles(BTreeSet::from([Role::Node]));
        let coming = greeted(old_client, server_config(&identity, guests).unwrap());
        let found = greeted(client_config(&identity, subject).unwrap(), old_server);
        for error in [coming, found] {
            assert!(
                matches!(error, rustls::Error::PeerIncompatible(_)),
                "{error}"
            );
        }
    }
}
