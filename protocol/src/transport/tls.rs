//! TLS 1.3 with certificates at both ends, and what a certificate must say in addition to being signed.

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
use crate::identity::{Certificate, Identity, Revocations, Subject};
use crate::transport::PeerPolicy;
use crate::transport::refused_certificate::RefusedCertificate;

/// The protocol that both ends name in the TLS handshake.
#[must_use]
pub fn alpn() -> Vec<u8> {
    format!("migbsp/{WIRE_VERSION}").into_bytes()
}

/// The configuration of an endpoint that accepts connections.
pub(super) fn server(
    identity: &Identity,
    revocations: Option<&Revocations>,
    policy: PeerPolicy,
) -> Result<Arc<QuicServerConfig>, rustls::Error> {
    let config = QuicServerConfig::try_from(server_config(identity, revocations, policy)?);
    Ok(Arc::new(config.expect("TLS 1.3 of ring has initial keys")))
}

fn server_config(
    identity: &Identity,
    revocations: Option<&Revocations>,
    policy: PeerPolicy,
) -> Result<rustls::ServerConfig, rustls::Error> {
    let provider = provider();
    let roots = Arc::new(roots(identity)?);
    let inner = WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(&provider))
        .with_crls(revocations.map(|list| list.list().clone()))
        .only_check_end_entity_revocation()
        .build()
        .map_err(|error| builder_error(&error))?;
    let check = ClientVerifier {
        inner,
        own: identity.certificate().subject.clone(),
        policy,
    };
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])?
        .with_client_cert_verifier(Arc::new(check))
        .with_single_cert(vec![identity.own().clone()], identity.key())?;
    config.alpn_protocols = vec![alpn()];
    // No resumption, and therefore no data before the handshake.
    config.send_tls13_tickets = 0;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.max_early_data_size = 0;
    Ok(config)
}

/// The configuration for connecting to `expected`.
pub(super) fn client(
    identity: &Identity,
    revocations: Option<&Revocations>,
    expected: Subject,
) -> Result<Arc<QuicClientConfig>, rustls::Error> {
    let config = QuicClientConfig::try_from(client_config(identity, revocations, expected)?);
    Ok(Arc::new(config.expect("TLS 1.3 of ring has initial keys")))
}

fn client_config(
    identity: &Identity,
    revocations: Option<&Revocations>,
    expected: Subject,
) -> Result<rustls::ClientConfig, rustls::Error> {
    let provider = provider();
    let roots = Arc::new(roots(identity)?);
    let inner = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider))
        .with_crls(revocations.map(|list| list.list().clone()))
        .only_check_end_entity_revocation()
        .build()
        .map_err(|error| builder_error(&error))?;
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(ServerVerifier {
            inner,
            own: identity.certificate().subject.clone(),
            expected,
        }))
        .with_client_auth_cert(vec![identity.own().clone()], identity.key())?;
    config.alpn_protocols = vec![alpn()];
    config.resumption = Resumption::disabled();
    config.enable_early_data = false;
    Ok(config)
}

/// Checks the certificate of a connecting peer: first its signature, then its subject.
#[derive(Debug)]
struct ClientVerifier {
    inner: Arc<dyn ClientCertVerifier>,
    own: Subject,
    policy: PeerPolicy,
}

impl ClientCertVerifier for ClientVerifier {
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
            .verify_client_cert(end_entity, intermediates, now)
            .map_err(|error| explained(error, end_entity, (&self.own, None), now))?;
        let subject = subject(end_entity, &self.own)?;
        if !self.policy.allows(&subject) {
            let refused = RefusedCertificate::by_policy(subject, &self.own, &self.policy);
            return Err(invalid_certificate(refused));
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

/// Checks the certificate of the peer that this endpoint connects to.
#[derive(Debug)]
struct ServerVerifier {
    inner: Arc<WebPkiServerVerifier>,
    own: Subject,
    expected: Subject,
}

impl ServerCertVerifier for ServerVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let of = (&self.own, Some(&self.expected));
        let verified = self
            .inner
            .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
            .map_err(|error| explained(error, end_entity, of, now))?;
        let found = subject(end_entity, &self.own)?;
        let expected = self.expected.clone();
        if found.name != expected.name {
            return Err(invalid_certificate(RefusedCertificate::Name {
                found,
                expected,
            }));
        }
        if found.role != expected.role {
            let expected = expected.role;
            return Err(invalid_certificate(RefusedCertificate::Role {
                found,
                expected,
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

/// The subject of a certificate whose signature has been verified.
fn subject(certificate: &CertificateDer<'_>, own: &Subject) -> Result<Subject, rustls::Error> {
    let subject = match Certificate::parse(certificate) {
        Ok(certificate) => certificate.subject,
        Err(problem) => {
            let problem = problem.to_string();
            return Err(invalid_certificate(RefusedCertificate::Other { problem }));
        }
    };
    if subject.cluster != own.cluster {
        let own = own.clone();
        return Err(invalid_certificate(RefusedCertificate::Cluster {
            subject,
            own,
        }));
    }
    Ok(subject)
}

/// `error` of the verification of a certificate as a sentence.
fn explained(
    error: rustls::Error,
    certificate: &CertificateDer<'_>,
    of: (&Subject, Option<&Subject>),
    now: UnixTime,
) -> rustls::Error {
    RefusedCertificate::of(&error, certificate, of, now).map_or(error, invalid_certificate)
}

fn invalid_certificate(refused: RefusedCertificate) -> rustls::Error {
    rustls::Error::InvalidCertificate(Unfit::Other(OtherError(Arc::new(refused))))
}

fn builder_error(error: &VerifierBuilderError) -> rustls::Error {
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
    use std::collections::BTreeSet;
    use std::time::{Duration, SystemTime};

    use rustls::version::TLS12;
    use rustls::{ClientConnection, ServerConnection};

    use super::*;
    use crate::identity::{Authority, Role, Validity};

    fn identity() -> Identity {
        let day = Validity::from_now(SystemTime::now(), Duration::from_secs(86_400)).unwrap();
        let authority = Authority::generate("lab".parse().unwrap(), day).unwrap();
        let name = "n2".parse().unwrap();
        authority.issue(Role::Node, &name, day).unwrap()
    }

    /// The error of `server` about the first message of `client`.
    fn handshake_error(
        client: rustls::ClientConfig,
        server: rustls::ServerConfig,
    ) -> rustls::Error {
        let name = ServerName::try_from("n2").unwrap();
        let mut client = ClientConnection::new(Arc::new(client), name).unwrap();
        let mut hello = Vec::new();
        client.write_tls(&mut hello).unwrap();
        let mut server = ServerConnection::new(Arc::new(server)).unwrap();
        server.read_tls(&mut &hello[..]).unwrap();
        server.process_new_packets().unwrap_err()
    }

    #[test]
    fn tls_1_2_is_refused_in_both_directions() {
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
        let policy = PeerPolicy::Roles(BTreeSet::from([Role::Node]));
        let incoming = handshake_error(old_client, server_config(&identity, None, policy).unwrap());
        let outgoing =
            handshake_error(client_config(&identity, None, subject).unwrap(), old_server);
        for error in [incoming, outgoing] {
            assert!(
                matches!(error, rustls::Error::PeerIncompatible(_)),
                "{error}"
            );
        }
    }
}
