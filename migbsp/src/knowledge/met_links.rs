//! What bytes took on links between hosts in earlier moves.

use std::collections::BTreeMap;

use bsp::HostId;

use super::BandwidthForecast;

/// What bytes took on the links between hosts in earlier moves, in seconds per byte.
///
/// A move measures its link for as long as it takes, a probe only for a part of that. So a probe tells whether a link has
/// changed, and as long as it has not, the moves before know it better.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct MetLinks(BTreeMap<[HostId; 2], BandwidthForecast>);

impl MetLinks {
    /// Learns from a move between two hosts, in either direction.
    pub(super) fn observe(&mut self, one: HostId, other: HostId, per_byte: f64) {
        let link = self.0.entry(ends(one, other)).or_default();
        link.observe(per_byte.recip());
    }

    /// Predicted seconds per byte; `None`: no move was between these hosts.
    pub(super) fn per_byte(&self, one: HostId, other: HostId) -> Option<f64> {
        let link = self.0.get(&ends(one, other))?;
        Some(link.bandwidth()?.recip())
    }

    /// Seconds per byte of a link that a probe has just found to take `probed`: what was predicted from moves, if that is
    /// near.
    pub(super) fn confirmed(&self, one: HostId, other: HostId, probed: f64) -> f64 {
        let link = self.0.get(&ends(one, other));
        let predictions = link.and_then(BandwidthForecast::predictions);
        let distance = |per_byte: f64| (per_byte / probed).ln().abs();
        let predictions = predictions.into_iter().flatten().map(f64::recip);
        let nearest = predictions.min_by(|one, other| distance(*one).total_cmp(&distance(*other)));
        nearest
            .filter(|nearest| distance(*nearest) < CHANGED)
            .unwrap_or(probed)
    }
}

fn ends(one: HostId, other: HostId) -> [HostId; 2] {
    [one.min(other), one.max(other)]
}

/// A link has changed if a probe finds it to take so much more or less: the logarithm of the factor.
const CHANGED: f64 = 0.1;

#[cfg(test)]
mod tests {
    use super::*;

    const ENDS: (HostId, HostId) = (HostId(3), HostId(1));

    fn after(rates: &[f64]) -> MetLinks {
        let mut links = MetLinks::default();
        for rate in rates {
            links.observe(ENDS.0, ENDS.1, *rate);
        }
        links
    }

    fn close(value: f64, expected: f64) {
        assert!((value / expected - 1.0).abs() < 1e-9, "{value}");
    }

    #[test]
    fn a_link_is_known_in_both_directions_and_no_other_one() {
        let links = after(&[2e-7]);
        close(links.per_byte(ENDS.0, ENDS.1).unwrap(), 2e-7);
        close(links.per_byte(ENDS.1, ENDS.0).unwrap(), 2e-7);
        assert_eq!(links.per_byte(ENDS.1, HostId(2)), None);
        assert_eq!(MetLinks::default().per_byte(ENDS.0, ENDS.1), None);
    }

    #[test]
    fn a_probe_that_is_near_what_moves_met_confirms_it_and_another_one_replaces_it() {
        let links = after(&[2e-7, 2e-7, 5e-7]);
        let confirmed = |probed| links.confirmed(ENDS.0, ENDS.1, probed);
        close(confirmed(5.3e-7), 5e-7);
        close(confirmed(1.9e-7), 2e-7);
        close(confirmed(3e-7), 3e-7);
        close(confirmed(9e-7), 9e-7);
        close(after(&[]).confirmed(ENDS.0, ENDS.1, 3e-7), 3e-7);
        for probed in [0.0, f64::INFINITY, f64::NAN] {
            assert!(confirmed(probed).total_cmp(&probed).is_eq());
        }
    }
}
