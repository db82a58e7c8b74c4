//! Latency and time per byte between Sets, measured by probes, messages and images.

use std::collections::BTreeMap;

use bsp::SetId;
use bsp::units::Seconds;

/// The measured latency and time per byte from one Set's Manager to the others.
#[derive(Debug, Default)]
pub(super) struct Rates(BTreeMap<SetId, Rate>);

#[derive(Clone, Copy, Debug, Default)]
struct Rate {
    /// The time of an empty message, one way.
    latency: Seconds,
    /// Seconds per byte.
    per_byte: f64,
}

impl Rates {
    /// Learns from the round trips of a probe without content, `empty`, and of one with `bytes` bytes, `full`.
    pub(super) fn probed(&mut self, set: SetId, empty: Seconds, (bytes, full): (u64, Seconds)) {
        let per_byte = per_byte(full.get() - empty.get(), bytes);
        let latency = Seconds::new(empty.get() / 2.0).expect("half of a time");
        self.0.insert(set, Rate { latency, per_byte });
    }

    /// Moves the estimate towards a measurement: `bytes` bytes took `took`. An empty message takes no longer: probes may
    /// have waited for the processes that were sent at the same time.
    pub(super) fn learn(&mut self, set: SetId, bytes: u64, took: Seconds) {
        let Some(rate) = self.0.get_mut(&set) else {
            return;
        };
        rate.latency = rate.latency.min(took);
        if bytes < BYTES_MIN {
            return;
        }
        let met = per_byte(took.get() - rate.latency.get(), bytes);
        rate.per_byte += WEIGHT * (met - rate.per_byte);
    }

    /// Seconds per byte; 0 without a measurement.
    pub(super) fn per_byte(&self, set: SetId) -> f64 {
        self.0.get(&set).map_or(0.0, |rate| rate.per_byte)
    }

    /// The time that an empty message takes.
    pub(super) fn latency(&self, set: SetId) -> Seconds {
        self.0.get(&set).map_or(Seconds::ZERO, |rate| rate.latency)
    }
}

#[expect(
    clippy::as_conversions,
    clippy::cast_precision_loss,
    reason = "a rate may be rounded"
)]
fn per_byte(seconds: f64, bytes: u64) -> f64 {
    (seconds / bytes.max(1) as f64).max(LEAST)
}

/// Bytes below which a transfer is not a measurement of bandwidth.
const BYTES_MIN: u64 = 64 << 10;
/// The weight of the latest measurement.
const WEIGHT: f64 = 0.25;
/// The smallest estimate, in seconds per byte: a terabyte per second.
const LEAST: f64 = 1e-12;

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(value: f64) -> Seconds {
        Seconds::new(value).unwrap()
    }

    #[test]
    fn probes_say_what_a_byte_takes_and_what_comes_later_corrects_it() {
        let (near, far) = (SetId(0), SetId(1));
        let mut rates = Rates::default();
        rates.probed(far, seconds(0.002), (1_000_000, seconds(0.012)));
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
