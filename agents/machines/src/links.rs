//! Latency and bandwidth to other hosts, measured by probes and messages.

use std::collections::BTreeMap;

use bsp::HostId;
use bsp::numbers::real;
use bsp::units::Seconds;
use migbsp::BandwidthForecast;

/// The links from this host to others, as far as they have been measured, for predictions of moves.
#[derive(Debug, Default)]
pub(crate) struct Links(BTreeMap<HostId, Link>);

/// Probes of a link, without content and with `bytes` bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probed {
    pub(crate) empty: RoundTrips,
    pub(crate) full: RoundTrips,
    pub(crate) bytes: u64,
}

/// Round trips of probes, the shortest and the second shortest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoundTrips {
    pub(crate) shortest: Seconds,
    pub(crate) second: Seconds,
}

#[derive(Clone, Debug)]
struct Link {
    /// The time of an empty message, one way, in seconds.
    latency: f64,
    bandwidth: BandwidthForecast,
}

impl RoundTrips {
    /// Those of one probe.
    pub(crate) const fn first(took: Seconds) -> Self {
        Self {
            shortest: took,
            second: took,
        }
    }

    /// These and that of another probe.
    pub(crate) fn and(self, took: Seconds) -> Self {
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
}

impl Probed {
    /// The time of an empty message, one way.
    pub(crate) fn latency(&self) -> Seconds {
        Seconds::new(self.empty.shortest.get() / 2.0).expect("half of a time")
    }

    /// By how much probes with content took longer than those without; `None`: by no more than those without differ among
    /// each other, or than what the schedulers of the hosts may add. Then they do not tell.
    fn longer(&self) -> Option<f64> {
        let longer = self.full.shortest.get() - self.empty.shortest.get();
        let spread = self.empty.second.get() - self.empty.shortest.get();
        (spread.max(JITTER) < longer).then_some(longer)
    }

    /// Seconds per byte. If probes do not tell, the link is taken to move what it has been seen to move.
    pub(crate) fn per_byte(&self) -> f64 {
        let took = self.longer().unwrap_or_else(|| self.full.shortest.get());
        took / real(self.bytes)
    }
}

impl Links {
    /// Learns from probes.
    pub(crate) fn probed(&mut self, host: HostId, probed: &Probed) {
        let link = self.0.entry(host).or_default();
        link.bound(probed.latency().get());
        let known = link.bandwidth.bandwidth();
        let is_told = probed.longer().is_some();
        if is_told || known.is_none_or(|known| known < probed.per_byte().recip()) {
            link.bandwidth.observe(probed.per_byte().recip());
        }
    }

    /// Seconds per byte to `host`, which has been probed just now: as the probe tells or, if it does not, as they were
    /// predicted, unless the probe has shown that to be too long.
    pub(crate) fn after_probe(&self, host: HostId, probed: &Probed) -> f64 {
        let bound = probed.per_byte();
        let link = self.0.get(&host);
        let known = link.and_then(|link| link.bandwidth.bandwidth());
        match known {
            Some(known) if probed.longer().is_none() => bound.min(known.recip()),
            _ => bound,
        }
    }

    /// Learns from a message of `bytes` bytes that took `took`; `transport` has the round trip of a packet, and the
    /// bandwidth that the transport estimates, in bytes per second.
    ///
    /// An empty message takes no longer: probes may have waited for the processes that were sent at the same time. No
    /// message is faster than half of a round trip.
    pub(crate) fn add_message(
        &mut self,
        host: HostId,
        (bytes, took): (u64, Seconds),
        transport: (Seconds, f64),
    ) {
        let link = self.0.entry(host).or_default();
        let took = took.get();
        link.bound(took.min(transport.0.get() / 2.0));
        if BYTES_MIN <= bytes {
            link.bandwidth.observe_transport(transport.1);
            link.bandwidth.observe(real(bytes) / (took - link.latency));
        }
    }

    /// The hosts to which the bandwidth has been measured, in order, with the seconds per byte that are predicted.
    pub(crate) fn to_hosts(&self) -> impl Iterator<Item = (HostId, f64)> {
        let links = self.0.iter();
        links.filter_map(|(host, link)| Some((*host, link.bandwidth.bandwidth()?.recip())))
    }
}

/// Seconds that the schedulers of two hosts may add to a round trip.
const JITTER: f64 = 5e-4;

/// Bytes below which a transfer is not a measurement of bandwidth.
const BYTES_MIN: u64 = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(value: f64) -> Seconds {
        Seconds::new(value).unwrap()
    }

    fn probed(empty: (f64, f64), full: f64) -> Probed {
        Probed {
            empty: RoundTrips {
                shortest: seconds(empty.0),
                second: seconds(empty.1),
            },
            full: RoundTrips::first(seconds(full)),
            bytes: 1_000_000,
        }
    }

    fn close(value: f64, expected: f64) {
        assert!(
            (value / expected - 1.0).abs() < 1e-9,
            "{value}, not {expected}"
        );
    }

    #[test]
    fn probes_that_differ_by_less_than_their_spread_say_what_was_moved_at_least() {
        close(probed((0.002, 0.0021), 0.012).per_byte(), 1e-8);
        close(probed((0.002, 0.003), 0.0019).per_byte(), 0.0019 / 1e6);
        close(probed((0.002, 0.003), 0.0025).per_byte(), 0.0025 / 1e6);
    }

    #[test]
    fn a_probe_that_does_not_tell_changes_no_prediction_that_it_allows() {
        let mut links = Links::default();
        let host = HostId(5);
        // It takes less longer than an empty one than what schedulers may add.
        let short = probed((0.002, 0.0021), 0.0024);
        links.probed(host, &probed((0.002, 0.0021), 0.012));
        links.probed(host, &short);
        close(links.to_hosts().next().unwrap().1, 2.4e-9);
        links.probed(host, &probed((0.002, 0.0021), 0.00245));
        close(links.to_hosts().next().unwrap().1, 2.4e-9);
        close(
            links.after_probe(host, &probed((0.002, 0.0021), 0.00245)),
            2.4e-9,
        );
        close(
            links.after_probe(host, &probed((0.002, 0.0021), 0.0021)),
            2.1e-9,
        );
        close(
            links.after_probe(host, &probed((0.002, 0.0021), 0.022)),
            2e-8,
        );
        close(links.after_probe(HostId(6), &short), 2.4e-9);
    }

    #[test]
    fn round_trips_keep_the_two_shortest() {
        let mut trips = RoundTrips::first(seconds(5.0));
        for took in [7.0, 3.0, 9.0, 4.0] {
            trips = trips.and(seconds(took));
        }
        assert_eq!((trips.shortest, trips.second), (seconds(3.0), seconds(4.0)));
    }

    #[test]
    fn every_host_has_its_own_bandwidth() {
        let mut links = Links::default();
        assert_eq!(links.to_hosts().count(), 0);
        let transport = (seconds(0.002), 0.0);
        links.add_message(HostId(4), (1000, seconds(100.0)), transport);
        assert_eq!(links.to_hosts().count(), 0, "too little to learn from");
        links.add_message(HostId(4), (1_000_000, seconds(0.101)), transport);
        links.probed(HostId(5), &probed((0.002, 0.0021), 0.012));
        let hosts: Vec<_> = links.to_hosts().collect();
        assert_eq!((hosts[0].0, hosts[1].0), (HostId(4), HostId(5)));
        close(hosts[0].1, 1e-7);
        close(hosts[1].1, 1e-8);
    }
}
