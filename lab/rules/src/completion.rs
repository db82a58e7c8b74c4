//! How long a task takes on a host that serves its owner's jobs first: equation `COMPLETION` of `docs/model.md`.
//!
//! Uses addition, subtraction, multiplication, division and comparison only, so it has the same bits on every machine.

use bsp::units::Seconds;

/// Expected time from the arrival of a task to its end.
///
/// Equation `COMPLETION` of `docs/model.md`: `d / (1 − ρ)` and the delay by present jobs.
///
/// | symbol | argument | unit |
/// |---|---|---|
/// | `d = w / τ` | `dedicated`: time that the rest of the task takes without owner's jobs; below zero counts as zero | s |
/// | `ρ` | `utilisation`: share of the host's time that owner's jobs use, from 0 to 0.95; what is outside counts as the nearer end, NaN as the upper one | 1 |
/// | `a_k` | `ages`: time since the arrival of each present job, which is expected to take as long again and at least 2 s; below zero counts as no job | s |
/// | `C` | `begins`: time until the task arrives; below zero counts as zero | s |
///
/// Finite for all arguments, and the same bits on every machine.
#[must_use]
pub fn expected(
    dedicated: Seconds,
    utilisation: f64,
    ages: &[Seconds],
    begins: Seconds,
) -> Seconds {
    let utilisation = if utilisation.is_nan() {
        UTILISATION_MAX
    } else {
        utilisation.clamp(0.0, UTILISATION_MAX)
    };
    let delay = delay(ages, begins, utilisation);
    mean(dedicated.get(), utilisation, delay)
}

/// `dedicated` at the speed that `utilisation` leaves, after `delay`; a task without work takes no time.
fn mean(dedicated: f64, utilisation: f64, delay: f64) -> Seconds {
    if dedicated <= 0.0 {
        return Seconds::ZERO;
    }
    Seconds::bounded(dedicated / (1.0 - utilisation) + delay)
}

/// Seconds for which present jobs of the given `ages` delay a task that arrives after `begins`.
///
/// Negative ages count as no job.
/// `utilisation` is in `[0, 1)`. The result is not negative, and infinite only if the ages' sum is.
fn delay(ages: &[Seconds], begins: Seconds, utilisation: f64) -> f64 {
    let rest = 1.0 - utilisation;
    let known = ages.iter().filter(|age| Seconds::ZERO <= **age);
    let work: f64 = known.map(|age| age.get().max(SHORTEST_REST)).sum();
    let served = begins.get().max(0.0) * rest;
    (work - served).max(0.0) / rest
}

/// Highest utilisation that [`expected`] assumes, a share of the host's time.
///
/// A host measured to be busier, or from which no number comes, still makes progress at a twentieth of its speed:
/// it is unattractive, and sums and differences of its times remain finite.
const UTILISATION_MAX: f64 = 0.95;

/// Least rest of a present job, in seconds, however young it is: a guess, because age says little of jobs that
/// have just begun.
const SHORTEST_REST: f64 = 2.0;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seconds(value: f64) -> Seconds {
        Seconds::new(value).unwrap()
    }

    fn check(dedicated: f64, utilisation: f64, ages: &[f64], expected_seconds: f64) {
        let ages: Vec<_> = ages.iter().map(|age| seconds(*age)).collect();
        let found = expected(seconds(dedicated), utilisation, &ages, Seconds::ZERO).get();
        let difference = (found - expected_seconds).abs();
        assert!(
            difference <= 1e-12 * expected_seconds,
            "{found}, not {expected_seconds}"
        );
    }

    #[test]
    fn a_task_takes_its_time_at_the_speed_that_is_left() {
        check(30.0, 0.0, &[], 30.0);
        check(30.0, 0.25, &[], 40.0);
        check(30.0, 0.25, &[6.0], 48.0);
    }

    #[test]
    fn busier_hosts_count_as_the_busiest_that_is_assumed() {
        for utilisation in [0.95, 0.96, 1.0, 7.0, f64::INFINITY, f64::NAN] {
            check(1.0, utilisation, &[], 20.0);
        }
        check(1.0, -0.5, &[], 1.0);
        check(1.0, f64::NEG_INFINITY, &[], 1.0);
    }

    #[test]
    fn no_work_takes_no_time() {
        check(0.0, 0.5, &[100.0], 0.0);
        check(-3.0, 0.5, &[100.0], 0.0);
    }

    fn check_delay(ages: &[f64], begins: f64, utilisation: f64, expected: f64) {
        let ages: Vec<_> = ages.iter().map(|age| seconds(*age)).collect();
        let found = delay(&ages, seconds(begins), utilisation);
        assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
    }

    #[test]
    fn present_jobs_take_as_long_again_as_they_have_existed() {
        check_delay(&[], 0.0, 0.5, 0.0);
        check_delay(&[8.0], 0.0, 0.0, 8.0);
        check_delay(&[8.0, 3.0], 0.0, 0.5, 22.0);
    }

    #[test]
    fn a_young_job_takes_two_seconds() {
        check_delay(&[0.0, 1.5], 0.0, 0.0, 4.0);
    }

    #[test]
    fn jobs_are_served_while_the_task_is_on_its_way() {
        check_delay(&[8.0], 6.0, 0.5, 10.0);
        check_delay(&[8.0], 16.0, 0.5, 0.0);
        check_delay(&[8.0], 1e9, 0.5, 0.0);
        check_delay(&[8.0], -5.0, 0.5, 16.0);
    }

    #[test]
    fn negative_ages_are_no_jobs() {
        check_delay(&[-1.0, -1e300, 4.0], 0.0, 0.0, 4.0);
    }

    proptest! {
        #[test]
        fn any_numbers_give_a_time_that_is_finite_and_not_negative(
            dedicated in any::<f64>(),
            utilisation in prop_oneof![any::<f64>(), Just(f64::NAN), Just(1.0)],
            ages in prop::collection::vec(any::<f64>(), 0..8),
            begins in any::<f64>(),
        ) {
            let time = |value: f64| Seconds::new(value).unwrap_or_else(|_| seconds(f64::MAX));
            let ages: Vec<_> = ages.into_iter().map(time).collect();
            let found = expected(time(dedicated), utilisation, &ages, time(begins));
            prop_assert!(Seconds::ZERO <= found);
        }
    }
}
