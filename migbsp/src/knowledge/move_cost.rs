//! What moves cost in a call.

use bsp::MemorySize;
use bsp::units::Seconds;

use super::{CostCoefficients, MigrationCost};
use crate::bounded::non_negative;

/// What moves cost in a call: what is stated, and what has been learned of the rest.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MoveCost {
    stated: MigrationCost,
    learned: Option<CostCoefficients>,
}

impl MoveCost {
    /// The cost that is `stated`, with `learned` for what it leaves out; `None`: the cost of moves is not learned.
    #[must_use]
    pub const fn new(stated: MigrationCost, learned: Option<CostCoefficients>) -> Self {
        Self { stated, learned }
    }

    /// Equation `MEM`: the time that moving `image` takes, where a byte takes `per_byte` seconds on the network.
    #[must_use]
    pub fn time(&self, image: MemorySize, per_byte: f64) -> Seconds {
        let rate = self.transfer_rate(per_byte);
        let base = self.startup();
        let data = image.data.as_f64() * self.stated.data_rate.unwrap_or(rate);
        let fixed = image.fixed.as_f64() * self.stated.fixed_rate.unwrap_or(rate);
        Seconds::bounded(data + fixed + base.get())
    }

    /// What a move takes whatever its size is, `Mig`.
    #[must_use]
    pub fn startup(&self) -> Seconds {
        let startup = self.learned.map(|learned| learned.startup);
        self.stated.base.or(startup).unwrap_or_default()
    }

    /// Seconds per byte of a move, unless they are stated, where a byte takes `per_byte` seconds on the network.
    pub(crate) fn transfer_rate(&self, per_byte: f64) -> f64 {
        let overlap = self.stated.overlap;
        match (overlap, self.learned) {
            (None, Some(learned)) => learned.transfer_rate(per_byte),
            (Some(overlap), _) => non_negative(overlap) * non_negative(per_byte),
            (None, None) => non_negative(per_byte),
        }
    }

    /// The cost of a move that was predicted to cost `cost` where a byte takes `predicted` seconds on the network, if it
    /// takes `probed` seconds instead.
    #[must_use]
    pub fn repriced(&self, cost: Seconds, predicted: f64, probed: f64) -> Seconds {
        let startup = self.startup().get();
        let bytes = (cost.get() - startup) / self.transfer_rate(predicted);
        if !bytes.is_finite() {
            return cost;
        }
        Seconds::bounded(startup + bytes * self.transfer_rate(probed))
    }

    /// Whether the cost of moves is learned and depends on bandwidth, because the cost of a byte is not stated.
    #[must_use]
    pub const fn depends_on_bandwidth(&self) -> bool {
        let MigrationCost {
            data_rate,
            fixed_rate,
            ..
        } = self.stated;
        self.learned.is_some() && data_rate.is_none() && fixed_rate.is_none()
    }

    /// Whether the cost of moves is learned.
    #[must_use]
    pub const fn is_learned(&self) -> bool {
        self.learned.is_some()
    }
}

impl From<MigrationCost> for MoveCost {
    /// Nothing has been learned.
    fn from(stated: MigrationCost) -> Self {
        Self::new(stated, None)
    }
}

#[cfg(test)]
mod tests {
    use bsp::units::Bytes;

    use super::*;

    const IMAGE: MemorySize = MemorySize {
        data: Bytes(1000),
        fixed: Bytes(100),
    };

    fn seconds_of(value: f64) -> Seconds {
        Seconds::new(value).unwrap()
    }

    #[test]
    fn what_is_stated_wins_over_what_is_learned() {
        let learned = Some(CostCoefficients {
            startup: seconds_of(0.5),
            overlap: 2.0,
            processing: 0.0,
            steady: None,
        });
        let time = |stated| MoveCost::new(stated, learned).time(IMAGE, 1e-3).get();
        let nothing = MigrationCost::default();
        assert!((time(nothing) - 2.7).abs() < 1e-12);
        let base = Some(seconds_of(0.25));
        assert!((time(MigrationCost { base, ..nothing }) - 2.45).abs() < 1e-12);
        let overlap = Some(3.0);
        assert!((time(MigrationCost { overlap, ..nothing }) - 3.8).abs() < 1e-12);
        let data_rate = Some(0.0);
        let data = MigrationCost {
            data_rate,
            ..nothing
        };
        assert!((time(data) - 0.7).abs() < 1e-12);
    }

    #[test]
    fn a_move_is_priced_again_at_another_bandwidth() {
        let learned = Some(CostCoefficients {
            startup: seconds_of(0.5),
            overlap: 2.0,
            processing: 4e-4,
            steady: None,
        });
        let cost = MoveCost::new(MigrationCost::default(), learned);
        let before = cost.time(IMAGE, 1e-3);
        for probed in [1e-2, 1e-3, 1e-4] {
            let again = cost.repriced(before, 1e-3, probed).get();
            assert!((again - cost.time(IMAGE, probed).get()).abs() < 1e-12);
        }
        let free = MoveCost::default();
        assert_eq!(free.repriced(before, 0.0, 1e-3), before);
    }

    #[test]
    fn without_coefficients_bytes_take_what_the_network_takes() {
        let time = MoveCost::from(MigrationCost::default()).time(IMAGE, 1e-3);
        assert!((time.get() - 1.1).abs() < 1e-12);
        assert_eq!(MoveCost::default().time(IMAGE, f64::NAN), Seconds::ZERO);
    }
}
