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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Parameters;

    fn config(change: impl FnOnce(&mut Parameters)) -> Config {
        let mut parameters = Parameters::default();
        change(&mut parameters);
        Config::new(parameters).unwrap()
    }

    fn seconds(value: f64) -> Seconds {
        Seconds::new(value).unwrap()
    }

    /// A process that computed for so long, or not at all.
    fn computed(time: f64) -> ProcessTimes {
        let computation = (0.0 < time).then(|| seconds(time));
        ProcessTimes::new(computation, Seconds::ZERO, Some(Seconds::ZERO))
    }

    fn check(config: &Config, times: &[f64], tolerance: f64) -> bool {
        let times: Vec<_> = times.iter().copied().map(computed).collect();
        is_balanced(config, times.iter(), Seconds::ZERO, tolerance)
    }

    /// Runs `calls` intervals in which every superstep was as given, and answers when they ended.
    fn calls(config: &Config, times: [f64; 2], calls: usize) -> Vec<u64> {
        let mut when = When::new(config);
        let mut ends = Vec::new();
        let mut completed = 0;
        while ends.len() < calls {
            completed += 1;
            if when.due(completed) {
                ends.push(completed);
                let length = usize::try_from(when.interval()).unwrap();
                let histories = times.map(|time| vec![computed(time); length]);
                when.balance(config, &[&histories[0], &histories[1]], &[]);
                when.conclude(true);
            }
        }
        ends
    }

    #[test]
    fn a_run_that_is_always_balanced_calls_ever_more_rarely() {
        let config = Config::default();
        assert_eq!(
            calls(&config, [1.0, 1.0], 8),
            [4, 12, 28, 60, 124, 252, 508, 1020]
        );
        assert_eq!(calls(&config, [1.0, 9.0], 4), [4, 8, 12, 16]);
    }

    #[test]
    fn an_interval_of_ten_doubles_in_ten_balanced_supersteps() {
        let config = config(|parameters| parameters.interval = 10);
        assert_eq!(calls(&config, [1.0, 1.0], 2), [10, 30]);
    }

    #[test]
    fn the_tolerance_grows_once_and_not_beyond_one() {
        let mut when = When::new(&Config::default());
        let mut tolerances = Vec::new();
        for migrated in [false, false, false, false, true, true] {
            tolerances.push(seconds(when.conclude(migrated).1));
        }
        assert_eq!(
            tolerances,
            [0.5, 0.5, 0.75, 0.75, 0.5, 0.5].map(seconds),
            "three idle calls add a half; one more would reach 1.125"
        );
    }

    #[test]
    fn the_tolerance_may_fall_below_its_beginning_if_told_to() {
        let config = config(|parameters| parameters.tolerance_floor = ToleranceFloor::Halved);
        let mut when = When::new(&config);
        for _ in 0..3 {
            when.conclude(false);
        }
        assert_eq!(seconds(when.conclude(true).1), seconds(0.375));
    }

    #[test]
    fn both_inequalities_are_strict() {
        let config = Config::default();
        assert!(check(&config, &[1.0, 2.0], 0.5));
        assert!(!check(&config, &[1.0, 3.0], 0.5), "3 = 2·(1 + 0.5)");
        assert!(
            !check(&config, &[1.0, 2.0, 2.0, 3.0], 0.5),
            "1 = 2·(1 − 0.5)"
        );
    }

    #[test]
    fn idle_processes_count_only_if_told_to() {
        assert!(check(&Config::default(), &[1.0, 0.0], 0.5));
        let counted = config(|parameters| parameters.idle_processes = IdleProcesses::Counted);
        assert!(!check(&counted, &[1.0, 0.0], 0.5));
    }

    #[test]
    fn a_superstep_without_computation_is_what_the_switch_says() {
        assert!(!check(&Config::default(), &[0.0, 0.0], 0.5));
        assert!(!check(&Config::default(), &[], 0.5));
        let balanced = config(|parameters| parameters.empty_superstep = EmptySuperstep::Balanced);
        assert!(check(&balanced, &[0.0, 0.0], 0.5));
    }

    #[test]
    fn what_all_wait_for_softens_what_differs() {
        let times = [computed(1.0), computed(5.0)];
        let check = |process_time, barrier| {
            let config = config(|parameters| parameters.process_time = process_time);
            is_balanced(&config, times.iter(), seconds(barrier), 0.5)
        };
        assert!(!check(ProcessTime::Whole, 0.0));
        assert!(check(ProcessTime::Whole, 10.0));
        assert!(!check(ProcessTime::Computation, 10.0));
    }

    #[test]
    fn a_barrier_costs_what_the_last_to_arrive_waited_or_its_master_worked() {
        let mut when = When::new(&Config::default());
        let history = |computation, waits: [Option<f64>; 3]| {
            waits.map(|wait| {
                let computation = Some(seconds(computation));
                ProcessTimes::new(computation, Seconds::ZERO, wait.map(seconds))
            })
        };
        let fast = history(1.0, [Some(0.0), Some(14.0), None]);
        let slow = history(5.0, [Some(0.0), Some(10.0), None]);
        let balanced = when.balance(&Config::default(), &[&fast, &slow], &[]);
        assert_eq!(balanced, [false, true, true], "the last wait is not known");
        let busy = [10.0, 0.0, 0.0].map(seconds);
        let balanced = when.balance(&Config::default(), &[&fast, &slow], &busy);
        assert_eq!(balanced, [true, true, true]);
    }

    #[test]
    fn a_process_that_halted_no_longer_counts() {
        let mut when = When::new(&Config::default());
        let halted = [computed(9.0)];
        let others = [computed(1.0), computed(1.0)];
        let balanced = when.balance(&Config::default(), &[&halted, &others], &[]);
        assert_eq!(balanced, [false, true]);
    }

    proptest! {
        #[test]
        fn interval_and_tolerance_stay_in_their_ranges(
            initial in 1..6_u32,
            tolerance in 0.01..0.99,
            calls in prop::collection::vec((any::<bool>(), any::<bool>()), 1..30),
        ) {
            let config = config(|parameters| {
                parameters.interval = initial;
                parameters.tolerance = tolerance;
            });
            let mut when = When::new(&config);
            for (is_balanced, migrated) in calls {
                let times = if is_balanced { [1.0, 1.0] } else { [1.0, 1e6] };
                let histories = times.map(|time| vec![computed(time); 3]);
                when.balance(&config, &[&histories[0], &histories[1]], &[]);
                let (interval, now) = when.conclude(migrated);
                prop_assert!(initial <= interval);
                prop_assert!(tolerance <= now && now < 1.0);
            }
        }

        #[test]
        fn what_is_balanced_stays_so_with_more_tolerance(
            times in prop::collection::vec(0.0..10.0, 1..9),
            tolerance in 0.0..1.0,
            more in 0.0..1.0,
        ) {
            let config = Config::default();
            prop_assert!(
                !check(&config, &times, tolerance) || check(&config, &times, tolerance + more)
            );
        }
    }
}
