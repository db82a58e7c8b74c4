//! How many handshakes may be in progress, in total and for each address.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::transport::Bounds;

/// Counts the handshakes in progress, in total and for each address.
#[derive(Debug)]
pub(super) struct Admission {
    bounds: Bounds,
    pending: Mutex<PendingHandshakes>,
}

/// Invariant: `total` is the sum of `from`, and no count in `from` is 0.
#[derive(Debug, Default)]
struct PendingHandshakes {
    total: u16,
    from: BTreeMap<Origin, u16>,
}

/// What to do with a peer that asks for a handshake.
#[derive(Debug)]
pub(super) enum Decision {
    /// Begin the handshake; the permit is held until it ends.
    Admit(HandshakePermit),
    /// Ask the peer to prove its address first.
    Retry,
    /// Refuse: too many handshakes are in progress.
    Refuse,
    /// Ignore: too many handshakes from its address are in progress.
    Ignore,
}

/// The right to one handshake; dropped when it ends.
#[derive(Debug)]
pub(super) struct HandshakePermit {
    admission: Arc<Admission>,
    origin: Origin,
}

/// The addresses that are counted together: an IPv4 address, or an IPv6 network of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Origin(IpAddr);

impl Admission {
    pub(super) fn new(bounds: Bounds) -> Self {
        let pending = Mutex::default();
        Self { bounds, pending }
    }

    /// Decides about a handshake from `address`; `is_proved` says whether the peer has proved that address.
    ///
    /// An address that is not proved may be forged. Handshakes without proof take at most a quarter of the
    /// share of an address, so that forged packets cannot keep its owner out.
    pub(super) fn decide(self: &Arc<Self>, address: IpAddr, is_proved: bool) -> Decision {
        let origin = Origin::new(address);
        let mut pending = self.lock();
        let from = pending.from.get(&origin).copied().unwrap_or(0);
        let Bounds {
            handshakes,
            handshakes_per_address,
            retry_from,
            ..
        } = self.bounds;
        let retry_from_here = handshakes_per_address.div_ceil(4);
        if !is_proved && (retry_from <= pending.total || retry_from_here <= from) {
            return Decision::Retry;
        }
        if handshakes <= pending.total {
            return Decision::Refuse;
        }
        if handshakes_per_address <= from {
            return Decision::Ignore;
        }
        pending.total += 1;
        pending.from.insert(origin, from + 1);
        Decision::Admit(HandshakePermit {
            admission: Arc::clone(self),
            origin,
        })
    }

    fn lock(&self) -> MutexGuard<'_, PendingHandshakes> {
        // Assignments leave no partial value behind.
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for HandshakePermit {
    fn drop(&mut self) {
        let mut pending = self.admission.lock();
        let left = pending.from.remove(&self.origin).unwrap_or(0);
        if 1 < left {
            pending.from.insert(self.origin, left - 1);
        }
        pending.total -= 1;
    }
}

impl Origin {
    fn new(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(address) => {
                let network = address.to_bits() & (u128::MAX << 64);
                Ipv6Addr::from_bits(network).into()
            }
            address @ IpAddr::V4(_) => address,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admission(handshakes: u16, per_address: u16, retry_from: u16) -> Arc<Admission> {
        Arc::new(Admission::new(Bounds {
            handshakes,
            handshakes_per_address: per_address,
            retry_from,
            ..Bounds::default()
        }))
    }

    /// Checks how many proved peers are admitted from `addresses`, in turn, and the decision about the next one.
    fn check(
        admission: &Arc<Admission>,
        addresses: &[&str],
        expect: usize,
        then: &str,
    ) -> Vec<HandshakePermit> {
        let mut permits = Vec::new();
        for address in addresses.iter().cycle() {
            match admission.decide(address.parse().unwrap(), true) {
                Decision::Admit(permit) => permits.push(permit),
                decision @ (Decision::Retry | Decision::Refuse | Decision::Ignore) => {
                    assert_eq!(format!("{decision:?}"), then);
                    break;
                }
            }
        }
        assert_eq!(permits.len(), expect);
        permits
    }

    #[test]
    fn handshakes_of_one_address_are_limited() {
        let admission = admission(100, 8, 100);
        let first = check(&admission, &["10.0.0.1"], 8, "Ignore");
        // The same address in its IPv6 form.
        check(&admission, &["::ffff:10.0.0.1"], 0, "Ignore");
        check(&admission, &["10.0.0.2"], 8, "Ignore");
        drop(first);
        check(&admission, &["10.0.0.1"], 8, "Ignore");
    }

    #[test]
    fn addresses_of_one_ipv6_network_share_a_limit() {
        let admission = admission(100, 8, 100);
        let _first = check(&admission, &["fd00::1", "fd00::2:0:0:3"], 8, "Ignore");
        check(&admission, &["fd00:0:0:1::1"], 8, "Ignore");
    }

    #[test]
    fn handshakes_of_all_addresses_are_limited() {
        let admission = admission(10, 8, 100);
        let permits = check(&admission, &["10.0.0.1", "10.0.0.2"], 10, "Refuse");
        drop(permits);
        assert_eq!(admission.lock().total, 0);
        assert!(admission.lock().from.is_empty());
    }

    #[test]
    fn unproved_addresses_take_a_quarter_of_a_share() {
        let admission = admission(100, 8, 100);
        let address = "10.0.0.1".parse().unwrap();
        let mut permits = Vec::new();
        while let Decision::Admit(permit) = admission.decide(address, false) {
            permits.push(permit);
        }
        assert_eq!(permits.len(), 2);
        assert!(matches!(admission.decide(address, false), Decision::Retry));
        check(&admission, &["10.0.0.1"], 6, "Ignore");
    }

    #[test]
    fn addresses_must_be_proved_under_load() {
        let admission = admission(100, 100, 3);
        let _places: Vec<_> = ["10.0.0.1", "10.0.0.2", "10.0.0.3"]
            .map(|address| admission.decide(address.parse().unwrap(), false))
            .into();
        let next = admission.decide("10.0.0.4".parse().unwrap(), false);
        assert!(matches!(next, Decision::Retry));
    }
}
