//! What calls and moves cost, learned from the calls before.

use crate::MigrationTime;

/// Learned costs of calls and moves.
#[derive(Debug)]
pub(super) struct LearnedCosts {
    migration_time: MigrationTime,
    /// How long a call without moves takes, in seconds; `None` before the first.
    overhead: Option<f64>,
    /// Measured migration time as a multiple of the predicted one.
    factor: f64,
    /// Seconds that the processes moved in the last call spend on it in the next superstep.
    deferred: f64,
}

impl LearnedCosts {
    pub(super) const fn new(migration_time: MigrationTime) -> Self {
        Self {
            migration_time,
            overhead: None,
            factor: 1.0,
            deferred: 0.0,
        }
    }

    /// Learns from a call without moves that took `took` seconds.
    pub(super) fn observe_idle_call(&mut self, took: f64) {
        self.deferred = 0.0;
        let overhead = self.overhead.get_or_insert(took);
        *overhead += WEIGHT * (took - *overhead);
        // Decay the factor, or a too high estimate would block all migrations and never be corrected.
        self.factor -= (self.factor - FACTOR_MAX).max(0.0) * (1.0 - REMEMBERED);
    }

    /// Learns from a call that took `took` seconds, and whose moves were predicted to take `predicted`.
    pub(super) fn observe_moves(&mut self, took: f64, predicted: f64) {
        self.deferred = 0.0;
        let overhead = match (self.migration_time, self.overhead) {
            (MigrationTime::PerProcess, overhead) => {
                self.deferred = predicted;
                let before = overhead.unwrap_or(took);
                before + WEIGHT * (took - before)
            }
            (MigrationTime::SharedLinks, None) => (took - predicted).max(0.0),
            (MigrationTime::SharedLinks, Some(overhead)) => {
                let moves = (took - overhead).max(0.0);
                self.learn_factor(moves, predicted / self.factor);
                overhead
            }
        };
        self.overhead = Some(overhead);
    }

    /// How long a call without moves takes, in seconds; `None` before the first call.
    pub(super) const fn overhead(&self) -> Option<f64> {
        self.overhead
    }

    /// Measured migration time as a multiple of the predicted one.
    pub(super) const fn factor(&self) -> f64 {
        self.factor
    }

    /// Seconds that the processes moved in the last call spend on it after the call.
    pub(super) const fn deferred(&self) -> f64 {
        self.deferred
    }

    /// Learns from moves that took `took` seconds and were predicted to take `predicted` with a factor of 1.
    fn learn_factor(&mut self, took: f64, predicted: f64) {
        let most = if SHORT_MOVES < predicted {
            FACTOR_OF_LONG_MAX
        } else {
            FACTOR_MAX
        };
        // Moves predicted to take no time take some: divide by the shortest time, not by zero.
        let factor = took / predicted.max(SHORT);
        let factor = factor.clamp(1.0 / FACTOR_MAX, most);
        self.factor += WEIGHT * (factor - self.factor);
    }
}

/// Weight of the newest call.
const WEIGHT: f64 = 0.5;

/// Shorter than any move, in seconds.
const SHORT: f64 = 1e-9;

/// Bound of the factor, and of its inverse; moves predicted to take no longer than [`SHORT_MOVES`] do not raise
/// it further.
const FACTOR_MAX: f64 = 16.0;

/// Bound of the factor after longer moves.
const FACTOR_OF_LONG_MAX: f64 = 1e6;

/// Moves predicted to take no longer, in seconds, say little about longer ones.
const SHORT_MOVES: f64 = 1e-3;

/// Decay per call.
const REMEMBERED: f64 = 0.9375;

#[cfg(test)]
mod tests {
    use super::*;

    fn close(value: f64, expected: f64) {
        assert!(
            (value - expected).abs() < 1e-9,
            "{value} against {expected}"
        );
    }

    #[test]
    fn the_overhead_is_a_mean_of_calls_without_moves() {
        let mut costs = LearnedCosts::new(MigrationTime::SharedLinks);
        assert_eq!(costs.overhead(), None);
        costs.observe_idle_call(2.0);
        close(costs.overhead().unwrap(), 2.0);
        costs.observe_idle_call(4.0);
        close(costs.overhead().unwrap(), 3.0);
    }

    #[test]
    fn the_factor_follows_what_moves_took_beyond_the_overhead() {
        let mut costs = LearnedCosts::new(MigrationTime::SharedLinks);
        costs.observe_idle_call(1.0);
        // Three seconds where one was predicted.
        costs.observe_moves(4.0, 1.0);
        close(costs.factor(), 2.0);
        close(costs.overhead().unwrap(), 1.0);
    }

    #[test]
    fn a_high_factor_decays_in_calls_without_moves() {
        let mut costs = LearnedCosts::new(MigrationTime::SharedLinks);
        costs.observe_idle_call(0.0);
        costs.observe_moves(1e3, 1.0);
        let before = costs.factor();
        assert!(FACTOR_MAX < before, "{before}");
        costs.observe_idle_call(0.0);
        assert!(costs.factor() < before);
        for _ in 0..1000 {
            costs.observe_idle_call(0.0);
        }
        close(costs.factor(), FACTOR_MAX);
    }

    #[test]
    fn migrated_processes_pay_after_the_call_if_each_pays_alone() {
        let mut costs = LearnedCosts::new(MigrationTime::PerProcess);
        costs.observe_moves(0.5, 3.0);
        close(costs.deferred(), 3.0);
        close(costs.factor(), 1.0);
        costs.observe_idle_call(0.5);
        close(costs.deferred(), 0.0);
    }
}
