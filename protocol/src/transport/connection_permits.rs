//! How many connections the members of the cluster may have opened, each and together.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::identity::Subject;
use crate::transport::Bounds;

/// Counts the connections that members have opened to an endpoint.
#[derive(Debug)]
pub(super) struct ConnectionPermits {
    bounds: Bounds,
    open: Mutex<OpenConnections>,
}

/// Invariant: `total` is the sum of the counts in `of`, and none of them is 0.
#[derive(Debug, Default)]
struct OpenConnections {
    total: u16,
    of: BTreeMap<Subject, (u16, Arc<AtomicU64>)>,
}

/// The right to one connection; dropped when it ends.
#[derive(Debug)]
pub(super) struct ConnectionPermit {
    permits: Arc<ConnectionPermits>,
    member: Subject,
    frames: Arc<AtomicU64>,
}

/// Why a member may not open another connection.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TooManyConnections {
    #[error("{member} has {limit} connections, the largest number: close one")]
    Member { member: String, limit: u16 },
    #[error("{limit} connections are open, the largest number: try again later")]
    All { limit: u16 },
}

impl ConnectionPermits {
    pub(super) fn new(bounds: Bounds) -> Self {
        let open = Mutex::default();
        Self { bounds, open }
    }

    /// A permit for a connection that `member` has opened.
    pub(super) fn take(
        self: &Arc<Self>,
        member: &Subject,
    ) -> Result<ConnectionPermit, TooManyConnections> {
        let mut open = self.lock();
        let limit = self.bounds.connections;
        if limit <= open.total {
            return Err(TooManyConnections::All { limit });
        }
        let limit = self.bounds.connections_per_member;
        let (count, frames) = open.of.get(member).cloned().unwrap_or_default();
        if limit <= count {
            let Subject { role, name, .. } = member;
            let member = format!("{role} {name}");
            return Err(TooManyConnections::Member { member, limit });
        }
        open.total += 1;
        let counted = (count + 1, Arc::clone(&frames));
        open.of.insert(member.clone(), counted);
        Ok(ConnectionPermit {
            permits: Arc::clone(self),
            member: member.clone(),
            frames,
        })
    }

    fn lock(&self) -> MutexGuard<'_, OpenConnections> {
        // Assignments leave no partial value behind.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ConnectionPermit {
    /// Bytes of incomplete frames on all connections of the member.
    pub(super) fn frames(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.frames)
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut open = self.permits.lock();
        if let Some((count, frames)) = open.of.remove(&self.member)
            && 1 < count
        {
            open.of.insert(self.member.clone(), (count - 1, frames));
        }
        open.total -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_limited_for_each_member_and_together() {
        let permits = Arc::new(ConnectionPermits::new(Bounds {
            connections_per_member: 2,
            connections: 3,
            ..Bounds::default()
        }));
        let [one, other]: [Subject; 2] = ["migbsp://lab/client/a", "migbsp://lab/node/a"]
            .map(|subject| subject.parse().unwrap());
        let first = permits.take(&one).unwrap();
        let _second = permits.take(&one).unwrap();
        let error = permits.take(&one).unwrap_err();
        let expect = "client a has 2 connections, the largest number: close one";
        assert_eq!(error.to_string(), expect);
        let third = permits.take(&other).unwrap();
        let error = permits.take(&other).unwrap_err();
        assert_eq!(error, TooManyConnections::All { limit: 3 });
        drop((first, third));
        assert!(permits.take(&one).is_ok());
        assert!(!permits.lock().of.contains_key(&other));
    }
}
