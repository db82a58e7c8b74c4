//! How long plans take to make.

use std::hint::black_box;
use std::time::Duration;

use bsp::units::{Bytes, InstructionsPerSecond, Seconds};
use bsp::{HostId, MemorySize, Rank, SetId};
use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use criterion::{Criterion, criterion_group, criterion_main};
use model::{
    Assignment, Edge, Load, MigrationCost, MigrationTime, Path, Plan, PlanningAssumptions,
    Portfolio, Processor, Received, Snapshot,
};
use rustix::time::{ClockId, clock_gettime};

/// Hosts of seven speeds in Sets of `members`, processes of eleven weights in turn on them, each sending to those of the
/// ranks before and after it, and to those [`FAR`] before and after it.
fn snapshot(hosts: u32, members: u32, processes: u32) -> Snapshot {
    snapshot_with(hosts, members, processes, |rank| rank % hosts)
}

/// The same with the processes of `snapshot` on the hosts `places`.
fn placed(snapshot: &Snapshot, places: &[usize], members: u32) -> Snapshot {
    let hosts = snapshot.hosts();
    let number = u32::try_from(hosts.len()).expect("ids fit 32 bits");
    let processes = u32::try_from(places.len()).expect("ranks fit 32 bits");
    snapshot_with(number, members, processes, |rank| {
        hosts[places[rank as usize]].id.0
    })
}

/// The same with each process on the host that `host` gives for its rank.
fn snapshot_with(hosts: u32, members: u32, processes: u32, host: impl Fn(u32) -> u32) -> Snapshot {
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

fn portfolio(criterion: &mut Criterion<CpuTime>) {
    let mut group = criterion.benchmark_group("portfolio");
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
        group.bench_function(&name, |bencher| {
            let snapshot = snapshot(hosts, members, processes);
            bencher.iter(|| Portfolio.draft(black_box(&snapshot)));
        });
        group.bench_function(format!("{name}, balanced"), |bencher| {
            let snapshot = snapshot(hosts, members, processes);
            let balanced = Portfolio.draft(&snapshot).places;
            let snapshot = placed(&snapshot, &balanced, members);
            let superstep = Assignment::present(&snapshot).superstep().get();
            let snapshot = snapshot.with_least_gain(NOTICEABLE * superstep);
            bencher.iter(|| Portfolio.draft(black_box(&snapshot)));
        });
    }
    group.finish();
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

/// The part of a superstep that a planner asks a plan to gain.
const NOTICEABLE: f64 = 0.05;

/// The distance, in ranks, of a process's neighbours in the second dimension.
const FAR: i32 = 100;

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(CpuTime);
    targets = portfolio
}
criterion_main!(benches);
