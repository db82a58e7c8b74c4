//! Latency and time per byte between Sets, measured by probes, messages and states, for predictions of supersteps.

use std::collections::BTreeMap;

use bsp::SetId;
use bsp::units::{self, Seconds};

use super::links::Probed;

/// The measured latency and time per byte from one Set's Manager to the others.
#[derive(Debug, Default)]
pub(crate) struct Rates(BTreeMap<SetId, Rate>);

#[derive(Clone, Copy, Debug, Default)]
struct Rate {
    /// The time of an empty message, one way.
    latency: Seconds,
    /// Seconds per byte.
    per_byte: f64,
}

impl Rates {
    /// Learns from a probe.
    pub(crate) fn probed(&mut self, set: SetId, probed: &Probed) {
        let rate = Rate {
            latency: probed.latency(),
            per_byte: probed.per_byte(),
        };
        self.0.insert(set, rate);
    }

    /// Moves the estimate towards a measurement: `bytes` bytes took `took`. An empty message takes no longer: probes may
    /// have waited for the processes that were sent at the same time.
    pub(crate) fn learn(&mut self, set: SetId, bytes: u64, took: Seconds) {
        let Some(rate) = self.0.get_mut(&set) else {
            return;
        };
        rate.latency = rate.latency.min(took);
        if bytes < BYTES_MIN {
            return;
        }
        let met = (took.get() - rate.latency.get()).max(0.0) / units::Bytes(bytes).as_f64();
        rate.per_byte += WEIGHT * (met - rate.per_byte);
    }

    /// Seconds per byte; 0 without a measurement.
    pub(crate) fn per_byte(&self, set: SetId) -> f64 {
        self.0.get(&set).map_or(0.0, |rate| rate.per_byte)
    }

    /// The time that an empty message takes.
    pub(crate) fn latency(&self, set: SetId) -> Seconds {
        self.0.get(&set).map_or(Seconds::ZERO, |rate| rate.latency)
    }
}

/// Bytes below which a transfer is not a measurement of bandwidth.
const BYTES_MIN: u64 = 64 << 10;
/// The weight of the latest measurement.
const WEIGHT: f64 = 0.25;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::links::RoundTrips;

    fn seconds(value: f64) -> Seconds {
        Seconds::new(value).unwrap()
    }

    #[test]
    fn probes_say_what_a_byte_takes_and_what_comes_later_corrects_it() {
        let (near, far) = (SetId(0), SetId(1));
        let mut rates = Rates::default();
        let trips = |took| RoundTrips::first(seconds(took));
        let probed = Probed {
            empty: trips(0.002),
            full: trips(0.012),
            bytes: 1_000_000,
        };
        rates.probed(far, &probed);
        assert!((rates.per_byte(far) - 1e-8).abs() < 1e-15);
        assert!((rates.latency(far).get() - 0.001).abs() < 1e-12);
        rates.learn(far, 1000, seconds(100.0));
        assert!(
            (rates.per_byte(far) - 1e-8).abs() < 1e-15,
            "too little to learn from"
        );
        for _ in 0..100 {
            rates.learn(far, 1_000_000, seconds(0.021));
        }
        assert!((rates.per_byte(far) - 2e-8).abs() < 1e-13, "{rates:?}");
        rates.learn(far, 10, seconds(0.0004));
        assert!((rates.latency(far).get() - 0.0004).abs() < 1e-12);
        // Links without a measurement have no estimate.
        rates.learn(near, 1_000_000, seconds(1.0));
        assert_eq!(
            (rates.per_byte(near), rates.latency(near)),
            (0.0, Seconds::ZERO)
        );
    }
}
