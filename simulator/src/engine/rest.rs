//! Moments at which nothing is under way, and the dates that count from them.

use bsp::units::{Instant, Seconds};

use super::{Engine, Span};

impl Engine {
    /// Lets time count from here, if nothing is under way and hosts have no owners. Returns what has passed since this was
    /// done last, or since the beginning.
    ///
    /// What happens afterwards depends on what is started, but not on anything before, and not on the date until a host or a
    /// link changes: the same activities take the same times, bit for bit.
    pub fn rest(&mut self) -> Option<Span> {
        if self.has_owners || self.started != self.over {
            return None;
        }
        if self.started != self.rested {
            self.rested = self.started;
            // What is left are events of activities that ended otherwise.
            self.calendar.clear();
            self.changes.speeds.clear();
            for host in self.stale_hosts.drain(..) {
                self.processors[host as usize].is_stale = false;
            }
            self.network.rest();
        }
        let changes = self.rest_changes();
        let length = self.since_rest();
        self.epoch.advance(length.get());
        self.now = 0.0;
        Some(Span {
            length,
            changes,
            busy: self.message_processors.rest(),
        })
    }

    /// Lets the same pass again that passed once, after a [`rest`](Self::rest).
    ///
    /// # Panics
    ///
    /// If something has been started since, or it [cannot be repeated](Self::can_repeat).
    pub fn repeat(&mut self, span: &Span) {
        assert!(
            self.started == self.over && self.now <= 0.0,
            "something is under way"
        );
        assert!(self.can_repeat(span), "the platform changes");
        self.epoch.advance(span.length.get());
        self.message_processors.repeat(&span.busy);
    }

    /// Time since the last [`rest`](Self::rest), or since the beginning.
    ///
    /// # Panics
    ///
    /// If the time exceeds what a float can count.
    #[must_use]
    pub fn since_rest(&self) -> Seconds {
        Seconds::new(self.now).expect("the clock goes from zero on and stays finite")
    }

    /// The date that is `after` the last [`rest`](Self::rest).
    ///
    /// # Panics
    ///
    /// If the date exceeds what a float can count.
    #[must_use]
    pub fn date(&self, after: Seconds) -> Instant {
        let date = self.epoch.after(after.get());
        Instant::new(date).expect("the clock goes from zero on and stays finite")
    }

    /// The current simulated time.
    ///
    /// # Panics
    ///
    /// If the simulated time exceeds what a float can count.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.date(self.since_rest())
    }
}
