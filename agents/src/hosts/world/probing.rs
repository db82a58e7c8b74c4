//! Probes: messages that measure how long messages take.

use std::collections::BTreeMap;
use std::time::Instant as Clock;

use bsp::{HostId, SetId};
use bytes::Bytes;
use migbsp::LinkProbe;
use protocol::{Address, Probe, ProbeLink};

use crate::check::check;
use crate::hosts::links::{Probed, RoundTrips};
use crate::hosts::time::seconds;
use crate::setup::Rules;

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
    /// The number of probes without content, and of all.
    empty: u32,
    all: u32,
    /// Bytes of content.
    bytes: usize,
    /// The number of the probe in transfer, and when it was sent.
    number: u32,
    sent: Clock,
    /// The round trips so far: without content, and with content.
    took: [Option<RoundTrips>; 2],
}

/// What a series of probes is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To know rates between Sets when a job begins.
    Start,
    /// A Manager has ordered it before a large move.
    Order(Address, ProbeLink),
}

/// What follows from the return of a probe.
#[derive(Clone, Copy, Debug)]
pub(super) enum Returned {
    /// The next probe of the series is to be sent.
    Next(SeriesProbe),
    /// The series is complete.
    Complete(Purpose, Probed),
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
    fn new(purpose: Purpose, (empty, full): (u32, u32), bytes: usize) -> Self {
        Self {
            purpose,
            empty,
            all: empty + full,
            bytes,
            number: 0,
            sent: Clock::now(),
            took: [None; 2],
        }
    }

    /// The probe in transfer, which is sent now.
    fn send(&mut self) -> SeriesProbe {
        self.sent = Clock::now();
        let has_content = self.empty <= self.number;
        SeriesProbe {
            number: self.number,
            bytes: if has_content { self.bytes } else { 0 },
        }
    }

    /// The probe in transfer is back.
    fn add(&mut self, arrived: Clock) {
        let took = seconds(arrived.saturating_duration_since(self.sent));
        // The first probes wake both ends and open the windows of the connection.
        let kind = &mut self.took[usize::from(self.empty <= self.number)];
        *kind = Some(kind.map_or_else(|| RoundTrips::first(took), |before| before.and(took)));
        self.number += 1;
    }

    /// What the series found, if it is complete.
    fn probed(&self) -> Option<Probed> {
        let [empty, full] = self.took;
        let bytes = u64::try_from(self.bytes).expect("a probe is small");
        (self.number == self.all).then_some(())?;
        Some(Probed {
            empty: empty?,
            full: full?,
            bytes,
        })
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
    pub(super) fn start(&mut self) -> Vec<(HostId, Probe)> {
        let hosts: Vec<HostId> = self.ends.values().copied().collect();
        let first = hosts.into_iter().map(|host| {
            let series = Series::new(Purpose::Start, (PROBES, PROBES), PROBE_LEN);
            (host, self.begin(host, series))
        });
        first.collect()
    }

    /// The first probe of the series that a Manager, `by`, has ordered, to be sent now.
    ///
    /// # Errors
    ///
    /// If the host is being probed already, or the content is too large.
    pub(super) fn order(&mut self, order: ProbeLink, by: Address) -> Result<Probe, String> {
        let host = order.probe.to;
        check(!self.series.contains_key(&host), || {
            format!("the link to {host} is being probed")
        })?;
        let bytes = usize::try_from(order.probe.bytes).unwrap_or(usize::MAX);
        check((1..=PROBE_LEN).contains(&bytes), || {
            format!("a probe of {bytes} bytes")
        })?;
        let numbers = (LinkProbe::EMPTY, LinkProbe::FULL);
        let series = Series::new(Purpose::Order(by, order), numbers, bytes);
        Ok(self.begin(host, series))
    }

    fn begin(&mut self, host: HostId, mut series: Series) -> Probe {
        let first = series.send();
        self.series.insert(host, series);
        first.into()
    }

    /// Whether no probe is in transfer.
    pub(super) fn is_complete(&self) -> bool {
        self.series.is_empty()
    }

    /// Handles the return of probe `number` from `host`.
    ///
    /// # Errors
    ///
    /// If that probe is not in transfer to `host`.
    pub(super) fn handle_reply(
        &mut self,
        host: HostId,
        number: u32,
        arrived: Clock,
    ) -> Result<Returned, String> {
        let series = self.series.get_mut(&host);
        let series = series.filter(|series| series.number == number);
        let series = series.ok_or_else(|| format!("probe {number}, which is not in transfer"))?;
        series.add(arrived);
        let Some(probed) = series.probed() else {
            return Ok(Returned::Next(series.send()));
        };
        let purpose = series.purpose;
        self.series.remove(&host);
        Ok(Returned::Complete(purpose, probed))
    }

    /// The Sets that `host` represents.
    pub(super) fn sets(&self, host: HostId) -> impl Iterator<Item = SetId> {
        let ends = self.ends.iter().filter(move |(_, end)| **end == host);
        ends.map(|(set, _)| *set)
    }
}

/// The number of probes to each host at the start of a job, without content and with content.
const PROBES: u32 = 4;
/// Bytes of content at the start of a job, and the most of any probe.
pub(super) const PROBE_LEN: usize = 1 << 20;
