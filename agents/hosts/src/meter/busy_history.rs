//! How many processes of other programs have kept this machine busy.

use std::collections::VecDeque;

use bsp::units::Seconds;

/// How many processes of other programs were busy, second by second.
#[derive(Debug)]
pub(super) struct BusyHistory {
    processors: u32,
    /// The latest last.
    counts: VecDeque<u32>,
}

impl BusyHistory {
    /// Nothing yet, on a machine with that many processors.
    pub(super) const fn new(processors: u32) -> Self {
        Self {
            processors,
            counts: VecDeque::new(),
        }
    }

    /// Adds the count of another second.
    pub(super) fn add(&mut self, count: usize) {
        if self.counts.len() == SAMPLES_MAX {
            self.counts.pop_front();
        }
        self.counts
            .push_back(u32::try_from(count).unwrap_or(u32::MAX));
    }

    /// The part of a processor that one process more would not have had in the last `window`, if the system shares the
    /// processors equally; in the last second, if the window is shorter.
    pub(super) fn withheld(&self, window: Seconds) -> f64 {
        let processors = f64::from(self.processors);
        let withheld = |count: u32| (1.0 - processors / (f64::from(count) + 1.0)).max(0.0);
        let (mut sum, mut seconds) = (0.0, 0.0);
        for count in self.last(window) {
            sum += withheld(count);
            seconds += 1.0;
        }
        if seconds == 0.0 { 0.0 } else { sum / seconds }
    }

    /// How often in the last `window` all processors began to be busy: one process more would not have had a whole one.
    /// Whether they were busy before the first count is not known.
    pub(super) fn periods(&self, window: Seconds) -> u64 {
        let is_busy = |count: u32| self.processors <= count;
        let latest_first = self.last(window);
        let before = self.counts.iter().rev().copied().skip(1);
        let begins = latest_first.zip(before);
        let begins = begins.filter(|(count, before)| is_busy(*count) && !is_busy(*before));
        begins.fold(0, |periods, _| periods + 1)
    }

    /// The counts in the last `window`, one at least, the latest first.
    fn last(&self, window: Seconds) -> impl Iterator<Item = u32> {
        let whole = window.get().ceil().max(1.0);
        let wanted = move |index: &usize| (*index as f64) < whole;
        let counts = self.counts.iter().rev().copied().enumerate();
        counts
            .take_while(move |(index, _)| wanted(index))
            .map(|(_, count)| count)
    }
}

/// An hour.
const SAMPLES_MAX: usize = 3600;

#[cfg(test)]
mod tests {
    use super::*;

    fn history(processors: u32, counts: &[usize]) -> BusyHistory {
        let mut history = BusyHistory::new(processors);
        for count in counts {
            history.add(*count);
        }
        history
    }

    fn seconds(value: f64) -> Seconds {
        Seconds::new(value).unwrap()
    }

    #[test]
    fn processes_withhold_what_an_equal_share_does_not_leave() {
        let withheld = |processors, counts: &[usize], window| {
            history(processors, counts).withheld(seconds(window))
        };
        assert!((withheld(1, &[1], 0.0) - 0.5).abs() < 1e-12);
        assert!((withheld(1, &[3, 0], 0.0)).abs() < 1e-12);
        assert!((withheld(1, &[3, 0], 2.0) - 0.375).abs() < 1e-12);
        assert!((withheld(2, &[1, 1], 10.0)).abs() < 1e-12);
        assert!((withheld(2, &[9, 3, 2], 2.0) - (0.5 + 1.0 / 3.0) / 2.0).abs() < 1e-12);
        assert!(withheld(2, &[], 10.0).abs() < 1e-12);
    }

    #[test]
    fn a_period_begins_when_no_whole_processor_is_left() {
        let counts = [2, 2, 0, 1, 2, 3, 0, 0, 2];
        let periods = |processors, window| history(processors, &counts).periods(seconds(window));
        assert_eq!(periods(2, 100.0), 2);
        assert_eq!(periods(2, 5.0), 2);
        assert_eq!(periods(2, 4.0), 1);
        assert_eq!(periods(1, 100.0), 2);
        assert_eq!(periods(4, 100.0), 0);
    }
}
