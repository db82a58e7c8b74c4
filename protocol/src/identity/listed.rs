use crate::identity::{Certificate, Name, PemError, Serial, Subject, Validity, authority_of, pem};

/// A certificate as anybody can read it. No key is needed for that; who signed it is not asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Whom it is about.
    pub holder: Holder,
    /// When it may be used.
    pub validity: Validity,
    /// Its number, by which its authority can revoke it.
    pub serial: Serial,
    /// The certificate itself, in DER: what fingerprints are made of.
    pub der: Vec<u8>,
}

/// Whom a certificate is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// The authority of this cluster.
    Authority(Name),
    /// A node, a Set Manager or a client.
    Member(Subject),
}

impl Listed {
    /// All certificates of a text in PEM, in its order; at least one.
    ///
    /// # Errors
    ///
    /// If there is none, or one that is not of a cluster.
    pub fn all(text: &str) -> Result<Vec<Self>, PemError> {
        let certificates = pem::certificates(text)?;
        if certificates.is_empty() {
            return Err(PemError::Count {
                met: 0,
                expected: 1,
            });
        }
        certificates.iter().map(|der| Self::one(der)).collect()
    }

    fn one(der: &[u8]) -> Result<Self, PemError> {
        let (holder, validity, serial) = match authority_of(der) {
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
