use std::collections::BTreeSet;
use std::time::SystemTime;

use protocol::identity::{Identity, Role};
use protocol::transport::{Bounds, Counters, Endpoint};

use crate::transport::{AUTHORITY, anybody, connected, counted, identity, loopback, name};

/// An endpoint in no job that refuses `revoked`.
fn refusing(role: Role, text: &str, revoked: &Identity) -> Endpoint {
    let serials = BTreeSet::from([revoked.certificate().serial.clone()]);
    let revocations = AUTHORITY.revoke(&serials, SystemTime::now()).unwrap();
    let identity = identity(role, text).refusing(revocations).unwrap();
    Endpoint::bind(identity, loopback(), anybody(), Bounds::default()).unwrap()
}

#[tokio::test]
async fn a_revoked_certificate_opens_no_connection_in_either_direction() {
    let revoked = identity(Role::SetManager, "n2");
    let here = refusing(Role::Node, "n1", &revoked);
    let there = Endpoint::bind(revoked, loopback(), anybody(), Bounds::default()).unwrap();

    let address = there.address().unwrap();
    let met = here.connect(address, Role::SetManager, &name("n2")).await;
    let error = met.unwrap_err().to_string();
    assert!(error.contains("refused what is there"), "{error}");
    assert!(error.contains("Revoked"), "{error}");

    let address = here.address().unwrap();
    let met = there.connect(address, Role::Node, &name("n1")).await;
    let error = met.unwrap_err().to_string();
    assert!(error.contains("it does not let us in"), "{error}");
    assert!(error.contains("Revoked"), "{error}");
    let expect = Counters {
        handshakes: 2,
        ..Counters::default()
    };
    counted(&here, expect).await;
}

#[tokio::test]
async fn a_new_certificate_of_the_same_name_is_another_one() {
    let here = refusing(Role::Node, "n1", &identity(Role::Node, "n2"));
    let again = identity(Role::Node, "n2");
    let there = Endpoint::bind(again, loopback(), anybody(), Bounds::default()).unwrap();
    let (a, b) = connected(&here, &there).await;
    let (c, d) = connected(&there, &here).await;
    assert_eq!((a.party.subject.name.as_str(), b.job), ("n2", None));
    assert_eq!((c.party.subject.name.as_str(), d.job), ("n1", None));
}
