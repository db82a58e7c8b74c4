//! Where a node reaches the other nodes of a job.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use protocol::Member;

/// Addresses at which a node reaches other nodes, by name, instead of those of a client's list.
///
/// Their certificates are those of the nodes, so only a relay that changes no packet can stand there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Routes(BTreeMap<String, SocketAddr>);

impl Routes {
    /// Puts the addresses in place of those of `members`.
    pub(crate) fn apply(&self, members: &mut [Member]) {
        for member in members {
            if let Some(address) = self.0.get(&member.name) {
                member.address = address.to_string();
            }
        }
    }
}

impl From<BTreeMap<String, SocketAddr>> for Routes {
    fn from(addresses: BTreeMap<String, SocketAddr>) -> Self {
        Self(addresses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_replaces_the_address_of_its_node_and_no_other() {
        let member = |name: &str, address: &str| Member {
            name: name.to_owned(),
            address: address.to_owned(),
            set: "s".to_owned(),
            slots: 1,
            speed: 1.0,
        };
        let mut members = [member("a", "a:7447"), member("b", "b:7447")];
        let routes = BTreeMap::from([("b".to_owned(), SocketAddr::from(([127, 0, 0, 1], 9)))]);
        Routes::from(routes).apply(&mut members);
        assert_eq!(members, [member("a", "a:7447"), member("b", "127.0.0.1:9")]);
    }
}
