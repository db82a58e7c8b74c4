//! How long one process took in one superstep.

use bsp::units::Seconds;
use serde::{Deserialize, Serialize};

/// Times of one process in one superstep, as the Managers need them to judge the balance.
///
/// Kept for every superstep since the last call, hence its three words: a negative time is one that
/// is not known.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcessTimes {
    computation: Seconds,
    reception: Seconds,
    wait: Seconds,
}

impl ProcessTimes {
    /// `computation`: of a process that computed; `reception`: its longest; `wait`: from arriving at
    /// the barrier to going on, `None` as long as it does not go on.
    #[must_use]
    #[inline]
    pub fn new(computation: Option<Seconds>, reception: Seconds, wait: Option<Seconds>) -> Self {
        Self {
            computation: computation.map_or_else(unknown, |time| time.max(Seconds::ZERO)),
            reception: reception.max(Seconds::ZERO),
            wait: wait.map_or_else(unknown, |time| time.max(Seconds::ZERO)),
        }
    }

    /// Sets how long the process waited at the barrier.
    pub fn waited(&mut self, wait: Seconds) {
        self.wait = wait.max(Seconds::ZERO);
    }

    /// Whether it executed anything.
    #[must_use]
    pub fn computed(&self) -> bool {
        Seconds::ZERO <= self.computation
    }

    /// How long it computed; nothing if it did not.
    #[must_use]
    pub fn computation(&self) -> Seconds {
        self.computation.max(Seconds::ZERO)
    }

    /// How long its longest reception took.
    #[must_use]
    pub const fn reception(&self) -> Seconds {
        self.reception
    }

    /// How long it waited at the barrier; unknown in the superstep of a call, which ends before the
    /// process goes on.
    #[must_use]
    pub fn wait(&self) -> Option<Seconds> {
        (Seconds::ZERO <= self.wait).then_some(self.wait)
    }
}

fn unknown() -> Seconds {
    Seconds::new(-1.0).expect("a second is finite")
}

const _: () = assert!(size_of::<ProcessTimes>() == 24);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_stays_apart_from_zero() {
        let idle = ProcessTimes::new(None, Seconds::ZERO, None);
        assert!(!idle.computed());
        assert_eq!((idle.computation(), idle.wait()), (Seconds::ZERO, None));
        let mut quick = ProcessTimes::new(Some(Seconds::ZERO), Seconds::ZERO, None);
        quick.waited(Seconds::ZERO);
        assert!(quick.computed());
        assert_eq!(quick.wait(), Some(Seconds::ZERO));
    }
}
