use std::fmt;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::identity::{CertificateError, Name};

/// Certificates and the key of the first one, as text.
#[derive(Clone, PartialEq, Eq)]
pub struct Pem {
    /// The own certificate, then that of the authority that signed it.
    pub certificates: String,
    /// The private key. Never printed.
    pub key: String,
}

/// Why a text is not an identity, an authority or a list of revocations.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PemError {
    /// Text that is not PEM.
    #[error("{what}: {problem}")]
    Text {
        /// What was expected.
        what: &'static str,
        /// The error of the parser.
        problem: String,
    },
    /// Too many or too few certificates.
    #[error("{found} certificates, expected {expected}")]
    Count {
        /// Their number.
        found: usize,
        /// The expected number.
        expected: usize,
    },
    /// An invalid certificate.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// A certificate of one cluster with the authority of another.
    #[error("the authority is that of {found}, expected that of {expected}")]
    Cluster {
        /// The cluster of the authority.
        found: Name,
        /// The cluster of the certificate.
        expected: Name,
    },
    /// An invalid list of revocations, or one that the authority did not sign.
    #[error("the list of revocations: {problem}")]
    Revocations {
        /// The reason.
        problem: String,
    },
    /// A list of revocations that is older than one that is known.
    #[error(
        "the list of revocations has number {found}, and one with number {known} is known: \
         copy the newest list of the authority"
    )]
    Outdated {
        /// Its number.
        found: u64,
        /// The number of the newest one.
        known: u64,
    },
    /// A certificate that the authority has revoked.
    #[error("the certificate of {name} is revoked: issue another")]
    Revoked {
        /// The name of its holder.
        name: Name,
    },
    /// A key that does not belong to the certificate.
    #[error("the key does not belong to the first certificate: {problem}")]
    Key {
        /// The reason.
        problem: String,
    },
}

impl Pem {
    /// `certificates` and a key in PKCS #8.
    pub(super) fn new(certificates: &[CertificateDer<'_>], key: &[u8]) -> Self {
        let certificates = certificates.iter();
        Self {
            certificates: certificates
                .map(|certificate| encode_pem("CERTIFICATE", certificate))
                .collect(),
            key: encode_pem("PRIVATE KEY", key),
        }
    }

    /// Its certificates, exactly `N`.
    pub(super) fn certificates<const N: usize>(
        &self,
    ) -> Result<[CertificateDer<'static>; N], PemError> {
        let certificates = certificates(&self.certificates)?;
        let found = certificates.len();
        certificates
            .try_into()
            .map_err(|_| PemError::Count { found, expected: N })
    }

    /// Its key.
    pub(super) fn key(&self) -> Result<PrivateKeyDer<'static>, PemError> {
        PrivateKeyDer::from_pem_slice(self.key.as_bytes()).map_err(|error| PemError::Text {
            what: "private key",
            problem: error.to_string(),
        })
    }
}

impl fmt::Debug for Pem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pem")
            .field("certificates", &self.certificates)
            .finish_non_exhaustive()
    }
}

/// The certificates in `text`.
pub(super) fn certificates(text: &str) -> Result<Vec<CertificateDer<'static>>, PemError> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text.as_bytes()).collect();
    read.map_err(|error| PemError::Text {
        what: "certificates",
        problem: error.to_string(),
    })
}

/// `der` as PEM.
pub(super) fn encode_pem(label: &str, der: &[u8]) -> String {
    ::pem::encode(&::pem::Pem::new(label, der))
}
