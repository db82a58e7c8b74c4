//! Owner's jobs that are present when a task arrives.

use bsp::units::Seconds;

/// Seconds for which present jobs of the given `ages` delay a task that arrives after `begins`.
///
/// Equation `COMPLETION` of `docs/model.md`, the term of ages. Negative ages count as no job.
/// `utilisation` is in `[0, 1)`. The result is not negative, and infinite only if the ages' sum is.
pub(super) fn delay(ages: &[Seconds], begins: Seconds, utilisation: f64) -> f64 {
    let rest = 1.0 - utilisation;
    let known = ages.iter().filter(|age| Seconds::ZERO <= **age);
    let work: f64 = known.map(|age| age.get().max(SHORTEST_REST)).sum();
    let served = begins.get().max(0.0) * rest;
    (work - served).max(0.0) / rest
}

/// Least rest of a present job, in seconds, however young it is: a guess, because age says little of jobs that
/// have just begun.
const SHORTEST_REST: f64 = 2.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(ages: &[f64], begins: f64, utilisation: f64, expected: f64) {
        let seconds = |value: f64| Seconds::new(value).unwrap();
        let ages: Vec<_> = ages.iter().map(|age| seconds(*age)).collect();
        let met = delay(&ages, seconds(begins), utilisation);
        assert!((met - expected).abs() < 1e-12, "{met}, not {expected}");
    }

    #[test]
    fn present_jobs_take_as_long_again_as_they_have_existed() {
        check(&[], 0.0, 0.5, 0.0);
        check(&[8.0], 0.0, 0.0, 8.0);
        check(&[8.0, 3.0], 0.0, 0.5, 22.0);
    }

    #[test]
    fn a_young_job_takes_two_seconds() {
        check(&[0.0, 1.5], 0.0, 0.0, 4.0);
    }

    #[test]
    fn jobs_are_served_while_the_task_is_on_its_way() {
        check(&[8.0], 6.0, 0.5, 10.0);
        check(&[8.0], 16.0, 0.5, 0.0);
        check(&[8.0], 1e9, 0.5, 0.0);
        check(&[8.0], -5.0, 0.5, 16.0);
    }

    #[test]
    fn negative_ages_are_no_jobs() {
        check(&[-1.0, -1e300, 4.0], 0.0, 0.0, 4.0);
    }
}
