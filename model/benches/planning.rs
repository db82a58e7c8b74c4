//! How long plans take to make.

#![expect(
    clippy::print_stdout,
    reason = "how much calls look at is what they are compared by"
)]

use std::hint::black_box;
use std::time::Duration;

use bsp::units::{Bytes, Instant, InstructionsPerSecond, Seconds};
use bsp::{HostId, MemorySize, Rank, SetId};
use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use criterion::{BatchSize, Bencher, Criterion, criterion_group, criterion_main};
use model::{
    Assignment, BarrierTime, CallStart, Config, Edge, Inventory, Load, Measurements, MigrationCost,
    MigrationTime, Path, Plan, Planner, Planning, PlanningAssumptions, Policy, Portfolio,
    Processor, Received, Snapshot,
};
use rustix::time::{ClockId, clock_gettime};

/// Hosts of seven speeds in Sets of `members`, processes of eleven weights on those that `host` gives for their ranks, each
/// sending to those of the ranks before and after it, and to those [`FAR`] before and after it.
fn inventories(
    hosts: u32,
    members: u32,
    processes: u32,
    host: impl Fn(u32) -> u32,
) -> Vec<Inventory> {
    let processor = |host: u32| Processor {
        host: HostId(host),
        speed: InstructionsPerSecond::new(1e9 + 2e8 * f64::from(host % 7)).expect("above zero"),
        cores: 1,
        load: 0.0,
        residents: Vec::new(),
    };
    let all: Vec<Processor> = (0..hosts).map(processor).collect();
    let sets: Vec<Vec<Processor>> = all.chunks(members as usize).map(<[_]>::to_vec).collect();
    let load = |rank: u32| {
        let senders = [-1, 1, -FAR, FAR]
            .into_iter()
            .filter_map(|shift| rank.checked_add_signed(shift))
            .filter(|from| *from < processes);
        let mut received: Vec<Received> = Vec::new();
        for sender in senders.clone() {
            let set = SetId(host(sender) / members);
            let known = received.iter_mut().find(|one| one.set == set);
            match known {
                Some(one) => one.bytes += 1e5,
                None => received.push(Received {
                    set,
                    bytes: 1e5,
                    time: 1e-3,
                }),
            }
        }
        Load {
            rank: Rank(rank),
            host: HostId(host(rank)),
            instructions: 1e8 + 3e7 * f64::from(rank * 7 % 11),
            finished: None,
            image: MemorySize {
                data: Bytes(1_000_000),
                fixed: Bytes::ZERO,
            },
            received,
            edges: senders
                .map(|from| Edge {
                    from: Rank(from),
                    messages: 1.0,
                    bytes: 1e5,
                    time: 1e-3,
                })
                .collect(),
            noise: 0.0,
        }
    };
    let loads: Vec<Load> = (0..processes).map(load).collect();
    let path = |from: usize, to: usize| Path {
        latency: Seconds::new(if from == to { 1e-4 } else { 2e-3 }).expect("finite"),
        per_byte: 1e-8,
        shared_per_byte: None,
    };
    let number = 0..sets.len();
    let paths = number
        .clone()
        .map(|from| number.clone().map(|to| path(from, to)).collect());
    let paths: Vec<Vec<Path>> = paths.collect();
    let inventory = |((set, processors), paths): ((usize, Vec<Processor>), Vec<Path>)| {
        let is_here = |load: &&Load| (load.host.0 / members) as usize == set;
        Inventory {
            processors,
            loads: loads.iter().filter(is_here).cloned().collect(),
            rates: vec![1e-8; paths.len()],
            paths,
            barrier: BarrierTime::Ideal,
            measured: Measurements::default(),
        }
    };
    let sets = sets.into_iter().enumerate().zip(paths);
    sets.map(inventory).collect()
}

/// What the planner of a run knows that is in the midst of its first plan.
fn snapshot(sets: &[Inventory]) -> Snapshot {
    let assumptions = PlanningAssumptions {
        horizon: 50.0,
        cost_factor: 1.0,
        migration_time: MigrationTime::SharedLinks,
        lessons: Vec::new(),
    };
    let processors: Vec<Vec<Processor>> = sets.iter().map(|set| set.processors.clone()).collect();
    let paths: Vec<Vec<Path>> = sets.iter().map(|set| set.paths.clone()).collect();
    Snapshot::new(
        &processors,
        sets.iter().flat_map(|set| set.loads.clone()).collect(),
        sets.iter().map(|set| set.rates.clone()).collect(),
        move_cost().into(),
        &assumptions,
    )
    .with_paths(&paths)
}

fn move_cost() -> MigrationCost {
    MigrationCost {
        base: Some(Seconds::new(1e-3).expect("finite")),
        ..MigrationCost::default()
    }
}

fn adaptive(criterion: &mut Criterion<CpuTime>) {
    let mut group = criterion.benchmark_group("adaptive");
    group.sample_size(10);
    for (processes, hosts, members) in [
        (100, 25, 35),
        (200, 174, 35),
        (1000, 2, 2),
        (4000, 2, 2),
        (10_000, 2, 2),
        (100_000, 2, 2),
        (1000, 1000, 100),
        (10_000, 1000, 100),
        (1000, 250, 25),
        (10_000, 2500, 250),
        (100_000, 25_000, 2500),
    ] {
        let name = format!("{processes} processes, {hosts} hosts");
        let sets = || inventories(hosts, members, processes, |rank| rank % hosts);
        // The placement of the best plan, and how long its supersteps take.
        let balanced = || {
            let snapshot = snapshot(&sets());
            let places = Portfolio.draft(&snapshot).places;
            let superstep = Assignment::new(&snapshot, &places).superstep();
            let host = |rank: u32| snapshot.hosts()[places[rank as usize]].id.0;
            (inventories(hosts, members, processes, host), superstep)
        };
        group.bench_function(format!("plan, {name}"), |bencher| {
            let snapshot = snapshot(&sets());
            bencher.iter(|| Portfolio.draft(black_box(&snapshot)));
        });
        group.bench_function(format!("call, {name}"), |bencher| {
            let sets = sets();
            let superstep = Assignment::present(&snapshot(&sets)).superstep();
            call(bencher, &sets, superstep);
        });
        group.bench_function(format!("call that finds nothing, {name}"), |bencher| {
            let (sets, superstep) = balanced();
            call(bencher, &sets, superstep);
        });
    }
    group.finish();
}

/// Measures the first call of a run in which supersteps took so long, and says how much is looked at in it: what a call takes
/// is in simulations computed from that (`scheduler.planning_time`).
fn call(bencher: &mut Bencher<'_, CpuTime>, sets: &[Inventory], superstep: Seconds) {
    let policy = Policy::ADAPTIVE;
    let planning = Planning::default();
    let began = Seconds::bounded(10.0 * superstep.get());
    let start = CallStart {
        completed: 10,
        remaining: None,
        began: Instant::START + began,
    };
    let begin = || {
        let time = MigrationTime::SharedLinks;
        let planner = Planner::new(&policy, &Config::default(), &planning, time);
        (planner.expect("its plans name processors"), sets.to_vec())
    };
    let (mut planner, same) = begin();
    let effort = planner.decide(start, same, move_cost().into()).effort;
    println!("{effort:?}");
    bencher.iter_batched(
        begin,
        |(mut planner, sets)| planner.decide(start, sets, move_cost().into()),
        BatchSize::PerIteration,
    );
}

/// Processor time of this process, so that other programs on the machine do not count.
struct CpuTime;

impl Measurement for CpuTime {
    type Intermediate = Duration;
    type Value = Duration;

    fn start(&self) -> Duration {
        let now = clock_gettime(ClockId::ProcessCPUTime);
        Duration::try_from(now).expect("it is not negative")
    }

    fn end(&self, began: Duration) -> Duration {
        self.start() - began
    }

    fn add(&self, one: &Duration, other: &Duration) -> Duration {
        *one + *other
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    fn to_f64(&self, value: &Duration) -> f64 {
        WallTime.to_f64(value)
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        WallTime.formatter()
    }
}

/// The distance, in ranks, of a process's neighbours in the second dimension.
const FAR: i32 = 100;

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(CpuTime);
    targets = adaptive
}
criterion_main!(benches);
