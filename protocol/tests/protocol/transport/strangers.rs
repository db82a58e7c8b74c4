//! Nobody gets as far as a frame who does not show a valid certificate of our authority, for the role
//! and the name that we expect, and speaks our protocol: not who connects, and not who is connected to.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use protocol::identity::{Authority, Pem, Role, Validity};
use protocol::transport::{Bounds, Counters, Guests, alpn};
use rcgen::{CertificateParams, KeyPair, SanType};

use crate::transport::raw::{self, Shown};
use crate::transport::{AUTHORITY, days, endpoint, identity, name};

/// Who comes, why not, and what we say of them when they connect, and when we connect to them.
struct Case {
    what: &'static str,
    shown: Shown,
    coming: &'static str,
    found: &'static str,
}

const fn case(what: &'static str, shown: Shown, coming: &'static str, found: &'static str) -> Case {
    Case {
        what,
        shown,
        coming,
        found,
    }
}

fn cases() -> Vec<Case> {
    let now = SystemTime::now();
    let hour = Duration::from_secs(3600);
    let valid = |from, until| {
        let validity = Validity::between(from, until).unwrap();
        let identity = AUTHORITY.issue(Role::Node, &name("n2"), validity);
        Shown::of(&identity.unwrap())
    };
    let other = Authority::generate(name("lab"), days(2)).unwrap();
    let elsewhere = Authority::generate(name("elsewhere"), days(2)).unwrap();
    let of = |authority: &Authority| {
        Shown::of(&authority.issue(Role::Node, &name("n2"), days(1)).unwrap())
    };
    let nothing = Shown {
        certificate: None,
        alpn: Some(alpn()),
    };
    let unknown = "UnknownIssuer";
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
            "certificate: ",
            "certificate: ",
        ),
        case("other cluster", of(&elsewhere), unknown, unknown),
        case("self-signed", self_signed(), unknown, unknown),
        case(
            "expired",
            valid(now - 9 * hour, now - hour),
            "expired",
            "expired",
        ),
        case(
            "not yet valid",
            valid(now + hour, now + 9 * hour),
            "not valid yet",
            "not valid yet",
        ),
    ]);
    cases
}

/// Those whom the authority knows, but not for this, and those who speak something else.
fn misnamed() -> Vec<Case> {
    let speaking = |alpn: Option<&str>| Shown {
        alpn: alpn.map(Vec::from),
        ..Shown::of(&identity(Role::Node, "n2"))
    };
    let version = "doesn't support any known protocol";
    vec![
        case(
            "wrong role",
            Shown::of(&identity(Role::Client, "n2")),
            "a certificate for migbsp://lab/client/n2, expected one of the 1 that are listed",
            "a certificate for migbsp://lab/client/n2, expected migbsp://lab/node/n2",
        ),
        case(
            "role of a Set Manager",
            Shown::of(&identity(Role::SetManager, "n2")),
            "a certificate for migbsp://lab/set-manager/n2, expected",
            "a certificate for migbsp://lab/set-manager/n2, expected migbsp://lab/node/n2",
        ),
        case(
            "wrong name",
            Shown::of(&identity(Role::Node, "n3")),
            "a certificate for migbsp://lab/node/n3, expected one of the 1 that are listed",
            "certificate not valid for name \"n2\"",
        ),
        case(
            "other version",
            speaking(Some("migbsp/0")),
            version,
            version,
        ),
        case("other protocol", speaking(Some("h3")), version, version),
        case("no protocol", speaking(None), version, version),
    ]
}

/// Right in every respect but that it has signed itself.
fn self_signed() -> Shown {
    let mut params = CertificateParams::new(vec!["n2".to_owned()]).unwrap();
    let uri = "migbsp://lab/node/n2".try_into().unwrap();
    params.subject_alt_names.push(SanType::URI(uri));
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    Shown {
        certificate: Some(Pem {
            certificates: certificate.pem(),
            key: key.serialize_pem(),
        }),
        alpn: Some(alpn()),
    }
}

#[tokio::test]
async fn strangers_who_connect_are_refused_before_a_frame_is_read() {
    for Case {
        what,
        shown,
        coming,
        ..
    } in cases()
    {
        let guests = Guests::Listed(BTreeSet::from([(name("n2"), Role::Node)]));
        let here = endpoint(Role::Node, "n1", guests, Bounds::default());
        let address = here.address().unwrap();
        // A stranger may believe that it is in, and send.
        let error = match shown.connect(address).await {
            Err(error) => error,
            Ok(connection) => {
                if let Ok(mut stream) = connection.open_uni().await {
                    drop(stream.write_all(&raw::greeting(7, 3)).await);
                    drop(stream.write_all(b"no frame").await);
                }
                connection.closed().await
            }
        };
        assert!(error.to_string().contains(coming), "{what}: {error}");
        let expect = Counters {
            handshakes: 1,
            ..Counters::default()
        };
        crate::transport::counted(&here, expect).await;
        // The first to be let in is one who belongs here.
        let friend = Shown::of(&identity(Role::Node, "n2"));
        let connection = friend.connect(address).await.unwrap();
        let _stream = raw::greeted(&connection).await;
        let peer = here.accept().await.unwrap();
        assert_eq!(peer.party.subject.to_string(), "migbsp://lab/node/n2");
    }
}

#[tokio::test]
async fn strangers_who_are_connected_to_are_refused_before_a_frame_is_read() {
    for Case {
        what, shown, found, ..
    } in cases()
    {
        let there = shown.listen();
        let address = there.local_addr().unwrap();
        let serving = tokio::spawn(async move {
            if let Ok(connection) = there.accept().await.unwrap().await {
                drop(raw::greeted(&connection).await);
                connection.closed().await;
            }
        });
        let here = endpoint(Role::Node, "n1", Guests::Nobody, Bounds::default());
        let refused = here.connect(address, Role::Node, &name("n2")).await;
        let error = refused.unwrap_err().to_string();
        assert!(error.contains(found), "{what}: {error}");
        assert!(error.contains("node n2 at 127.0.0.1:"), "{what}: {error}");
        let expect = Counters {
            handshakes: 1,
            ..Counters::default()
        };
        assert_eq!(here.counters(), expect, "{what}");
        serving.abort();
    }
}

#[tokio::test]
async fn any_of_the_roles_may_come_where_roles_are_asked_for() {
    let guests = Guests::Roles(BTreeSet::from([Role::Node, Role::SetManager]));
    let here = endpoint(Role::Node, "n1", guests, Bounds::default());
    let address = here.address().unwrap();
    let client = Shown::of(&identity(Role::Client, "c1"));
    let error = client.connect(address).await.unwrap().closed().await;
    let expect = "a certificate for migbsp://lab/client/c1, expected node or set-manager";
    assert!(error.to_string().contains(expect), "{error}");
    for role in [Role::Node, Role::SetManager] {
        let connection = Shown::of(&identity(role, "n2")).connect(address).await;
        let connection = connection.unwrap();
        let _stream = raw::greeted(&connection).await;
        assert_eq!(here.accept().await.unwrap().party.subject.role, role);
    }
}

#[tokio::test]
async fn who_says_nothing_after_the_handshake_is_let_go() {
    let bounds = Bounds {
        handshake: Duration::from_millis(300),
        ..Bounds::default()
    };
    let here = endpoint(Role::Node, "n1", crate::transport::anybody(), bounds);
    let silent = Shown::of(&identity(Role::Node, "n2"));
    let connection = silent.connect(here.address().unwrap()).await.unwrap();
    connection.closed().await;
    let expect = Counters {
        handshakes: 1,
        ..Counters::default()
    };
    crate::transport::counted(&here, expect).await;
}
