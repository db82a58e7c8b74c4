//! Limits how many lines about peers the log has.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Lets a number of lines of one kind into the log in each period, then one that says how many more there were.
#[derive(Debug)]
pub struct LogLimit {
    /// The name of what the lines are about, in the plural.
    what: &'static str,
    period: Mutex<Option<LogPeriod>>,
}

/// A period that has begun with a line.
#[derive(Debug)]
struct LogPeriod {
    began: Instant,
    lines: u32,
    /// Lines that were left out.
    more: u64,
}

/// What to do with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineDecision {
    Write,
    /// Leave it out; it is the first one that is left out of the period that ends then.
    BeginCount(Instant),
    Count,
}

impl LogLimit {
    /// A limit for lines about `what`.
    #[must_use]
    pub fn new(what: &'static str) -> Self {
        let period = Mutex::default();
        Self { what, period }
    }

    /// Whether a line may be written now. Otherwise it is counted, and the count written when the period ends, by a task of the
    /// tokio runtime.
    pub fn admits(self: &Arc<Self>) -> bool {
        match self.decide(Instant::now()) {
            LineDecision::Write => true,
            LineDecision::Count => false,
            LineDecision::BeginCount(end) => {
                let limit = Arc::clone(self);
                drop(tokio::spawn(async move {
                    tokio::time::sleep_until(end).await;
                    let more = limit.end_period();
                    let what = limit.what;
                    tracing::warn!(more, "more {what} in {} s", PERIOD.as_secs());
                }));
                false
            }
        }
    }

    fn decide(&self, now: Instant) -> LineDecision {
        let mut period = self.lock();
        let has_ended = |period: &LogPeriod| period.more == 0 && period.began + PERIOD <= now;
        if period.as_ref().is_none_or(has_ended) {
            *period = Some(LogPeriod {
                began: now,
                lines: 0,
                more: 0,
            });
        }
        let Some(period) = &mut *period else {
            return LineDecision::Write;
        };
        if period.lines < LINES {
            period.lines += 1;
            return LineDecision::Write;
        }
        period.more += 1;
        if period.more == 1 {
            LineDecision::BeginCount(period.began + PERIOD)
        } else {
            LineDecision::Count
        }
    }

    /// Ends the period, and returns how many lines were left out of it.
    fn end_period(&self) -> u64 {
        self.lock().take().map_or(0, |period| period.more)
    }

    fn lock(&self) -> MutexGuard<'_, Option<LogPeriod>> {
        // Assignments leave no partial value behind.
        self.period.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lines in a period.
const LINES: u32 = 10;
const PERIOD: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_lines_in_ten_seconds_are_written_and_the_rest_counted() {
        let limit = LogLimit::new("refused connections");
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let decided = |times: &[u64]| -> Vec<_> {
            let decide = |seconds: &u64| limit.decide(at(*seconds));
            times.iter().map(decide).collect()
        };
        assert_eq!(
            decided(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
            [LineDecision::Write; 10]
        );
        assert_eq!(decided(&[10]), [LineDecision::Write], "a new period");
        assert_eq!(decided(&[10; 9]), [LineDecision::Write; 9]);
        let (first, more) = (LineDecision::BeginCount(at(20)), LineDecision::Count);
        // Until the count is written, even if that is late, lines are counted.
        assert_eq!(decided(&[11, 12, 21]), [first, more, more]);
        assert_eq!(limit.end_period(), 3);
        assert_eq!(decided(&[21]), [LineDecision::Write]);
    }
}
