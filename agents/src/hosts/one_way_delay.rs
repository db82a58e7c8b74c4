//! How long what comes from another node was on its way, although its clock tells another time.

use bsp::units::Seconds;

/// What is known of the way from one node to this one.
///
/// The clocks of two hosts differ by something that changes slowly, and what comes is never early: the
/// least difference between the time here and the time there is that of a message that nothing held up, which
/// took half of the round trip. Whatever differs by more was on its way for so much longer.
#[derive(Debug)]
pub(super) struct OneWayDelay {
    /// The least difference of this period and of the one before.
    least: [f64; 2],
    /// When this period began here, and its messages.
    began: Seconds,
    count: u32,
}

impl OneWayDelay {
    pub(super) const fn new() -> Self {
        Self {
            least: [f64::INFINITY; 2],
            began: Seconds::ZERO,
            count: 0,
        }
    }

    /// How long a message was on its way that left at `sent` there and came at `came` here, with a round trip of
    /// `round_trip`.
    pub(super) fn took(&mut self, sent: Seconds, came: Seconds, round_trip: Seconds) -> Seconds {
        let lasted = came.get() - self.began.get();
        if self.count == PERIOD_MESSAGES || PERIOD_SECONDS <= lasted {
            let is_recent = lasted < 2.0 * PERIOD_SECONDS;
            let before = if is_recent {
                self.least[0]
            } else {
                f64::INFINITY
            };
            self.least = [f64::INFINITY, before];
            self.began = came;
            self.count = 0;
        }
        self.count += 1;
        let difference = came.get() - sent.get();
        self.least[0] = self.least[0].min(difference);
        let least = self.least[0].min(self.least[1]);
        let took = (difference - least).max(0.0) + round_trip.get() / 2.0;
        Seconds::new(took).expect("times are finite")
    }
}

/// Messages and seconds after which what was long ago is forgotten, since clocks drift.
const PERIOD_MESSAGES: u32 = 256;
const PERIOD_SECONDS: f64 = 10.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(value: f64) -> Seconds {
        Seconds::new(value).unwrap()
    }

    #[test]
    fn clocks_that_differ_by_an_hour_make_no_difference() {
        let mut way = OneWayDelay::new();
        let delays = [0.5, 0.1, 0.3, 0.1];
        let took: Vec<f64> = (0_u32..)
            .zip(delays)
            .map(|(index, delay)| {
                let sent = 3600.0 + f64::from(index);
                way.took(seconds(sent), seconds(sent - 3600.0 + delay), seconds(0.2))
                    .get()
            })
            .collect();
        // The first is the best that is known when it comes.
        for (took, expect) in took.iter().zip([0.1, 0.1, 0.3, 0.1]) {
            assert!((took - expect).abs() < 1e-9, "{took}, not {expect}");
        }
    }

    #[test]
    fn a_clock_that_drifts_is_followed() {
        let mut way = OneWayDelay::new();
        // The other clock loses a millisecond with every message.
        let last = (0..2000_u32).map(|index| {
            let came = f64::from(index);
            way.took(seconds(came * 0.999), seconds(came), Seconds::ZERO)
        });
        let last = last.last().unwrap().get();
        assert!(last < 2.0 * PERIOD_SECONDS * 1e-3 + 1e-9, "{last}");
    }

    #[test]
    fn what_was_known_before_a_long_silence_is_forgotten() {
        let mut way = OneWayDelay::new();
        way.took(seconds(1.0), seconds(1.0), Seconds::ZERO);
        // Meanwhile the other clock has lost a second.
        let mut late = |at: f64| {
            let took = way.took(seconds(at - 1.0), seconds(at), Seconds::ZERO);
            took.get()
        };
        assert!(late(3600.0).max(late(3601.0)) < 1e-9);
    }
}
