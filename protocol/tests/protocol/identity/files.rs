use std::fs;

use protocol::identity::files::{
    FileError, list_certificates, read_authority, read_identity, write_authority, write_identity,
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
    mode(0o640);
    let error = read_authority(folder.path()).unwrap_err().to_string();
    let expect = "authority.key: other users can read this key (mode 640): chmod 600 it";
    assert!(error.ends_with(expect), "{error}");
    mode(0o400);
    read_authority(folder.path()).unwrap();
}

#[test]
fn invalid_files_are_refused_with_their_path() {
    let folder = tempfile::tempdir().unwrap();
    let check = |expect: &str| {
        let error = read_identity(folder.path(), &name("n3.lab")).unwrap_err();
        assert!(error.to_string().contains(expect), "{error}");
    };
    check("reading ");
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
