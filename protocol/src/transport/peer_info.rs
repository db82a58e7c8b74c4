use std::fmt;
use std::net::SocketAddr;

use crate::identity::Subject;

/// The name, role and address of the process at the other end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerInfo {
    /// The subject of its certificate.
    pub subject: Subject,
    /// The address of its socket.
    pub address: SocketAddr,
}

impl fmt::Display for PeerInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Subject { role, name, .. } = &self.subject;
        write!(f, "{role} {name} at {}", self.address)
    }
}
