//! When to call for rescheduling.

use bsp::units::Seconds;
use serde::{Deserialize, Serialize};

use crate::{Config, EmptySuperstep, IdleProcesses, ProcessTime, ProcessTimes, ToleranceFloor};

/// The interval between calls and the tolerance that steers it, as one Set Manager holds them.
///
/// Implements equations `INTERVAL` and `TOLERANCE` of `docs/model.md`. All Managers take in the same
/// times in the same order and so hold the same values, which they can compare.
///
/// Invariant: no interval is below the initial one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct When {
    initial: Initial,
    /// α.
    interval: u32,
    /// α'.
    interval_next: u32,
    /// Supersteps after which the next call comes, counted from the beginning of the run.
    call_next: u64,
    /// D.
    tolerance: f64,
    /// γ.
    calls_idle: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Initial {
    interval: u32,
    tolerance: f64,
    omega: u32,
    floor: ToleranceFloor,
}

impl When {
    /// As a run begins.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        let parameters = config.parameters();
        Self {
            initial: Initial {
                interval: parameters.interval,
                tolerance: parameters.tolerance,
                omega: parameters.omega,
                floor: parameters.tolerance_floor,
            },
            interval: parameters.interval,
            interval_next: parameters.interval,
            call_next: u64::from(parameters.interval),
            tolerance: parameters.tolerance,
            calls_idle: 0,
        }
    }

    /// Judges the supersteps since the last call and moves the next interval by one for each.
    ///
    /// `supersteps` holds, by rank, the times of each process since the last call; a process that
    /// halted has fewer. `barrier_busy` holds, per superstep, how long the barrier's master was busy
    /// with its messages. Answers which supersteps were balanced.
    pub fn balance(
        &mut self,
        config: &Config,
        supersteps: &[&[ProcessTimes]],
        barrier_busy: &[Seconds],
    ) -> Vec<bool> {
        let count = supersteps
            .iter()
            .map(|times| times.len())
            .max()
            .unwrap_or(0);
        let mut wait = Seconds::ZERO;
        let mut balanced = Vec::with_capacity(count);
        for index in 0..count {
            let times = supersteps.iter().filter_map(|times| times.get(index));
            let waits = times.clone().filter_map(ProcessTimes::wait);
            wait = waits.min().unwrap_or(wait);
            let busy = barrier_busy.get(index).copied().unwrap_or_default();
            let is_balanced = is_balanced(config, times, wait.max(busy), self.tolerance);
            if is_balanced {
                self.interval_next = self.interval_next.saturating_add(1);
            } else if self.initial.interval < self.interval_next {
                self.interval_next -= 1;
            }
            balanced.push(is_balanced);
        }
        balanced
    }

    /// Ends a call in which somebody migrated, or nobody; answers the interval to the next call and
    /// the tolerance it will be judged with.
    pub fn conclude(&mut self, migrated: bool) -> (u32, f64) {
        self.calls_idle = if migrated {
            0
        } else {
            self.calls_idle.saturating_add(1)
        };
        let Initial {
            tolerance: initial,
            omega,
            floor,
            ..
        } = self.initial;
        let half = self.tolerance / 2.0;
        if omega <= self.calls_idle {
            if self.tolerance + half < 1.0 {
                self.tolerance += half;
            }
        } else if initial < self.tolerance && self.calls_idle == 0 {
            self.tolerance = match floor {
                ToleranceFloor::Clamped => (self.tolerance - half).max(initial),
                ToleranceFloor::Halved => self.tolerance - half,
            };
        }
        self.interval = self.interval_next;
        self.call_next = self.call_next.saturating_add(u64::from(self.interval));
        (self.interval, self.tolerance)
    }

    /// Supersteps between the last call and the next, α.
    #[must_use]
    pub const fn interval(&self) -> u32 {
        self.interval
    }

    /// D.
    #[must_use]
    pub const fn tolerance(&self) -> f64 {
        self.tolerance
    }

    /// Supersteps of the run after which the next call comes.
    #[must_use]
    pub const fn call_next(&self) -> u64 {
        self.call_next
    }

    /// Whether it is time for a call, now that `completed` supersteps of the run are over.
    #[must_use]
    pub const fn due(&self, completed: u64) -> bool {
        self.call_next <= completed
    }
}

/// Whether one superstep was balanced, given its times by rank and what its barrier cost.
///
/// Implements inequalities `BALANCE` of `docs/model.md`: the slowest process takes less than the mean
/// times `1 + tolerance`, the fastest more than the mean times `1 − tolerance`.
#[must_use]
pub fn is_balanced<'a>(
    config: &Config,
    times: impl Iterator<Item = &'a ProcessTimes> + Clone,
    barrier: Seconds,
    tolerance: f64,
) -> bool {
    let parameters = config.parameters();
    let counted = times
        .filter(|times| times.computed() || parameters.idle_processes == IdleProcesses::Counted);
    let mut number = 0.0;
    let mut computation = 0.0;
    let mut reception = 0.0;
    let mut fastest = f64::INFINITY;
    let mut slowest = 0.0_f64;
    let mut nobody = true;
    for times in counted {
        let time = times.computation().get();
        number += 1.0;
        computation += time;
        reception += times.reception().get();
        fastest = fastest.min(time);
        slowest = slowest.max(time);
        nobody &= !times.computed();
    }
    if nobody {
        return parameters.empty_superstep == EmptySuperstep::Balanced;
    }
    let common = match parameters.process_time {
        ProcessTime::Whole => reception / number + barrier.get(),
        ProcessTime::Computation => 0.0,
    };
    let mean = computation / number + common;
    slowest + common < mean * (1.0 + tolerance) && mean * (1.0 - tolerance) < fastest + common
}
