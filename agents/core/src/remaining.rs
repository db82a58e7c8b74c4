//! The supersteps that are left.

use crate::setup::Scheduler;

/// The most supersteps that any of some processes executes, if all know; of no process, none.
pub fn most(processes: impl IntoIterator<Item = Option<u64>>) -> Option<u64> {
    let mut processes = processes.into_iter();
    processes.try_fold(0, |most, remaining| Some(most.max(remaining?)))
}

/// Whether a call can pay after `completed` supersteps of a run that ends after `end`; `None`: the end is not known.
pub(crate) fn can_pay(completed: u64, end: Option<u64>) -> bool {
    end.is_none_or(|end| completed.saturating_add(LEAST) <= end)
}

impl Scheduler {
    /// The supersteps that are left, for a policy that asks for them.
    pub(crate) fn asked(&self, remaining: impl FnOnce() -> Option<u64>) -> Option<u64> {
        let asks = self.horizon_known;
        let asks = asks.unwrap_or_else(|| self.policy.names_processors());
        asks.then(remaining).flatten()
    }
}

/// The fewest supersteps that a new placement is worth.
const LEAST: u64 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_that_of_the_last_process_if_all_know() {
        assert_eq!(most([Some(3), Some(7), Some(0)]), Some(7));
        assert_eq!(most([Some(3), None]), None);
        assert_eq!(most([]), Some(0));
    }

    #[test]
    fn a_call_can_pay_until_two_supersteps_before_the_end() {
        assert!(can_pay(8, Some(10)));
        assert!(!can_pay(9, Some(10)));
        assert!(can_pay(9, None));
        assert!(!can_pay(u64::MAX, Some(3)));
    }
}
