use std::collections::BTreeSet;
use std::time::SystemTime;
use std::{fmt, slice};

use rcgen::string::Ia5String;
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, DistinguishedName,
    DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyIdMethod, KeyPair, KeyUsagePurpose,
    RevokedCertParams, SanType,
};
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivatePkcs8KeyDer};
use time::OffsetDateTime;
use x509_parser::prelude::{CertificateRevocationList, FromDer, X509Certificate};

use crate::identity::certificate::parse_authority;
use crate::identity::own_identity::check_key;
use crate::identity::subject::SCHEME;
use crate::identity::{
    Certificate, Identity, ListedCertificate, Name, Pem, PemError, Revocations, Role, Serial,
    Subject, Validity,
};

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
