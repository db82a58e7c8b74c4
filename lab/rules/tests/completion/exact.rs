//! Fitted distributions, against exact ones.
//!
//! `times.csv` has probabilities `Pr(T ≤ t)` on an idle host, with times in mean service times (`ratio` is the
//! dedicated time). They come from the transform `E[e^{−sT}] = exp(−d (s + λ − λ B(s)))` with `B(s) = X*(s + λ − λ
//! B(s))`, inverted by the Euler method of Abate and Whitt (1995) in double precision (A = 18.4, 38 terms and 11
//! averaged, 200 for the Pareto jobs); the means of the results were compared with the exact ones (10⁻⁴). For
//! deterministic jobs `T − d` is a whole number with the distribution of Borel and Tanner, and both sides of each
//! step are listed. `latest.csv` has `∫ (1 − Π F)` of such distributions, for utilisations in equal steps from 0.05
//! to 0.65.

use std::collections::BTreeMap;

use bsp::units::Seconds;
use lab_rules::completion::latest;

use crate::law::{Law, several, share};
use crate::measured::Measured;
use crate::queue::{Discipline, Queue};

#[test]
fn the_gamma_distribution_is_near_the_exact_one_for_exponential_jobs() {
    for (case, distance) in distances(Law::Exponential) {
        let limit = match case {
            Case {
                ratio: 10..,
                tenths: ..=5,
            } => 0.02,
            Case { ratio: 100.., .. } => 0.02,
            Case { ratio: 10.., .. } => 0.06,
            Case { tenths: ..=5, .. } => 0.06,
            Case { .. } => 0.135,
        };
        assert!(distance <= limit, "{case:?}: {distance}");
    }
}

#[test]
fn distributions_are_near_the_exact_ones() {
    for law in Law::ALL {
        for (case, distance) in distances(law) {
            let limit = match case {
                // Probability rises in steps of up to 0.11 of whole jobs, which no smooth distribution follows.
                Case { tenths: 1, ratio } if law == Law::Deterministic => {
                    [0.05, 0.18, 0.075][usize::try_from(ratio.ilog10()).unwrap()]
                }
                Case { ratio: 100, .. } => 0.045,
                Case { ratio: 10, .. } => 0.09,
                Case { .. } => 0.18,
            };
            assert!(distance <= limit, "{law:?} {case:?}: {distance}");
        }
    }
}

#[test]
fn the_last_of_several_tasks_is_near_the_exact_one() {
    for last in last_tasks() {
        let limit = match (last.law, last.dedicated) {
            (Law::Exponential, ..50.0) => 0.016,
            (Law::Exponential, _) if last.has_equal_ends => 0.0025,
            (Law::Exponential, _) => 0.0015,
            (_, ..50.0) => 0.06,
            _ => 0.005,
        };
        let tasks = several(last.law, last.dedicated, last.count, last.has_equal_ends);
        let error = latest(&tasks).get() / last.exact - 1.0;
        assert!(error.abs() <= limit, "{last:?}: {error}");
    }
}

/// So that neither the transform nor its inversion has to be believed.
#[test]
fn the_exact_last_of_several_tasks_is_that_of_queues() {
    for last in last_tasks() {
        let mut queues: Vec<_> = (0..last.count)
            .map(|number| {
                let (dedicated, utilisation) =
                    share(last.dedicated, number, last.count, last.has_equal_ends);
                let seed = 40 + u64::from(number);
                let queue = Queue::new(last.law, utilisation, Discipline::OwnerFirst, seed);
                (dedicated, queue)
            })
            .collect();
        let met = Measured::until(last.exact, 0.005, f64::INFINITY, || {
            let ends = queues.iter_mut().map(|(dedicated, queue)| {
                queue.clear();
                queue.finish(*dedicated)
            });
            ends.fold(0.0, f64::max)
        });
        let error = last.exact / met.mean() - 1.0;
        assert!(error.abs() <= 4.0 * met.mean_error(), "{last:?}: {error}");
    }
}

/// A line of `latest.csv`.
#[derive(Clone, Copy, Debug)]
struct Last {
    law: Law,
    dedicated: f64,
    count: u32,
    has_equal_ends: bool,
    exact: f64,
}

fn last_tasks() -> Vec<Last> {
    let lines = include_str!("latest.csv").lines().skip(1);
    let last = |line: &str| {
        let fields: Vec<_> = line.split(',').collect();
        let [law, ratio, count, split, exact] = fields[..] else {
            panic!("{line} has not five fields");
        };
        Last {
            law: named(law),
            dedicated: number(ratio),
            count: count.parse().unwrap(),
            has_equal_ends: split == "equal ends",
            exact: number(exact),
        }
    };
    let all: Vec<_> = lines.map(last).collect();
    assert_eq!(all.len(), 16);
    all
}

/// A task among owner's jobs; the utilisation in tenths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Case {
    ratio: u32,
    tenths: u32,
}

/// The greatest difference between fitted and exact probabilities, of each case.
fn distances(law: Law) -> BTreeMap<Case, f64> {
    let mut distances = BTreeMap::new();
    for line in include_str!("times.csv").lines().skip(1) {
        let fields: Vec<_> = line.split(',').collect();
        let [name, ratio, utilisation, time, exact] = fields[..] else {
            panic!("{line} has not five fields");
        };
        if named(name) != law {
            continue;
        }
        let task = law.task(number(ratio), number(utilisation));
        let fitted = task.probability(Seconds::new(number(time)).unwrap());
        let case = Case {
            ratio: ratio.parse().unwrap(),
            tenths: utilisation.trim_start_matches("0.").parse().unwrap(),
        };
        let distance = distances.entry(case).or_insert(0.0_f64);
        *distance = distance.max((fitted - number(exact)).abs());
    }
    assert_eq!(distances.len(), 12, "{law:?}");
    distances
}

fn named(name: &str) -> Law {
    let is_named = |law: &Law| format!("{law:?}").to_lowercase() == name;
    Law::ALL.into_iter().find(is_named).unwrap()
}

fn number(text: &str) -> f64 {
    text.parse().unwrap()
}
