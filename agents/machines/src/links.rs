//! Latency and bandwidth to other hosts, measured by probes and messages.

use std::collections::BTreeMap;

use bsp::numbers::real;
use bsp::units::Seconds;
use bsp::{HostId, SetId};
use model::BandwidthForecast;

/// The links from this host to others, as far as they have been measured, for predictions of moves.
#[derive(Debug, Default)]
pub(crate) struct Links(BTreeMap<HostId, Link>);

/// What probes have found of the links from this host when a view of a job began, by the name of the other host. The next view does not probe
/// them again.
pub(crate) type KnownLinks = BTreeMap<String, Probed>;

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
    /// each other, or than what the schedulers of the hosts may add. Then they say nothing.
    fn longer(&self) -> Option<f64> {
        let longer = self.full.shortest.get() - self.empty.shortest.get();
        let spread = self.empty.second.get() - self.empty.shortest.get();
        (spread.max(JITTER) < longer).then_some(longer)
    }

    /// Seconds per byte. If probes say nothing, the link is taken to move what it has been seen to move.
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
        let is_clear = probed.longer().is_some();
        if is_clear || known.is_none_or(|known| known < probed.per_byte().recip()) {
            link.bandwidth.observe(probed.per_byte().recip());
        }
    }

    /// Seconds per byte to `host`, which has been probed just now: as the probe says or, if it says nothing, as they were
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

/// The measured latency and time per byte from one Set's Manager to the others.
#[derive(Debug, Default)]
pub(crate) struct Rates(BTreeMap<SetId, Rate>);

#[derive(Clone, Copy, Debug, Default)]
struct Rate {
    /// The time of an empty message, one way.
    latency: Seconds,
    /// Seconds per byte.
    per_byte: f64,
}

impl Rates {
    /// Learns from a probe.
    pub(crate) fn probed(&mut self, set: SetId, probed: &Probed) {
        let rate = Rate {
            latency: probed.latency(),
            per_byte: probed.per_byte(),
        };
        self.0.insert(set, rate);
    }

    /// Moves the estimate towards a measurement: `bytes` bytes took `took`. An empty message takes no longer: probes may
    /// have waited for the processes that were sent at the same time.
    pub(crate) fn learn(&mut self, set: SetId, bytes: u64, took: Seconds) {
        let Some(rate) = self.0.get_mut(&set) else {
            return;
        };
        rate.latency = rate.latency.min(took);
        if bytes < BYTES_MIN {
            return;
        }
        let found = (took.get() - rate.latency.get()).max(0.0) / real(bytes);
        rate.per_byte += WEIGHT * (found - rate.per_byte);
    }

    /// Seconds per byte; 0 without a measurement.
    pub(crate) fn per_byte(&self, set: SetId) -> f64 {
        self.0.get(&set).map_or(0.0, |rate| rate.per_byte)
    }

    /// The time that an empty message takes.
    pub(crate) fn latency(&self, set: SetId) -> Seconds {
        self.0.get(&set).map_or(Seconds::ZERO, |rate| rate.latency)
    }
}

/// The weight of the latest measurement.
const WEIGHT: f64 = 0.25;

/// The one-way delay from another node to this one.
///
/// The difference between the clocks of two hosts changes slowly, and no message arrives before it is sent. The
/// smallest difference between the time of arrival and the time of sending is therefore that of an undelayed message,
/// which took half of the smallest round trip. A message with a larger difference was delayed by the excess. Round trips
/// are measured by the transport as a mean of the latest ones, so that a round trip of a loaded link includes the queue
/// of that link.
#[derive(Debug)]
pub(crate) struct OneWayDelay {
    /// What is smallest in this period and in the one before.
    least: [Least; 2],
    /// When this period began here, and its messages.
    began: Seconds,
    count: u32,
}

/// The smallest values of a period, in seconds.
#[derive(Clone, Copy, Debug)]
struct Least {
    /// From the time of sending to the time of arrival, each on its own clock.
    difference: f64,
    round_trip: f64,
}

impl Least {
    const NONE: Self = Self {
        difference: f64::INFINITY,
        round_trip: f64::INFINITY,
    };

    const fn min(self, other: Self) -> Self {
        Self {
            difference: self.difference.min(other.difference),
            round_trip: self.round_trip.min(other.round_trip),
        }
    }
}

impl OneWayDelay {
    pub(crate) const fn new() -> Self {
        Self {
            least: [Least::NONE; 2],
            began: Seconds::ZERO,
            count: 0,
        }
    }

    /// The delay of a message that was sent at `sent` on the clock of the other host and arrived at `came` on the clock
    /// of this one, with a round trip of `round_trip`.
    pub(crate) fn took(&mut self, sent: Seconds, came: Seconds, round_trip: Seconds) -> Seconds {
        let lasted = came.get() - self.began.get();
        if self.count == PERIOD_MESSAGES || PERIOD_SECONDS <= lasted {
            let is_recent = lasted < 2.0 * PERIOD_SECONDS;
            let before = if is_recent {
                self.least[0]
            } else {
                Least::NONE
            };
            self.least = [Least::NONE, before];
            self.began = came;
            self.count = 0;
        }
        self.count += 1;
        let difference = came.get() - sent.get();
        let round_trip = round_trip.get();
        self.least[0] = self.least[0].min(Least {
            difference,
            round_trip,
        });
        let least = self.least[0].min(self.least[1]);
        let took = (difference - least.difference).max(0.0) + least.round_trip / 2.0;
        Seconds::new(took).expect("times are finite")
    }
}

/// The messages and seconds of a period. Older values are dropped, because clocks drift and routes change.
const PERIOD_MESSAGES: u32 = 256;
const PERIOD_SECONDS: f64 = 10.0;

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
    fn a_probe_that_says_nothing_changes_no_prediction_that_it_allows() {
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

    #[test]
    fn probes_say_what_a_byte_takes_and_what_comes_later_corrects_it() {
        let (near, far) = (SetId(0), SetId(1));
        let mut rates = Rates::default();
        let trips = |took| RoundTrips::first(seconds(took));
        let probed = Probed {
            empty: trips(0.002),
            full: trips(0.012),
            bytes: 1_000_000,
        };
        rates.probed(far, &probed);
        assert!((rates.per_byte(far) - 1e-8).abs() < 1e-15);
        assert!((rates.latency(far).get() - 0.001).abs() < 1e-12);
        rates.learn(far, 1000, seconds(100.0));
        assert!(
            (rates.per_byte(far) - 1e-8).abs() < 1e-15,
            "too little to learn from"
        );
        for _ in 0..100 {
            rates.learn(far, 1_000_000, seconds(0.021));
        }
        assert!((rates.per_byte(far) - 2e-8).abs() < 1e-13, "{rates:?}");
        rates.learn(far, 10, seconds(0.0004));
        assert!((rates.latency(far).get() - 0.0004).abs() < 1e-12);
        // Links without a measurement have no estimate.
        rates.learn(near, 1_000_000, seconds(1.0));
        assert_eq!(
            (rates.per_byte(near), rates.latency(near)),
            (0.0, Seconds::ZERO)
        );
    }

    #[test]
    fn clocks_that_differ_by_an_hour_make_no_difference() {
        let mut way = OneWayDelay::new();
        let delays = [0.5, 0.1, 0.3, 0.1];
        let took: Vec<f64> = (0_u32..)
            .zip(delays)
            .map(|(index, delay)| {
                let sent = 3600.0 + f64::from(index);
                way.took(seconds(sent), seconds(sent - 3600.0 + delay), seconds(0.2))
                    .get()
            })
            .collect();
        // The first is the best that is known when it comes.
        for (took, expect) in took.iter().zip([0.1, 0.1, 0.3, 0.1]) {
            assert!((took - expect).abs() < 1e-9, "{took}, not {expect}");
        }
    }

    #[test]
    fn the_queue_of_a_loaded_link_is_counted_once() {
        let mut way = OneWayDelay::new();
        let mut took = |sent: f64, delay: f64, round_trip: f64| {
            let took = way.took(seconds(sent), seconds(sent + delay), seconds(round_trip));
            took.get()
        };
        assert!((took(1.0, 0.001, 0.002) - 0.001).abs() < 1e-9);
        // The link fills: the message waits for 20 ms, and the transport measures longer round trips.
        assert!((took(2.0, 0.021, 0.042) - 0.021).abs() < 1e-9);
        assert!((took(3.0, 0.011, 0.040) - 0.011).abs() < 1e-9);
    }

    #[test]
    fn a_clock_that_drifts_is_followed() {
        let mut way = OneWayDelay::new();
        // The other clock loses a millisecond with every message.
        let last = (0..2000_u32).map(|index| {
            let came = f64::from(index);
            way.took(seconds(came * 0.999), seconds(came), Seconds::ZERO)
        });
        let last = last.last().unwrap().get();
        assert!(last < 2.0 * PERIOD_SECONDS * 1e-3 + 1e-9, "{last}");
    }

    #[test]
    fn what_was_known_before_a_long_silence_is_forgotten() {
        let mut way = OneWayDelay::new();
        way.took(seconds(1.0), seconds(1.0), Seconds::ZERO);
        // Meanwhile the other clock has lost a second.
        let mut late = |at: f64| {
            let took = way.took(seconds(at - 1.0), seconds(at), Seconds::ZERO);
            took.get()
        };
        assert!(late(3600.0).max(late(3601.0)) < 1e-9);
    }
}
