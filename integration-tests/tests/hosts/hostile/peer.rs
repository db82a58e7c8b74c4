//! A QUIC peer with a valid certificate that sends any bytes: it shares no code with the project's endpoints.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use protocol::identity::Identity;
use protocol::transport::alpn;
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Connection, Endpoint, SendStream};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, Error, SignatureScheme};

/// A connection with a control stream, on which frames are numbered.
pub(super) struct HostilePeer {
    pub(super) connection: Connection,
    stream: SendStream,
    job: u64,
    sequence: u64,
    // Dropping the endpoint would end the connection.
    _endpoint: Endpoint,
}

impl HostilePeer {
    /// Connects to the node `name` at `address`, and sends the handshake message for `job`; 0 is none.
    pub(super) async fn connect(
        identity: &Identity,
        (name, address): (&str, SocketAddr),
        job: u64,
        digest: &[u8],
    ) -> Self {
        let endpoint = client(identity);
        let connection = endpoint.connect(address, name).unwrap().await.unwrap();
        let mut stream = connection.open_uni().await.unwrap();
        let handshake = [
            &[0xB5, protocol::WIRE_VERSION, 1, 0, 0, 0, 0, 0],
            &job.to_le_bytes()[..],
            &0_u64.to_le_bytes(),
            digest,
            &[7, 5],
            b"counter0.1.0",
        ];
        stream.write_all(&handshake.concat()).await.unwrap();
        Self {
            connection,
            stream,
            job,
            sequence: 0,
            _endpoint: endpoint,
        }
    }

    /// Sends a frame of `kind`; false if the node has closed the connection.
    pub(super) async fn send(&mut self, kind: u16, head: &[u8], payload: &[u8]) -> bool {
        let mut frame = Vec::new();
        for word in [self.job, 0, self.sequence] {
            frame.extend(word.to_le_bytes());
        }
        frame.extend([0xB5, protocol::WIRE_VERSION]);
        frame.extend(kind.to_le_bytes());
        frame.extend(u32::try_from(head.len()).unwrap().to_le_bytes());
        frame.extend(u64::try_from(payload.len()).unwrap().to_le_bytes());
        frame.extend([head, payload].concat());
        self.sequence += 1;
        self.stream.write_all(&frame).await.is_ok()
    }
}

fn client(identity: &Identity) -> Endpoint {
    let pem = identity.to_pem();
    let chain = CertificateDer::pem_slice_iter(pem.certificates.as_bytes());
    let chain = chain.map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_slice(pem.key.as_bytes()).unwrap();
    let builder = rustls::ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    let builder = builder.dangerous();
    let builder = builder.with_custom_certificate_verifier(Arc::new(AcceptAny));
    let mut config = builder.with_client_auth_cert(chain, key).unwrap();
    config.alpn_protocols = vec![alpn()];
    let config = QuicClientConfig::try_from(config).unwrap();
    let any_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let mut endpoint = Endpoint::client(any_port).unwrap();
    endpoint.set_default_client_config(ClientConfig::new(Arc::new(config)));
    endpoint
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
        let provider = ring::default_provider();
        provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}
