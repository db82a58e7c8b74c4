use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use protocol::identity::files::{
    FileError, RevocationsFile, read_identity, read_newest_revocations, read_revocations,
    write_identity, write_revocations,
};
use protocol::identity::{Identity, ListedCertificate, Revocations, Role, Serial};

use crate::identity::{authority, days, issued, name, now};

fn serial(identity: &Identity) -> Serial {
    identity.certificate().serial.clone()
}

fn serials(identities: &[&Identity]) -> BTreeSet<Serial> {
    identities.iter().map(|identity| serial(identity)).collect()
}

#[test]
fn serial_numbers_are_unique() {
    let (one, other) = (issued(), issued());
    assert_ne!(serial(&one), serial(&other));
    let read = Identity::from_pem(&one.to_pem()).unwrap();
    assert_eq!(serial(&read), serial(&one));
    assert_eq!(serial(&one).to_string().parse(), Ok(serial(&one)));
}

#[test]
fn lists_of_revocations_are_read_as_written() {
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
fn lists_of_another_authority_are_refused() {
    let own = authority("lab");
    let issue = || own.issue(Role::Node, &name("n1"), days(1)).unwrap();
    let check = |signer: &protocol::identity::Authority, named: &[&Identity], expect: &str| {
        let revocations = signer.revoke(&serials(named), now()).unwrap();
        match issue().with_revocations(revocations) {
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
    let error = revoked.with_revocations(list).unwrap_err().to_string();
    assert!(error.contains("is revoked"), "{error}");
}

#[test]
fn lists_are_read_with_the_identity() {
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

#[test]
fn changed_lists_are_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("authority.crl");
    let authority = authority("lab");
    let list = |count: u8| {
        let serials = (1..=count).map(|byte| format!("{byte:02x}").parse().unwrap());
        authority.revoke(&serials.collect(), now()).unwrap()
    };
    let mut file = RevocationsFile::new(folder.path().to_owned());
    let mut changed = || {
        let changed = file.changed();
        changed.map(|list| list.map(|list| list.serials().len()))
    };
    // None is there yet.
    assert_eq!(changed().unwrap(), None);
    write_revocations(folder.path(), &list(1)).unwrap();
    assert_eq!(changed().unwrap(), Some(1));
    assert_eq!(changed().unwrap(), None);
    write_revocations(folder.path(), &list(2)).unwrap();
    assert_eq!(changed().unwrap(), Some(2));
    // Every error is reported once.
    fs::write(&path, "half of a list").unwrap();
    let error = changed().unwrap_err().to_string();
    assert!(error.contains("authority.crl: "), "{error}");
    assert_eq!(changed().unwrap(), None);
    fs::remove_file(&path).unwrap();
    let error = changed().unwrap_err();
    assert!(matches!(error, FileError::Read { .. }), "{error}");
    assert_eq!(changed().unwrap(), None);
    write_revocations(folder.path(), &list(3)).unwrap();
    assert_eq!(changed().unwrap(), Some(3));
}

#[test]
fn authorities_recognise_their_signatures() {
    let (own, twin) = (authority("lab"), authority("lab"));
    let identity = own.issue(Role::Node, &name("n1"), days(1)).unwrap();
    let listed = ListedCertificate::from_pem(&identity.to_pem().certificates).unwrap();
    assert_eq!(listed[0].serial, serial(&identity));
    let list = own.revoke(&serials(&[&identity]), now()).unwrap();
    for (authority, expect) in [(&own, true), (&twin, false)] {
        assert_eq!(authority.has_issued(&listed[0]), expect);
        assert_eq!(authority.has_signed(&list), expect);
    }
}

#[test]
fn lists_too_long_to_read_are_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let authority = authority("lab");
    let write = |count: u32| {
        let serials = (0..count).map(|index| format!("7f{index:038x}").parse().unwrap());
        let revocations = authority.revoke(&serials.collect(), now()).unwrap();
        write_revocations(folder.path(), &revocations).map(|()| revocations)
    };
    let written = write(1_000).unwrap();
    let error = write(2_000).unwrap_err();
    assert!(matches!(error, FileError::TooLong { .. }), "{error}");
    assert_eq!(read_revocations(folder.path()).unwrap(), Some(written));
}

/// The oracle is the standard: a list with a CRL number below that of a list in force is not taken (RFC 5280, 5.2.3).
#[test]
fn an_older_list_undoes_no_newer_one_even_over_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let authority = authority("lab");
    let own = authority.issue(Role::Node, &name("n1"), days(1)).unwrap();
    write_identity(folder.path(), &own).unwrap();
    let revoked = |named: &str| BTreeSet::from([named.parse().unwrap()]);
    let first = authority.revoke(&revoked("01"), now()).unwrap();
    // In the same second, and with a clock that has been set back.
    let second = authority.revoke_after(&first, &revoked("02"), now());
    let second = second.unwrap();
    let year = Duration::from_secs(365 * 86_400);
    let third = authority.revoke_after(&second, &revoked("03"), now() - year);
    let third = third.unwrap();
    assert_eq!(third.serials().len(), 3);
    assert_eq!(third.number(), first.number() + 2);
    let numbers = [(&first, true), (&second, true), (&third, false)];
    for (known, succeeds) in numbers {
        assert_eq!(second.check_succeeds(known).is_ok(), succeeds);
    }
    let rival = authority.revoke(&revoked("04"), now()).unwrap();
    let other = authority
        .revoke_after(&rival, &revoked("05"), now())
        .unwrap();
    if other.number() == second.number() {
        assert!(other.check_succeeds(&second).is_err());
    }
    let copied = |list: &Revocations| {
        fs::write(folder.path().join("authority.crl"), list.to_pem()).unwrap();
        read_identity(folder.path(), &name("n1")).unwrap();
        let signed = |list: &Revocations| authority.has_signed(list);
        let newest = read_newest_revocations(folder.path(), signed);
        newest.unwrap().unwrap().serials().len()
    };
    assert_eq!(copied(&second), 2);
    assert_eq!(copied(&first), 2);
    assert_eq!(copied(&third), 3);
    assert_eq!(copied(&second), 3);
    fs::remove_file(folder.path().join("authority.crl")).unwrap();
    let signed = |list: &Revocations| authority.has_signed(list);
    let newest = read_newest_revocations(folder.path(), signed).unwrap();
    assert_eq!(newest, Some(third));
    // That of an authority before this one counts for nothing.
    let none = read_newest_revocations(folder.path(), |_| false);
    assert_eq!(none.unwrap(), None);
}
