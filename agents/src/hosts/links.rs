//! Latency and bandwidth to other hosts, measured by probes and messages.

use std::collections::BTreeMap;

use bsp::units::Seconds;
use bsp::{HostId, SetId};
use migbsp::BandwidthForecast;

/// The links from this host to others, as far as they have been measured.
#[derive(Debug, Default)]
pub(super) struct Links {
    hosts: BTreeMap<HostId, Link>,
    /// What was measured to the hosts of each Set, which stands for those without a measurement.
    sets: BTreeMap<SetId, Link>,
}

/// A message between this host and another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transferred {
    /// The other host.
    pub(super) host: HostId,
    /// Its Set.
    pub(super) set: SetId,
    pub(super) bytes: u64,
    pub(super) took: Seconds,
    /// The round trip of a packet, and the bandwidth that the transport estimates, in bytes per second.
    pub(super) transport: (Seconds, f64),
}

/// Round trips of probes, the shortest and the second shortest.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoundTrips {
    pub(super) shortest: Seconds,
    pub(super) second: Seconds,
}

#[derive(Clone, Debug)]
struct Link {
    /// The time of an empty message, one way, in seconds.
    latency: f64,
    bandwidth: BandwidthForecast,
}

impl RoundTrips {
    /// Those of one probe.
    pub(super) const fn first(took: Seconds) -> Self {
        Self {
            shortest: took,
            second: took,
        }
    }

    /// These and that of another probe.
    pub(super) fn and(self, took: Seconds) -> Self {
        if took < self.shortest || self.second == self.shortest {
            return Self {
                shortest: self.shortest.min(took),
                second: self.shortest.max(took),
            };
        }
        Self {
            second: self.second.min(took),
            ..self
        }
    }
}

impl Default for Link {
    fn default() -> Self {
        Self {
            latency: f64::INFINITY,
            bandwidth: BandwidthForecast::default(),
        }
    }
}

impl Link {
    /// An empty message takes no longer than this.
    const fn bound(&mut self, latency: f64) {
        self.latency = self.latency.min(latency);
    }

    fn latency(&self) -> Seconds {
        Seconds::new(self.latency).unwrap_or_default()
    }

    /// Seconds per byte.
    fn per_byte(&self) -> Option<f64> {
        self.bandwidth.bandwidth().map(f64::recip)
    }
}

impl Links {
    /// Learns from the round trips of probes without content, `empty`, and of those with `bytes` bytes, `full`.
    ///
    /// Where they differ by no more than probes without content differ among each other, they do not tell the bandwidth.
    /// The link then is taken to move what it has been seen to move.
    pub(super) fn probed(
        &mut self,
        (host, set): (HostId, SetId),
        empty: RoundTrips,
        (bytes, full): (u64, RoundTrips),
    ) {
        let longer = full.shortest.get() - empty.shortest.get();
        let spread = empty.second.get() - empty.shortest.get();
        let took = if spread < longer {
            longer
        } else {
            full.shortest.get()
        };
        for link in self.of(host, set) {
            link.bound(empty.shortest.get() / 2.0);
            link.bandwidth.observe(count(bytes) / took);
        }
    }

    /// Learns from a message.
    ///
    /// An empty message takes no longer: probes may have waited for the processes that were sent at the same time. No
    /// message is faster than half of a round trip.
    pub(super) fn add_message(&mut self, transferred: Transferred) {
        let took = transferred.took.get();
        for link in self.of(transferred.host, transferred.set) {
            link.bound(took.min(transferred.transport.0.get() / 2.0));
            if BYTES_MIN <= transferred.bytes {
                link.bandwidth.observe_transport(transferred.transport.1);
                let bandwidth = count(transferred.bytes) / (took - link.latency);
                link.bandwidth.observe(bandwidth);
            }
        }
    }

    /// Seconds per byte to a Set; 0 without a measurement.
    pub(super) fn per_byte(&self, set: SetId) -> f64 {
        let link = self.sets.get(&set);
        link.and_then(Link::per_byte).unwrap_or_default()
    }

    /// The time that an empty message takes to a Set.
    pub(super) fn latency(&self, set: SetId) -> Seconds {
        self.sets.get(&set).map_or(Seconds::ZERO, Link::latency)
    }

    /// The hosts to which the bandwidth has been measured, in order, with the seconds per byte that are predicted.
    pub(super) fn to_hosts(&self) -> impl Iterator<Item = (HostId, f64)> {
        let links = self.hosts.iter();
        links.filter_map(|(host, link)| Some((*host, link.per_byte()?)))
    }

    /// What is known of the link to a host and of those to its Set.
    fn of(&mut self, host: HostId, set: SetId) -> [&mut Link; 2] {
        [
            self.hosts.entry(host).or_default(),
            self.sets.entry(set).or_default(),
        ]
    }
}

#[expect(
    clippy::as_conversions,
    clippy::cast_precision_loss,
    reason = "a bandwidth may be rounded"
)]
const fn count(bytes: u64) -> f64 {
    bytes as f64
}

/// Bytes below which a transfer is not a measurement of bandwidth.
const BYTES_MIN: u64 = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    const FAR: (HostId, SetId) = (HostId(4), SetId(1));

    fn seconds(value: f64) -> Seconds {
        Seconds::new(value).unwrap()
    }

    fn trips(shortest: f64, second: f64) -> RoundTrips {
        RoundTrips {
            shortest: seconds(shortest),
            second: seconds(second),
        }
    }

    fn message(host: u32, bytes: u64, took: f64) -> Transferred {
        Transferred {
            host: HostId(host),
            set: SetId(1),
            bytes,
            took: seconds(took),
            transport: (seconds(0.002), 0.0),
        }
    }

    fn close(value: f64, expected: f64) {
        assert!(
            (value / expected - 1.0).abs() < 1e-9,
            "{value}, not {expected}"
        );
    }

    #[test]
    fn probes_say_what_a_byte_takes_and_what_comes_later_corrects_it() {
        let mut links = Links::default();
        links.probed(FAR, trips(0.002, 0.0021), (1_000_000, trips(0.012, 0.013)));
        close(links.per_byte(FAR.1), 1e-8);
        close(links.latency(FAR.1).get(), 0.001);
        links.add_message(message(4, 1000, 100.0));
        close(links.per_byte(FAR.1), 1e-8);
        for _ in 0..100 {
            links.add_message(message(4, 1_000_000, 0.021));
        }
        close(links.per_byte(FAR.1), 2e-8);
        links.add_message(message(4, 10, 0.0004));
        close(links.latency(FAR.1).get(), 0.0004);
    }

    #[test]
    fn probes_that_differ_by_less_than_their_spread_say_what_was_moved_at_least() {
        let mut links = Links::default();
        links.probed(FAR, trips(0.002, 0.003), (1_000_000, trips(0.0019, 0.004)));
        close(links.per_byte(FAR.1), 0.0019 / 1e6);
        links = Links::default();
        links.probed(FAR, trips(0.002, 0.003), (1_000_000, trips(0.0025, 0.004)));
        close(links.per_byte(FAR.1), 0.0025 / 1e6);
    }

    #[test]
    fn a_host_has_its_own_bandwidth_and_stands_for_its_set() {
        let mut links = Links::default();
        assert_eq!(
            (links.per_byte(FAR.1), links.latency(FAR.1)),
            (0.0, Seconds::ZERO)
        );
        assert_eq!(links.to_hosts().count(), 0);
        links.add_message(message(4, 1_000_000, 0.101));
        links.add_message(message(5, 1_000_000, 0.011));
        let hosts: Vec<_> = links.to_hosts().collect();
        assert_eq!((hosts[0].0, hosts[1].0), (HostId(4), HostId(5)));
        close(hosts[0].1, 1e-7);
        close(hosts[1].1, 1e-8);
        close(links.per_byte(FAR.1), 1e-8);
    }
}
