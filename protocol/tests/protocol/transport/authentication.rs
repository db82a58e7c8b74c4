//! No frame is read from a peer without a valid certificate of the authority, for the expected role and name, or of another
//! protocol. This holds for incoming and for outgoing connections.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use protocol::identity::{Authority, Pem, Role, Validity};
use protocol::transport::{Bounds, Counters, PeerPolicy, alpn};
use rcgen::{CertificateParams, KeyPair, SanType};

use crate::transport::raw_peer::{self, RawPeer};
use crate::transport::{AUTHORITY, days, endpoint, identity, name};

/// Credentials of a peer, and the error for an incoming and for an outgoing connection.
struct Case {
    what: &'static str,
    peer: RawPeer,
    incoming: &'static str,
    outgoing: &'static str,
}

const fn case(
    what: &'static str,
    peer: RawPeer,
    incoming: &'static str,
    outgoing: &'static str,
) -> Case {
    Case {
        what,
        peer,
        incoming,
        outgoing,
    }
}

fn cases() -> Vec<Case> {
    let now = SystemTime::now();
    let hour = Duration::from_secs(3600);
    let valid = |from, until| {
        let validity = Validity::new(from, until).unwrap();
        let identity = AUTHORITY.issue(Role::Node, &name("n2"), validity);
        RawPeer::of(&identity.unwrap())
    };
    let other = Authority::generate(name("lab"), days(2)).unwrap();
    let elsewhere = Authority::generate(name("elsewhere"), days(2)).unwrap();
    let of = |authority: &Authority| {
        RawPeer::of(&authority.issue(Role::Node, &name("n2"), days(1)).unwrap())
    };
    let nothing = RawPeer {
        certificate: None,
        alpn: Some(alpn()),
    };
    let other_authority = "another authority has issued the certificate of node n2 than that of n1, though both are \
                           called lab: issue both with one";
    let other_cluster =
        "node n2 has a certificate of cluster elsewhere, and n1 has one of cluster lab";
    let mut cases = misnamed();
    cases.extend([
        case(
            "no certificate",
            nothing,
            "no certificates",
            "no server certificate chain",
        ),
        case(
            "wrong authority",
            of(&other),
            other_authority,
            other_authority,
        ),
        case(
            "other cluster",
            of(&elsewhere),
            other_cluster,
            other_cluster,
        ),
        case(
            "self-signed",
            self_signed(),
            other_authority,
            other_authority,
        ),
        case(
            "expired",
            valid(now - 9 * hour, now - hour),
            "the certificate of node n2 has expired: it ended ",
            "the certificate of node n2 has expired: it ended ",
        ),
        case(
            "not yet valid",
            valid(now + hour, now + 9 * hour),
            "the certificate of node n2 is not valid yet: it begins ",
            "the certificate of node n2 is not valid yet: it begins ",
        ),
    ]);
    cases
}

/// Credentials with a wrong subject or a wrong protocol.
fn misnamed() -> Vec<Case> {
    let with_alpn = |alpn: Option<&str>| RawPeer {
        alpn: alpn.map(Vec::from),
        ..RawPeer::of(&identity(Role::Node, "n2"))
    };
    let version = "doesn't support any known protocol";
    vec![
        case(
            "wrong role",
            RawPeer::of(&identity(Role::Client, "n2")),
            "n2 has the certificate of a client, and its place needs that of a node",
            "n2 has the certificate of a client, and its place needs that of a node",
        ),
        case(
            "wrong name",
            RawPeer::of(&identity(Role::Node, "n3")),
            "node n3 may not connect to n1: only one of the 1 listed members may",
            "the certificate is that of node n3, expected that of node n2: check the address and the name",
        ),
        case(
            "other version",
            with_alpn(Some("migbsp/0")),
            version,
            version,
        ),
        case("other protocol", with_alpn(Some("h3")), version, version),
        case("no protocol", with_alpn(None), version, version),
    ]
}

/// Correct peer, except that the certificate is self-signed.
fn self_signed() -> RawPeer {
    let mut params = CertificateParams::new(vec!["n2".to_owned()]).unwrap();
    let uri = "migbsp://lab/node/n2".try_into().unwrap();
    params.subject_alt_names.push(SanType::URI(uri));
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    RawPeer {
        certificate: Some(Pem {
            certificates: certificate.pem(),
            key: key.serialize_pem(),
        }),
        alpn: Some(alpn()),
    }
}

#[tokio::test]
async fn invalid_credentials_are_refused_on_incoming_connections() {
    for Case {
        what,
        peer,
        incoming,
        ..
    } in cases()
    {
        let policy = PeerPolicy::Listed(BTreeSet::from([(name("n2"), Role::Node)]));
        let here = endpoint(Role::Node, "n1", policy, Bounds::default());
        let address = here.address().unwrap();
        // The peer may not know yet that it is refused, and send.
        let error = match peer.connect(address).await {
            Err(error) => error,
            Ok(connection) => {
                if let Ok(mut stream) = connection.open_uni().await {
                    drop(stream.write_all(&raw_peer::handshake(7, 3)).await);
                    drop(stream.write_all(b"no frame").await);
                }
                connection.closed().await
            }
        };
        assert!(error.to_string().contains(incoming), "{what}: {error}");
        let expect = Counters {
            handshakes_failed: 1,
            ..Counters::default()
        };
        crate::transport::counted(&here, expect).await;
        // The first accepted peer has valid credentials.
        let valid = RawPeer::of(&identity(Role::Node, "n2"));
        let connection = valid.connect(address).await.unwrap();
        let _stream = raw_peer::control_stream(&connection).await;
        let accepted = here.accept().await.unwrap();
        assert_eq!(accepted.info.subject.to_string(), "migbsp://lab/node/n2");
    }
}

#[tokio::test]
async fn invalid_credentials_are_refused_on_outgoing_connections() {
    for Case {
        what,
        peer,
        outgoing,
        ..
    } in cases()
    {
        let there = peer.listen();
        let address = there.local_addr().unwrap();
        let serving = tokio::spawn(async move {
            if let Ok(connection) = there.accept().await.unwrap().await {
                drop(raw_peer::control_stream(&connection).await);
                connection.closed().await;
            }
        });
        let here = endpoint(Role::Node, "n1", PeerPolicy::RefuseAll, Bounds::default());
        let refused = here.connect(address, Role::Node, &name("n2")).await;
        let error = refused.unwrap_err().to_string();
        assert!(error.contains(outgoing), "{what}: {error}");
        assert!(error.contains("node n2 at 127.0.0.1:"), "{what}: {error}");
        let expect = Counters {
            handshakes_failed: 1,
            ..Counters::default()
        };
        assert_eq!(here.counters(), expect, "{what}");
        serving.abort();
    }
}

#[tokio::test]
async fn peers_in_any_allowed_role_are_accepted() {
    let policy = PeerPolicy::Roles(BTreeSet::from([Role::Node, Role::SetManager]));
    let here = endpoint(Role::Node, "n1", policy, Bounds::default());
    let address = here.address().unwrap();
    let client = RawPeer::of(&identity(Role::Client, "c1"));
    let error = client.connect(address).await.unwrap().closed().await;
    let expect = "client c1 may not connect to n1: only node or set-manager may";
    assert!(error.to_string().contains(expect), "{error}");
    for role in [Role::Node, Role::SetManager] {
        let connection = RawPeer::of(&identity(role, "n2")).connect(address).await;
        let connection = connection.unwrap();
        let _stream = raw_peer::control_stream(&connection).await;
        assert_eq!(here.accept().await.unwrap().info.subject.role, role);
    }
}

#[tokio::test]
async fn connections_without_a_handshake_message_time_out() {
    let bounds = Bounds {
        answer: Duration::from_millis(300),
        handshake: Duration::from_millis(300),
        ..Bounds::default()
    };
    let here = endpoint(Role::Node, "n1", crate::transport::any_role(), bounds);
    let silent = RawPeer::of(&identity(Role::Node, "n2"));
    let connection = silent.connect(here.address().unwrap()).await.unwrap();
    connection.closed().await;
    let expect = Counters {
        handshakes_failed: 1,
        ..Counters::default()
    };
    crate::transport::counted(&here, expect).await;
}
