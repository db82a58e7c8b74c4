//! Connections end when a certificate expires or is revoked, and go on when it is renewed.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use protocol::identity::{Authority, Identity, Revocations, Role, Validity};
use protocol::transport::{Bounds, CloseCode, ConnectError, Counters, Endpoint, Peer, PeerError};

use crate::transport::raw_peer::{RawPeer, control_stream};
use crate::transport::{
    AUTHORITY, EPOCH, NODE, any_role, authority, build, connected, counted, days, every_message,
    frame, identity, job, loopback, name, receive,
};

fn bound(identity: Identity) -> Endpoint {
    Endpoint::bind(identity, loopback(), any_role(), Bounds::default(), build()).unwrap()
}

fn list(authority: &Authority, revoked: &[&Endpoint]) -> Revocations {
    let serial = |endpoint: &&Endpoint| endpoint.identity().certificate().serial.clone();
    let serials: BTreeSet<_> = revoked.iter().map(serial).collect();
    authority.revoke(&serials, SystemTime::now()).unwrap()
}

/// The result of another connection.
async fn again(from: &Endpoint, to: &Endpoint) -> Result<Peer, ConnectError> {
    let (address, subject) = (to.address().unwrap(), to.subject());
    from.connect(address, subject.role, &subject.name).await
}

/// The error that ends the connection of `peer`.
async fn end(peer: &mut Peer) -> PeerError {
    peer.messages.receive().await.unwrap_err()
}

#[tokio::test]
async fn connections_end_when_a_certificate_expires() {
    let soon = Validity::from_now(SystemTime::now(), Duration::from_secs(6)).unwrap();
    let brief = AUTHORITY.issue(Role::Node, &name("n2"), soon).unwrap();
    let (here, there) = (bound(identity(Role::Node, "n1")), bound(brief));
    let (mut a, mut b) = connected(&here, &there).await;
    let (mut c, mut d) = connected(&there, &here).await;
    let expect = "the certificate of node n2 has expired: issue a new one";
    // Both ends know; the one that closes first informs the other.
    for peer in [&mut a, &mut b, &mut c, &mut d] {
        let error = end(peer).await;
        assert!(error.to_string().ends_with(expect), "{error}");
    }
    assert!(soon.until() < SystemTime::now());
    assert!(1 <= here.counters().expired + there.counters().expired);
    let retried = again(&here, &there);
    assert!(retried.await.is_err());
}

#[tokio::test]
async fn connections_end_when_a_certificate_is_revoked() {
    let (here, there) = (
        bound(identity(Role::Node, "n1")),
        bound(identity(Role::Node, "n2")),
    );
    let other = bound(identity(Role::Node, "n3"));
    let (mut a, mut b) = connected(&here, &there).await;
    let (mut c, mut d) = connected(&there, &here).await;
    let (e, _f) = connected(&other, &here).await;
    here.set_revocations(list(&AUTHORITY, &[&there])).unwrap();
    let expect = "the certificate of node n2 has been revoked";
    for peer in [&mut a, &mut d] {
        let error = end(peer).await;
        assert!(matches!(error, PeerError::Certificate { .. }), "{error}");
        assert!(error.to_string().ends_with(expect), "{error}");
    }
    for peer in [&mut b, &mut c] {
        let error = end(peer).await;
        let code = CloseCode::Certificate;
        assert!(matches!(&error, PeerError::Aborted { code: found, .. } if *found == code));
        assert!(error.to_string().ends_with(expect), "{error}");
    }
    let revoked = Counters {
        revoked: 2,
        ..Counters::default()
    };
    counted(&here, revoked).await;
    assert!(!e.sender.is_lost());
    // In both directions.
    let retried = again(&there, &here);
    let error = retried.await.unwrap_err().to_string();
    assert!(
        error.contains("the authority has revoked the certificate of "),
        "{error}"
    );
    let retried = again(&here, &there);
    let error = retried.await.unwrap_err().to_string();
    assert!(
        error.contains("the authority has revoked the certificate of "),
        "{error}"
    );
}

#[tokio::test]
async fn forged_lists_leave_the_earlier_list_in_force() {
    let (here, there) = (
        bound(identity(Role::Node, "n1")),
        bound(identity(Role::Node, "n2")),
    );
    here.set_revocations(list(&AUTHORITY, &[&there])).unwrap();
    let error = here.set_revocations(list(&authority(), &[])).unwrap_err();
    assert!(error.to_string().contains("BadSignature"), "{error}");
    let retried = again(&there, &here);
    assert!(retried.await.is_err());
}

#[tokio::test]
async fn all_connections_of_a_revoked_endpoint_end() {
    let (here, there) = (
        bound(identity(Role::Node, "n1")),
        bound(identity(Role::Node, "n2")),
    );
    let (mut a, mut b) = connected(&here, &there).await;
    here.set_revocations(list(&AUTHORITY, &[&here])).unwrap();
    let expect = "the certificate of node n1 has been revoked";
    for peer in [&mut a, &mut b] {
        let error = end(peer).await.to_string();
        assert!(error.ends_with(expect), "{error}");
    }
}

/// A certificate of n2 that ends in 6 s.
fn brief() -> (Identity, SystemTime) {
    let soon = Validity::from_now(SystemTime::now(), Duration::from_secs(6)).unwrap();
    let identity = AUTHORITY.issue(Role::Node, &name("n2"), soon).unwrap();
    (identity, soon.until())
}

/// Waits until connections have ended whose certificate ends then.
async fn wait_until_after(end: SystemTime) {
    let left = end.duration_since(SystemTime::now()).unwrap_or_default();
    tokio::time::sleep(left + Duration::from_secs(2)).await;
    assert!(end + Duration::from_secs(1) < SystemTime::now());
}

#[tokio::test]
async fn connections_go_on_with_a_certificate_that_is_renewed_in_time() {
    let (brief, end) = brief();
    let (here, there) = (bound(identity(Role::Node, "n1")), bound(brief));
    here.begin(job(7), EPOCH);
    there.begin(job(7), EPOCH);
    let (a, mut b) = connected(&here, &there).await;
    let (mut c, d) = connected(&there, &here).await;
    let renewed = identity(Role::Node, "n2");
    there.set_identity(renewed, SystemTime::now()).unwrap();
    wait_until_after(end).await;
    let message = every_message().into_iter().find(|(from, ..)| *from == NODE);
    let message = message.unwrap();
    for (from, to) in [(&a, &mut b), (&d, &mut c)] {
        from.sender.send(frame(&message)).await.unwrap();
        assert_eq!(receive(to).await, message);
    }
    assert!(again(&here, &there).await.is_ok());
    for endpoint in [&here, &there] {
        assert_eq!(endpoint.counters(), Counters::default());
    }
}

#[tokio::test]
async fn a_certificate_before_is_no_longer_that_of_a_connection() {
    let (here, there) = (
        bound(identity(Role::Node, "n1")),
        bound(identity(Role::Node, "n2")),
    );
    let (a, _b) = connected(&here, &there).await;
    let before = list(&AUTHORITY, &[&there]);
    let renewed = identity(Role::Node, "n2");
    there.set_identity(renewed, SystemTime::now()).unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    here.set_revocations(before.clone()).unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!a.sender.is_lost());
    let serial = there.identity().certificate().serial.clone();
    let both = AUTHORITY.revoke_after(&before, &BTreeSet::from([serial]), SystemTime::now());
    here.set_revocations(both.unwrap()).unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(a.sender.is_lost());
}

#[tokio::test]
async fn an_identity_that_does_not_fit_does_not_replace_the_one_in_use() {
    let here = bound(identity(Role::Node, "n1"));
    let serial = here.identity().certificate().serial.clone();
    let check = |identity: Identity, expect: &str| {
        let error = here.set_identity(identity, SystemTime::now()).unwrap_err();
        assert!(error.to_string().contains(expect), "{error}");
        assert_eq!(here.identity().certificate().serial, serial);
    };
    check(
        identity(Role::Node, "n2"),
        "is for migbsp://lab/node/n2, and that in use is for migbsp://lab/node/n1",
    );
    check(
        identity(Role::SetManager, "n1"),
        "is for migbsp://lab/set-manager/n1",
    );
    let (twin, name) = (authority(), name("n1"));
    check(
        twin.issue(Role::Node, &name, days(1)).unwrap(),
        "another authority",
    );
    let day = Duration::from_secs(86_400);
    let past = Validity::new(
        SystemTime::now() - day,
        SystemTime::now() - Duration::from_secs(5),
    );
    let past = AUTHORITY.issue(Role::Node, &name, past.unwrap()).unwrap();
    check(past, "the certificate of node n1 has expired: it ended 2");
    let revoked = identity(Role::Node, "n1");
    let serials = BTreeSet::from([revoked.certificate().serial.clone()]);
    here.set_revocations(AUTHORITY.revoke(&serials, SystemTime::now()).unwrap())
        .unwrap();
    check(revoked, "has revoked the certificate of node n1");
}

/// A certificate, and a signature by its key of `message`, as an end shows it.
fn shown(identity: &Identity, message: impl FnOnce(&[u8]) -> Vec<u8>) -> Vec<u8> {
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};

    let pem = identity.to_pem();
    let certificate = CertificateDer::from_pem_slice(pem.certificates.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(pem.key.as_bytes()).unwrap();
    let key = rustls::crypto::ring::sign::any_supported_type(&key).unwrap();
    let scheme = rustls::SignatureScheme::ECDSA_NISTP256_SHA256;
    let signature = key
        .choose_scheme(&[scheme])
        .unwrap()
        .sign(&message(&certificate))
        .unwrap();
    let length = u16::try_from(certificate.len()).unwrap();
    [
        &[0xB5, protocol::WIRE_VERSION, 3, 0, 0, 0, 0, 0][..],
        &u16::from(scheme).to_le_bytes(),
        &length.to_le_bytes(),
        &certificate,
        &signature,
    ]
    .concat()
}

const LABEL: &[u8] = b"EXPORTER-migbsp-certificate";

/// What the end that is called `side` of a connection signs.
fn signed(connection: &quinn::Connection, side: &[u8], certificate: &[u8]) -> Vec<u8> {
    let mut binding = [0; 32];
    connection
        .export_keying_material(&mut binding, LABEL, side)
        .unwrap();
    [LABEL, &binding, certificate].concat()
}

#[tokio::test]
async fn a_certificate_that_is_not_shown_for_this_connection_has_no_effect() {
    let (brief, end) = brief();
    let here = bound(identity(Role::Node, "n1"));
    here.begin(job(7), EPOCH);
    let raw = RawPeer::of(&brief);
    let connection = raw.connect(here.address().unwrap()).await.unwrap();
    let _control = control_stream(&connection).await;
    let mut peer = here.accept().await.unwrap();
    let renewed = identity(Role::Node, "n2");
    let other = RawPeer::of(&brief)
        .connect(here.address().unwrap())
        .await
        .unwrap();
    let cases = [
        Vec::new(),
        vec![0xB5; 300],
        // What the other end, or an end of another connection, would show.
        shown(&renewed, |der| signed(&connection, b"server", der)),
        shown(&renewed, |der| signed(&other, b"client", der)),
        // Certificates of another member, of another authority, and the one that ends.
        shown(&identity(Role::Node, "n3"), |der| {
            signed(&connection, b"client", der)
        }),
        shown(&identity(Role::SetManager, "n2"), |der| {
            signed(&connection, b"client", der)
        }),
        shown(
            &authority().issue(Role::Node, &name("n2"), days(1)).unwrap(),
            |der| signed(&connection, b"client", der),
        ),
        vec![0; 9 << 10],
    ];
    let count = u64::try_from(cases.len()).unwrap();
    for bytes in cases {
        let (mut stream, _) = connection.open_bi().await.unwrap();
        // It may be stopped before all is written.
        drop(stream.write_all(&bytes).await);
        drop(stream.finish());
    }
    let malformed = Counters {
        malformed: count,
        ..Counters::default()
    };
    counted(&here, malformed).await;
    wait_until_after(end).await;
    let error = peer.messages.receive().await.unwrap_err().to_string();
    assert!(
        error.contains("the certificate of node n2 has expired"),
        "{error}"
    );
}

#[tokio::test]
async fn a_certificate_that_is_shown_for_this_connection_has_effect() {
    let (brief, end) = brief();
    let here = bound(identity(Role::Node, "n1"));
    here.begin(job(7), EPOCH);
    let connection = RawPeer::of(&brief)
        .connect(here.address().unwrap())
        .await
        .unwrap();
    let _control = control_stream(&connection).await;
    let peer = here.accept().await.unwrap();
    let renewed = shown(&identity(Role::Node, "n2"), |der| {
        signed(&connection, b"client", der)
    });
    let (mut stream, _) = connection.open_bi().await.unwrap();
    stream.write_all(&renewed).await.unwrap();
    stream.finish().unwrap();
    wait_until_after(end).await;
    assert!(!peer.sender.is_lost());
}
