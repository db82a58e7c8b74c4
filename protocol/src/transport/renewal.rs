//! Certificates that are renewed while connections are open.
//!
//! A connection may go on for as long as the certificates are valid that its ends have shown. An end whose certificate has been
//! replaced shows the new one on a two-way stream, which nothing else uses. With the new key, it signs what TLS derives from
//! this connection and no other, and which end it is. So what has been shown cannot be repeated elsewhere, and only the end that
//! opened the connection, or accepted it, can show it here. The other end verifies the certificate as in a handshake. It has to
//! have the same subject. What does not pass is logged and has no effect: the connection ends with the certificate before.
//!
//! | bytes | field |
//! |---|---|
//! | 0..4 | `0xB5`, [`WIRE_VERSION`], kind 3 |
//! | 4..8 | zero |
//! | 8..10 | the scheme of the signature, as TLS numbers it |
//! | 10..12 | the length of the certificate |
//! | 12.. | the certificate, then the signature |

use bytes::{BufMut, BytesMut};
use quinn::{Connection, Side};
use rustls::SignatureScheme;
use rustls::crypto::ring::default_provider;
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::{CertificateDer, UnixTime};
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::WIRE_VERSION;
use crate::identity::{Certificate, Identity, Revocations, Subject};
use crate::transport::endpoint::{OPENING_LEN, check_opening};
use crate::transport::tls::RefusedCertificate;
use crate::transport::{Refusal, tls};

/// Why an identity does not replace the one that an endpoint has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenewalError {
    /// It is of another member.
    #[error(
        "the certificate is for {found}, and that in use is for {expected}: restart to change it"
    )]
    Subject {
        /// Its subject.
        found: Box<Subject>,
        /// The subject of the one that the endpoint has.
        expected: Box<Subject>,
    },
    /// It comes with another authority.
    #[error("it comes with another authority than the certificate in use: restart to change it")]
    Authority,
    /// Its certificate would be refused by peers.
    #[error("{problem}")]
    Certificate {
        /// The reason.
        problem: String,
    },
}

/// Why a certificate that a peer has shown has no effect.
#[derive(Debug, thiserror::Error)]
pub(super) enum ShownError {
    #[error(transparent)]
    Refusal(#[from] Refusal),
    #[error(transparent)]
    Certificate(#[from] RefusedCertificate),
    #[error("the certificate is for {found}, expected {expected}")]
    Subject {
        found: Box<Subject>,
        expected: Box<Subject>,
    },
    #[error("its signature is not by the key of the certificate, for this connection")]
    Signature,
}

/// What the end of `connection` at that side signs, before its certificate: known to both ends, and different for each end of each
/// connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Binding([u8; BINDING_LEN]);

impl Binding {
    /// Of the end at `side`; `None` if the connection cannot have any.
    pub(super) fn new(connection: &Connection, side: Side) -> Option<Self> {
        let mut binding = [0; BINDING_LEN];
        let context: &[u8] = match side {
            Side::Client => b"client",
            Side::Server => b"server",
        };
        let exported = connection.export_keying_material(&mut binding, LABEL, context);
        exported.ok().map(|()| Self(binding))
    }

    fn signed(&self, certificate: &[u8]) -> Vec<u8> {
        [LABEL, &self.0, certificate].concat()
    }
}

/// What the end that `binding` is of sends to show the certificate of `identity`.
///
/// # Errors
///
/// If its key does not sign.
pub(super) fn show(identity: &Identity, binding: Binding) -> Result<BytesMut, rustls::Error> {
    let key = any_supported_type(&identity.key())?;
    let schemes = default_provider()
        .signature_verification_algorithms
        .supported_schemes();
    let no_scheme = || rustls::Error::General("the key has no known signature".to_owned());
    let signer = key.choose_scheme(&schemes).ok_or_else(no_scheme)?;
    let certificate: &[u8] = identity.own();
    let signature = signer.sign(&binding.signed(certificate))?;
    let length = u16::try_from(certificate.len());
    let length = length.map_err(|_| rustls::Error::General("a long certificate".to_owned()))?;
    let mut bytes = BytesMut::new();
    bytes.put_slice(&OPENING);
    bytes.put_u16_le(u16::from(signer.scheme()));
    bytes.put_u16_le(length);
    bytes.put_slice(certificate);
    bytes.put_slice(&signature);
    Ok(bytes)
}

/// The certificate that the peer `expected` has shown in `bytes`, if it is valid at `now` for the endpoint with `identity`. They may hold
/// anything.
pub(super) fn check(
    bytes: &[u8],
    (expected, binding): (&Subject, Binding),
    (identity, revocations): (&Identity, Option<&Revocations>),
    now: UnixTime,
) -> Result<Certificate, ShownError> {
    let too_short = || Refusal::ended("a renewed certificate", bytes.len(), HEAD_LEN);
    let (opening, rest) = bytes
        .split_first_chunk::<OPENING_LEN>()
        .ok_or_else(too_short)?;
    check_opening(opening, OPENING)?;
    let (scheme, rest) = rest.split_first_chunk().ok_or_else(too_short)?;
    let (length, rest) = rest.split_first_chunk().ok_or_else(too_short)?;
    let length = usize::from(u16::from_le_bytes(*length));
    let (certificate, signature) = rest
        .split_at_checked(length)
        .ok_or_else(|| Refusal::ended("a renewed certificate", rest.len(), length))?;
    let der = CertificateDer::from(certificate);
    let certificate = tls::member(identity, revocations, &der, now)?;
    if certificate.subject != *expected {
        return Err(ShownError::Subject {
            found: Box::new(certificate.subject),
            expected: Box::new(expected.clone()),
        });
    }
    let scheme = SignatureScheme::from(u16::from_le_bytes(*scheme));
    verify(&der, scheme, (&binding.signed(&der), signature))?;
    Ok(certificate)
}

/// Checks that the key of the certificate `der` signed `message`.
fn verify(
    der: &[u8],
    scheme: SignatureScheme,
    (message, signature): (&[u8], &[u8]),
) -> Result<(), ShownError> {
    let known = default_provider().signature_verification_algorithms.mapping;
    let mut known = known.iter();
    // The first algorithm of a scheme is that of TLS 1.3.
    let algorithm = known
        .find(|(known, _)| *known == scheme)
        .and_then(|(_, algorithms)| algorithms.first());
    let (Some(algorithm), Ok((_, certificate))) = (algorithm, X509Certificate::from_der(der))
    else {
        return Err(ShownError::Signature);
    };
    let key = &certificate.public_key().subject_public_key.data;
    let verified = algorithm.verify_signature(key, message, signature);
    verified.map_err(|_| ShownError::Signature)
}

/// Bytes in which an end shows its certificate.
pub(super) const SHOWN_MAX: usize = 8 << 10;
const OPENING: [u8; OPENING_LEN] = [0xB5, WIRE_VERSION, 3, 0, 0, 0, 0, 0];
/// Bytes before the certificate.
const HEAD_LEN: usize = OPENING_LEN + 4;
const BINDING_LEN: usize = 32;
const LABEL: &[u8] = b"EXPORTER-migbsp-certificate";
