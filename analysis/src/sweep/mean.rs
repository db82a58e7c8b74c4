//! Means over combinations, for charts of some of the parameters.

use std::collections::BTreeMap;

use crate::compare::Results;
use crate::compare::statistics::mean;
use crate::sweep::grid::Point;

/// Combinations, as places in a list, by the places of their values of the parameters `over`.
pub(super) fn groups(points: &[Point], over: &[usize]) -> BTreeMap<Vec<usize>, Vec<usize>> {
    let mut groups: BTreeMap<Vec<usize>, Vec<usize>> = BTreeMap::new();
    for (place, point) in points.iter().enumerate() {
        let key = over
            .iter()
            .map(|parameter| point.choice[*parameter])
            .collect();
        groups.entry(key).or_default().push(place);
    }
    groups
}

/// The geometric mean of makespans under `policy` over seeds and then over those of `points` with results, all of the
/// same weight; NaN if there are none.
pub(super) fn makespan(results: &Results, points: &[usize], policy: usize) -> f64 {
    let of = |point: &usize| {
        let logarithms = logarithms(results, *point, policy);
        let logarithms: Vec<f64> = logarithms.into_iter().map(|(_, value)| value).collect();
        (!logarithms.is_empty()).then(|| mean(&logarithms))
    };
    let means: Vec<f64> = points.iter().filter_map(of).collect();
    if means.is_empty() {
        f64::NAN
    } else {
        mean(&means).exp()
    }
}

/// The least and the greatest geometric mean over `points` of the makespans with the same seed; `None`: there is one
/// seed, or points have different ones.
pub(super) fn spread(results: &Results, points: &[usize], policy: usize) -> Option<(f64, f64)> {
    let all: Vec<Vec<(u64, f64)>> = points
        .iter()
        .map(|point| logarithms(results, *point, policy))
        .collect();
    let seeds = |of: &[(u64, f64)]| of.iter().map(|(seed, _)| *seed).collect::<Vec<u64>>();
    let first = seeds(all.first()?);
    if first.len() < 2 || all.iter().any(|other| seeds(other) != first) {
        return None;
    }
    let of = |seed: usize| mean(&all.iter().map(|of| of[seed].1).collect::<Vec<f64>>()).exp();
    let means = || (0..first.len()).map(of);
    Some((
        means().fold(f64::INFINITY, f64::min),
        means().fold(f64::NEG_INFINITY, f64::max),
    ))
}

/// Gain of `policy` over the reference, as a part of its makespan: the geometric mean over seeds and then over those of
/// `points` with a gain; NaN if there are none.
pub(super) fn gain(results: &Results, points: &[usize], policy: usize) -> f64 {
    let of = |point: &usize| {
        let ratio = results.blocks(&[*point], policy, results.reference).ratio();
        ratio.map(f64::ln)
    };
    let logarithms: Vec<f64> = points.iter().filter_map(of).collect();
    if logarithms.is_empty() {
        f64::NAN
    } else {
        1.0 - mean(&logarithms).exp()
    }
}

/// The logarithms of makespans, with their seeds.
fn logarithms(results: &Results, point: usize, policy: usize) -> Vec<(u64, f64)> {
    let runs = results.of(point, policy);
    runs.map(|run| (run.seed, run.seconds.ln())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::fail;
    use crate::sweep::swept::tests::swept;

    const ONE: &[&[f64]] = &[&[1.0], &[1.0]];
    const PAIR: &[&[f64]] = &[&[1.0, 2.0], &[1.0, 2.0]];

    fn near(left: f64, right: f64) {
        assert!((left - right).abs() < 1e-12, "{left} is not {right}");
    }

    #[test]
    fn combinations_are_grouped_by_some_of_their_values() {
        let points = swept(&["a.x=1,2", "a.y=1,2,3"], &[ONE; 6]).points;
        let by_y = groups(&points, &[1]);
        assert_eq!(by_y[&vec![2]], [2, 5]);
        assert_eq!(groups(&points, &[1, 0])[&vec![2, 1]], [5]);
        assert_eq!(groups(&points, &[]).len(), 1);
    }

    #[test]
    fn means_are_geometric_and_pair_seeds() {
        let of: &[&[&[f64]]] = &[&[&[1.0, 4.0], &[0.5, 1.0]], &[&[16.0, 64.0], &[8.0, 16.0]]];
        let results = swept(&["a.x=1,2"], of).results;
        near(makespan(&results, &[0], 0), 2.0);
        near(makespan(&results, &[0, 1], 0), 8.0);
        let (low, high) = spread(&results, &[0, 1], 0).unwrap();
        near(low, 4.0);
        near(high, 16.0);
        near(gain(&results, &[0, 1], 1), 1.0 - 0.125_f64.sqrt());
        near(gain(&results, &[0, 1], 0), 0.0);
    }

    #[test]
    fn one_seed_and_different_seeds_have_no_spread() {
        let one = swept(&["a.x=1"], &[ONE]).results;
        assert_eq!(spread(&one, &[0], 0), None);
        let mut two = swept(&["a.x=1,2"], &[PAIR; 2]).results;
        assert!(spread(&two, &[0, 1], 0).is_some());
        fail(&mut two, 1, 0, 1);
        assert_eq!(spread(&two, &[0, 1], 0), None);
        fail(&mut two, 1, 0, 0);
        near(makespan(&two, &[0, 1], 0), makespan(&two, &[0], 0));
        near(gain(&two, &[0, 1], 1), 0.0);
        assert!(makespan(&two, &[1], 0).is_nan() && gain(&two, &[1], 1).is_nan());
    }
}
