use std::fs;

use protocol::identity::files::{
    FileError, IdentityFiles, list_certificates, read_authority, read_identity, write_authority,
    write_identity,
};

use protocol::identity::Holder;

use crate::identity::{authority, days, der, issued, name};

#[test]
fn identities_and_authorities_are_read_as_written() {
    let folder = tempfile::tempdir().unwrap();
    let (authority, identity) = (authority("lab"), issued());
    write_authority(folder.path(), &authority).unwrap();
    write_identity(folder.path(), &identity).unwrap();
    let read = read_authority(folder.path()).unwrap();
    assert_eq!(read.to_pem(), authority.to_pem());
    let read = read_identity(folder.path(), &name("n3.lab")).unwrap();
    assert_eq!(read.to_pem(), identity.to_pem());
    // As some editors write a text.
    for file in ["n3.lab.pem", "n3.lab.key"] {
        let path = folder.path().join(file);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("\u{feff}{text}")).unwrap();
    }
    let read = read_identity(folder.path(), &name("n3.lab")).unwrap();
    assert_eq!(read.to_pem(), identity.to_pem());
}

#[test]
fn existing_files_are_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    write_identity(folder.path(), &issued()).unwrap();
    let before = fs::read(folder.path().join("n3.lab.key")).unwrap();
    let error = write_identity(folder.path(), &issued()).unwrap_err();
    assert!(matches!(error, FileError::Exists { .. }), "{error}");
    let after = fs::read(folder.path().join("n3.lab.key")).unwrap();
    assert_eq!(after, before);
}

#[cfg(unix)]
#[test]
fn keys_readable_by_others_are_refused() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    write_authority(folder.path(), &authority("lab")).unwrap();
    let key = folder.path().join("authority.key");
    let mode = |mode| fs::set_permissions(&key, fs::Permissions::from_mode(mode)).unwrap();
    assert_eq!(
        fs::metadata(&key).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let check = |accepted: &[u32], refused: &[u32]| {
        for bits in accepted {
            mode(*bits);
            read_authority(folder.path()).unwrap();
        }
        for bits in refused {
            mode(*bits);
            let error = read_authority(folder.path()).unwrap_err().to_string();
            let expect = format!(
                "authority.key: other users can read this key (mode {bits:03o}): chmod 600 it"
            );
            assert!(error.ends_with(&expect), "{error}");
        }
    };
    // Only root gives files away, and has files of its own.
    let is_root = std::os::unix::fs::chown(&key, Some(65_534), None).is_ok();
    check(&[0o400, 0o600], &[0o640, 0o440, 0o604, 0o666]);
    if is_root {
        std::os::unix::fs::chown(&key, Some(0), None).unwrap();
        check(&[0o400, 0o600, 0o440, 0o640], &[0o660, 0o444, 0o644, 0o450]);
    }
}

#[test]
fn a_pair_that_has_changed_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let identities = [issued(), issued(), issued()];
    let [first, second, third] = identities.each_ref().map(|identity| identity.to_pem());
    let put = |ending: &str, text: &str| {
        fs::write(folder.path().join(format!("n3.lab.{ending}")), text).unwrap();
    };
    write_identity(folder.path(), &identities[0]).unwrap();
    let mut files = IdentityFiles::new(folder.path().to_owned(), name("n3.lab"));
    let (identity, stamps) = files.changed().unwrap().unwrap();
    assert_eq!(identity.to_pem(), first);
    assert_eq!(identity.folder(), Some(folder.path()));
    // Until it is used, it is new.
    assert!(files.changed().unwrap().is_some());
    files.used(stamps);
    assert!(files.changed().unwrap().is_none());
    put("pem", &second.certificates);
    let error = files.changed().unwrap_err().to_string();
    assert!(
        error.contains("the key beside it does not belong"),
        "{error}"
    );
    put("key", &second.key);
    let (identity, stamps) = files.changed().unwrap().unwrap();
    assert_eq!(identity.to_pem(), second);
    files.used(stamps);
    fs::remove_file(folder.path().join("n3.lab.key")).unwrap();
    assert!(matches!(files.changed(), Err(FileError::Read { .. })));
    fs::remove_file(folder.path().join("n3.lab.pem")).unwrap();
    write_identity(folder.path(), &identities[2]).unwrap();
    let (identity, _) = files.changed().unwrap().unwrap();
    assert_eq!(identity.to_pem(), third);
}

#[test]
fn invalid_files_are_refused_with_their_path() {
    let folder = tempfile::tempdir().unwrap();
    let check = |expect: &str| {
        let error = read_identity(folder.path(), &name("n3.lab")).unwrap_err();
        assert!(error.to_string().contains(expect), "{error}");
    };
    check("n3.lab.pem: there is none of n3.lab: its folder has no certificate");
    write_identity(folder.path(), &issued()).unwrap();
    let path = folder.path().join("n3.lab.pem");
    fs::write(&path, "nothing").unwrap();
    check("n3.lab.pem: 0 certificates, expected 2");
    fs::write(&path, vec![b'x'; 65_537]).unwrap();
    check("n3.lab.pem: 65537 bytes, expected at most 65536");
}

#[test]
fn certificates_are_listed_without_their_keys() {
    let folder = tempfile::tempdir().unwrap();
    let identity = issued();
    write_identity(folder.path(), &identity).unwrap();
    fs::remove_file(folder.path().join("n3.lab.key")).unwrap();
    let path = folder.path().join("n3.lab.pem");
    let [own, authority] = &list_certificates(&path).unwrap()[..] else {
        panic!("its own, and that of the authority");
    };
    let subject = identity.certificate().subject.clone();
    assert_eq!(own.holder, Holder::Member(subject));
    assert_eq!((own.validity, &own.der), (days(10), &der(&identity)));
    assert_eq!(authority.holder, Holder::Authority(name("lab")));
    assert_eq!(authority.validity, days(100));
    fs::write(&path, "nothing").unwrap();
    let error = list_certificates(&path).unwrap_err().to_string();
    let expect = "n3.lab.pem: 0 certificates, expected 1";
    assert!(error.ends_with(expect), "{error}");
}
