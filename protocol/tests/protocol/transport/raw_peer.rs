//! Peers below the level of an endpoint: they accept any certificate and send any bytes.

use std::net::SocketAddr;
use std::sync::Arc;

use protocol::identity::{Identity, Pem};
use protocol::transport::alpn;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, Connection, ConnectionError, Endpoint, SendStream, ServerConfig};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};

use super::{EPOCH, build, loopback};

/// The credentials that a peer presents in the TLS handshake.
pub(crate) struct RawPeer {
    pub(crate) certificate: Option<Pem>,
    pub(crate) alpn: Option<Vec<u8>>,
}

impl RawPeer {
    pub(crate) fn of(identity: &Identity) -> Self {
        let certificate = Some(identity.to_pem());
        let alpn = Some(alpn());
        Self { certificate, alpn }
    }

    /// Connects to `address`, and completes the TLS handshake.
    pub(crate) async fn connect(&self, address: SocketAddr) -> Result<Connection, ConnectionError> {
        self.client().connect(address, "n2").unwrap().await
    }

    /// An endpoint that connects.
    pub(crate) fn client(&self) -> Endpoint {
        let builder = rustls::ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .unwrap()
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AcceptAny));
        let mut config = match &self.certificate {
            Some(pem) => {
                let (chain, key) = parts(pem);
                builder.with_client_auth_cert(chain, key).unwrap()
            }
            None => builder.with_no_client_auth(),
        };
        config.alpn_protocols = self.alpn.iter().cloned().collect();
        let config = QuicClientConfig::try_from(config).unwrap();
        let mut endpoint = Endpoint::client(loopback()).unwrap();
        endpoint.set_default_client_config(ClientConfig::new(Arc::new(config)));
        endpoint
    }

    /// An endpoint that accepts connections.
    pub(crate) fn listen(&self) -> Endpoint {
        let builder = rustls::ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_client_cert_verifier(Arc::new(AcceptAny));
        let mut config = match &self.certificate {
            Some(pem) => {
                let (chain, key) = parts(pem);
                builder.with_single_cert(chain, key).unwrap()
            }
            None => builder.with_cert_resolver(Arc::new(NoCertificate)),
        };
        config.alpn_protocols = self.alpn.iter().cloned().collect();
        let config = QuicServerConfig::try_from(config).unwrap();
        Endpoint::server(ServerConfig::with_crypto(Arc::new(config)), loopback()).unwrap()
    }
}

/// A handshake message of this version.
pub(crate) fn handshake(job: u64, epoch: u64) -> Vec<u8> {
    [
        &[0xB5, protocol::WIRE_VERSION, 1, 0, 0, 0, 0, 0],
        &job.to_le_bytes()[..],
        &epoch.to_le_bytes(),
        build().digest(),
        &[5, 5],
        b"tests0.1.0",
    ]
    .concat()
}

/// The stamp before a frame.
pub(crate) fn stamp(job: u64, epoch: u64, sequence: u64) -> Vec<u8> {
    [job, epoch, sequence].map(u64::to_le_bytes).concat()
}

/// Opens the control stream of `connection`, and sends the handshake message.
pub(crate) async fn control_stream(connection: &Connection) -> SendStream {
    let mut stream = connection.open_uni().await.unwrap();
    stream.write_all(&handshake(7, EPOCH)).await.unwrap();
    stream
}

fn parts(pem: &Pem) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
    let chain = CertificateDer::pem_slice_iter(pem.certificates.as_bytes());
    let key = PrivateKeyDer::from_pem_slice(pem.key.as_bytes());
    (chain.map(Result::unwrap).collect(), key.unwrap())
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// Presents no certificate.
#[derive(Debug)]
struct NoCertificate;

impl ResolvesServerCert for NoCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        None
    }
}

/// Accepts any certificate.
#[derive(Debug)]
struct AcceptAny;

impl ServerCertVerifier for AcceptAny {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        provider()
            .signature_verification_algorithms
            .supported_schemes()
    }
}

impl ClientCertVerifier for AcceptAny {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        provider()
            .signature_verification_algorithms
            .supported_schemes()
    }
}
