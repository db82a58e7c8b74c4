use proptest::prelude::*;

use super::*;

fn seconds(value: f64) -> Seconds {
    Seconds::new(value).unwrap()
}

fn jobs(utilisation: f64, mean: f64, variation: f64) -> OwnerJobs {
    OwnerJobs::new(utilisation, seconds(mean), seconds(variation * mean)).unwrap()
}

fn task(dedicated: f64, jobs: &OwnerJobs) -> Completion {
    Completion::new(seconds(dedicated), jobs)
}

fn close(value: f64, expected: f64) {
    assert!(
        (value - expected).abs() <= 1e-12 * expected.abs(),
        "{value}, not {expected}"
    );
}

#[test]
fn mean_and_variance_are_those_of_the_formulas() {
    // λ = 0.25 / s, E[X²] = 5 s², 1 − ρ = 0.5.
    let task = task(6.0, &jobs(0.5, 2.0, 0.5));
    close(task.mean().get(), 12.0);
    close(task.variance(), 0.25 * 6.0 * 5.0 / 0.125);
    close(task.probability(seconds(6.0)), (-1.5_f64).exp());
}

#[test]
fn a_busy_start_shifts_the_distribution_by_the_work_that_is_present() {
    let idle = task(6.0, &jobs(0.5, 2.0, 0.5));
    let busy = idle.with_busy_start();
    let delay = 0.25 * 5.0 / (2.0 * 0.25);
    close(busy.mean().get(), 12.0 + delay);
    close(busy.earliest().get(), 6.0 + delay);
    close(busy.variance(), idle.variance());
    for t in [6.0, 7.0, 12.0, 40.0] {
        close(
            busy.probability(seconds(t + delay)),
            idle.probability(seconds(t)),
        );
    }
    close(busy.probability(seconds(6.0)), 0.0);
}

#[test]
fn known_jobs_replace_unknown_ones() {
    let idle = task(6.0, &jobs(0.5, 2.0, 0.5));
    let known = idle
        .with_busy_start()
        .with_ages(&[seconds(8.0)], seconds(6.0));
    close(known.mean().get(), 12.0 + 10.0);
    let expected = expected(seconds(6.0), 0.5, &[seconds(8.0)], seconds(6.0));
    assert_eq!(known.mean(), expected);
    assert_eq!(known.with_ages(&[], Seconds::ZERO), idle);
}

#[test]
fn jobs_without_work_or_work_without_jobs() {
    let nothing = task(0.0, &jobs(0.5, 2.0, 1.0)).with_busy_start();
    assert_eq!(nothing.mean(), Seconds::ZERO);
    assert_eq!(nothing.quantile(0.99), Seconds::ZERO);
    close(nothing.probability(Seconds::ZERO), 1.0);
    let alone = task(5.0, &jobs(0.0, 2.0, 1.0)).with_busy_start();
    close(alone.mean().get(), 5.0);
    close(alone.variance(), 0.0);
    close(alone.probability(seconds(4.999)), 0.0);
    close(alone.probability(seconds(5.0)), 1.0);
    close(alone.quantile(0.99).get(), 5.0);
}

#[test]
fn the_condition_is_the_time_without_jobs_and_not_the_work() {
    // 8 s of work on a host of twice the speed: the misprint would give zero at 5 s.
    let task = task(8.0 / 2.0, &jobs(0.3, 1.0, 1.0));
    assert!((-0.3 * 4.0_f64).exp() < task.probability(seconds(5.0)));
}

#[test]
fn quantiles_that_no_probability_has_are_bounded() {
    let task = task(5.0, &jobs(0.5, 2.0, 1.5));
    for p in [-1.0, f64::NEG_INFINITY, f64::NAN, 0.0] {
        assert_eq!(task.quantile(p), seconds(5.0));
    }
    let last = task.quantile(1.0);
    assert_eq!(last, task.quantile(f64::INFINITY));
    assert!(task.quantile(0.999_999) < last);
}

/// Any numbers that constructors accept, the ordinary ones more often.
fn tasks() -> impl Strategy<Value = Completion> {
    let shares = prop_oneof![4 => 0.0..0.95_f64, 1 => Just(0.0), 1 => Just(1.0 - 1e-16)];
    let times = || {
        let times = prop_oneof![6 => 1e-3..1e5_f64, 1 => any::<f64>(), 1 => Just(0.0)];
        times.prop_map(|time| Seconds::new(time).unwrap_or_default())
    };
    let ages = prop::option::of(prop::collection::vec(times(), 0..4));
    let start = (any::<bool>(), ages, times());
    (shares, times(), times(), times(), start).prop_filter_map(
        "jobs are possible",
        |(share, mean, deviation, dedicated, (is_busy, ages, begins))| {
            let jobs = OwnerJobs::new(share, mean, deviation).ok()?;
            let task = Completion::new(dedicated, &jobs);
            Some(match ages {
                Some(ages) => task.with_ages(&ages, begins),
                None if is_busy => task.with_busy_start(),
                None => task,
            })
        },
    )
}

proptest! {
    #[test]
    fn more_work_and_busier_hosts_take_longer(
        dedicated in 0.0..1e4_f64, more in 0.0..1e4_f64,
        utilisation in 0.0..0.9_f64, busier in 0.0..0.09_f64,
        variation in 0.0..5.0_f64, is_busy in any::<bool>(),
    ) {
        let mean = |dedicated: f64, utilisation: f64| {
            let task = task(dedicated, &jobs(utilisation, 3.0, variation));
            if is_busy { task.with_busy_start().mean() } else { task.mean() }
        };
        prop_assert!(mean(dedicated, utilisation) <= mean(dedicated + more, utilisation));
        prop_assert!(mean(dedicated, utilisation) <= mean(dedicated, utilisation + busier));
    }

    #[test]
    fn probability_grows_from_zero_to_one(task in tasks(), shares in prop::collection::vec(0.0..3.0_f64, 2..20)) {
        let mut times: Vec<_> = shares.iter().map(|share| task.mean() * *share).collect();
        times.sort();
        let mut last = 0.0;
        for t in times {
            let probability = task.probability(t);
            prop_assert!((0.0..=1.0).contains(&probability), "{probability}");
            prop_assert!(last <= probability + 1e-10, "{last} before {probability}");
            if t < task.earliest() {
                prop_assert!(probability <= 0.0);
            }
            last = probability;
        }
        prop_assert!(task.probability(seconds(-1.0)) <= 0.0);
    }

    #[test]
    fn quantile_is_the_inverse_of_probability(task in tasks(), p in 0.0..0.9999_f64, more in 0.0..0.5_f64) {
        let quantile = task.quantile(p);
        prop_assert!(task.earliest() <= quantile);
        prop_assert!(quantile <= task.quantile(p + more));
        // Beyond 10³⁰ s times are not told apart.
        if quantile < seconds(1e30) {
            prop_assert!(p <= task.probability(quantile));
            let before = seconds(quantile.get() * (1.0 - 1e-12) - f64::MIN_POSITIVE);
            prop_assert!(task.probability(before) <= p + 1e-10);
        }
        if p <= task.probability(task.earliest()) {
            prop_assert_eq!(quantile, task.earliest());
        }
    }

    #[test]
    fn any_numbers_give_finite_results(task in tasks(), t in any::<f64>(), p in any::<f64>()) {
        let t = Seconds::new(t).unwrap_or_default();
        prop_assert!((0.0..=1.0).contains(&task.probability(t)));
        prop_assert!(task.variance().is_finite() && 0.0 <= task.variance());
        prop_assert!(task.earliest() <= task.mean());
        prop_assert!(task.earliest() <= task.quantile(p));
    }

    #[test]
    fn the_fitted_distribution_has_the_exact_mean_and_variance(
        dedicated in 0.1..1e3_f64, utilisation in 0.01..0.9_f64, variation in 0.0..2.5_f64,
    ) {
        let task = task(dedicated, &jobs(utilisation, 1.0, variation));
        let (mean, variance) = integrated(&task);
        prop_assert!((mean / task.mean().get() - 1.0).abs() < 2e-3, "{mean}, {}", task.mean());
        let expected = task.variance();
        prop_assert!((variance / expected - 1.0).abs() < 0.03, "{variance}, {expected}");
    }
}

/// Mean and variance by the midpoint rule over the probabilities of times in equal steps of their logarithm.
fn integrated(task: &Completion) -> (f64, f64) {
    let (first, steps) = (task.earliest().get(), 4000_u32);
    let at =
        |step: u32| task.mean().get() * (-14.0 + 26.0 * f64::from(step) / f64::from(steps)).exp();
    let (mut mean, mut square) = (0.0, 0.0);
    let mut reached = task.probability(seconds(first));
    for step in 0..steps {
        let (from, to) = (at(step), at(step + 1));
        let probability = task.probability(seconds(first + to));
        let middle = from + (to - from) / 2.0;
        mean += (probability - reached) * middle;
        square += (probability - reached) * middle * middle;
        reached = probability;
    }
    (first + mean, square - mean * mean)
}
