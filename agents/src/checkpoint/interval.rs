//! When the next checkpoint is due.

use bsp::units::Seconds;

/// When the next checkpoint is due, by what checkpoints have cost.
///
/// The interval is [`young_daly`]'s. While checkpoints take more than [`LOSS_MAX`] of the time, it is doubled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CheckpointInterval {
    /// Mean time between failures of any node.
    failures: Seconds,
    /// The exponentially weighted mean of costs; `None` before the first checkpoint.
    cost: Option<Seconds>,
    /// By what the interval is multiplied: a power of two.
    stretch: f64,
}

impl CheckpointInterval {
    /// That of a job on `nodes` nodes, each of which fails once in `failures` in the mean.
    #[must_use]
    pub fn new(failures: Seconds, nodes: u32) -> Self {
        Self {
            failures: failures * f64::from(nodes.max(1)).recip(),
            cost: None,
            stretch: 1.0,
        }
    }

    /// Learns what a checkpoint cost: the pause, and the processor time of its encoding by slot. `since` is the time from
    /// the checkpoint before to this one.
    pub fn observe(&mut self, cost: Seconds, since: Seconds) {
        let cost = cost.max(Seconds::ZERO);
        let mean = self
            .cost
            .map_or(cost, |mean| mean * (1.0 - WEIGHT) + cost * WEIGHT);
        self.cost = Some(mean);
        if Seconds::ZERO < since {
            let loss = cost.get() / since.get();
            if LOSS_MAX < loss {
                self.stretch = (self.stretch * 2.0).min(STRETCH_MAX);
            } else if loss < LOSS_MAX / 4.0 {
                self.stretch = (self.stretch / 2.0).max(1.0);
            }
        }
    }

    /// The time from one checkpoint to the next.
    #[must_use]
    pub fn interval(&self) -> Seconds {
        let cost = self.cost.unwrap_or_default();
        young_daly(cost, self.failures) * self.stretch
    }
}

/// `τ = √(2 · C · M)`, from 1 s to 10 min: the time between checkpoints that loses the least, if one takes `C` and a
/// failure happens after `M` in the mean.
///
/// The formula is the first-order approximation of J. W. Young, "A first order approximation to the optimum checkpoint
/// interval", Communications of the ACM 17(9), 1974. J. T. Daly, "A higher order estimate of the optimum checkpoint
/// interval for restart dumps", Future Generation Computer Systems 22(3), 2006, shows that it is good while `C` is much
/// less than `M`.
///
/// | symbol | argument | unit |
/// |---|---|---|
/// | `C` | `cost` | s |
/// | `M` | `failures` | s |
#[must_use]
#[expect(clippy::missing_panics_doc, reason = "it is finite for all times")]
pub fn young_daly(cost: Seconds, failures: Seconds) -> Seconds {
    let [cost, failures] = [cost, failures].map(|time| time.get().clamp(0.0, TIME_MAX));
    let interval = (2.0 * cost * failures).sqrt();
    Seconds::new(interval.clamp(INTERVAL_MIN, INTERVAL_MAX)).expect("within finite bounds")
}

/// The default of the mean time between failures of a node: 30 days.
pub const FAILURES_DEFAULT: f64 = 30.0 * 86_400.0;
/// The part of the time that checkpoints may take.
pub const LOSS_MAX: f64 = 0.03;
const INTERVAL_MIN: f64 = 1.0;
const INTERVAL_MAX: f64 = 600.0;
const STRETCH_MAX: f64 = 64.0;
/// How much the latest cost counts.
const WEIGHT: f64 = 0.25;
/// Longer times are taken for this one, so that their product is finite.
const TIME_MAX: f64 = 1e100;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seconds(value: f64) -> Seconds {
        Seconds::new(value).unwrap()
    }

    #[test]
    fn the_interval_follows_from_cost_and_failures() {
        let month = seconds(FAILURES_DEFAULT);
        let mut interval = CheckpointInterval::new(month, 4);
        assert_eq!(interval.interval(), seconds(1.0));
        interval.observe(seconds(0.05), seconds(10.0));
        // √(2 · 0.05 s · 648 000 s)
        let expected = 254.558_441_227_157_1;
        assert!((interval.interval().get() - expected).abs() < 1e-9);
        interval.observe(seconds(1.0), seconds(255.0));
        assert_eq!(interval.interval(), seconds(600.0));
        assert_eq!(young_daly(seconds(2.0), seconds(4.0)), seconds(4.0));
    }

    #[test]
    fn expensive_checkpoints_double_the_interval_until_they_take_a_small_part() {
        let mut interval = CheckpointInterval::new(seconds(100.0), 2);
        let mut since = seconds(1.0);
        let mut intervals = Vec::new();
        for _ in 0..6 {
            interval.observe(seconds(4.0), since);
            since = interval.interval();
            intervals.push(since.get());
        }
        assert_eq!(intervals, [40.0, 80.0, 160.0, 160.0, 160.0, 160.0]);
        for _ in 0..40 {
            interval.observe(seconds(0.01), since);
            since = interval.interval();
        }
        assert!((since.get() - 1.0).abs() < 0.1, "{since}");
    }

    proptest! {
        #[test]
        fn intervals_grow_with_cost_and_with_the_time_between_failures(
            costs in prop::array::uniform2(0.0..1e5),
            failures in prop::array::uniform2(0.0..1e9),
        ) {
            let [low, high] = if costs[0] < costs[1] { costs } else { [costs[1], costs[0]] };
            let [rare, often] = if failures[0] < failures[1] { [failures[1], failures[0]] } else { failures };
            let of = |cost, failures| young_daly(seconds(cost), seconds(failures));
            prop_assert!(of(low, often) <= of(high, often));
            prop_assert!(of(low, often) <= of(low, rare));
            for interval in [of(low, often), of(high, rare)] {
                prop_assert!((1.0..=600.0).contains(&interval.get()));
            }
            let mut cheap = CheckpointInterval::new(seconds(rare), 3);
            let mut expensive = cheap;
            cheap.observe(seconds(low), seconds(100.0));
            expensive.observe(seconds(high), seconds(100.0));
            prop_assert!(cheap.interval() <= expensive.interval());
        }

        #[test]
        fn extreme_times_give_an_interval(values in prop::array::uniform4(any::<f64>())) {
            let [cost, since, failures, other] = values.map(|value| Seconds::new(value).unwrap_or_default());
            let mut interval = CheckpointInterval::new(failures, 3);
            interval.observe(cost, since);
            interval.observe(other, since);
            let interval = interval.interval().get();
            prop_assert!((1.0..=64.0 * 600.0).contains(&interval), "{interval}");
        }
    }
}
