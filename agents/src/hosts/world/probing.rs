//! Messages whose only purpose is to see how long they take.

use std::collections::BTreeMap;
use std::time::Instant as Clock;

use bsp::units::Seconds;
use bsp::{HostId, SetId};
use bytes::Bytes;
use protocol::{Address, Message, NodeMessage, Probe};

use super::{HostWorld, seconds};
use crate::setup::Rules;

/// Probes that the node of a Set Manager has under way.
#[derive(Debug)]
pub(super) struct Probing {
    /// The host that stands for each Set, as seen from here.
    ends: BTreeMap<SetId, HostId>,
    /// By host.
    under_way: BTreeMap<HostId, UnderWay>,
}

/// A probe under way.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    left: Clock,
    /// The shortest that one without content took, and one with, as far as they are back.
    least: [Option<Seconds>; 2],
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
            self.send_probe(host, 0, [None; 2]);
        }
    }

    /// Whether all probes are back.
    pub(in super::super) fn has_probed(&self) -> bool {
        self.probing.under_way.is_empty()
    }

    /// A probe of another node, or one of ours that is back.
    pub(super) fn handle_probe(&mut self, host: HostId, probe: &Probe, came: Clock) {
        if !probe.is_back {
            let back = Probe {
                number: probe.number,
                is_back: true,
                payload: Bytes::new(),
            };
            return self.post_probe(host, back);
        }
        let Some(UnderWay { left, mut least }) = self.probing.under_way.remove(&host) else {
            return;
        };
        let took = seconds(came.saturating_duration_since(left));
        // The first ones wake both ends up and open windows; the shortest says how far they are.
        let kind = &mut least[usize::from(has_content(probe.number))];
        *kind = Some(kind.map_or(took, |before| before.min(took)));
        if probe.number + 1 < PROBES {
            return self.send_probe(host, probe.number + 1, least);
        }
        let ends = self.probing.ends.iter();
        let sets = ends.filter(|(_, end)| **end == host).map(|(set, _)| *set);
        let length = u64::try_from(PROBE_LEN).expect("a probe is small");
        let [empty, full] = least.map(Option::unwrap_or_default);
        for set in sets {
            self.rates.probed(set, empty, (length, full));
        }
    }

    fn send_probe(&mut self, host: HostId, number: u32, least: [Option<Seconds>; 2]) {
        let left = Clock::now();
        self.probing
            .under_way
            .insert(host, UnderWay { left, least });
        let bytes = if has_content(number) { PROBE_LEN } else { 0 };
        let probe = Probe {
            number,
            is_back: false,
            payload: Bytes::from(vec![0; bytes]),
        };
        self.post_probe(host, probe);
    }

    fn post_probe(&mut self, host: HostId, probe: Probe) {
        let (own, other) = (Address::Node(self.own), Address::Node(host));
        self.post(host, own, other, &Message::Node(NodeMessage::Probe(probe)));
    }
}

/// The first half is without.
const fn has_content(number: u32) -> bool {
    PROBES / 2 <= number
}

/// Probes in all.
const PROBES: u32 = 8;
/// Bytes of one with content.
const PROBE_LEN: usize = 1 << 20;
