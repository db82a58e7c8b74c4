//! When agents want to be woken.

use std::collections::BTreeMap;
use std::time::Instant as Clock;

use protocol::Address;

/// When agents want to be woken, in the order of these dates.
#[derive(Debug, Default)]
pub(super) struct Timers {
    agents: BTreeMap<(Clock, u64), Address>,
    /// The number of timers so far: those of one date go off in the order in which they were added.
    added: u64,
}

impl Timers {
    /// `agent` is to be woken at `at`.
    pub(super) fn add(&mut self, at: Clock, agent: Address) {
        self.agents.insert((at, self.added), agent);
        self.added += 1;
    }

    /// The next date.
    pub(super) fn next(&self) -> Option<Clock> {
        self.agents.keys().next().map(|(at, _)| *at)
    }

    /// Removes the agents that are to be woken by `now`.
    pub(super) fn due(&mut self, now: Clock) -> Vec<Address> {
        let later = self.agents.split_off(&(now, u64::MAX));
        let due = std::mem::replace(&mut self.agents, later);
        due.into_values().collect()
    }
}
