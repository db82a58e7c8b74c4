//! The authority of a cluster, the identities that it issues, and the certificates that it revokes.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::Arc;
use std::time::SystemTime;

use rcgen::string::Ia5String;
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, DistinguishedName,
    DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyIdMethod, KeyPair, KeyUsagePurpose,
    RevokedCertParams, SanType,
};
use rustls::RootCertStore;
use rustls::crypto::ring::default_provider;
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{
    CertificateDer, CertificateRevocationListDer, PrivateKeyDer, PrivatePkcs8KeyDer, UnixTime,
};
use rustls::server::WebPkiClientVerifier;
use rustls::sign::CertifiedKey;
use time::OffsetDateTime;
use x509_parser::prelude::{CertificateRevocationList, FromDer, X509Certificate};

use crate::identity::certificate::{encode_pem, parse_authority};
use crate::identity::names::SCHEME;
use crate::identity::{
    Certificate, ListedCertificate, Name, Pem, PemError, Role, Serial, Subject, Validity,
};

/// The identity of an endpoint: its certificate and key, and the authority whose certificates it trusts.
pub struct Identity {
    certificate: Certificate,
    own: CertificateDer<'static>,
    authority: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
    revoked: Option<Revocations>,
    /// Where its files are, if it is of files.
    folder: Option<PathBuf>,
}

impl Clone for Identity {
    fn clone(&self) -> Self {
        Self {
            certificate: self.certificate.clone(),
            own: self.own.clone(),
            authority: self.authority.clone(),
            key: self.key.clone_key(),
            revoked: self.revoked.clone(),
            folder: self.folder.clone(),
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
            folder: None,
        }
    }

    /// The same identity, whose files are in `folder`.
    pub(super) fn in_folder(self, folder: &Path) -> Self {
        Self {
            folder: Some(folder.to_owned()),
            ..self
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

    /// The folder of its files, which may be renewed there; `None`: it is of no files.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
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
fn check_key(
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

/// The certificate authority of a cluster: it issues and revokes the certificates of the members.
///
/// It lives in memory; [`files`](crate::identity::files) reads and writes it.
pub struct Authority {
    cluster: Name,
    validity: Validity,
    certificate: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
}

/// Why a certificate could not be issued.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IssueError {
    /// A certificate that would outlive its authority.
    #[error(
        "valid until {found:?}, expected at most {limit:?}, when the authority expires: \
         choose a shorter validity, or make a new authority"
    )]
    Outlives {
        /// When the certificate would expire.
        found: SystemTime,
        /// When the authority expires.
        limit: SystemTime,
    },
    /// Generating a key or signing failed.
    #[error("making a certificate: {0}")]
    Crypto(#[from] rcgen::Error),
}

impl Authority {
    /// A new authority with a new key.
    ///
    /// # Errors
    ///
    /// If the system has no random numbers for a key.
    pub fn generate(cluster: Name, validity: Validity) -> Result<Self, IssueError> {
        let uri = format!("{SCHEME}{cluster}");
        let mut params = params(&format!("migbsp authority of {cluster}"), validity);
        params.subject_alt_names = vec![SanType::URI(Ia5String::try_from(uri)?)];
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate()?;
        let certificate = params.self_signed(&key)?.der().clone();
        Ok(Self {
            cluster,
            validity,
            certificate,
            issuer: Issuer::new(params, key),
        })
    }

    /// The authority that [`Self::to_pem`] wrote.
    ///
    /// # Errors
    ///
    /// If `pem` is not one certificate of an authority and the key that belongs to it.
    pub fn from_pem(pem: &Pem) -> Result<Self, PemError> {
        let [certificate] = pem.certificates()?;
        let (cluster, validity, _) = parse_authority(&certificate)?;
        let problem = |problem: String| PemError::Key { problem };
        let key = KeyPair::from_pem(&pem.key).map_err(|error| problem(error.to_string()))?;
        check_key(
            &certificate,
            &PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
        )?;
        let issuer = Issuer::from_ca_cert_der(&certificate, key)
            .map_err(|error| problem(error.to_string()))?;
        Ok(Self {
            cluster,
            validity,
            certificate,
            issuer,
        })
    }

    /// Its certificate and key as text.
    #[must_use]
    pub fn to_pem(&self) -> Pem {
        Pem::new(
            slice::from_ref(&self.certificate),
            self.issuer.key().serialized_der(),
        )
    }

    /// Issues a certificate for `name`, with a new key.
    ///
    /// # Errors
    ///
    /// If it would outlive the authority, or the system has no random numbers.
    pub fn issue(
        &self,
        role: Role,
        name: &Name,
        validity: Validity,
    ) -> Result<Identity, IssueError> {
        let (found, limit) = (validity.until(), self.validity.until());
        if limit < found {
            return Err(IssueError::Outlives { found, limit });
        }
        let subject = Subject {
            cluster: self.cluster.clone(),
            role,
            name: name.clone(),
        };
        let mut params = params(name.as_str(), validity);
        params.subject_alt_names = vec![
            SanType::DnsName(Ia5String::try_from(name.as_str())?),
            SanType::URI(Ia5String::try_from(subject.to_string())?),
        ];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?.der().clone();
        Ok(Identity::new(
            issued(&certificate),
            certificate,
            self.certificate.clone(),
            PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
        ))
    }

    /// Signs the list of all revoked `serials`, as of `now`. It replaces the previous list.
    ///
    /// # Errors
    ///
    /// If the authority has expired by `now`.
    pub fn revoke(
        &self,
        serials: &BTreeSet<Serial>,
        now: SystemTime,
    ) -> Result<Revocations, IssueError> {
        self.sign(serials, now, 0)
    }

    /// Signs a list of `serials` and those of `previous`, as of `now`, which replaces `previous` whatever the clock says.
    ///
    /// # Errors
    ///
    /// As [`revoke`](Self::revoke).
    pub fn revoke_after(
        &self,
        previous: &Revocations,
        serials: &BTreeSet<Serial>,
        now: SystemTime,
    ) -> Result<Revocations, IssueError> {
        let all = previous.serials().union(serials).cloned().collect();
        self.sign(&all, now, previous.number().saturating_add(1))
    }

    fn sign(
        &self,
        serials: &BTreeSet<Serial>,
        now: SystemTime,
        least: u64,
    ) -> Result<Revocations, IssueError> {
        let seconds = now.duration_since(SystemTime::UNIX_EPOCH);
        let number = seconds.unwrap_or_default().as_secs().max(least);
        let revoked = serials.iter().map(|serial| RevokedCertParams {
            serial_number: serial.as_bytes().to_owned().into(),
            revocation_time: now.into(),
            reason_code: None,
            invalidity_date: None,
        });
        let params = CertificateRevocationListParams {
            this_update: now.into(),
            next_update: self.validity.until().into(),
            crl_number: number.into(),
            issuing_distribution_point: None,
            revoked_certs: revoked.collect(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        Ok(signed(params.signed_by(&self.issuer)?.into()))
    }

    /// Whether it signed the certificate `listed`, even if that has expired.
    #[must_use]
    pub fn has_issued(&self, listed: &ListedCertificate) -> bool {
        let parsed = X509Certificate::from_der(&listed.der);
        parsed.is_ok_and(|(_, certificate)| {
            let signer = self.parsed();
            let signed = certificate.verify_signature(Some(signer.public_key()));
            signed.is_ok()
        })
    }

    /// Whether it signed the list `revocations`.
    #[must_use]
    pub fn has_signed(&self, revocations: &Revocations) -> bool {
        let parsed = CertificateRevocationList::from_der(revocations.list());
        parsed.is_ok_and(|(_, list)| list.verify_signature(self.parsed().public_key()).is_ok())
    }

    /// Its cluster.
    #[must_use]
    pub const fn cluster(&self) -> &Name {
        &self.cluster
    }

    /// When it may issue certificates.
    #[must_use]
    pub const fn validity(&self) -> Validity {
        self.validity
    }

    fn parsed(&self) -> X509Certificate<'_> {
        let (_, certificate) = X509Certificate::from_der(&self.certificate)
            .expect("the certificate of an authority was generated or parsed here");
        certificate
    }
}

/// Without its key.
impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authority")
            .field("cluster", &self.cluster)
            .field("validity", &self.validity)
            .finish_non_exhaustive()
    }
}

fn issued(der: &[u8]) -> Certificate {
    Certificate::parse(der).expect("an issued certificate can be parsed")
}

fn signed(list: CertificateRevocationListDer<'static>) -> Revocations {
    Revocations::parse(list).expect("a signed list can be parsed")
}

fn params(common_name: &str, validity: Validity) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    let short: String = common_name.chars().take(COMMON_NAME_MAX).collect();
    params.distinguished_name.push(DnType::CommonName, short);
    params.not_before = OffsetDateTime::from(validity.from());
    params.not_after = OffsetDateTime::from(validity.until());
    params
}

/// Characters of a common name that X.509 allows.
const COMMON_NAME_MAX: usize = 64;

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
