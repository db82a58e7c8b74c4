//! How long plans take to make.

use std::hint::black_box;

use bsp::units::{Bytes, InstructionsPerSecond, Seconds};
use bsp::{HostId, MemorySize, Rank, SetId};
use criterion::{Criterion, criterion_group, criterion_main};
use model::{
    Edge, Load, MigrationCost, MigrationTime, Path, Plan, PlanningAssumptions, Portfolio,
    Processor, Received, Snapshot,
};

/// Hosts of seven speeds in Sets of `members`, processes of eleven weights in turn on them, each sending to those of the
/// ranks before and after it, and to those [`FAR`] before and after it.
fn snapshot(hosts: u32, members: u32, processes: u32) -> Snapshot {
    let processor = |host: u32| Processor {
        host: HostId(host),
        speed: InstructionsPerSecond::new(1e9 + 2e8 * f64::from(host % 7)).expect("above zero"),
        cores: 1,
        load: 0.0,
        residents: Vec::new(),
    };
    let all: Vec<Processor> = (0..hosts).map(processor).collect();
    let sets: Vec<Vec<Processor>> = all.chunks(members as usize).map(<[_]>::to_vec).collect();
    let load = |rank: u32| Load {
        rank: Rank(rank),
        host: HostId(rank % hosts),
        instructions: 1e8 + 3e7 * f64::from(rank * 7 % 11),
        finished: None,
        image: MemorySize {
            data: Bytes(1_000_000),
            fixed: Bytes::ZERO,
        },
        received: vec![Received {
            set: SetId(rank % hosts / members),
            bytes: 1e5,
            time: 1e-3,
        }],
        edges: [-1, 1, -FAR, FAR]
            .into_iter()
            .filter_map(|shift| rank.checked_add_signed(shift))
            .filter(|from| *from < processes)
            .map(|from| Edge {
                from: Rank(from),
                messages: 1.0,
                bytes: 1e5,
                time: 1e-3,
            })
            .collect(),
        noise: 0.0,
    };
    let path = |from: usize, to: usize| Path {
        latency: Seconds::new(if from == to { 1e-4 } else { 2e-3 }).expect("finite"),
        per_byte: 1e-8,
    };
    let number = 0..sets.len();
    let paths = number
        .clone()
        .map(|from| number.clone().map(|to| path(from, to)).collect());
    let paths: Vec<Vec<Path>> = paths.collect();
    let rates = vec![vec![1e-8; sets.len()]; sets.len()];
    let assumptions = PlanningAssumptions {
        horizon: 50.0,
        cost_factor: 1.0,
        migration_time: MigrationTime::SharedLinks,
        lessons: Vec::new(),
    };
    let cost = MigrationCost {
        base: Some(Seconds::new(1e-3).expect("finite")),
        ..MigrationCost::default()
    };
    Snapshot::new(
        &sets,
        (0..processes).map(load).collect(),
        rates,
        cost.into(),
        &assumptions,
    )
    .with_paths(&paths)
}

fn portfolio(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("portfolio");
    group.sample_size(10);
    for (processes, hosts, members) in [
        (100, 25, 35),
        (200, 174, 35),
        (1000, 1000, 100),
        (10_000, 1000, 100),
    ] {
        let snapshot = snapshot(hosts, members, processes);
        group.bench_function(format!("{processes} processes, {hosts} hosts"), |bencher| {
            bencher.iter(|| Portfolio.draft(black_box(&snapshot)));
        });
    }
    group.finish();
}

/// The distance, in ranks, of a process's neighbours in the second dimension.
const FAR: i32 = 100;

criterion_group!(benches, portfolio);
criterion_main!(benches);
