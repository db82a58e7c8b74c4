//! How long rebalancing takes.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use model::rebalance::{Budget, Machine, MoveCost, Problem, Resident};
use rebalancing_algorithms::{Group, Method, bound};

/// The first iteration alone, of 640 processes on 256 machines.
fn first_iteration(criterion: &mut Criterion) {
    let group: Group = "I3,5".parse().expect("a group");
    let problem = group.draw(1);
    criterion.bench_function("MLP, I3,5 at 85", |bencher| {
        bencher.iter(|| Method::Mlp.solve(black_box(&problem), 85.0, Budget::Steps(u64::MAX), 0));
    });
}

/// The time of a number of moves and exchanges.
fn steps(criterion: &mut Criterion) {
    const STEPS: u64 = 500_000;
    let mut benchmarks = criterion.benchmark_group("steps");
    benchmarks.throughput(Throughput::Elements(STEPS));
    for (name, target) in [("I3,3", 85.0), ("I3,5", 85.0), ("I4,4", 79.7)] {
        let group: Group = name.parse().expect("a group");
        let problem = group.draw(1);
        for method in [Method::Imlp, Method::Islp, Method::Tabu] {
            benchmarks.bench_function(format!("{method}, {name}"), |bencher| {
                bencher.iter(|| method.solve(&problem, target, Budget::Steps(STEPS), 0));
            });
        }
    }
    benchmarks.finish();
}

/// Until the target is first met, and the bound, with 100 000 processes on 10 000 machines.
fn many_machines(criterion: &mut Criterion) {
    let problem = many();
    let mut benchmarks = criterion.benchmark_group("100000 processes, 10000 machines");
    benchmarks.sample_size(10);
    for share in [1.1, 1.03] {
        let target = share * problem.ideal();
        benchmarks.bench_function(format!("MLP, {share} of the ideal"), |bencher| {
            bencher.iter(|| {
                let solution = Method::Mlp.solve(&problem, target, Budget::Steps(u64::MAX), 0);
                assert!(solution.feasible);
                solution
            });
        });
        benchmarks.bench_function(format!("bound, {share} of the ideal"), |bencher| {
            bencher.iter(|| bound(&problem, target));
        });
        benchmarks.bench_function(
            format!("best in one step, {share} of the ideal"),
            |bencher| {
                bencher.iter(|| {
                    let solution = Method::Best.solve(&problem, target, Budget::Steps(1), 0);
                    assert!(solution.feasible);
                    solution
                });
            },
        );
    }
    benchmarks.finish();
}

/// Machines of three capacities in three clusters, each with ten processes, whose workloads are from 20 to 200.
fn many() -> Problem {
    const PRIME: u32 = 1_000_003;
    let machine = |number: u32| Machine {
        capacity: [2.5, 1.0, 1.0, 0.4, 0.4, 0.4][below(number * 7919 % PRIME, 6)],
        group: below(number, 3),
    };
    let resident = |number: u32| Resident {
        workload: f64::from(20 + number * 7901 % PRIME % 181),
        size: f64::from(1 + number * 4001 % PRIME % 100),
        initial_machine: below(number, 10_000),
    };
    let move_cost = |from, to| MoveCost {
        fixed: 0.0,
        per_size: if from == to { 0.01 } else { 0.1 },
    };
    Problem::new(
        (0..10_000).map(machine).collect(),
        (0..100_000).map(resident).collect(),
        (0..3)
            .map(|from| (0..3).map(|to| move_cost(from, to)).collect())
            .collect(),
    )
    .expect("a problem")
}

fn below(number: u32, count: u32) -> usize {
    usize::try_from(number % count).expect("a number of 32 bits")
}

criterion_group!(benches, first_iteration, steps, many_machines);
criterion_main!(benches);
