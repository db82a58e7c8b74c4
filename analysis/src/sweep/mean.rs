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

/// The geometric mean of makespans under `policy` over seeds and then over `points`, all of the same weight.
pub(super) fn makespan(results: &Results, points: &[usize], policy: usize) -> f64 {
    let of = |point: &usize| mean(&logarithms(results, *point, policy));
    mean(&points.iter().map(of).collect::<Vec<f64>>()).exp()
}

/// The least and the greatest geometric mean over `points` of the makespans with the same seed; `None`: there is one
/// seed, or points have different ones.
pub(super) fn spread(results: &Results, points: &[usize], policy: usize) -> Option<(f64, f64)> {
    let seeds = &results.experiments[*points.first()?].seeds;
    let mut others = points
        .iter()
        .map(|point| &results.experiments[*point].seeds);
    if seeds.len() < 2 || others.any(|other| other != seeds) {
        return None;
    }
    let all: Vec<Vec<f64>> = points
        .iter()
        .map(|point| logarithms(results, *point, policy))
        .collect();
    let of = |seed: usize| mean(&all.iter().map(|of| of[seed]).collect::<Vec<f64>>()).exp();
    let means = || (0..seeds.len()).map(of);
    Some((
        means().fold(f64::INFINITY, f64::min),
        means().fold(f64::NEG_INFINITY, f64::max),
    ))
}

/// Gain of `policy` over the reference, as a part of its makespan: the geometric mean over seeds and then over `points`.
pub(super) fn gain(results: &Results, points: &[usize], policy: usize) -> f64 {
    let of = |point: &usize| mean(&results.log_ratios(*point, policy, results.reference));
    1.0 - mean(&points.iter().map(of).collect::<Vec<f64>>()).exp()
}

fn logarithms(results: &Results, point: usize, policy: usize) -> Vec<f64> {
    let runs = results.of(point, policy).iter();
    runs.map(|run| run.seconds.ln()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
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
        two.experiments[1].seeds = vec![1];
        assert_eq!(spread(&two, &[0, 1], 0), None);
    }
}
