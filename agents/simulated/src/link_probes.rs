//! Bandwidths between simulated hosts, as a monitor would measure them.

use agents::LinkProbing;
use bsp::HostId;
use bsp::units::Instant;
use model::{BandwidthForecast, HostLink};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use simulator::{LinkId, Platform};

/// The links from a host to all others, as predicted from probes until `now`.
///
/// A probe is short beside the times in which bandwidths change, so it takes no time here: it finds the bandwidth of the
/// narrowest link of the route, with an error that is drawn, normally distributed with a standard deviation of 5 %.
pub(super) fn links(
    probing: LinkProbing,
    platform: &Platform,
    from: HostId,
    now: Instant,
) -> Vec<HostLink> {
    let hosts = (0..platform.hosts().len()).map(HostId::from_index);
    let others = hosts.filter(|host| *host != from);
    let link = |to| {
        let mut route = Vec::new();
        platform.route(from, to, &mut route).ok()?;
        let bandwidth = predicted(probing, platform, (from, to), &route, now)?;
        let per_byte = 1.0 / bandwidth;
        Some(HostLink { from, to, per_byte })
    };
    others.filter_map(link).collect()
}

/// The bandwidth that is predicted for a route, in bytes per second; `None` if it has no links, or there was no probe.
fn predicted(
    probing: LinkProbing,
    platform: &Platform,
    (from, to): (HostId, HostId),
    route: &[LinkId],
    now: Instant,
) -> Option<f64> {
    let interval = probing.interval.get();
    let complete = (now.get() / interval).floor();
    let mut forecast = BandwidthForecast::default();
    for back in (0..PROBES_MAX).rev() {
        let number = complete - f64::from(back);
        let Ok(at) = Instant::new(number * interval) else {
            continue;
        };
        let bandwidths = route.iter().map(|link| {
            let link = &platform.links()[link.index()];
            let changed = link.bandwidth_profile.as_ref();
            let changed = changed.and_then(|profile| profile.value(at));
            changed.unwrap_or_else(|| link.bandwidth.get())
        });
        if let Some(bandwidth) = bandwidths.min_by(f64::total_cmp) {
            let error = ERROR * normal(probing.seed, (from, to), number);
            forecast.observe(bandwidth * (1.0 + error).max(LEAST));
        }
    }
    forecast.bandwidth()
}

/// A draw with mean 0 and standard deviation 1: the sum of twelve uniform ones.
fn normal(seed: u64, (from, to): (HostId, HostId), number: f64) -> f64 {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..12].copy_from_slice(&from.0.to_le_bytes());
    key[12..16].copy_from_slice(&to.0.to_le_bytes());
    key[16..24].copy_from_slice(&number.to_bits().to_le_bytes());
    key[24..].copy_from_slice(b"probes  ");
    let mut draws = ChaCha8Rng::from_seed(key);
    let uniform = |_| f64::from(draws.next_u32()) / WHOLE;
    (0..12).map(uniform).sum::<f64>() - 6.0
}

/// Probes from which a bandwidth is predicted: those before say nothing about the next transfer.
const PROBES_MAX: u32 = 40;

/// Standard deviation of what a probe finds, as a part of it.
const ERROR: f64 = 0.05;

/// The least that a probe finds, as a part of what there is.
const LEAST: f64 = 0.5;

/// 2^32.
const WHOLE: f64 = 4_294_967_296.0;

#[cfg(test)]
mod tests {
    use bsp::units::Seconds;
    use simulator::{Point, Profile};

    use super::*;

    fn platform() -> Platform {
        let text = "[[set]]\nname = 'a'\nhosts = 3\nspeed = 1e9\nlink = { bandwidth = 1e8 }";
        let platform = Platform::from_toml(text).unwrap();
        let mut route = Vec::new();
        platform.route(HostId(0), HostId(1), &mut route).unwrap();
        let point = |date, value| Point { date, value };
        let drop = Profile::new(vec![point(0.0, 1e8), point(500.0, 1e7)], None).unwrap();
        platform
            .with_bandwidth(*route.last().unwrap(), drop)
            .unwrap()
    }

    fn bandwidths(seed: u64, at: f64) -> Vec<f64> {
        let probing = LinkProbing {
            interval: Seconds::new(10.0).unwrap(),
            seed,
        };
        let found = links(probing, &platform(), HostId(0), Instant::new(at).unwrap());
        found.iter().map(|link| 1.0 / link.per_byte).collect()
    }

    #[test]
    fn bandwidths_are_those_of_the_narrowest_link_with_an_error() {
        for (at, expected) in [(499.0, [1e8, 1e8]), (990.0, [1e7, 1e8])] {
            let found = bandwidths(1, at);
            for (found, expected) in found.iter().zip(expected) {
                assert!((found / expected - 1.0).abs() < 0.15, "{found} at {at}");
                assert!((found / expected - 1.0).abs() > 1e-6, "{found} at {at}");
            }
        }
        assert_eq!(bandwidths(1, 300.0), bandwidths(1, 305.0));
        assert_ne!(bandwidths(1, 300.0), bandwidths(2, 300.0));
        assert_eq!(bandwidths(1, 0.0).len(), 2);
    }
}
