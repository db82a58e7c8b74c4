//! Probes: messages that measure how long messages take.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant as Clock};

use agents::{Event, Mail, Rules, check};
use bsp::units::Seconds;
use bsp::{HostId, SetId};
use bytes::Bytes;
use model::ProbedLink;
use protocol::{Address, LinkProbed, NodeMessage, Probe, ProbeLink};

use crate::links::{Links, OneWayDelay, Probed, Rates, RoundTrips};
use crate::node::world::HostWorld;
use crate::seconds;

/// The probes of a node, one series to a host at a time.
#[derive(Debug)]
struct Probing {
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
enum Purpose {
    /// To know rates between Sets when a job begins.
    Start,
    /// A Manager has ordered it before a large move. Messages grow as long as the next one fits the budget, because the
    /// link may have become much slower or faster since it was measured.
    Order(Address, ProbeLink),
}

/// What follows from the return of a probe.
#[derive(Clone, Copy, Debug)]
enum Returned {
    /// The next probe of the series is to be sent.
    Next(SeriesProbe),
    /// The series is complete, after so long.
    Complete(Purpose, Probed, Seconds),
}

/// A probe to be sent.
#[derive(Clone, Copy, Debug)]
struct SeriesProbe {
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
            Purpose::Start if count < PROBES && (self.bytes == 0 || took < seconds(SLOW)) => {
                self.bytes
            }
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

    /// The hosts to which links are probed at the start of a job.
    fn first_hosts(&self) -> Vec<HostId> {
        self.ends.values().copied().collect()
    }

    /// The first probe of each series at the start of a job, to be sent now, to hosts that are to be `included`.
    pub(super) fn start(
        &mut self,
        included: impl Fn(&HostId) -> bool,
        now: Clock,
    ) -> Vec<(HostId, Probe)> {
        let hosts = self.first_hosts().into_iter();
        let first = hosts
            .filter(included)
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
    fn handle_reply(
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
/// The time from which on one probe with content at the start of a job is enough: what else runs on the machines is short beside it.
const SLOW: Duration = Duration::from_secs(2);
/// Bytes of content of the first probe before a move, and the most of any: each has twice as many as the one before.
const FIRST_LEN: usize = 4 << 10;
const LAST_LEN: usize = 256 << 10;
/// Bytes of content at the start of a job, and the most of any probe.
const PROBE_LEN: usize = 1 << 20;

impl HostWorld {
    /// Sends the first probes of the links that are not known from an earlier view.
    pub(crate) fn start_probing(&mut self, known: &BTreeMap<HostId, Probed>) {
        for (host, probe) in self.transfers.start_probing(known, self.clock) {
            self.send_to_node(host, NodeMessage::Probe(probe));
        }
    }

    /// What the first probes of each link have found.
    pub(crate) fn probed_links(&self) -> impl Iterator<Item = (HostId, Probed)> {
        let links = self.transfers.first.iter();
        links.map(|(host, probed)| (*host, *probed))
    }

    /// Whether all probes are back.
    pub(crate) fn has_probed(&self) -> bool {
        self.transfers.has_probed()
    }

    /// Handles a probe that has arrived from `host`.
    pub(super) fn handle_probe(&mut self, host: HostId, probe: &Probe, arrived: Clock) {
        match self
            .transfers
            .handle_probe(host, probe, (arrived, self.clock))
        {
            Ok(ProbeStep::Nothing) => {}
            Ok(ProbeStep::Send(next)) => self.send_to_node(host, NodeMessage::Probe(next)),
            Ok(ProbeStep::Report(by, order, (per_byte, took))) => {
                let link = ProbedLink {
                    from: self.own,
                    to: host,
                    per_byte,
                    took,
                };
                let superstep = order.superstep;
                let probed = LinkProbed { superstep, link };
                self.deliver(Address::Node(self.own), Event::LinkProbed { by, probed });
            }
            Err(problem) => self.refuse(Address::Node(host), problem),
        }
    }

    /// Sends the first probe that the order of a Manager, `by`, leads to.
    pub(super) fn order_probe(&mut self, order: ProbeLink, by: Address) {
        match self.transfers.order_probe(order, by, self.clock) {
            Ok(first) => self.send_to_node(order.probe.to, NodeMessage::Probe(first)),
            Err(problem) => self.refuse(by, problem),
        }
    }
}

/// What follows from a probe that has arrived.
pub(super) enum ProbeStep {
    Nothing,
    /// This probe is to be sent to the same host.
    Send(Probe),
    /// The Manager receives the seconds per byte that its order asked for, and how long the probe took.
    Report(Address, ProbeLink, (f64, Seconds)),
}

/// What probes, batches and states say about the time of transfers.
pub(super) struct TransferTimes {
    rules: Arc<Rules>,
    delays: BTreeMap<HostId, OneWayDelay>,
    rates: Rates,
    links: Links,
    probing: Probing,
    /// What the first probes of each link have found.
    first: BTreeMap<HostId, Probed>,
}

impl TransferTimes {
    /// Nothing is known yet about the transfers between `own` and `peers`.
    pub(super) fn new(rules: Arc<Rules>, own: HostId, peers: impl Iterator<Item = HostId>) -> Self {
        Self {
            delays: peers.map(|host| (host, OneWayDelay::new())).collect(),
            rates: Rates::default(),
            links: Links::default(),
            probing: Probing::new(&rules, own),
            first: BTreeMap::new(),
            rules,
        }
    }

    /// A batch of `bytes` bytes has arrived from `host`. Returns how long it took.
    pub(super) fn add_batch(
        &mut self,
        host: HostId,
        bytes: u64,
        (sent, arrived): (Seconds, Seconds),
        transport: (Seconds, f64),
    ) -> Seconds {
        let delay = self.delays.get_mut(&host).expect("a peer");
        let took = delay.took(sent, arrived, transport.0);
        self.links.add_message(host, (bytes, took), transport);
        self.learn(host, bytes, took);
        took
    }

    /// A transfer of `bytes` bytes between this node and `host` took `took`.
    pub(super) fn learn(&mut self, host: HostId, bytes: u64, took: Seconds) {
        self.rates.learn(self.rules.sets[host.index()], bytes, took);
    }

    /// The first probes, to be sent now, of the links that are not known.
    pub(super) fn start_probing(
        &mut self,
        known: &BTreeMap<HostId, Probed>,
        now: Clock,
    ) -> Vec<(HostId, Probe)> {
        for host in self.probing.first_hosts() {
            if let Some(probed) = known.get(&host) {
                self.begin_with(host, *probed);
            }
        }
        self.probing.start(|host| !known.contains_key(host), now)
    }

    /// The first probes of the link to `host` have found this.
    fn begin_with(&mut self, host: HostId, probed: Probed) {
        self.links.probed(host, &probed);
        for set in self.probing.sets(host) {
            self.rates.probed(set, &probed);
        }
        self.first.insert(host, probed);
    }

    /// Whether all probes are back.
    pub(super) fn has_probed(&self) -> bool {
        self.probing.is_complete()
    }

    /// The first probe that the order of a Manager, `by`, leads to, to be sent now.
    pub(super) fn order_probe(
        &mut self,
        order: ProbeLink,
        by: Address,
        now: Clock,
    ) -> Result<Probe, String> {
        self.probing.order(order, by, now)
    }

    /// A probe has arrived from `host`: one of its own, or one of this node that is back. `times` are when it
    /// arrived, and now. Returns what is to be done now.
    pub(super) fn handle_probe(
        &mut self,
        host: HostId,
        probe: &Probe,
        times: (Clock, Clock),
    ) -> Result<ProbeStep, String> {
        let number = probe.number;
        if !probe.is_back {
            check(probe.payload.len() <= PROBE_LEN, || {
                format!("a probe of {} bytes", probe.payload.len())
            })?;
            return Ok(ProbeStep::Send(Probe {
                number,
                is_back: true,
                payload: Bytes::new(),
            }));
        }
        match self.probing.handle_reply(host, number, times)? {
            Returned::Next(next) => Ok(ProbeStep::Send(next.into())),
            Returned::Complete(purpose, probed, took) => match purpose {
                Purpose::Start => {
                    self.begin_with(host, probed);
                    Ok(ProbeStep::Nothing)
                }
                Purpose::Order(by, order) => {
                    self.links.probed(host, &probed);
                    let per_byte = self.links.after_probe(host, &probed);
                    Ok(ProbeStep::Report(by, order, (per_byte, took)))
                }
            },
        }
    }

    /// Seconds per byte to the Manager of `set`.
    pub(super) fn per_byte(&self, set: SetId) -> f64 {
        self.rates.per_byte(set)
    }

    /// The time of an empty message to the Manager of `set`.
    pub(super) fn latency(&self, set: SetId) -> Seconds {
        self.rates.latency(set)
    }

    /// Seconds per byte to each host to which they have been measured.
    pub(super) fn to_hosts(&self) -> impl Iterator<Item = (HostId, f64)> {
        self.links.to_hosts()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use model::LinkProbe;

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
