//! Probes: messages that measure how long messages take.

use std::collections::BTreeMap;
use std::time::Instant as Clock;

use bsp::{HostId, SetId};
use bytes::Bytes;
use protocol::Probe;

use crate::hosts::links::{Links, Probed, RoundTrips};
use crate::hosts::rates::Rates;
use crate::hosts::time::seconds;
use crate::setup::Rules;

/// The probes of the node of a Set Manager.
#[derive(Debug)]
pub(super) struct Probing {
    /// The host that represents each Set, as seen from here.
    ends: BTreeMap<SetId, HostId>,
    /// The probe in transfer to each host.
    in_transfer: BTreeMap<HostId, InTransfer>,
}

/// A probe in transfer.
#[derive(Clone, Copy, Debug)]
struct InTransfer {
    number: u32,
    sent: Clock,
    /// The round trips of the probes before: without content, and with content.
    took: [Option<RoundTrips>; 2],
}

impl Probing {
    /// The probes of `own`. If it is the node of a Set Manager, they go to the Managers of the other Sets and to one
    /// neighbour; otherwise there are none.
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
            in_transfer: BTreeMap::new(),
        }
    }

    /// The first probe of each series, to be sent now.
    pub(super) fn start(&mut self) -> Vec<(HostId, Probe)> {
        let hosts: Vec<HostId> = self.ends.values().copied().collect();
        let first = hosts
            .into_iter()
            .map(|host| (host, self.next(host, 0, [None; 2])));
        first.collect()
    }

    /// Whether no probe is in transfer.
    pub(super) fn is_complete(&self) -> bool {
        self.in_transfer.is_empty()
    }

    /// Handles the return of probe `number` from `host`. Returns the next one, to be sent now; after the last one, `rates` and
    /// `links` learn the round trips.
    ///
    /// # Errors
    ///
    /// If that probe is not in transfer to `host`.
    pub(super) fn handle_reply(
        &mut self,
        host: HostId,
        number: u32,
        arrived: Clock,
        (rates, links): (&mut Rates, &mut Links),
    ) -> Result<Option<Probe>, String> {
        let in_transfer = self.in_transfer.remove(&host);
        let in_transfer = in_transfer.filter(|in_transfer| in_transfer.number == number);
        let InTransfer {
            sent,
            took: mut trips,
            ..
        } = in_transfer.ok_or_else(|| format!("probe {number}, which is not in transfer"))?;
        let took = seconds(arrived.saturating_duration_since(sent));
        // The first probes wake both ends and open the windows of the connection.
        let kind = &mut trips[usize::from(has_content(number))];
        *kind = Some(kind.map_or_else(|| RoundTrips::first(took), |before| before.and(took)));
        if number + 1 < PROBES {
            return Ok(Some(self.next(host, number + 1, trips)));
        }
        let length = u64::try_from(PROBE_LEN).expect("a probe is small");
        let ends = self.ends.iter();
        for (set, _) in ends.filter(|(_, end)| **end == host) {
            if let [Some(empty), Some(full)] = trips {
                let probed = Probed {
                    empty,
                    full,
                    bytes: length,
                };
                rates.probed(*set, &probed);
                links.probed(host, &probed);
            }
        }
        Ok(None)
    }

    /// Probe `number` to `host`.
    fn next(&mut self, host: HostId, number: u32, took: [Option<RoundTrips>; 2]) -> Probe {
        let sent = Clock::now();
        let in_transfer = InTransfer { number, sent, took };
        self.in_transfer.insert(host, in_transfer);
        let bytes = if has_content(number) { PROBE_LEN } else { 0 };
        Probe {
            number,
            is_back: false,
            payload: Bytes::from(vec![0; bytes]),
        }
    }
}

/// The first half of the probes has no content.
const fn has_content(number: u32) -> bool {
    PROBES / 2 <= number
}

/// The number of probes to each host.
const PROBES: u32 = 8;
/// Bytes of content.
pub(super) const PROBE_LEN: usize = 1 << 20;
