use std::time::{Duration, SystemTime};

use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::identity::subject::SCHEME;
use crate::identity::{Name, Serial, SerialError, Subject, SubjectError, Validity, ValidityError};

/// What a certificate says of its holder. Whether it is signed by whom it should is not asked here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// Whom it is about.
    pub subject: Subject,
    /// When it may be used.
    pub validity: Validity,
    /// Its number, by which its authority can revoke it.
    pub serial: Serial,
}

/// Why bytes are no certificate of a cluster.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CertificateError {
    /// Not X.509.
    #[error("no X.509 certificate: {problem}")]
    Format {
        /// What the parser says.
        problem: String,
    },
    /// A wrong number of names that say who it is.
    #[error("a certificate with {met} names {what}, expected one: issue it with this program")]
    Names {
        /// Which names.
        what: &'static str,
        /// How many there are.
        met: usize,
    },
    /// A URI that names no subject.
    #[error("a certificate for {0}")]
    Subject(#[from] SubjectError),
    /// A DNS name that is another than the subject's.
    #[error("a certificate for {subject} with the DNS name {met:?}, expected the same name")]
    Dns {
        /// The subject of the URI.
        subject: String,
        /// The DNS name.
        met: String,
    },
    /// Times that are none.
    #[error("a certificate {0}")]
    Validity(#[from] ValidityError),
    /// A serial number that is none.
    #[error("a certificate whose serial number {0}")]
    Serial(#[from] SerialError),
}

impl Certificate {
    /// Reads a certificate of a node, a Set Manager or a client.
    ///
    /// # Errors
    ///
    /// If `der` is anything else. Never panics, whatever the bytes.
    pub fn parse(der: &[u8]) -> Result<Self, CertificateError> {
        let parts = Parts::parse(der)?;
        let subject: Subject = parts.uri.parse()?;
        let [dns] = &parts.dns[..] else {
            return Err(CertificateError::Names {
                what: "of the DNS",
                met: parts.dns.len(),
            });
        };
        if dns != subject.name.as_str() {
            return Err(CertificateError::Dns {
                subject: subject.to_string(),
                met: dns.chars().take(80).collect(),
            });
        }
        Ok(Self {
            subject,
            validity: parts.validity,
            serial: parts.serial,
        })
    }
}

/// The cluster whose authority has the certificate `der`, how long it is valid, and its number.
pub(crate) fn authority_of(der: &[u8]) -> Result<(Name, Validity, Serial), CertificateError> {
    let parts = Parts::parse(der)?;
    let cluster = parts.uri.strip_prefix(SCHEME).unwrap_or(&parts.uri);
    let cluster = cluster.parse().map_err(SubjectError::Name)?;
    Ok((cluster, parts.validity, parts.serial))
}

/// What we read of any certificate.
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
            return Err(format(format!("{} bytes behind it", rest.len())));
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
        let met = uris.len();
        let [uri] = <[String; 1]>::try_from(uris).map_err(|_| CertificateError::Names {
            what: "that are URIs",
            met,
        })?;
        let time = |seconds: i64| {
            let seconds = u64::try_from(seconds).unwrap_or_default();
            SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
        };
        let from = time(certificate.validity().not_before.timestamp());
        let until = time(certificate.validity().not_after.timestamp());
        let validity = Validity::between(from, until)?;
        Ok(Self {
            uri,
            dns,
            validity,
            serial: Serial::from_bytes(certificate.raw_serial())?,
        })
    }
}
