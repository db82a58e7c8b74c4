use std::fmt;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::identity::{CertificateError, Name};

/// Certificates and the key that belongs to the first of them, as text.
#[derive(Clone, PartialEq, Eq)]
pub struct Pem {
    /// One or more certificates: its own, then that of the authority that signed it.
    pub certificates: String,
    /// The private key. Never printed.
    pub key: String,
}

/// Why a text is no identity and no authority.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PemError {
    /// Text that is not PEM.
    #[error("{what}: {problem}")]
    Text {
        /// What was to be read.
        what: &'static str,
        /// What the parser says.
        problem: String,
    },
    /// Too many or too few certificates.
    #[error("{met} certificates, expected {expected}")]
    Count {
        /// How many there are.
        met: usize,
        /// How many belong there.
        expected: usize,
    },
    /// A certificate that is none of ours.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// A certificate of one cluster with the authority of another.
    #[error("the authority is that of {met}, expected that of {expected}")]
    Cluster {
        /// The cluster of the authority.
        met: Name,
        /// The cluster of the certificate.
        expected: Name,
    },
    /// A list of revocations that is none, or not the authority's.
    #[error("the list of revocations: {problem}")]
    Revocations {
        /// What is wrong.
        problem: String,
    },
    /// A certificate that the list of revocations beside it names.
    #[error("the certificate of {name} is revoked: it needs another")]
    Revoked {
        /// Whose it is.
        name: Name,
    },
    /// A key that does not belong to the certificate.
    #[error("the key does not belong to the first certificate: {problem}")]
    Key {
        /// What is wrong.
        problem: String,
    },
}

impl Pem {
    /// `certificates` and a key in PKCS #8.
    pub(super) fn of(certificates: &[CertificateDer<'_>], key: &[u8]) -> Self {
        let certificates = certificates.iter();
        Self {
            certificates: certificates
                .map(|certificate| armoured("CERTIFICATE", certificate))
                .collect(),
            key: armoured("PRIVATE KEY", key),
        }
    }

    /// Its certificates, of which there have to be `N`.
    pub(super) fn certificates<const N: usize>(
        &self,
    ) -> Result<[CertificateDer<'static>; N], PemError> {
        let certificates = certificates(&self.certificates)?;
        let met = certificates.len();
        certificates
            .try_into()
            .map_err(|_| PemError::Count { met, expected: N })
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

/// `der` between lines that say what it is.
pub(super) fn armoured(label: &str, der: &[u8]) -> String {
    ::pem::encode(&::pem::Pem::new(label, der))
}
