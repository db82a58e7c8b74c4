//! Connections end when a certificate expires or is revoked.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use protocol::identity::{Authority, Identity, Revocations, Role, Validity};
use protocol::transport::{Bounds, CloseCode, ConnectError, Counters, Endpoint, Peer, PeerError};

use crate::transport::{
    AUTHORITY, any_role, authority, build, connected, counted, identity, loopback, name,
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
    let (address, subject) = (to.address().unwrap(), &to.identity().certificate().subject);
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
