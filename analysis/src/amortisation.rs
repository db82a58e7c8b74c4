//! When migrations have paid for themselves.

/// Savings of supersteps less costs of calls, in seconds.
///
/// Migrations have paid for themselves after the first superstep from which on the difference is never
/// negative.
#[derive(Debug, Default)]
pub(crate) struct Amortisation {
    net: f64,
    supersteps: usize,
    paid_after: Option<usize>,
}

impl Amortisation {
    /// Subtracts the cost of a call.
    pub(crate) fn charge(&mut self, cost: f64) {
        self.net -= cost;
    }

    /// Adds the saving of the next superstep; a negative one is a loss.
    pub(crate) fn save(&mut self, seconds: f64) {
        self.net += seconds;
        self.supersteps += 1;
        if self.net < 0.0 {
            self.paid_after = None;
        } else {
            self.paid_after.get_or_insert(self.supersteps);
        }
    }

    /// Savings less costs so far.
    pub(crate) const fn net(&self) -> f64 {
        self.net
    }

    /// Number of supersteps after which the migrations had paid for themselves; `None`: they have not.
    pub(crate) const fn paid_after(&self) -> Option<usize> {
        self.paid_after
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn migrations_have_paid_once_the_difference_stays_non_negative() {
        let mut amortisation = Amortisation::default();
        amortisation.charge(1.0);
        let mut paid_after = |saving| {
            amortisation.save(saving);
            amortisation.paid_after()
        };
        assert_eq!(paid_after(0.5), None);
        assert_eq!(paid_after(0.5), Some(2));
        assert_eq!(paid_after(-0.25), None);
        assert_eq!(paid_after(0.5), Some(4));
        assert_eq!(paid_after(-0.25), Some(4));
        assert!(amortisation.net().abs() < 1e-12);
    }
}
