//! What owners of hosts do on them.

use bsp::HostId;
use bsp::units::{Instant, Seconds};

use super::Engine;

impl Engine {
    /// Mean external load of a host during the last `window`, or since the run began if that is
    /// shorter; the load at this instant if the window is empty.
    ///
    /// # Panics
    ///
    /// If the platform has no such `host`.
    #[must_use]
    pub fn load(&mut self, host: HostId, window: Seconds) -> f64 {
        let now = self.now();
        let from = (now.get() - window.get().max(0.0)).max(0.0);
        if let Some(queue) = &mut self.owners[host.index()] {
            queue.advance(self.now);
            return queue.load(from, self.now);
        }
        let from = Instant::new(from).expect("between zero and now");
        match &self.platform.host(host).load {
            Some(profile) => profile.mean(from, now, 0.0),
            None => 0.0,
        }
    }

    /// How long each job of the owner that is present on a host has had a core so far, the longest first.
    ///
    /// # Panics
    ///
    /// If the platform has no such `host`.
    #[must_use]
    pub fn job_ages(&mut self, host: HostId) -> Vec<Seconds> {
        let Some(queue) = &mut self.owners[host.index()] else {
            return Vec::new();
        };
        queue.advance(self.now);
        let ages = queue.ages(self.now).map(Seconds::new);
        let mut ages: Vec<Seconds> = ages.filter_map(Result::ok).collect();
        ages.sort_unstable_by(|one, other| other.cmp(one));
        ages
    }

    /// The part of a core that a computation alone would not have had on a host during the last `window`, because of its
    /// owner; the part at this instant if the window is empty.
    ///
    /// # Panics
    ///
    /// If the platform has no such `host`.
    #[must_use]
    pub fn withheld(&mut self, host: HostId, window: Seconds) -> f64 {
        let (now, from) = (self.now, (self.now - window.get().max(0.0)).max(0.0));
        match &mut self.owners[host.index()] {
            None => self.load(host, window),
            Some(queue) => {
                queue.advance(now);
                queue.mean_withheld(from, now)
            }
        }
    }

    /// How often during the last `window` a job of the owner has arrived on a host while none was present.
    ///
    /// # Panics
    ///
    /// If the platform has no such `host`.
    #[must_use]
    pub fn busy_periods(&mut self, host: HostId, window: Seconds) -> u64 {
        let from = (self.now - window.get().max(0.0)).max(0.0);
        self.owners[host.index()].as_mut().map_or(0, |queue| {
            queue.advance(self.now);
            queue.periods(from)
        })
    }
}
