//! What the processes on one host amount to, and how long the host takes for them.

/// The processes on one host, together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Tally {
    /// Work of all of them.
    work: f64,
    /// Work of the one that has most.
    work_longest: f64,
    /// The longest that one of them spends receiving, in seconds.
    communication: f64,
}

/// Seconds that one host takes for a superstep, messages that share its Set's connection not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct HostTime {
    pub(super) computation: f64,
    /// The longest that one of its processes spends receiving.
    communication: f64,
}

impl Tally {
    /// The same processes, and one more.
    pub(super) fn with(self, work: f64, communication: f64) -> Self {
        Self {
            work: self.work + work,
            work_longest: self.work_longest.max(work),
            communication: self.communication.max(communication),
        }
    }

    /// On a host with `cores` cores, each of which does `rate` units of work in a second.
    ///
    /// The cores share the sum of the work, but one process cannot use more than one of them.
    pub(super) fn time(self, cores: f64, rate: f64) -> HostTime {
        let shared = self.work / cores;
        HostTime {
            computation: self.work_longest.max(shared) / rate,
            communication: self.communication,
        }
    }
}

impl HostTime {
    /// Seconds if the Set's connection to others is busy for `traffic` seconds.
    pub(super) fn with(self, traffic: f64) -> f64 {
        // An idle host does not wait for the messages of its Set.
        if self.computation <= 0.0 {
            return self.communication;
        }
        self.computation + self.communication.max(traffic)
    }
}
