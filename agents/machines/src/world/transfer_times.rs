//! How long messages take between this node and others, as measured.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant as Clock;

use agents::{Rules, check};
use bsp::units::Seconds;
use bsp::{HostId, SetId};
use bytes::Bytes;
use protocol::{Address, Probe, ProbeLink};

use super::probing::{PROBE_LEN, Probing, Purpose, Returned};
use crate::links::Links;
use crate::one_way_delay::OneWayDelay;
use crate::rates::Rates;

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
}

impl TransferTimes {
    /// Nothing is known yet about the transfers between `own` and `peers`.
    pub(super) fn new(rules: Arc<Rules>, own: HostId, peers: impl Iterator<Item = HostId>) -> Self {
        Self {
            delays: peers.map(|host| (host, OneWayDelay::new())).collect(),
            rates: Rates::default(),
            links: Links::default(),
            probing: Probing::new(&rules, own),
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

    /// The first probes, to be sent now.
    pub(super) fn start_probing(&mut self, now: Clock) -> Vec<(HostId, Probe)> {
        self.probing.start(now)
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
            Returned::Complete(purpose, probed, took) => {
                self.links.probed(host, &probed);
                match purpose {
                    Purpose::Start => {
                        for set in self.probing.sets(host) {
                            self.rates.probed(set, &probed);
                        }
                        Ok(ProbeStep::Nothing)
                    }
                    Purpose::Order(by, order) => Ok(ProbeStep::Report(
                        by,
                        order,
                        (self.links.after_probe(host, &probed), took),
                    )),
                }
            }
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
