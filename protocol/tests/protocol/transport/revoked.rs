use std::collections::BTreeSet;
use std::time::SystemTime;

use protocol::identity::{Identity, Role};
use protocol::transport::{Bounds, Counters, Endpoint};

use crate::transport::{AUTHORITY, any_role, build, connected, counted, identity, loopback, name};

/// An endpoint without a job that refuses `revoked`.
fn refusing(role: Role, text: &str, revoked: &Identity) -> Endpoint {
    let serials = BTreeSet::from([revoked.certificate().serial.clone()]);
    let revocations = AUTHORITY.revoke(&serials, SystemTime::now()).unwrap();
    let identity = identity(role, text).with_revocations(revocations).unwrap();
    Endpoint::bind(identity, loopback(), any_role(), Bounds::default(), build()).unwrap()
}

#[tokio::test]
async fn a_revoked_certificate_opens_no_connection_in_either_direction() {
    let revoked = identity(Role::SetManager, "n2");
    let here = refusing(Role::Node, "n1", &revoked);
    let there =
        Endpoint::bind(revoked, loopback(), any_role(), Bounds::default(), build()).unwrap();

    let address = there.address().unwrap();
    let found = here.connect(address, Role::SetManager, &name("n2")).await;
    let error = found.unwrap_err().to_string();
    assert!(error.contains("refused the peer"), "{error}");
    assert!(
        error.contains("has revoked the certificate of set-manager n2"),
        "{error}"
    );

    let address = here.address().unwrap();
    let found = there.connect(address, Role::Node, &name("n1")).await;
    let error = found.unwrap_err().to_string();
    assert!(error.contains("the peer refused the connection"), "{error}");
    assert!(
        error.contains("has revoked the certificate of set-manager n2"),
        "{error}"
    );
    let expect = Counters {
        handshakes_failed: 2,
        ..Counters::default()
    };
    counted(&here, expect).await;
}

#[tokio::test]
async fn a_new_certificate_of_a_revoked_name_is_accepted() {
    let here = refusing(Role::Node, "n1", &identity(Role::Node, "n2"));
    let again = identity(Role::Node, "n2");
    let there = Endpoint::bind(again, loopback(), any_role(), Bounds::default(), build()).unwrap();
    let (a, b) = connected(&here, &there).await;
    let (c, d) = connected(&there, &here).await;
    assert_eq!((a.info.subject.name.as_str(), b.job), ("n2", None));
    assert_eq!((c.info.subject.name.as_str(), d.job), ("n1", None));
}

#[tokio::test]
async fn an_endpoint_keeps_its_list_when_an_older_one_comes() {
    let revoked = [identity(Role::Client, "r1"), identity(Role::Client, "r2")];
    let serials = |count| {
        let revoked = revoked.iter().take(count);
        revoked.map(|it| it.certificate().serial.clone()).collect()
    };
    let older = AUTHORITY.revoke(&serials(1), SystemTime::now()).unwrap();
    let newer = AUTHORITY.revoke_after(&older, &serials(2), SystemTime::now());
    let newer = newer.unwrap();
    let own = identity(Role::Node, "n1");
    let here = Endpoint::bind(own, loopback(), any_role(), Bounds::default(), build()).unwrap();
    here.set_revocations(older.clone()).unwrap();
    here.set_revocations(newer.clone()).unwrap();
    let error = here.set_revocations(older).unwrap_err().to_string();
    assert!(error.contains("copy the newest list"), "{error}");
    here.set_revocations(newer).unwrap();
    let [_, r2] = revoked;
    let there = Endpoint::bind(r2, loopback(), any_role(), Bounds::default(), build()).unwrap();
    let address = here.address().unwrap();
    let found = there.connect(address, Role::Node, &name("n1")).await;
    let error = found.unwrap_err().to_string();
    assert!(error.contains("has revoked the certificate"), "{error}");
}
