//! What messages cost the hosts at their two ends.

use bsp::HostId;
use bsp::units::Seconds;

/// The part of every host that handles messages: one at a time, first come, first served, sent
/// and received ones alike.
#[derive(Debug, Default)]
pub(super) struct Desks {
    /// By host, as far as any had a message to handle.
    desks: Vec<Desk>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Desk {
    /// When it has handled all it has been given, in seconds.
    free: f64,
    /// Seconds needed for all it has ever been given.
    given: f64,
}

impl Desks {
    /// Gives a host a message that takes it `length`, and returns when it is done with it.
    pub(super) fn occupy(&mut self, host: HostId, now: f64, length: Seconds) -> f64 {
        if self.desks.len() <= host.index() {
            self.desks.resize(host.index() + 1, Desk::default());
        }
        let desk = &mut self.desks[host.index()];
        let length = length.get().max(0.0);
        desk.free = desk.free.max(now) + length;
        desk.given += length;
        desk.free
    }

    /// Seconds that the host has spent on messages until `now`.
    pub(super) fn busy(&self, host: HostId, now: f64) -> f64 {
        // What is still to be done takes the host from now on without a break.
        self.desks.get(host.index()).map_or(0.0, |desk| {
            (desk.given - (desk.free - now).max(0.0)).max(0.0)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_queue_and_only_past_time_counts_as_spent() {
        let mut desks = Desks::default();
        let host = HostId(3);
        let length = Seconds::new(2.0).unwrap();
        assert_eq!(desks.occupy(host, 1.0, length).to_bits(), 3.0_f64.to_bits());
        assert_eq!(desks.occupy(host, 2.0, length).to_bits(), 5.0_f64.to_bits());
        let seconds = |at| Seconds::new(at).unwrap();
        assert_eq!(seconds(desks.busy(host, 4.0)), seconds(3.0));
        assert_eq!(seconds(desks.busy(host, 9.0)), seconds(4.0));
        assert_eq!(desks.busy(HostId(7), 9.0).to_bits(), 0);
    }
}
