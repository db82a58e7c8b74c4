use std::collections::BTreeSet;
use std::fs;

use protocol::identity::files::{
    read_identity, read_revocations, write_identity, write_revocations,
};
use protocol::identity::{Identity, Revocations, Role, Serial};

use crate::{authority, days, issued, name, now};

fn serial(identity: &Identity) -> Serial {
    identity.certificate().serial.clone()
}

fn serials(identities: &[&Identity]) -> BTreeSet<Serial> {
    identities.iter().map(|identity| serial(identity)).collect()
}

#[test]
fn every_certificate_has_a_number_of_its_own() {
    let (one, other) = (issued(), issued());
    assert_ne!(serial(&one), serial(&other));
    let read = Identity::from_pem(&one.to_pem()).unwrap();
    assert_eq!(serial(&read), serial(&one));
    assert_eq!(serial(&one).to_string().parse(), Ok(serial(&one)));
}

#[test]
fn a_list_of_revocations_is_read_as_it_was_written() {
    let authority = authority("lab");
    for identities in [vec![], vec![issued()], vec![issued(), issued()]] {
        let listed = serials(&identities.iter().collect::<Vec<_>>());
        let revocations = authority.revoke(&listed, now()).unwrap();
        assert_eq!(revocations.serials(), &listed);
        let read = Revocations::from_pem(&revocations.to_pem());
        assert_eq!(read, Ok(revocations));
    }
}

#[test]
fn a_list_is_refused_unless_the_authority_signed_it() {
    let own = authority("lab");
    let issue = || own.issue(Role::Node, &name("n1"), days(1)).unwrap();
    let check = |signer: &protocol::identity::Authority, named: &[&Identity], expect: &str| {
        let revocations = signer.revoke(&serials(named), now()).unwrap();
        match issue().refusing(revocations) {
            Ok(_) => assert_eq!(expect, ""),
            Err(error) => assert!(error.to_string().contains(expect), "{error}"),
        }
    };
    check(&own, &[], "");
    check(&own, &[&issue()], "");
    check(&authority("lab"), &[], "BadSignature");
    check(&authority("elsewhere"), &[], "UnknownRevocationStatus");
    let revoked = issue();
    let list = own.revoke(&serials(&[&revoked]), now()).unwrap();
    let error = revoked.refusing(list).unwrap_err().to_string();
    assert!(error.contains("Revoked"), "{error}");
}

#[test]
fn a_list_beside_an_identity_is_read_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let authority = authority("lab");
    let issue = |text| authority.issue(Role::Node, &name(text), days(1)).unwrap();
    let (own, other) = (issue("n1"), issue("n2"));
    write_identity(folder.path(), &own).unwrap();
    assert_eq!(read_revocations(folder.path()).unwrap(), None);
    read_identity(folder.path(), &name("n1")).unwrap();
    for (named, is_read) in [(vec![&other], true), (vec![&other, &own], false)] {
        let revocations = authority.revoke(&serials(&named), now()).unwrap();
        write_revocations(folder.path(), &revocations).unwrap();
        let read = read_revocations(folder.path()).unwrap();
        assert_eq!(read, Some(revocations));
        let identity = read_identity(folder.path(), &name("n1"));
        assert_eq!(identity.is_ok(), is_read);
    }
    fs::write(folder.path().join("authority.crl"), "none").unwrap();
    let error = read_identity(folder.path(), &name("n1")).unwrap_err();
    let expect = "authority.crl: the list of revocations: expected one";
    assert!(error.to_string().contains(expect), "{error}");
}
