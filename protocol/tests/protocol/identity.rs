//! Identities: issued certificates are read back, keys stay private, and no bytes make the parser panic.

mod files;
mod hostile;
mod revoked;

use std::time::{Duration, SystemTime};

use protocol::identity::{
    Authority, Certificate, Identity, IssueError, Name, Pem, PemError, Role, Subject, Validity,
};

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000)
}

fn days(count: u32) -> Validity {
    Validity::from_now(now(), Duration::from_secs(86_400) * count).unwrap()
}

fn authority(cluster: &str) -> Authority {
    Authority::generate(name(cluster), days(100)).unwrap()
}

fn issued() -> Identity {
    let identity = authority("lab").issue(Role::SetManager, &name("n3.lab"), days(10));
    identity.unwrap()
}

/// The DER of the first certificate.
fn der(identity: &Identity) -> Vec<u8> {
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject;
    let pem = identity.to_pem().certificates;
    CertificateDer::from_pem_slice(pem.as_bytes())
        .unwrap()
        .to_vec()
}

#[test]
fn certificates_hold_subject_and_validity() {
    let identity = issued();
    let expect = Certificate {
        subject: Subject {
            cluster: name("lab"),
            role: Role::SetManager,
            name: name("n3.lab"),
        },
        validity: days(10),
        serial: identity.certificate().serial.clone(),
    };
    assert_eq!(identity.certificate(), &expect);
    assert_eq!(Certificate::parse(&der(&identity)), Ok(expect));
}

#[test]
fn identities_are_read_back_from_pem() {
    let pem = issued().to_pem();
    let read = Identity::from_pem(&pem).unwrap();
    assert_eq!(read.to_pem(), pem);
}

#[test]
fn authorities_read_from_pem_issue_for_the_same_cluster() {
    let authority = authority("lab");
    let read = Authority::from_pem(&authority.to_pem()).unwrap();
    assert_eq!(read.to_pem(), authority.to_pem());
    assert_eq!(read.cluster(), &name("lab"));
    assert_eq!(read.validity(), days(100));
    let identity = read.issue(Role::Node, &name("n1"), days(1)).unwrap();
    assert_eq!(identity.certificate().subject.cluster, name("lab"));
}

#[test]
fn certificates_do_not_outlive_their_authority() {
    let refused = authority("lab").issue(Role::Node, &name("n1"), days(101));
    let expect = IssueError::Outlives {
        found: days(101).until(),
        limit: days(100).until(),
    };
    assert_eq!(refused.unwrap_err(), expect);
}

#[test]
fn debug_output_contains_no_key() {
    let (authority, identity) = (authority("lab"), issued());
    let printed = format!("{authority:?} {identity:?} {:?}", identity.to_pem());
    let key = identity.to_pem().key;
    let line = key.lines().nth(1).unwrap();
    assert!(!printed.contains(line) && !printed.contains("PRIVATE"));
}

#[test]
fn mismatched_certificates_and_keys_are_refused() {
    let (one, other) = (issued().to_pem(), issued().to_pem());
    let check = |certificates: String, key: &str, expect: &str| {
        let key = key.to_owned();
        let error = Identity::from_pem(&Pem { certificates, key }).unwrap_err();
        assert!(error.to_string().contains(expect), "{error}");
    };
    let own = one
        .certificates
        .split_inclusive("-----END CERTIFICATE-----");
    let own = own.map(str::to_owned).collect::<Vec<_>>();
    let elsewhere = authority("elsewhere").to_pem().certificates;
    check(
        one.certificates.clone(),
        &other.key,
        "the key beside it does not belong to the first certificate",
    );
    check(own[0].clone(), &one.key, "1 certificates, expected 2");
    check(
        format!("{}\n{elsewhere}", own[0]),
        &one.key,
        "the authority is that of elsewhere, expected that of lab",
    );
    check(one.certificates.clone(), "none", "private key: ");
    check(
        format!("{elsewhere}{elsewhere}"),
        &one.key,
        "expected migbsp://<cluster>/<role>/<name>",
    );
    let error = Authority::from_pem(&one).unwrap_err();
    let expect = PemError::Count {
        found: 2,
        expected: 1,
    };
    assert_eq!(error, expect);
}
