//! How long nothing has changed.

/// How long calls have found nothing to improve and nothing changed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Steadiness {
    /// The first of the calls in a row that found the same: supersteps that were over, predicted and measured seconds of
    /// a superstep.
    first: Option<(u64, f64, f64)>,
}

impl Steadiness {
    /// Observes a call after `completed` supersteps, with a superstep as predicted and as measured; `moves` says whether
    /// it moved a process or would have.
    pub(super) fn observe(&mut self, completed: u64, predicted: f64, measured: f64, moves: bool) {
        let is_same = |(_, first, took): (u64, f64, f64)| {
            is_close(predicted, first) && is_close(measured, took)
        };
        if moves {
            self.first = None;
        } else if !self.first.is_some_and(is_same) {
            self.first = Some((completed, predicted, measured));
        }
    }

    /// Supersteps since the first of these calls: what has not changed for so long is not expected to change sooner.
    pub(super) fn supersteps(&self, completed: u64) -> u64 {
        self.first.map_or(0, |(first, ..)| completed - first)
    }
}

/// Whether two times differ by no more than a fiftieth.
fn is_close(one: f64, other: f64) -> bool {
    (one - other).abs() <= CLOSE * other
}

/// Part by which times may differ that count as the same.
const CLOSE: f64 = 0.02;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_find_the_same_count_from_the_first() {
        let mut steadiness = Steadiness::default();
        steadiness.observe(4, 1.0, 1.0, false);
        steadiness.observe(10, 1.01, 1.0, false);
        assert_eq!(steadiness.supersteps(10), 6);
        steadiness.observe(20, 1.0, 1.1, false);
        assert_eq!(steadiness.supersteps(20), 0);
        steadiness.observe(30, 1.0, 1.1, false);
        assert_eq!(steadiness.supersteps(30), 10);
        steadiness.observe(40, 1.0, 1.1, true);
        assert_eq!(steadiness.supersteps(40), 0);
    }
}
