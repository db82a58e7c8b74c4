//! What noise may make of the times of hosts.

use crate::bounded::count;
use crate::{Assignment, Snapshot};

/// What noise may make of the times of hosts.
///
/// Equation `NOISE` of `docs/model.md`.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimeNoise {
    /// Of one superstep: the standard deviation of the difference between the slowest host and another.
    superstep: f64,
    /// How many supersteps its prediction is a mean of.
    supersteps: f64,
    /// How many hosts have processes.
    hosts: f64,
}

impl TimeNoise {
    /// In the present placement of `snapshot`, if times are predicted from `supersteps` supersteps.
    pub(super) fn new(snapshot: &Snapshot, supersteps: f64) -> Self {
        let present = Assignment::present(snapshot);
        let variance = |host| variance(snapshot, host, present.residents(host));
        let hosts = 0..snapshot.hosts().len();
        let occupied: Vec<usize> = hosts
            .filter(|host| !present.residents(*host).is_empty())
            .collect();
        let slowest = occupied
            .iter()
            .max_by(|one, other| present.time(**one).total_cmp(&present.time(**other)));
        let hosts = count(occupied.len()).max(1.0);
        let sum: f64 = occupied.iter().map(|host| variance(*host)).sum();
        let slowest = slowest.map_or(0.0, |host| variance(*host));
        Self {
            superstep: (slowest + sum / hosts).sqrt(),
            supersteps: supersteps.max(1.0),
            hosts,
        }
    }

    /// Seconds that two hosts may be found to differ by in one superstep, the standard deviation.
    pub(super) const fn superstep(&self) -> f64 {
        self.superstep
    }

    /// How many supersteps its prediction is a mean of.
    pub(super) const fn supersteps(&self) -> f64 {
        self.supersteps
    }

    /// The same for the mean of the supersteps.
    pub(super) fn error(&self) -> f64 {
        self.superstep / self.supersteps.sqrt()
    }

    /// No smaller difference shows that a host is slower than others: of `n` normal errors, the greatest is
    /// `sqrt(2 ln n)` standard errors or less.
    pub(super) fn least(&self) -> f64 {
        (2.0 * libm::log(self.hosts)).sqrt().max(1.0) * self.error()
    }
}

/// Of the time that a host with these `residents` computes in one superstep.
fn variance(snapshot: &Snapshot, host: usize, residents: &[usize]) -> f64 {
    let machine = &snapshot.hosts()[host];
    let together = count(residents.len()).min(machine.cores).max(1.0);
    let deviations = residents.iter().map(|process| {
        let load = &snapshot.processes()[*process];
        load.noise * load.instructions / (machine.rate * together)
    });
    deviations.map(|deviation| deviation * deviation).sum()
}
