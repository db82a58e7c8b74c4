//! TLS 1.3 with certificates at both ends, and what a certificate must say in addition to being signed.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{NoServerSessionStorage, VerifierBuilderError, WebPkiClientVerifier};
use rustls::version::TLS13;
use rustls::{
    CertificateError as Unfit, DigitallySignedStruct, DistinguishedName, OtherError, RootCertStore,
    SignatureScheme,
};

use crate::WIRE_VERSION;
use crate::identity::{Certificate, Identity, Name, Revocations, Role, Subject, date};

/// The protocol that both ends name in the TLS handshake.
#[must_use]
pub fn alpn() -> Vec<u8> {
    format!("migbsp/{WIRE_VERSION}").into_bytes()
}

/// The configuration of an endpoint that accepts connections.
pub(super) fn server(
    identity: &Identity,
    revocations: Option<&Revocations>,
    policy: PeerPolicy,
) -> Result<Arc<QuicServerConfig>, rustls::Error> {
    let config = QuicServerConfig::try_from(server_config(identity, revocations, policy)?);
    Ok(Arc::new(config.expect("TLS 1.3 of ring has initial keys")))
}

fn server_config(
    identity: &Identity,
    revocations: Option<&Revocations>,
    policy: PeerPolicy,
) -> Result<rustls::ServerConfig, rustls::Error> {
    let check = ClientVerifier {
        inner: member_verifier(identity, revocations)?,
        own: identity.certificate().subject.clone(),
        policy,
    };
    let mut config = rustls::ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])?
        .with_client_cert_verifier(Arc::new(check))
        .with_single_cert(vec![identity.own().clone()], identity.key())?;
    config.alpn_protocols = vec![alpn()];
    // No resumption, and therefore no data before the handshake.
    config.send_tls13_tickets = 0;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.max_early_data_size = 0;
    Ok(config)
}

/// The configuration for connecting to `expected`.
pub(super) fn client(
    identity: &Identity,
    revocations: Option<&Revocations>,
    expected: Subject,
) -> Result<Arc<QuicClientConfig>, rustls::Error> {
    let config = QuicClientConfig::try_from(client_config(identity, revocations, expected)?);
    Ok(Arc::new(config.expect("TLS 1.3 of ring has initial keys")))
}

fn client_config(
    identity: &Identity,
    revocations: Option<&Revocations>,
    expected: Subject,
) -> Result<rustls::ClientConfig, rustls::Error> {
    let provider = provider();
    let roots = Arc::new(roots(identity)?);
    let inner = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider))
        .with_crls(revocations.map(|list| list.list().clone()))
        .only_check_end_entity_revocation()
        .build()
        .map_err(|error| builder_error(&error))?;
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(ServerVerifier {
            inner,
            own: identity.certificate().subject.clone(),
            expected,
        }))
        .with_client_auth_cert(vec![identity.own().clone()], identity.key())?;
    config.alpn_protocols = vec![alpn()];
    config.resumption = Resumption::disabled();
    config.enable_early_data = false;
    Ok(config)
}

/// Verifies certificates that the authority of `identity` has issued and not revoked.
fn member_verifier(
    identity: &Identity,
    revocations: Option<&Revocations>,
) -> Result<Arc<dyn ClientCertVerifier>, rustls::Error> {
    WebPkiClientVerifier::builder_with_provider(Arc::new(roots(identity)?), provider())
        .with_crls(revocations.map(|list| list.list().clone()))
        .only_check_end_entity_revocation()
        .build()
        .map_err(|error| builder_error(&error))
}

/// The certificate `der`, if it is that of a member of the cluster of `identity` at `now`.
pub(super) fn member(
    identity: &Identity,
    revocations: Option<&Revocations>,
    der: &CertificateDer<'_>,
    now: UnixTime,
) -> Result<Certificate, RefusedCertificate> {
    let own = &identity.certificate().subject;
    let refused = |error: rustls::Error| {
        let refused = RefusedCertificate::of(&error, der, (own, None), now);
        refused.unwrap_or_else(|| RefusedCertificate::Other {
            problem: error.to_string(),
        })
    };
    let verifier = member_verifier(identity, revocations).map_err(refused)?;
    let _verified = verifier
        .verify_client_cert(der, &[], now)
        .map_err(refused)?;
    parsed(der, own)
}

/// Checks the certificate of a connecting peer: first its signature, then its subject.
#[derive(Debug)]
struct ClientVerifier {
    inner: Arc<dyn ClientCertVerifier>,
    own: Subject,
    policy: PeerPolicy,
}

impl ClientCertVerifier for ClientVerifier {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.inner.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        let verified = self
            .inner
            .verify_client_cert(end_entity, intermediates, now)
            .map_err(|error| explained(error, end_entity, (&self.own, None), now))?;
        let subject = subject(end_entity, &self.own)?;
        if !self.policy.allows(&subject) {
            let refused = RefusedCertificate::by_policy(subject, &self.own, &self.policy);
            return Err(invalid_certificate(refused));
        }
        Ok(verified)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

/// Checks the certificate of the peer that this endpoint connects to.
#[derive(Debug)]
struct ServerVerifier {
    inner: Arc<WebPkiServerVerifier>,
    own: Subject,
    expected: Subject,
}

impl ServerCertVerifier for ServerVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let of = (&self.own, Some(&self.expected));
        let verified = self
            .inner
            .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
            .map_err(|error| explained(error, end_entity, of, now))?;
        let found = subject(end_entity, &self.own)?;
        let expected = self.expected.clone();
        if found.name != expected.name {
            return Err(invalid_certificate(RefusedCertificate::Name {
                found,
                expected,
            }));
        }
        if !found.role.serves_as(expected.role) {
            let expected = expected.role;
            return Err(invalid_certificate(RefusedCertificate::Role {
                found,
                expected,
            }));
        }
        Ok(verified)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

/// The subject of a certificate whose signature has been verified.
fn subject(certificate: &CertificateDer<'_>, own: &Subject) -> Result<Subject, rustls::Error> {
    let parsed = parsed(certificate, own).map_err(invalid_certificate)?;
    Ok(parsed.subject)
}

/// The contents of a certificate whose signature has been verified.
fn parsed(der: &[u8], own: &Subject) -> Result<Certificate, RefusedCertificate> {
    let certificate = Certificate::parse(der).map_err(|problem| RefusedCertificate::Other {
        problem: problem.to_string(),
    })?;
    if certificate.subject.cluster != own.cluster {
        return Err(RefusedCertificate::Cluster {
            subject: certificate.subject,
            own: own.clone(),
        });
    }
    Ok(certificate)
}

/// `error` of the verification of a certificate as a sentence.
fn explained(
    error: rustls::Error,
    certificate: &CertificateDer<'_>,
    of: (&Subject, Option<&Subject>),
    now: UnixTime,
) -> rustls::Error {
    RefusedCertificate::of(&error, certificate, of, now).map_or(error, invalid_certificate)
}

fn invalid_certificate(refused: RefusedCertificate) -> rustls::Error {
    rustls::Error::InvalidCertificate(Unfit::Other(OtherError(Arc::new(refused))))
}

fn builder_error(error: &VerifierBuilderError) -> rustls::Error {
    rustls::Error::General(error.to_string())
}

fn roots(identity: &Identity) -> Result<RootCertStore, rustls::Error> {
    let mut roots = RootCertStore::empty();
    roots.add(identity.authority().clone())?;
    Ok(roots)
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// Which members of the cluster may connect to an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeerPolicy {
    /// None: the endpoint only opens connections.
    RefuseAll,
    /// All members in one of these roles.
    Roles(BTreeSet<Role>),
    /// The members with these names and roles.
    Listed(BTreeSet<(Name, Role)>),
}

impl PeerPolicy {
    /// Whether `subject` may connect.
    pub(super) fn allows(&self, subject: &Subject) -> bool {
        match self {
            Self::RefuseAll => false,
            Self::Roles(roles) => roles.contains(&subject.role),
            Self::Listed(members) => members.contains(&(subject.name.clone(), subject.role)),
        }
    }

    /// The role in which the member `name` may connect, if one is listed.
    fn role_of(&self, name: &Name) -> Option<Role> {
        match self {
            Self::RefuseAll | Self::Roles(_) => None,
            Self::Listed(members) => {
                let mut members = members.iter();
                members
                    .find(|(known, _)| known == name)
                    .map(|(_, role)| *role)
            }
        }
    }

    /// What is allowed, as a part of an error.
    pub(super) fn expected(&self) -> String {
        match self {
            Self::RefuseAll => "no connection".to_owned(),
            Self::Roles(roles) => {
                let names: Vec<_> = roles.iter().map(Role::to_string).collect();
                names.join(" or ")
            }
            Self::Listed(members) => format!("one of the {} listed members", members.len()),
        }
    }
}

/// Why the certificate of a peer is refused.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum RefusedCertificate {
    /// It has ended, by the clock of this end.
    #[error(
        "the certificate of {} has expired: it ended {}, and the clock of {own} says {}; check the clock, or issue \
         a new one with `cert issue` (`cert show` lists dates)",
        called(subject), date(*until), date(*now)
    )]
    Expired {
        subject: Subject,
        until: SystemTime,
        own: Name,
        now: SystemTime,
    },
    /// It has not begun, by the clock of this end.
    #[error(
        "the certificate of {} is not valid yet: it begins {}, and the clock of {own} says {}; check the clock \
         (`cert show` lists dates)",
        called(subject), date(*from), date(*now)
    )]
    Early {
        subject: Subject,
        from: SystemTime,
        own: Name,
        now: SystemTime,
    },
    /// It is of another cluster.
    #[error(
        "{} has a certificate of cluster {}, and {} has one of cluster {}: issue both with one authority \
         (`cert show` lists clusters)",
        called(subject), subject.cluster, own.name, own.cluster
    )]
    Cluster { subject: Subject, own: Subject },
    /// The authority is another one with the same name.
    #[error(
        "another authority has issued the certificate of {} than that of {}, though both are called {}: issue both \
         with one (`cert show` lists authorities)",
        called(subject), own.name, own.cluster
    )]
    Authority { subject: Subject, own: Subject },
    /// Another member answers.
    #[error(
        "the certificate is that of {}, expected that of {}: check the address and the name in the hostfile, which \
         has to be that of the certificate",
        called(found),
        called(expected)
    )]
    Name { found: Subject, expected: Subject },
    /// The member has another role.
    #[error("{}", other_role(found, *expected))]
    Role { found: Subject, expected: Role },
    /// The policy of this end allows others.
    #[error("{} may not connect to {own}: only {expected} may", called(found))]
    NotAllowed {
        found: Subject,
        own: Name,
        expected: String,
    },
    /// The authority has taken it back.
    #[error(
        "the authority has revoked the certificate of {}: issue a new one with `cert issue`",
        called(subject)
    )]
    Revoked { subject: Subject },
    /// It is none that this program issues.
    #[error("{problem}; `cert issue` makes certificates that can be used")]
    Other { problem: String },
}

/// As text: `rustls` prints custom errors by `Debug`.
impl fmt::Debug for RefusedCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl RefusedCertificate {
    /// Why `error` came of the certificate `der`, which `own` has verified at `now`, if it is about a certificate.
    /// `expected` is the peer that it should be, if that is known.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "rustls may add errors, which are named as it names them"
    )]
    pub(super) fn of(
        error: &rustls::Error,
        der: &[u8],
        (own, expected): (&Subject, Option<&Subject>),
        now: UnixTime,
    ) -> Option<Self> {
        let rustls::Error::InvalidCertificate(unfit) = error else {
            return None;
        };
        let Certificate {
            subject, validity, ..
        } = match Certificate::parse(der) {
            Ok(certificate) => certificate,
            Err(problem) => {
                let problem = problem.to_string();
                return Some(Self::Other { problem });
            }
        };
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(now.as_secs());
        let (own, own_name) = (own.clone(), own.name.clone());
        Some(match unfit {
            _ if subject.cluster != own.cluster => Self::Cluster { subject, own },
            Unfit::Expired | Unfit::ExpiredContext { .. } => Self::Expired {
                subject,
                until: validity.until(),
                own: own_name,
                now,
            },
            Unfit::NotValidYet | Unfit::NotValidYetContext { .. } => Self::Early {
                subject,
                from: validity.from(),
                own: own_name,
                now,
            },
            Unfit::UnknownIssuer | Unfit::BadSignature => Self::Authority { subject, own },
            Unfit::Revoked => Self::Revoked { subject },
            Unfit::NotValidForName | Unfit::NotValidForNameContext { .. } => match expected {
                Some(expected) => Self::Name {
                    found: subject,
                    expected: expected.clone(),
                },
                None => Self::other(&subject, error),
            },
            _ => Self::other(&subject, error),
        })
    }

    /// Why the policy of `own` does not allow `found`.
    fn by_policy(found: Subject, own: &Subject, policy: &PeerPolicy) -> Self {
        match policy.role_of(&found.name) {
            Some(expected) => Self::Role { found, expected },
            None => Self::NotAllowed {
                found,
                own: own.name.clone(),
                expected: policy.expected(),
            },
        }
    }

    fn other(subject: &Subject, error: &rustls::Error) -> Self {
        let problem = format!("the certificate of {} is refused: {error}", called(subject));
        Self::Other { problem }
    }
}

fn called(subject: &Subject) -> String {
    format!("{} {}", subject.role, subject.name)
}

fn other_role(found: &Subject, expected: Role) -> String {
    let Subject { name, role, .. } = found;
    let (rule, otherwise) = match (expected, role) {
        (Role::SetManager, Role::Node) => (
            "the first host of a Set needs",
            ", let another be first, or issue set-manager to all, which serves in every place",
        ),
        _ => ("its place needs", ""),
    };
    format!(
        "{name} has the certificate of a {role}, and {rule} that of a {expected}: issue it with \
         `cert issue --role {expected} --name {name}`{otherwise}"
    )
}

#[cfg(test)]
mod tests {
    use rustls::version::TLS12;
    use rustls::{ClientConnection, ServerConnection};

    use super::*;
    use crate::identity::{Authority, Validity};

    fn identity() -> Identity {
        let day = Validity::from_now(SystemTime::now(), Duration::from_secs(86_400)).unwrap();
        let authority = Authority::generate("lab".parse().unwrap(), day).unwrap();
        let name = "n2".parse().unwrap();
        authority.issue(Role::Node, &name, day).unwrap()
    }

    /// The error of `server` about the first message of `client`.
    fn handshake_error(
        client: rustls::ClientConfig,
        server: rustls::ServerConfig,
    ) -> rustls::Error {
        let name = ServerName::try_from("n2").unwrap();
        let mut client = ClientConnection::new(Arc::new(client), name).unwrap();
        let mut hello = Vec::new();
        client.write_tls(&mut hello).unwrap();
        let mut server = ServerConnection::new(Arc::new(server)).unwrap();
        server.read_tls(&mut &hello[..]).unwrap();
        server.process_new_packets().unwrap_err()
    }

    #[test]
    fn tls_1_2_is_refused_in_both_directions() {
        let identity = identity();
        let subject = identity.certificate().subject.clone();
        let old_client = rustls::ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS12])
            .unwrap()
            .with_root_certificates(roots(&identity).unwrap())
            .with_no_client_auth();
        let old_server = rustls::ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&TLS12])
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![identity.own().clone()], identity.key())
            .unwrap();
        let policy = PeerPolicy::Roles(BTreeSet::from([Role::Node]));
        let incoming = handshake_error(old_client, server_config(&identity, None, policy).unwrap());
        let outgoing =
            handshake_error(client_config(&identity, None, subject).unwrap(), old_server);
        for error in [incoming, outgoing] {
            assert!(
                matches!(error, rustls::Error::PeerIncompatible(_)),
                "{error}"
            );
        }
    }

    fn subject(cluster: &str, role: Role, name: &str) -> Subject {
        Subject {
            cluster: cluster.parse().unwrap(),
            role,
            name: name.parse().unwrap(),
        }
    }

    fn at(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    fn issued(cluster: &str) -> Identity {
        let validity = Validity::new(at(1_800_000_000), at(1_802_592_000)).unwrap();
        let authority = Authority::generate(cluster.parse().unwrap(), validity).unwrap();
        authority
            .issue(Role::Node, &"n2".parse().unwrap(), validity)
            .unwrap()
    }

    #[track_caller]
    fn check(cluster: &str, unfit: Unfit, expect: &str) {
        let own = subject("lab", Role::SetManager, "n1");
        let expected = subject("lab", Role::Node, "n3");
        let error = rustls::Error::InvalidCertificate(unfit);
        let now = UnixTime::since_unix_epoch(Duration::from_secs(1_803_456_000));
        let of = (&own, Some(&expected));
        let refused = RefusedCertificate::of(&error, issued(cluster).own(), of, now);
        assert_eq!(refused.unwrap().to_string(), expect);
    }

    #[test]
    fn a_mistake_with_a_certificate_is_named_with_its_remedy() {
        check(
            "lab",
            Unfit::Expired,
            "the certificate of node n2 has expired: it ended 2027-02-14T08:00:00Z, and the clock of n1 says \
             2027-02-24T08:00:00Z; check the clock, or issue a new one with `cert issue` (`cert show` \
             lists dates)",
        );
        check(
            "lab",
            Unfit::NotValidYet,
            "the certificate of node n2 is not valid yet: it begins 2027-01-15T08:00:00Z, and the clock of n1 says \
             2027-02-24T08:00:00Z; check the clock (`cert show` lists dates)",
        );
        let elsewhere = "node n2 has a certificate of cluster home, and n1 has one of cluster lab: issue both with one \
                         authority (`cert show` lists clusters)";
        for unfit in [Unfit::UnknownIssuer, Unfit::Expired, Unfit::BadSignature] {
            check("home", unfit, elsewhere);
        }
        let other = "another authority has issued the certificate of node n2 than that of n1, though both are called \
                     lab: issue both with one (`cert show` lists authorities)";
        for unfit in [Unfit::UnknownIssuer, Unfit::BadSignature] {
            check("lab", unfit, other);
        }
        check(
            "lab",
            Unfit::NotValidForName,
            "the certificate is that of node n2, expected that of node n3: check the address and the name in the \
             hostfile, which has to be that of the certificate",
        );
        check(
            "lab",
            Unfit::Revoked,
            "the authority has revoked the certificate of node n2: issue a new one with `cert issue`",
        );
        check(
            "lab",
            Unfit::InvalidPurpose,
            "the certificate of node n2 is refused: invalid peer certificate: InvalidPurpose; `cert issue` makes \
             certificates that can be used",
        );
    }

    #[test]
    fn another_role_is_named_with_the_place_that_it_is_for() {
        let check = |found, expected, expect: &str| {
            let found = subject("lab", found, "n2");
            let refused = RefusedCertificate::Role { found, expected };
            assert_eq!(refused.to_string(), expect);
        };
        check(
            Role::Node,
            Role::SetManager,
            "n2 has the certificate of a node, and the first host of a Set needs that of a set-manager: issue it with \
             `cert issue --role set-manager --name n2`, let another be first, or issue set-manager to all, which serves in \
             every place",
        );
        check(
            Role::Client,
            Role::Node,
            "n2 has the certificate of a client, and its place needs that of a node: issue it with `cert issue \
             --role node --name n2`",
        );
    }
}
