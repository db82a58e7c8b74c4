use crate::identity::certificate::parse_authority;
use crate::identity::{Certificate, Name, PemError, Serial, Subject, Validity, pem};

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
        let certificates = pem::certificates(text)?;
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
