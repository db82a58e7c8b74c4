//! How fast the supersteps of a job follow each other.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// How fast the supersteps of a job follow each other, by the last seconds.
#[derive(Clone, Debug, Default)]
pub(super) struct JobRate {
    /// Times with the number of supersteps that had begun, the latest last.
    samples: VecDeque<(Instant, u64)>,
}

impl JobRate {
    /// At `now`, this number of supersteps has begun.
    pub(super) fn add(&mut self, now: Instant, superstep: u64) {
        if self
            .samples
            .back()
            .is_some_and(|(_, last)| superstep < *last)
        {
            // Another job of the same client.
            self.samples.clear();
        }
        self.samples.push_back((now, superstep));
        // The oldest sample is the beginning of the window, or before it.
        while self
            .samples
            .get(1)
            .is_some_and(|(second, _)| WINDOW <= now.duration_since(*second))
        {
            self.samples.pop_front();
        }
    }

    /// Supersteps per second, once two samples are far enough apart.
    pub(super) fn per_second(&self) -> Option<f64> {
        let ((first, from), (last, to)) = (self.samples.front()?, self.samples.back()?);
        let seconds = last.duration_since(*first);
        let supersteps = u32::try_from(to - from).unwrap_or(u32::MAX);
        (SHORTEST <= seconds).then(|| f64::from(supersteps) / seconds.as_secs_f64())
    }
}

/// The time over which the rate is a mean.
const WINDOW: Duration = Duration::from_secs(10);
/// A shorter time says little.
const SHORTEST: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_the_last_ten_seconds() {
        let began = Instant::now();
        let at = |seconds| began + Duration::from_secs(seconds);
        let mut rate = JobRate::default();
        rate.add(at(0), 100);
        assert_eq!(rate.per_second(), None);
        for second in 1..=20 {
            rate.add(at(second), 100 + 5 * second);
        }
        assert_eq!(rate.per_second(), Some(5.0));
        for second in 21..=25 {
            rate.add(at(second), 200);
        }
        assert_eq!(rate.per_second(), Some(2.5));
        for second in 26..=36 {
            rate.add(at(second), 200);
        }
        assert_eq!(rate.per_second(), Some(0.0));
        rate.add(at(37), 3);
        assert_eq!(rate.per_second(), None);
        rate.add(at(38), 7);
        assert_eq!(rate.per_second(), Some(4.0));
    }
}
