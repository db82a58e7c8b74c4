//! The date from which a clock counts.

/// A date, kept with what rounding cuts off: a sum of many lengths stays exact to the last digit.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Epoch {
    /// Seconds from the beginning of the run, rounded.
    high: f64,
    /// What rounding has cut off.
    low: f64,
}

impl Epoch {
    /// Seconds from the beginning of the run to `length` seconds after this date.
    pub(super) fn after(self, length: f64) -> f64 {
        self.high + (self.low + length)
    }

    /// Seconds from this date to `date`, which counts from the beginning of the run.
    pub(super) fn until(self, date: f64) -> f64 {
        (date - self.high) - self.low
    }

    /// Moves the date by `length` seconds; [`after`](Self::after) has the same bits for the same date.
    pub(super) fn advance(&mut self, length: f64) {
        let term = self.low + length;
        let high = self.high + term;
        let shift = high - self.high;
        self.low = (self.high - (high - shift)) + (term - shift);
        self.high = high;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_the_same_before_and_after_it_is_reached() {
        let mut epoch = Epoch::default();
        for step in 0..100_000_u32 {
            let length = 0.1 + f64::from(step % 7) * 1e-3;
            let before = epoch.after(length);
            epoch.advance(length);
            assert_eq!(epoch.after(0.0).to_bits(), before.to_bits());
        }
    }

    #[test]
    fn a_million_lengths_are_summed_to_the_last_digit() {
        let mut epoch = Epoch::default();
        let mut plain = 0.0;
        for _ in 0..1_000_000 {
            epoch.advance(0.1);
            plain += 0.1;
        }
        // A million times the number that is nearest to 0.1, rounded once.
        assert_eq!(epoch.after(0.0).to_bits(), 100_000.0_f64.to_bits());
        assert!(1e-7 < f64::abs(plain - 100_000.0), "{plain}");
    }
}
