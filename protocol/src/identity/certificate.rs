use std::time::{Duration, SystemTime};

use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::identity::subject::SCHEME;
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
