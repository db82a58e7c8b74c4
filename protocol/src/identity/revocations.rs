use std::collections::BTreeSet;
use std::fmt;

use rustls::pki_types::CertificateRevocationListDer;
use rustls::pki_types::pem::PemObject;
use x509_parser::prelude::{CertificateRevocationList, FromDer};

use crate::identity::pem::encode_pem;
use crate::identity::{PemError, Serial};

/// The revoked certificates of an authority, signed by it: a certificate revocation list.
///
/// Each list is cumulative and does not expire: an old list is better than none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revocations {
    serials: BTreeSet<Serial>,
    /// Grows from list to list.
    number: u64,
    list: CertificateRevocationListDer<'static>,
}

impl Revocations {
    /// The list that [`Self::to_pem`] wrote.
    ///
    /// The signature is not checked here, but by
    /// [`Identity::with_revocations`](crate::identity::Identity::with_revocations).
    ///
    /// # Errors
    ///
    /// If `pem` is anything else.
    pub fn from_pem(pem: &str) -> Result<Self, PemError> {
        let mut lists = CertificateRevocationListDer::pem_slice_iter(pem.as_bytes());
        let (Some(Ok(list)), None) = (lists.next(), lists.next()) else {
            return Err(problem(&"expected one list of revocations as PEM"));
        };
        Self::parse(list)
    }

    pub(super) fn parse(list: CertificateRevocationListDer<'static>) -> Result<Self, PemError> {
        let (rest, parsed) =
            CertificateRevocationList::from_der(&list).map_err(|error| problem(&error))?;
        if !rest.is_empty() {
            let behind = format!("{} bytes follow it", rest.len());
            return Err(problem(&behind));
        }
        let number = parsed.crl_number().map(|number| number.to_u64_digits());
        let number = match number.as_deref() {
            Some([]) => 0,
            Some([number]) => *number,
            Some(_) | None => return Err(problem(&"it has no number of 64 bits")),
        };
        let serials = parsed.iter_revoked_certificates();
        let serials: Result<_, _> = serials
            .map(|revoked| Serial::from_bytes(revoked.raw_serial()))
            .collect();
        Ok(Self {
            serials: serials.map_err(|error| problem(&error))?,
            number,
            list,
        })
    }

    /// The list as text.
    #[must_use]
    pub fn to_pem(&self) -> String {
        encode_pem("X509 CRL", &self.list)
    }

    /// The serial numbers of the revoked certificates.
    #[must_use]
    pub const fn serials(&self) -> &BTreeSet<Serial> {
        &self.serials
    }

    /// Its number: the time at which it was signed, in seconds since 1970, or later than the number of the list before.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// Checks that it may replace `known`, which it does if it is newer, or as new and revokes all that `known` revokes.
    ///
    /// # Errors
    ///
    /// If it is older.
    pub fn check_succeeds(&self, known: &Self) -> Result<(), PemError> {
        let is_as_new = self.number == known.number && known.serials.is_subset(&self.serials);
        if is_as_new || known.number < self.number {
            return Ok(());
        }
        Err(PemError::Outdated {
            found: self.number,
            known: known.number,
        })
    }

    pub(crate) const fn list(&self) -> &CertificateRevocationListDer<'static> {
        &self.list
    }
}

pub(super) fn problem(problem: &dyn fmt::Display) -> PemError {
    PemError::Revocations {
        problem: problem.to_string(),
    }
}
