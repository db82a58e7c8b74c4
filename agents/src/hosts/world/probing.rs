//! Messages whose only purpose is to see how long they take.

use std::collections::BTreeMap;
use std::time::Instant as Clock;

use bsp::units::Seconds;
use bsp::{HostId, SetId};
use bytes::Bytes;
use protocol::{Address, Message, Probe};

use super::{HostWorld, seconds};
use crate::setup::Rules;

/// Probes that the node of a Set Manager has under way.
#[derive(Debug)]
pub(super) struct Probing {
    /// The host that stands for each Set, as seen from here.
    ends: BTreeMap<SetId, HostId>,
    /// When the probe under way left, and how long the empty one took, by host.
    under_way: BTreeMap<HostId, (Clock, Option<Seconds>)>,
}

impl Probing {
    /// What the node of `own` has to find out: if a Set Manager lives there, how far the Managers of the other
    /// Sets are, and how far a neighbour.
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
            under_way: BTreeMap::new(),
        }
    }
}

impl HostWorld {
    /// Sends the first probes.
    pub(in super::super) fn probe(&mut self) {
        let ends: Vec<HostId> = self.probing.ends.values().copied().collect();
        for host in ends {
            self.probing.under_way.insert(host, (Clock::now(), None));
            self.send_probe(host, 0, false, 0);
        }
    }

    /// Whether all probes are back.
    pub(in super::super) fn has_probed(&self) -> bool {
        self.probing.under_way.is_empty()
    }

    /// A probe of another node, or one of ours that is back.
    pub(super) fn take_probe(&mut self, host: HostId, probe: Probe, came: Clock) {
        if !probe.is_back {
            return self.send_probe(host, probe.number, true, 0);
        }
        let Some((left, empty)) = self.probing.under_way.remove(&host) else {
            return;
        };
        let took = seconds(came.saturating_duration_since(left));
        let Some(least) = empty.filter(|_| PROBES_MIN <= probe.number) else {
            // The first ones wake both ends up; the shortest says how far they are.
            let least = empty.map_or(took, |before| before.min(took));
            self.probing
                .under_way
                .insert(host, (Clock::now(), Some(least)));
            let number = probe.number + 1;
            let bytes = if number < PROBES_MIN { 0 } else { PROBE_LEN };
            return self.send_probe(host, number, false, bytes);
        };
        let ends = self.probing.ends.iter();
        let sets = ends.filter(|(_, end)| **end == host).map(|(set, _)| *set);
        let length = u64::try_from(PROBE_LEN).expect("a probe is small");
        for set in sets {
            self.rates.probed(set, least, (length, took));
        }
    }

    fn send_probe(&mut self, host: HostId, number: u32, is_back: bool, bytes: usize) {
        let probe = Message::Probe(Probe {
            number,
            is_back,
            payload: Bytes::from(vec![0; bytes]),
        });
        self.post(host, Address::Node(self.own), Address::Node(host), &probe);
    }
}

/// Probes without content.
const PROBES_MIN: u32 = 4;
/// Bytes of the one that follows them.
const PROBE_LEN: usize = 1 << 20;
