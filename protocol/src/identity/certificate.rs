//! Certificates: what they contain, and their text.

use std::fmt;
use std::time::{Duration, SystemTime};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::identity::names::SCHEME;
use crate::identity::{Name, Serial, SerialError, Subject, SubjectError, Validity, ValidityError};

/// The contents of a certificate. Its signature is not checked here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// Its subject.
    pub subject: Subject,
    /// When it may be used.
    pub validity: Validity,
    /// Its serial number, by which the authority can revoke it.
    pub serial: Serial,
}

/// Why bytes are not a certificate of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CertificateError {
    /// Not X.509.
    #[error("not an X.509 certificate: {problem}")]
    Format {
        /// The error of the parser.
        problem: String,
    },
    /// A wrong number of URIs or DNS names.
    #[error("a certificate with {found} {what}, expected one: issue it with this program")]
    Names {
        /// The kind of names.
        what: &'static str,
        /// Their number.
        found: usize,
    },
    /// A URI that is not a subject.
    #[error("a certificate for {0}")]
    Subject(#[from] SubjectError),
    /// A DNS name that differs from the name of the subject.
    #[error("a certificate for {subject} with the DNS name {found:?}, expected the same name")]
    Dns {
        /// The subject of the URI.
        subject: String,
        /// The DNS name.
        found: String,
    },
    /// An invalid time of validity.
    #[error("a certificate {0}")]
    Validity(#[from] ValidityError),
    /// An invalid serial number.
    #[error("a certificate with an {0}")]
    Serial(#[from] SerialError),
}

impl Certificate {
    /// Parses the certificate of a node, a Set Manager or a client.
    ///
    /// # Errors
    ///
    /// If `der` is anything else. It may hold any bytes.
    pub fn parse(der: &[u8]) -> Result<Self, CertificateError> {
        let parts = Parts::parse(der)?;
        let subject: Subject = parts.uri.parse()?;
        let [dns] = &parts.dns[..] else {
            return Err(CertificateError::Names {
                what: "DNS names",
                found: parts.dns.len(),
            });
        };
        if dns != subject.name.as_str() {
            return Err(CertificateError::Dns {
                subject: subject.to_string(),
                found: dns.chars().take(80).collect(),
            });
        }
        Ok(Self {
            subject,
            validity: parts.validity,
            serial: parts.serial,
        })
    }
}

/// Parses the certificate of an authority: its cluster, validity and serial number.
pub(crate) fn parse_authority(der: &[u8]) -> Result<(Name, Validity, Serial), CertificateError> {
    let parts = Parts::parse(der)?;
    let cluster = parts.uri.strip_prefix(SCHEME).unwrap_or(&parts.uri);
    let cluster = cluster.parse().map_err(SubjectError::Name)?;
    Ok((cluster, parts.validity, parts.serial))
}

/// The parts of a certificate that are used.
struct Parts {
    uri: String,
    dns: Vec<String>,
    validity: Validity,
    serial: Serial,
}

impl Parts {
    fn parse(der: &[u8]) -> Result<Self, CertificateError> {
        let format = |problem: String| CertificateError::Format { problem };
        let (rest, certificate) =
            X509Certificate::from_der(der).map_err(|error| format(error.to_string()))?;
        if !rest.is_empty() {
            return Err(format(format!("{} bytes follow it", rest.len())));
        }
        let names = certificate
            .subject_alternative_name()
            .map_err(|error| format(error.to_string()))?;
        let names = names.map_or(&[][..], |extension| &extension.value.general_names);
        let (mut uris, mut dns) = (Vec::new(), Vec::new());
        for name in names {
            if let GeneralName::URI(uri) = name {
                uris.push((*uri).to_owned());
            } else if let GeneralName::DNSName(name) = name {
                dns.push((*name).to_owned());
            }
        }
        let found = uris.len();
        let [uri] = <[String; 1]>::try_from(uris).map_err(|_| CertificateError::Names {
            what: "URIs",
            found,
        })?;
        let time = |seconds: i64| {
            let seconds = u64::try_from(seconds).unwrap_or_default();
            SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
        };
        let from = time(certificate.validity().not_before.timestamp());
        let until = time(certificate.validity().not_after.timestamp());
        let validity = Validity::new(from, until)?;
        Ok(Self {
            uri,
            dns,
            validity,
            serial: Serial::from_bytes(certificate.raw_serial())?,
        })
    }
}

/// The public contents of a certificate. Its signature is not checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedCertificate {
    /// Its holder.
    pub holder: Holder,
    /// When it may be used.
    pub validity: Validity,
    /// Its serial number, by which the authority can revoke it.
    pub serial: Serial,
    /// The certificate in DER, as fingerprints need it.
    pub der: Vec<u8>,
}

/// The holder of a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// The authority of a cluster.
    Authority(Name),
    /// A node, a Set Manager or a client.
    Member(Subject),
}

impl ListedCertificate {
    /// Parses all certificates of a text in PEM, in order; at least one.
    ///
    /// # Errors
    ///
    /// If there is none, or one does not belong to a cluster.
    pub fn from_pem(text: &str) -> Result<Vec<Self>, PemError> {
        let certificates = certificates(text)?;
        if certificates.is_empty() {
            return Err(PemError::Count {
                found: 0,
                expected: 1,
            });
        }
        certificates.iter().map(|der| Self::from_der(der)).collect()
    }

    fn from_der(der: &[u8]) -> Result<Self, PemError> {
        let (holder, validity, serial) = match parse_authority(der) {
            Ok((cluster, validity, serial)) => (Holder::Authority(cluster), validity, serial),
            Err(_) => {
                let Certificate {
                    subject,
                    validity,
                    serial,
                } = Certificate::parse(der)?;
                (Holder::Member(subject), validity, serial)
            }
        };
        let der = der.to_vec();
        Ok(Self {
            holder,
            validity,
            serial,
            der,
        })
    }
}

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
    /// A certificate of another member than the name of its file says.
    #[error("the certificate is for {found}, and the file is named for {expected}")]
    Name {
        /// The name in the certificate.
        found: Name,
        /// The name of the file.
        expected: Name,
    },
    /// A key that does not belong to the certificate.
    #[error("the key beside it does not belong to the first certificate: {problem}")]
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
