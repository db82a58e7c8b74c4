//! Who is being let in at the moment, and from where.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::transport::Bounds;

/// Counts the connections that are being set up, all of them and those from one address.
#[derive(Debug)]
pub(super) struct Doorway {
    bounds: Bounds,
    crowd: Mutex<Crowd>,
}

/// Invariant: `total` is the sum of `from`, and nobody in `from` has 0.
#[derive(Debug, Default)]
struct Crowd {
    total: u16,
    from: BTreeMap<Origin, u16>,
}

/// What is done with a stranger.
#[derive(Debug)]
pub(super) enum Verdict {
    /// It comes in, for as long as it keeps this.
    Enter(Place),
    /// It has to prove its address first.
    Prove,
    /// Too many others are being let in.
    Full,
    /// Too many others of its address are.
    Crowded,
}

/// One connection that is being set up; dropped when it is.
#[derive(Debug)]
pub(super) struct Place {
    doorway: Arc<Doorway>,
    origin: Origin,
}

/// Whose addresses count as one: an IPv4 address, or the IPv6 network of one subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Origin(IpAddr);

impl Doorway {
    pub(super) fn new(bounds: Bounds) -> Self {
        let crowd = Mutex::default();
        Self { bounds, crowd }
    }

    /// Looks at a stranger from `address`, which it `is_proved` to have.
    ///
    /// Whoever has not proved it may be somebody else, and takes at most a quarter of what an address
    /// may have: so nobody keeps others out by sending under their address.
    pub(super) fn meet(self: &Arc<Self>, address: IpAddr, is_proved: bool) -> Verdict {
        let origin = Origin::of(address);
        let mut crowd = self.lock();
        let from = crowd.from.get(&origin).copied().unwrap_or(0);
        let Bounds {
            handshakes,
            handshakes_per_address,
            retry_from,
            ..
        } = self.bounds;
        let retry_from_here = handshakes_per_address.div_ceil(4);
        if !is_proved && (retry_from <= crowd.total || retry_from_here <= from) {
            return Verdict::Prove;
        }
        if handshakes <= crowd.total {
            return Verdict::Full;
        }
        if handshakes_per_address <= from {
            return Verdict::Crowded;
        }
        crowd.total += 1;
        crowd.from.insert(origin, from + 1);
        Verdict::Enter(Place {
            doorway: Arc::clone(self),
            origin,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Crowd> {
        // Nothing panics half-way.
        self.crowd.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut crowd = self.doorway.lock();
        let left = crowd.from.remove(&self.origin).unwrap_or(0);
        if 1 < left {
            crowd.from.insert(self.origin, left - 1);
        }
        crowd.total -= 1;
    }
}

impl Origin {
    fn of(address: IpAddr) -> Self {
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

    fn doorway(handshakes: u16, per_address: u16, retry_from: u16) -> Arc<Doorway> {
        Arc::new(Doorway::new(Bounds {
            handshakes,
            handshakes_per_address: per_address,
            retry_from,
            ..Bounds::default()
        }))
    }

    /// How many proved strangers get in from `addresses`, in turn, and what the next one is told.
    fn check(doorway: &Arc<Doorway>, addresses: &[&str], expect: usize, then: &str) -> Vec<Place> {
        let mut places = Vec::new();
        for address in addresses.iter().cycle() {
            match doorway.meet(address.parse().unwrap(), true) {
                Verdict::Enter(place) => places.push(place),
                verdict @ (Verdict::Prove | Verdict::Full | Verdict::Crowded) => {
                    assert_eq!(format!("{verdict:?}"), then);
                    break;
                }
            }
        }
        assert_eq!(places.len(), expect);
        places
    }

    #[test]
    fn an_address_has_its_share_and_no_more() {
        let doorway = doorway(100, 8, 100);
        let first = check(&doorway, &["10.0.0.1"], 8, "Crowded");
        // The same address, written in the other way.
        check(&doorway, &["::ffff:10.0.0.1"], 0, "Crowded");
        check(&doorway, &["10.0.0.2"], 8, "Crowded");
        drop(first);
        check(&doorway, &["10.0.0.1"], 8, "Crowded");
    }

    #[test]
    fn a_subscriber_with_many_addresses_has_one_share() {
        let doorway = doorway(100, 8, 100);
        let _first = check(&doorway, &["fd00::1", "fd00::2:0:0:3"], 8, "Crowded");
        check(&doorway, &["fd00:0:0:1::1"], 8, "Crowded");
    }

    #[test]
    fn all_addresses_together_have_a_limit_too() {
        let doorway = doorway(10, 8, 100);
        let places = check(&doorway, &["10.0.0.1", "10.0.0.2"], 10, "Full");
        drop(places);
        assert_eq!(doorway.lock().total, 0);
        assert!(doorway.lock().from.is_empty());
    }

    #[test]
    fn who_has_not_proved_its_address_keeps_nobody_out_of_it() {
        let doorway = doorway(100, 8, 100);
        let address = "10.0.0.1".parse().unwrap();
        let mut places = Vec::new();
        while let Verdict::Enter(place) = doorway.meet(address, false) {
            places.push(place);
        }
        assert_eq!(places.len(), 2);
        assert!(matches!(doorway.meet(address, false), Verdict::Prove));
        check(&doorway, &["10.0.0.1"], 6, "Crowded");
    }

    #[test]
    fn everybody_proves_its_address_once_many_have_come() {
        let doorway = doorway(100, 100, 3);
        let _places: Vec<_> = ["10.0.0.1", "10.0.0.2", "10.0.0.3"]
            .map(|address| doorway.meet(address.parse().unwrap(), false))
            .into();
        let next = doorway.meet("10.0.0.4".parse().unwrap(), false);
        assert!(matches!(next, Verdict::Prove));
    }
}
