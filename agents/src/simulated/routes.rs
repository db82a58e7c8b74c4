//! The routes between Sets.

use bsp::{HostId, SetId};
use simulator::{LinkId, Platform};

use crate::setup::Rules;

/// Two hosts that stand for the route between two Sets: those of their Managers, and within a Set the Manager's and a
/// neighbour's, if there is one.
pub(super) fn ends(
    platform: &Platform,
    rules: &Rules,
    (from, to): (SetId, SetId),
) -> (HostId, HostId) {
    let source = rules.managers[from.index()];
    if from != to {
        return (source, rules.managers[to.index()]);
    }
    let hosts = &platform.set(to).hosts;
    let neighbour = hosts.iter().copied().find(|host| *host != source);
    (source, neighbour.unwrap_or(source))
}

/// The time that a byte takes between two hosts, in seconds per byte.
pub(super) fn transfer_rate(platform: &Platform, source: HostId, target: HostId) -> f64 {
    let mut links: Vec<LinkId> = Vec::new();
    if platform.route(source, target, &mut links).is_err() {
        // No process can move there: the first message to that Manager ends the run.
        return 0.0;
    }
    let bandwidths = links
        .iter()
        .map(|link| platform.links()[link.index()].bandwidth.get());
    bandwidths
        .min_by(f64::total_cmp)
        .map_or(0.0, |bandwidth| 1.0 / bandwidth)
}
