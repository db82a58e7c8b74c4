//! Sums of numbers that differ by many orders of magnitude.

/// A sum with twice the digits of a number: what a large term that came and went leaves is exact.
///
/// The error of each addition is kept beside the sum (Knuth's two-sum).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PreciseSum {
    high: f64,
    low: f64,
}

impl PreciseSum {
    /// Of `number` alone.
    pub(super) const fn of(number: f64) -> Self {
        Self {
            high: number,
            low: 0.0,
        }
    }

    #[inline]
    pub(super) const fn add(&mut self, term: f64) {
        let sum = self.high + term;
        let added = sum - self.high;
        self.low += (self.high - (sum - added)) + (term - added);
        self.high = sum;
    }

    /// Rounded to a number.
    #[inline]
    pub(super) const fn get(self) -> f64 {
        self.high + self.low
    }

    /// Whether it is less than `other`, which may be infinite.
    #[inline]
    pub(super) fn is_less(self, other: Self) -> bool {
        (self.high - other.high) + (self.low - other.low) < 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_term_leaves_small_ones_their_digits() {
        let mut sum = PreciseSum::of(0.1);
        for term in [1e17, 0.2, -1e17, 1e10, -1e10] {
            sum.add(term);
        }
        assert!((sum.get() - 0.3).abs() < 1e-15);
    }

    #[test]
    fn a_small_difference_of_large_sums_is_one() {
        let [mut less, mut more] = [PreciseSum::of(1e17); 2];
        less.add(0.1);
        more.add(0.2);
        assert!(less.is_less(more) && !more.is_less(less) && !less.is_less(less));
        assert!(less.is_less(PreciseSum::of(f64::INFINITY)));
    }
}
