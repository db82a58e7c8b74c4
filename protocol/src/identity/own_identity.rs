use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use rustls::RootCertStore;
use rustls::crypto::ring::default_provider;
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::sign::CertifiedKey;

use crate::identity::certificate::parse_authority;
use crate::identity::revocations::problem;
use crate::identity::{Certificate, Pem, PemError, Revocations};

/// The identity of an endpoint: its certificate and key, and the authority whose certificates it trusts.
pub struct Identity {
    certificate: Certificate,
    own: CertificateDer<'static>,
    authority: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
    revoked: Option<Revocations>,
}

impl Clone for Identity {
    fn clone(&self) -> Self {
        Self {
            certificate: self.certificate.clone(),
            own: self.own.clone(),
            authority: self.authority.clone(),
            key: self.key.clone_key(),
            revoked: self.revoked.clone(),
        }
    }
}

impl Identity {
    pub(super) const fn new(
        certificate: Certificate,
        own: CertificateDer<'static>,
        authority: CertificateDer<'static>,
        key: PrivateKeyDer<'static>,
    ) -> Self {
        Self {
            certificate,
            own,
            authority,
            key,
            revoked: None,
        }
    }

    /// The identity that [`Self::to_pem`] wrote: its certificate, then the authority's, and its key.
    ///
    /// Its signature and validity are not checked here; its peers check them.
    ///
    /// # Errors
    ///
    /// If `pem` is anything else.
    pub fn from_pem(pem: &Pem) -> Result<Self, PemError> {
        let [own, authority] = pem.certificates()?;
        let certificate = Certificate::parse(&own)?;
        let (cluster, ..) = parse_authority(&authority)?;
        if cluster != certificate.subject.cluster {
            return Err(PemError::Cluster {
                found: cluster,
                expected: certificate.subject.cluster,
            });
        }
        let key = pem.key()?;
        check_key(&own, &key)?;
        Ok(Self::new(certificate, own, authority, key))
    }

    /// The same identity, which refuses peers with revoked certificates.
    ///
    /// # Errors
    ///
    /// If the authority did not sign `revocations`, or they contain the certificate of this identity.
    pub fn with_revocations(self, revocations: Revocations) -> Result<Self, PemError> {
        self.check_signature(&revocations)?;
        if revocations.serials().contains(&self.certificate.serial) {
            let name = self.certificate.subject.name;
            return Err(PemError::Revoked { name });
        }
        Ok(Self {
            revoked: Some(revocations),
            ..self
        })
    }

    /// Checks that the authority signed `revocations`.
    pub(crate) fn check_signature(&self, revocations: &Revocations) -> Result<(), PemError> {
        let mut roots = RootCertStore::empty();
        roots
            .add(self.authority.clone())
            .map_err(|error| problem(&error))?;
        let provider = Arc::new(default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
            .with_crls([revocations.list().clone()])
            .only_check_end_entity_revocation()
            .build()
            .map_err(|error| problem(&error))?;
        // A list is only checked with a certificate. The own one serves, at a time when it is valid.
        let day = self.certificate.validity.from();
        let day = day.duration_since(SystemTime::UNIX_EPOCH);
        let day = UnixTime::since_unix_epoch(day.unwrap_or_default());
        match verifier.verify_client_cert(&self.own, &[], day) {
            Ok(_) | Err(rustls::Error::InvalidCertificate(rustls::CertificateError::Revoked)) => {
                Ok(())
            }
            Err(error) => Err(problem(&error)),
        }
    }

    /// Certificates and key as text.
    #[must_use]
    pub fn to_pem(&self) -> Pem {
        let certificates = [self.own.clone(), self.authority.clone()];
        Pem::new(&certificates, self.key.secret_der())
    }

    /// The contents of the certificate.
    #[must_use]
    pub const fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// The certificate as bytes.
    pub(crate) const fn own(&self) -> &CertificateDer<'static> {
        &self.own
    }

    /// The certificate of the authority.
    pub(crate) const fn authority(&self) -> &CertificateDer<'static> {
        &self.authority
    }

    /// The list of revoked certificates.
    pub(crate) const fn revocations(&self) -> Option<&Revocations> {
        self.revoked.as_ref()
    }

    pub(crate) fn key(&self) -> PrivateKeyDer<'static> {
        self.key.clone_key()
    }
}

/// Without its key.
impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity")
            .field("certificate", &self.certificate)
            .finish_non_exhaustive()
    }
}

/// Checks that `key` belongs to `certificate`.
pub(super) fn check_key(
    certificate: &CertificateDer<'static>,
    key: &PrivateKeyDer<'static>,
) -> Result<(), PemError> {
    let problem = |error: rustls::Error| PemError::Key {
        problem: error.to_string(),
    };
    let key = any_supported_type(key).map_err(problem)?;
    CertifiedKey::new(vec![certificate.clone()], key)
        .keys_match()
        .map_err(problem)
}
