use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use crate::identity::{Certificate, Revocations};
use crate::transport::close::CertificateEnd;

/// Which certificates an endpoint still accepts: those that have neither expired nor been revoked.
#[derive(Debug)]
pub(super) struct Standing {
    own: Certificate,
    revocations: Mutex<Option<Arc<Revocations>>>,
}

impl Standing {
    /// The standing of an endpoint with the certificate `own`.
    pub(super) fn new(own: Certificate, revocations: Option<Revocations>) -> Self {
        let revocations = Mutex::new(revocations.map(Arc::new));
        Self { own, revocations }
    }

    /// The list of revocations in force.
    pub(super) fn revocations(&self) -> Option<Arc<Revocations>> {
        // Assignments leave no partial value behind.
        let revocations = self.revocations.lock();
        revocations.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the list of revocations.
    pub(super) fn set_revocations(&self, revocations: Revocations) {
        let current = self.revocations.lock();
        *current.unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(revocations));
    }

    /// Why the connection to the holder of `peer` may not go on at `now`, if so.
    pub(super) fn end(&self, peer: &Certificate, now: SystemTime) -> Option<CertificateEnd> {
        let revocations = self.revocations();
        [peer, &self.own].into_iter().find_map(|certificate| {
            let Certificate {
                subject,
                validity,
                serial,
            } = certificate;
            let subject = subject.clone();
            let is_revoked = |list: &Revocations| list.serials().contains(serial);
            if revocations.as_deref().is_some_and(is_revoked) {
                return Some(CertificateEnd::Revoked { subject });
            }
            // The last second belongs to the validity, as in the verification of certificates.
            let has_expired = validity.until() + Duration::from_secs(1) <= now;
            has_expired.then_some(CertificateEnd::Expired { subject })
        })
    }
}
