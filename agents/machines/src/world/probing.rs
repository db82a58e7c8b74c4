//! Probes: messages that measure how long messages take.

use std::collections::BTreeMap;
use std::time::Instant as Clock;

use agents::{Rules, check};
use bsp::units::Seconds;
use bsp::{HostId, SetId};
use bytes::Bytes;
use protocol::{Address, Probe, ProbeLink};

use crate::links::{Probed, RoundTrips};
use crate::time::seconds;

/// The probes of a node, one series to a host at a time.
#[derive(Debug)]
pub(super) struct Probing {
    /// The host that represents each Set, as seen from here; empty unless this is the node of a Set Manager.
    ends: BTreeMap<SetId, HostId>,
    /// The series to each host.
    series: BTreeMap<HostId, Series>,
}

/// A series of probes to a host, first without content, then with content.
#[derive(Clone, Debug)]
struct Series {
    purpose: Purpose,
    /// The number of the probe in transfer, its bytes of content, and when it was sent.
    number: u32,
    bytes: usize,
    sent: Clock,
    /// When the first probe was sent, and the first one with content.
    began: Clock,
    content_began: Option<Clock>,
    /// The round trips so far, by bytes of content, with their number.
    took: BTreeMap<usize, (RoundTrips, u32)>,
}

/// What a series of probes is for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    /// To know rates between Sets when a job begins.
    Start,
    /// A Manager has ordered it before a large move. Messages grow as long as the next one fits the budget, because the
    /// link may have become much slower or faster since it was measured.
    Order(Address, ProbeLink),
}

/// What follows from the return of a probe.
#[derive(Clone, Copy, Debug)]
pub(super) enum Returned {
    /// The next probe of the series is to be sent.
    Next(SeriesProbe),
    /// The series is complete, after so long.
    Complete(Purpose, Probed, Seconds),
}

/// A probe to be sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct SeriesProbe {
    number: u32,
    bytes: usize,
}

impl From<SeriesProbe> for Probe {
    fn from(probe: SeriesProbe) -> Self {
        Self {
            number: probe.number,
            is_back: false,
            payload: Bytes::from(vec![0; probe.bytes]),
        }
    }
}

impl Series {
    fn new(purpose: Purpose, now: Clock) -> Self {
        Self {
            purpose,
            number: 0,
            bytes: 0,
            sent: now,
            began: now,
            content_began: None,
            took: BTreeMap::new(),
        }
    }

    /// The probe in transfer, which is sent now.
    fn send(&mut self, now: Clock) -> SeriesProbe {
        self.sent = now;
        if 0 < self.bytes {
            self.content_began.get_or_insert(self.sent);
        }
        SeriesProbe {
            number: self.number,
            bytes: self.bytes,
        }
    }

    /// The probe in transfer is back. Returns the next one; `None`: the series is complete.
    fn add(&mut self, arrived: Clock, now: Clock) -> Option<SeriesProbe> {
        let took = seconds(arrived.saturating_duration_since(self.sent));
        // The first probes wake both ends and open the windows of the connection.
        let same = self.took.entry(self.bytes);
        let same = same.and_modify(|(trips, count)| {
            *trips = trips.and(took);
            *count += 1;
        });
        let (trips, count) = *same.or_insert_with(|| (RoundTrips::first(took), 1));
        self.bytes = match self.purpose {
            Purpose::Start if count < PROBES => self.bytes,
            Purpose::Start => (self.bytes == 0).then_some(PROBE_LEN)?,
            Purpose::Order(..) if self.bytes == 0 && count < REPEATED => 0,
            Purpose::Order(..) if self.bytes == 0 => FIRST_LEN,
            // A single one may have waited for something else that runs on one of the machines.
            Purpose::Order(..) if self.bytes == FIRST_LEN && count < REPEATED => FIRST_LEN,
            Purpose::Order(_, order) => {
                let began = self.content_began;
                let began = began.expect("a probe with content is back");
                let spent = seconds(arrived.saturating_duration_since(began));
                let same = trips.shortest;
                let next = LAST_LEN.min(2 * self.bytes);
                let expected = if self.bytes < next { same + same } else { same };
                let fits = spent + expected <= order.probe.budget && count < PROBES;
                fits.then_some(next)?
            }
        };
        self.number += 1;
        Some(self.send(now))
    }

    /// What the series found, once it is complete: the shortest time for a byte, of the two largest sizes. Something else
    /// that runs on one of the machines makes a probe longer, never shorter.
    fn probed(&self) -> Option<Probed> {
        let (empty, _) = self.took.get(&0)?;
        let full = self.took.iter().filter(|(bytes, _)| 0 < **bytes);
        let largest = full.rev().take(2).map(|(bytes, (full, _))| Probed {
            empty: *empty,
            full: *full,
            bytes: u64::try_from(*bytes).expect("a probe is small"),
        });
        largest.min_by(|one, other| one.per_byte().total_cmp(&other.per_byte()))
    }
}

impl Probing {
    /// The probes of `own`. If it is the node of a Set Manager, the first go to the Managers of the other Sets and to one
    /// neighbour.
    pub(super) fn new(rules: &Rules, own: HostId) -> Self {
        let own_set = rules.sets[own.index()];
        let mut ends = BTreeMap::new();
        if rules.managers[own_set.index()] == own {
            for (index, manager) in rules.managers.iter().enumerate() {
                ends.insert(SetId::from_index(index), *manager);
            }
            ends.remove(&own_set);
            let hosts = (0..rules.sets.len()).map(HostId::from_index);
            let mut neighbours =
                hosts.filter(|host| *host != own && rules.sets[host.index()] == own_set);
            ends.extend(neighbours.next().map(|host| (own_set, host)));
        }
        Self {
            ends,
            series: BTreeMap::new(),
        }
    }

    /// The first probe of each series at the start of a job, to be sent now.
    pub(super) fn start(&mut self, now: Clock) -> Vec<(HostId, Probe)> {
        let hosts: Vec<HostId> = self.ends.values().copied().collect();
        let first = hosts
            .into_iter()
            .map(|host| (host, self.begin(host, Purpose::Start, now)));
        first.collect()
    }

    /// The first probe of the series that a Manager, `by`, has ordered, to be sent now.
    ///
    /// # Errors
    ///
    /// If the host is being probed already.
    pub(super) fn order(
        &mut self,
        order: ProbeLink,
        by: Address,
        now: Clock,
    ) -> Result<Probe, String> {
        let host = order.probe.to;
        check(!self.series.contains_key(&host), || {
            format!("the link to {host} is being probed")
        })?;
        Ok(self.begin(host, Purpose::Order(by, order), now))
    }

    fn begin(&mut self, host: HostId, purpose: Purpose, now: Clock) -> Probe {
        let mut series = Series::new(purpose, now);
        let first = series.send(now);
        self.series.insert(host, series);
        first.into()
    }

    /// Whether no probe is in transfer.
    pub(super) fn is_complete(&self) -> bool {
        self.series.is_empty()
    }

    /// Handles the return of probe `number` from `host`, which arrived at `arrived` and is handled `now`.
    ///
    /// # Errors
    ///
    /// If that probe is not in transfer to `host`.
    pub(super) fn handle_reply(
        &mut self,
        host: HostId,
        number: u32,
        (arrived, now): (Clock, Clock),
    ) -> Result<Returned, String> {
        let series = self.series.get_mut(&host);
        let series = series.filter(|series| series.number == number);
        let series = series.ok_or_else(|| format!("probe {number}, which is not in transfer"))?;
        if let Some(next) = series.add(arrived, now) {
            return Ok(Returned::Next(next));
        }
        let (purpose, probed) = (series.purpose, series.probed());
        let took = seconds(arrived.saturating_duration_since(series.began));
        self.series.remove(&host);
        let probed = probed.expect("a series ends with content");
        Ok(Returned::Complete(purpose, probed, took))
    }

    /// The Sets that `host` represents.
    pub(super) fn sets(&self, host: HostId) -> impl Iterator<Item = SetId> {
        let ends = self.ends.iter().filter(move |(_, end)| **end == host);
        ends.map(|(set, _)| *set)
    }
}

/// The most probes of a size.
const PROBES: u32 = 4;
/// The number of probes without content before a move, and of the smallest ones with content.
const REPEATED: u32 = 2;
/// Bytes of content of the first probe before a move, and the most of any: each has twice as many as the one before.
const FIRST_LEN: usize = 4 << 10;
const LAST_LEN: usize = 256 << 10;
/// Bytes of content at the start of a job, and the most of any probe.
pub(super) const PROBE_LEN: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use migbsp::LinkProbe;

    use super::*;

    const TO: HostId = HostId(1);

    fn order(budget: f64) -> ProbeLink {
        ProbeLink {
            superstep: 0,
            probe: LinkProbe {
                from: HostId(0),
                to: TO,
                budget: Seconds::new(budget).unwrap(),
            },
        }
    }

    /// The probes of a node that represents no Set.
    fn probing() -> Probing {
        Probing {
            ends: BTreeMap::new(),
            series: BTreeMap::new(),
        }
    }

    /// Answers the probes of an order on a link with this round trip and bandwidth. Returns the bytes of each, and the seconds
    /// per byte that were found.
    fn answered(budget: f64, round_trip: f64, bandwidth: u32) -> (Vec<usize>, f64) {
        let mut probing = probing();
        let manager = Address::SetManager(SetId(0));
        let first = probing.order(order(budget), manager, Clock::now()).unwrap();
        let mut sent = vec![first.payload.len()];
        let mut late = 0.0;
        for number in 0.. {
            let bytes = u32::try_from(*sent.last().unwrap()).unwrap();
            late += round_trip + f64::from(bytes) / f64::from(bandwidth);
            // Time stands still between a reply and the next probe.
            let series = probing.series.get_mut(&TO).unwrap();
            let began = *sent.iter().find(|bytes| 0 < **bytes).unwrap_or(&0);
            let arrived = series.sent
                + Duration::from_secs_f64(round_trip + f64::from(bytes) / f64::from(bandwidth));
            if 0 < began {
                series.content_began = Some(arrived - Duration::from_secs_f64(late));
            }
            match probing
                .handle_reply(TO, number, (arrived, arrived))
                .unwrap()
            {
                Returned::Next(next) => {
                    if sent.last() == Some(&0) && 0 < next.bytes {
                        late = 0.0;
                    }
                    sent.push(next.bytes);
                }
                Returned::Complete(purpose, probed, _) => {
                    assert!(matches!(purpose, Purpose::Order(by, _) if by == manager));
                    assert!(probing.is_complete());
                    return (sent, probed.per_byte());
                }
            }
        }
        unreachable!("a series ends")
    }

    #[test]
    fn probes_of_an_order_grow_as_long_as_the_next_one_fits() {
        let (sent, per_byte) = answered(0.01, 1e-4, 10_000_000);
        assert_eq!(sent, [0, 0, 4096, 4096, 8192, 16_384, 32_768]);
        assert!((per_byte * 1e7 - 1.0).abs() < 1e-6, "{per_byte}");
        // A link that is much slower than expected is not probed again and again.
        let (sent, per_byte) = answered(0.01, 1e-4, 100_000);
        assert_eq!(sent, [0, 0, 4096, 4096]);
        assert!((per_byte * 1e5 - 1.0).abs() < 1e-6, "{per_byte}");
        let (sent, _) = answered(1e9, 1e-4, 1_000_000_000);
        assert_eq!(sent[9..], [LAST_LEN; 4]);
    }

    #[test]
    fn a_probe_that_was_not_sent_is_refused() {
        let mut probing = probing();
        assert!(
            probing
                .handle_reply(TO, 0, (Clock::now(), Clock::now()))
                .is_err()
        );
        let manager = Address::SetManager(SetId(0));
        probing.order(order(1.0), manager, Clock::now()).unwrap();
        assert!(
            probing.order(order(1.0), manager, Clock::now()).is_err(),
            "it is being probed"
        );
        for number in [1, u32::MAX] {
            assert!(
                probing
                    .handle_reply(TO, number, (Clock::now(), Clock::now()))
                    .is_err()
            );
        }
    }
}
