//! How much time calls may take that move nobody.

use crate::bounded::count;

/// Spaces calls so that those in which nobody moves take no more than a part of the run.
///
/// A call that moves somebody is paid for by what that wins, as far as it goes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Thrift {
    /// Supersteps that were over at the last call.
    completed: u64,
    /// Seconds of the run so far, as far as is known.
    elapsed: f64,
    /// Seconds that calls took that moved nobody.
    spent: f64,
    /// What a superstep takes, in seconds.
    superstep: f64,
}

impl Thrift {
    /// So many supersteps are over, and one takes so many seconds.
    pub(crate) fn elapse(&mut self, completed: u64, superstep: f64) {
        let number = count(completed - self.completed);
        self.completed = completed;
        self.elapsed += number * superstep;
        self.superstep = superstep;
    }

    /// A call took so long for nothing.
    pub(crate) fn spend(&mut self, seconds: f64) {
        self.spent += seconds;
    }

    /// Supersteps until there is time for another call, if calls may take `share` of the run.
    pub(crate) fn pause(&self, share: f64) -> u64 {
        let wanted = self.spent / share - self.elapsed;
        let mut supersteps = wanted / self.superstep.max(f64::MIN_POSITIVE);
        let mut pause = 0;
        // By halves, for want of a conversion: what is longer than any run is cut off.
        for bit in (0..PAUSE_BITS).rev() {
            let part = f64::from(1_u32 << bit);
            if part <= supersteps {
                supersteps -= part;
                pause |= 1 << bit;
            }
        }
        pause
    }
}

/// No pause is longer than two to this power.
const PAUSE_BITS: u32 = 24;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_take_no_more_than_their_share() {
        let mut thrift = Thrift::default();
        let (mut completed, mut calls) = (0, 0);
        while completed < 10_000 {
            completed += 1 + thrift.pause(0.01);
            thrift.elapse(completed, 1.0);
            thrift.spend(0.5);
            calls += 1;
        }
        // A hundred seconds in ten thousand, and the one that is on credit.
        assert!((195..=201).contains(&calls), "{calls}");
    }

    #[test]
    fn what_took_nothing_needs_no_pause() {
        let mut thrift = Thrift::default();
        thrift.elapse(4, 1.0);
        assert_eq!(thrift.pause(0.01), 0);
        thrift.spend(100.0);
        assert_eq!(thrift.pause(0.01), 9_996);
    }
}
