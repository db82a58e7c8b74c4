//! Problems for tests of searches.

use crate::rebalance::draws::Draws;
use crate::rebalance::{Machine, MoveCost, Problem, Resident};

/// Machines that differ by a factor of up to two in three clusters, with a level of 74 where work is divided ideally, and
/// processes that differ by a factor of ten.
pub(super) fn drawn(machines: usize, processes: usize, seed: u64) -> Problem {
    let mut draws = Draws::new(seed, b"problems for unit tests.");
    let residents: Vec<Resident> = (0..processes)
        .map(|process| Resident {
            workload: draws.between(20.0, 200.0).round(),
            size: draws.between(1.0, 50.0),
            initial_machine: process % machines,
        })
        .collect();
    let parts: Vec<f64> = (0..machines).map(|_| draws.between(0.6, 1.4)).collect();
    let work: f64 = residents.iter().map(|resident| resident.workload).sum();
    let unit = work / 74.0 / parts.iter().sum::<f64>();
    let machine = |(number, part)| Machine {
        capacity: part * unit,
        group: number % CLUSTERS,
    };
    let cost = |from: usize, to: usize| MoveCost {
        fixed: 0.0,
        per_size: if from == to { 0.01 } else { 0.1 },
    };
    let costs = (0..CLUSTERS).map(|from| (0..CLUSTERS).map(|to| cost(from, to)).collect());
    Problem::new(
        parts.into_iter().enumerate().map(machine).collect(),
        residents,
        costs.collect(),
    )
    .unwrap()
}

const CLUSTERS: usize = 3;
