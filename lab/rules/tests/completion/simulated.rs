//! Means and variances, against a queue that is simulated event by event.

use crate::law::Law;
use crate::measured::Measured;
use crate::queue::{Discipline, Queue};

/// Sixty cases. The standard errors are about 0.25 % of the mean and 1.5 % of the variance, and a result may be four
/// of them off; `cargo run --release -p migbsp-lab-rules --example completion_study` is more precise.
#[test]
fn mean_and_variance_are_those_of_a_queue() {
    let mut seed = 0;
    for law in Law::ALL {
        for utilisation in [0.1, 0.3, 0.5, 0.7] {
            for dedicated in [1.0, 10.0, 100.0] {
                let task = law.task(dedicated, utilisation);
                seed += 1;
                let mut queue = Queue::new(law, utilisation, Discipline::OwnerFirst, seed);
                let draw = || {
                    queue.clear();
                    queue.finish(dedicated)
                };
                let met = Measured::until(task.mean().get(), 0.0025, 0.015, draw);
                let case = format!("{law:?}, utilisation {utilisation}, {dedicated} s");
                let case = format!("{case}, {} tasks", met.count());
                check(&case, met.mean(), task.mean().get(), met.mean_error());
                check(&case, met.variance(), task.variance(), met.variance_error());
            }
        }
    }
}

#[test]
fn a_busy_start_delays_by_the_work_that_is_present() {
    for law in Law::ALL {
        let (dedicated, utilisation) = (2.0, 0.5);
        let task = law.task(dedicated, utilisation).with_busy_start();
        let met = after_others(law, utilisation, Discipline::OwnerFirst, dedicated);
        check(
            &format!("{law:?}"),
            met.mean(),
            task.mean().get(),
            met.mean_error(),
        );
    }
}

#[test]
fn a_host_that_shares_its_time_has_the_mean_of_an_idle_start() {
    for law in [Law::Deterministic, Law::Exponential, Law::Hyperexponential] {
        let (dedicated, utilisation) = (2.0, 0.5);
        let task = law.task(dedicated, utilisation);
        let met = after_others(law, utilisation, Discipline::Sharing, dedicated);
        check(
            &format!("{law:?}"),
            met.mean(),
            task.mean().get(),
            met.mean_error(),
        );
    }
}

/// Times of tasks that arrive long after the host was idle.
fn after_others(law: Law, utilisation: f64, discipline: Discipline, dedicated: f64) -> Measured {
    let mut queue = Queue::new(law, utilisation, discipline, 7);
    let near = law.task(dedicated, utilisation).mean().get();
    Measured::until(near, 0.008, f64::INFINITY, || {
        queue.pass(150.0);
        queue.finish(dedicated)
    })
}

fn check(case: &str, met: f64, expected: f64, error: f64) {
    let difference = expected / met - 1.0;
    assert!(
        difference.abs() <= 4.0 * error,
        "{case}: {expected} differs by {difference}, where the standard error of {met} is {error}"
    );
}
