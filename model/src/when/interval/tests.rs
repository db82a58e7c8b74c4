use proptest::prelude::*;

use super::*;
use crate::{Parameters, ProcessTimes, Spacing, Times};

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

/// Of processes with these times, in one superstep.
fn digest(times: &[ProcessTimes]) -> Digest {
    let digests = times.iter().map(Digest::of);
    digests.fold(Digest::default(), Digest::and)
}

fn check(times: &[f64], tolerance: f64) -> bool {
    let times: Vec<_> = times.iter().copied().map(computed).collect();
    is_balanced(&digest(&times), Seconds::ZERO, tolerance)
}

/// Ends a call after `supersteps`, with or without migrations; returns the tolerance.
fn conclude(when: &mut Interval, supersteps: &[Digest], migrated: bool) -> f64 {
    when.conclude(&CallOutcome {
        completed: when.call_next,
        supersteps,
        barrier_busy: &[],
        migrations: usize::from(migrated),
        spacing: Spacing::default(),
    });
    when.schedule().tolerance.unwrap()
}

/// Runs `calls` intervals in which every superstep was as given, and answers when they ended.
fn calls(config: &Config, times: [f64; 2], calls: usize) -> Vec<u64> {
    let mut when = Interval::new(config);
    let mut ends = Vec::new();
    let mut completed = 0;
    while ends.len() < calls {
        completed += 1;
        if when.is_due(completed) {
            ends.push(completed);
            let length = usize::try_from(when.schedule().interval.unwrap()).unwrap();
            let histories = times.map(|time| Times::from(vec![computed(time); length]));
            let supersteps = Digest::of_supersteps(&histories);
            conclude(&mut when, &supersteps, true);
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
    let mut when = Interval::new(&Config::default());
    let mut tolerances = Vec::new();
    for migrated in [false, false, false, false, true, true] {
        tolerances.push(seconds(conclude(&mut when, &[], migrated)));
    }
    assert_eq!(
        tolerances,
        [0.5, 0.5, 0.75, 0.75, 0.5, 0.5].map(seconds),
        "three idle calls add a half; one more would reach 1.125"
    );
}

#[test]
fn both_inequalities_are_strict() {
    assert!(check(&[1.0, 2.0], 0.5));
    assert!(!check(&[1.0, 3.0], 0.5), "3 = 2·(1 + 0.5)");
    assert!(!check(&[1.0, 2.0, 2.0, 3.0], 0.5), "1 = 2·(1 − 0.5)");
}

#[test]
fn idle_processes_do_not_count() {
    assert!(check(&[1.0, 0.0], 0.5));
}

#[test]
fn a_superstep_without_computation_is_not_balanced() {
    assert!(!check(&[0.0, 0.0], 0.5));
    assert!(!check(&[], 0.5));
}

#[test]
fn what_all_wait_for_softens_what_differs() {
    let times = [computed(1.0), computed(5.0)];
    let check = |barrier| is_balanced(&digest(&times), seconds(barrier), 0.5);
    assert!(!check(0.0));
    assert!(check(10.0));
}

#[test]
fn the_mean_reception_counts_for_every_process() {
    let check = |times: [(f64, f64); 2]| {
        let times = times.map(|(computation, reception)| {
            ProcessTimes::new(Some(seconds(computation)), seconds(reception), None)
        });
        is_balanced(&digest(&times), Seconds::ZERO, 0.3)
    };
    // Both take six seconds, of which they compute one and five.
    assert!(!check([(1.0, 5.0), (5.0, 1.0)]));
    assert!(check([(1.0, 0.0), (1.0, 5.0)]));
}

#[test]
fn a_barrier_costs_what_the_last_to_arrive_waited_or_its_master_worked() {
    let mut when = Interval::new(&Config::default());
    let history = |computation, waits: [Option<f64>; 3]| {
        let times = waits.map(|wait| {
            let computation = Some(seconds(computation));
            ProcessTimes::new(computation, Seconds::ZERO, wait.map(seconds))
        });
        Times::from(times.to_vec())
    };
    let fast = history(1.0, [Some(0.0), Some(14.0), None]);
    let slow = history(5.0, [Some(0.0), Some(10.0), None]);
    let supersteps = Digest::of_supersteps([&fast, &slow]);
    let balanced = when.balance(&supersteps, &[]);
    assert_eq!(balanced, 2, "the last wait is not known");
    let busy = [10.0, 0.0, 0.0].map(seconds);
    let balanced = when.balance(&supersteps, &busy);
    assert_eq!(balanced, 3);
}

#[test]
fn a_process_that_halted_no_longer_counts() {
    let mut when = Interval::new(&Config::default());
    let halted = Times::from(vec![computed(9.0)]);
    let others = Times::from(vec![computed(1.0); 2]);
    let balanced = when.balance(&Digest::of_supersteps([&halted, &others]), &[]);
    assert_eq!(balanced, 1);
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
        let mut when = Interval::new(&config);
        for (is_balanced, migrated) in calls {
            let times = if is_balanced { [1.0, 1.0] } else { [1.0, 1e6] };
            let histories = times.map(|time| Times::from(vec![computed(time); 3]));
            let supersteps = Digest::of_supersteps(&histories);
            let now = conclude(&mut when, &supersteps, migrated);
            prop_assert!(Some(initial) <= when.schedule().interval);
            prop_assert!(tolerance <= now && now < 1.0);
        }
    }

    #[test]
    fn what_is_balanced_stays_so_with_more_tolerance(
        times in prop::collection::vec(0.0..10.0, 1..9),
        tolerance in 0.0..1.0,
        more in 0.0..1.0,
    ) {
        prop_assert!(!check(&times, tolerance) || check(&times, tolerance + more));
    }
}
