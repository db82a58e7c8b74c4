//! The one-way delay of messages between hosts whose clocks differ.

use bsp::units::Seconds;

/// The one-way delay from another node to this one.
///
/// The difference between the clocks of two hosts changes slowly, and no message arrives before it is sent. The
/// smallest difference between the time of arrival and the time of sending is therefore that of an undelayed message,
/// which took half of the smallest round trip. A message with a larger difference was delayed by the excess. Round trips
/// are measured by the transport as a mean of the latest ones, so that a round trip of a loaded link includes the queue
/// of that link.
#[derive(Debug)]
pub(crate) struct OneWayDelay {
    /// What is smallest in this period and in the one before.
    least: [Least; 2],
    /// When this period began here, and its messages.
    began: Seconds,
    count: u32,
}

/// The smallest values of a period, in seconds.
#[derive(Clone, Copy, Debug)]
struct Least {
    /// From the time of sending to the time of arrival, each on its own clock.
    difference: f64,
    round_trip: f64,
}

impl Least {
    const NONE: Self = Self {
        difference: f64::INFINITY,
        round_trip: f64::INFINITY,
    };

    const fn min(self, other: Self) -> Self {
        Self {
            difference: self.difference.min(other.difference),
            round_trip: self.round_trip.min(other.round_trip),
        }
    }
}

impl OneWayDelay {
    pub(crate) const fn new() -> Self {
        Self {
            least: [Least::NONE; 2],
            began: Seconds::ZERO,
            count: 0,
        }
    }

    /// The delay of a message that was sent at `sent` on the clock of the other host and arrived at `came` on the clock
    /// of this one, with a round trip of `round_trip`.
    pub(crate) fn took(&mut self, sent: Seconds, came: Seconds, round_trip: Seconds) -> Seconds {
        let lasted = came.get() - self.began.get();
        if self.count == PERIOD_MESSAGES || PERIOD_SECONDS <= lasted {
            let is_recent = lasted < 2.0 * PERIOD_SECONDS;
            let before = if is_recent {
                self.least[0]
            } else {
                Least::NONE
            };
            self.least = [Least::NONE, before];
            self.began = came;
            self.count = 0;
        }
        self.count += 1;
        let difference = came.get() - sent.get();
        let round_trip = round_trip.get();
        let met = Least {
            difference,
            round_trip,
        };
        self.least[0] = self.least[0].min(met);
        let least = self.least[0].min(self.least[1]);
        let took = (difference - least.difference).max(0.0) + least.round_trip / 2.0;
        Seconds::new(took).expect("times are finite")
    }
}

/// The messages and seconds of a period. Older values are dropped, because clocks drift and routes change.
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
    fn the_queue_of_a_loaded_link_is_counted_once() {
        let mut way = OneWayDelay::new();
        let mut took = |sent: f64, delay: f64, round_trip: f64| {
            let took = way.took(seconds(sent), seconds(sent + delay), seconds(round_trip));
            took.get()
        };
        assert!((took(1.0, 0.001, 0.002) - 0.001).abs() < 1e-9);
        // The link fills: the message waits for 20 ms, and the transport measures longer round trips.
        assert!((took(2.0, 0.021, 0.042) - 0.021).abs() < 1e-9);
        assert!((took(3.0, 0.011, 0.040) - 0.011).abs() < 1e-9);
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
