//! The mean time until several tasks have ended, from what a plan knows of their hosts.

use bsp::units::Seconds;

use super::owner_jobs::OwnerJobs;
use crate::bounded;

/// Expected time until the last of several tasks ends that run on different hosts, of which one takes `certain` without
/// interruption.
///
/// Equation `LATEST` of `docs/model.md`. Each task has the time that it takes without owner's jobs, and the jobs of its
/// host. A task that is interrupted takes longer by an exponential time with the exact mean, so the deviation of jobs does
/// not count. Times below zero count as zero.
///
/// Integrated numerically, to a relative 10⁻³. Finite for all arguments, and the same bits on every machine.
#[must_use]
pub fn expected_latest(certain: Seconds, tasks: &[(Seconds, OwnerJobs)]) -> Seconds {
    let dedicated = tasks.iter().map(|(dedicated, _)| *dedicated);
    let longest = dedicated.fold(certain, Seconds::max);
    let longest = bounded::seconds(longest.get().max(0.0)).get();
    let tails = tasks.iter();
    let tails = tails.filter_map(|(dedicated, jobs)| Tail::new(dedicated.get(), jobs, longest));
    let tails: Vec<Tail> = tails.collect();
    let first = SHORTEST * longest;
    let last = tails.iter().map(|tail| tail.mean).fold(0.0, f64::max) * LONGEST;
    let mut late = 0.0;
    let mut at = first;
    for _ in 0..STEPS {
        late += integral(&tails, at, last);
        at *= libm::cbrt(2.0);
    }
    // The trapezoidal rule on a logarithmic axis; the function hardly changes before its first point.
    let step = std::f64::consts::LN_2 / f64::from(STEPS);
    let start = first * (1.0 - step / 2.0) * (1.0 - in_time(&tails, |tail| tail.decay(first)));
    bounded::seconds(longest + start + step * late)
}

/// How long interruptions delay a task beyond the longest time without them.
struct Tail {
    /// Probability of any delay.
    any: f64,
    /// Mean of the exponential delay, in seconds, above zero.
    mean: f64,
}

impl Tail {
    /// `None` without jobs or without work.
    fn new(dedicated: f64, jobs: &OwnerJobs, longest: f64) -> Option<Self> {
        let dedicated = bounded::seconds(dedicated).get();
        let interrupted = -libm::expm1(-jobs.arrivals() * dedicated);
        let mean = jobs.utilisation() / jobs.rest() * dedicated / interrupted;
        let is_late = 0.0 < interrupted && 0.0 < mean;
        is_late.then(|| Self {
            any: interrupted * libm::exp((dedicated - longest) / mean),
            mean,
        })
    }

    /// Part of the delays that are longer than `time`.
    fn decay(&self, time: f64) -> f64 {
        libm::exp(-time / self.mean)
    }
}

/// `Σ (1 − Π F(t)) t` for `t` of `first`, `2 first`, `4 first`, … up to `last`.
fn integral(tails: &[Tail], first: f64, last: f64) -> f64 {
    // The part at twice the time is the square.
    let mut parts: Vec<f64> = tails.iter().map(|tail| tail.decay(first)).collect();
    let mut time = first;
    let mut sum = 0.0;
    while 0.0 < time && time <= last {
        let mut part = parts.iter_mut();
        let square = |_: &Tail| {
            part.next()
                .map_or(0.0, |part| std::mem::replace(part, *part * *part))
        };
        sum += (1.0 - in_time(tails, square)) * time;
        time *= 2.0;
    }
    sum
}

/// Probability that no task is delayed longer, with the `part` of delays that are.
fn in_time(tails: &[Tail], mut part: impl FnMut(&Tail) -> f64) -> f64 {
    tails
        .iter()
        .map(|tail| 1.0 - tail.any * part(tail))
        .product()
}

/// Part of the longest time without interruption below which delays are not resolved.
const SHORTEST: f64 = 1e-4;

/// Multiple of the longest mean delay above which delays do not count.
const LONGEST: f64 = 40.0;

/// Points of the axis until the time has doubled.
const STEPS: u32 = 3;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::completion_time::Completion;
    use super::super::latest::latest;
    use super::*;

    fn seconds(value: f64) -> Seconds {
        Seconds::new(value).unwrap()
    }

    fn task(dedicated: f64, utilisation: f64, mean: f64) -> (Seconds, OwnerJobs) {
        let jobs = OwnerJobs::new(utilisation, seconds(mean), seconds(mean)).unwrap();
        (seconds(dedicated), jobs)
    }

    fn close(value: f64, expected: f64, error: f64) {
        assert!(
            (value / expected - 1.0).abs() <= error,
            "{value}, not {expected}"
        );
    }

    #[test]
    fn without_jobs_the_longest_task_is_the_last() {
        assert_eq!(expected_latest(Seconds::ZERO, &[]), Seconds::ZERO);
        let tasks = [task(3.0, 0.0, 1.0), task(0.0, 0.5, 1.0)];
        assert_eq!(expected_latest(seconds(2.0), &tasks), seconds(3.0));
        assert_eq!(expected_latest(seconds(7.0), &tasks), seconds(7.0));
        assert_eq!(expected_latest(seconds(-7.0), &[]), Seconds::ZERO);
    }

    /// Of `n` equal tasks with the mean delay `m`, the last is late by `m Σ (1 − (1 − p)ᵏ) / k`: each of `k` that are
    /// still to be looked at is late with probability `p`, and exponential times have no memory.
    #[test]
    fn of_equal_tasks_the_value_is_known() {
        for (dedicated, utilisation, mean, number) in [
            (10.0, 0.3, 100.0, 1000),
            (10.0, 0.05, 2000.0, 1000),
            (10.0, 0.6, 0.1, 64),
            (1.0, 0.4, 1.0, 2),
            (1.0, 0.1, 1e4, 20),
        ] {
            let (time, jobs) = task(dedicated, utilisation, mean);
            let any = 1.0 - (-jobs.arrivals() * dedicated).exp();
            let delay = utilisation / (1.0 - utilisation) * dedicated / any;
            let (mut sum, mut none) = (0.0, 1.0);
            let mut tasks = Vec::new();
            for number in 1..=number {
                none *= 1.0 - any;
                sum += (1.0 - none) / f64::from(number);
                tasks.push((time, jobs));
            }
            let last = expected_latest(Seconds::ZERO, &tasks).get();
            close(last, dedicated + delay * sum, 1e-3);
        }
    }

    proptest! {
        #[test]
        fn the_last_of_one_task_ends_at_its_mean(
            dedicated in 1e-6..1e9_f64, utilisation in 0.0..0.95_f64, mean in 1e-3..1e6_f64,
        ) {
            let task = task(dedicated, utilisation, mean);
            close(expected_latest(Seconds::ZERO, &[task]).get(), dedicated / (1.0 - utilisation), 1e-3);
        }

        /// What the fitted distributions give, if jobs vary as exponential ones and few interrupt a task.
        #[test]
        fn the_last_is_about_that_of_the_fitted_distributions(
            numbers in prop::collection::vec((1.0..10.0_f64, 0.0..0.4_f64, 30.0..3e3_f64), 1..30),
        ) {
            let tasks: Vec<_> = numbers.iter().map(|&(d, utilisation, mean)| task(d, utilisation, mean)).collect();
            let completions: Vec<_> = tasks.iter().map(|(d, jobs)| Completion::new(*d, jobs)).collect();
            close(expected_latest(Seconds::ZERO, &tasks).get(), latest(&completions).get(), 0.1);
        }

        #[test]
        fn more_tasks_and_longer_ones_are_not_earlier(
            numbers in prop::collection::vec((1e-3..1e4_f64, 0.0..0.95_f64, 1e-2..1e4_f64), 1..12),
            longer in 1.0..10.0_f64,
        ) {
            let tasks: Vec<_> = numbers.iter().map(|&(d, utilisation, mean)| task(d, utilisation, mean)).collect();
            let last = expected_latest(Seconds::ZERO, &tasks).get();
            let fewer = expected_latest(Seconds::ZERO, &tasks[1..]).get();
            let certain = expected_latest(seconds(numbers[0].0 * longer), &tasks).get();
            let means = numbers.iter().map(|(d, utilisation, _)| d / (1.0 - utilisation));
            prop_assert!(fewer <= last * (1.0 + 1e-3));
            prop_assert!(last <= certain * (1.0 + 1e-3));
            prop_assert!(last <= means.sum::<f64>() * (1.0 + 1e-3));
        }

        #[test]
        fn any_numbers_give_a_finite_time(
            certain in any::<f64>(),
            numbers in prop::collection::vec((any::<f64>(), 0.0..1.0_f64, any::<f64>()), 0..5),
        ) {
            let time = |value: f64| Seconds::new(value).unwrap_or_default();
            let tasks: Vec<_> = numbers.iter().filter_map(|&(d, utilisation, mean)| {
                Some((time(d), OwnerJobs::new(utilisation, time(mean), Seconds::ZERO).ok()?))
            }).collect();
            prop_assert!(Seconds::ZERO <= expected_latest(time(certain), &tasks));
        }
    }
}
