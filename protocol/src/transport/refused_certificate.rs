//! Why the certificate of a peer is refused, as sentences that name the mistake and its remedy.

use std::fmt;
use std::time::{Duration, SystemTime};

use rustls::CertificateError as Unfit;
use rustls::pki_types::UnixTime;
use time::OffsetDateTime;

use crate::identity::{Certificate, Name, Role, Subject};
use crate::transport::PeerPolicy;

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
    pub(super) fn by_policy(found: Subject, own: &Subject, policy: &PeerPolicy) -> Self {
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

/// The time as `cert show` prints it.
pub(super) fn date(time: SystemTime) -> String {
    let time = OffsetDateTime::from(time);
    let (hour, minute, second) = time.to_hms();
    format!("{}T{hour:02}:{minute:02}:{second:02}Z", time.date())
}

fn called(subject: &Subject) -> String {
    format!("{} {}", subject.role, subject.name)
}

fn other_role(found: &Subject, expected: Role) -> String {
    let Subject { name, role, .. } = found;
    let (rule, otherwise) = match (expected, role) {
        (Role::SetManager, Role::Node) => {
            ("the first host of a Set needs", ", or let another be first")
        }
        (Role::Node, Role::SetManager) => (
            "a host that is not the first of its Set needs",
            ", or let it be first",
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
    use super::*;
    use crate::identity::{Authority, Identity, Validity};

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
             `cert issue --role set-manager --name n2`, or let another be first",
        );
        check(
            Role::SetManager,
            Role::Node,
            "n2 has the certificate of a set-manager, and a host that is not the first of its Set needs that of a \
             node: issue it with `cert issue --role node --name n2`, or let it be first",
        );
        check(
            Role::Client,
            Role::Node,
            "n2 has the certificate of a client, and its place needs that of a node: issue it with `cert issue \
             --role node --name n2`",
        );
    }
}
