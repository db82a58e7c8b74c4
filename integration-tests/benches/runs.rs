//! Whole runs: programs, agents and simulator together, per process and superstep.

#![expect(clippy::unwrap_used, reason = "a benchmark ends where it cannot go on")]

use std::path::Path;
use std::sync::Arc;

use agents::{
    Barrier, PlacementOptions, Programs, Scheduler, Setup, Shape, TransferStart, placement,
};
use bsp::farm::{self, Dealer, Dealing, Tasks, Work};
use bsp::numbers::position;
use bsp::units::{Bytes, Instructions, Seconds};
use bsp::{BoxError, Program, Step, Sum, Superstep};
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use serde::{Deserialize, Serialize};
use simulated::simulate;
use simulator::{NetworkOptions, Platform};
use workloads::{Common, lbm};

fn platform(name: &str) -> Arc<Platform> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../conf/platforms")
        .join(name);
    let text = std::fs::read_to_string(path).unwrap();
    Arc::new(Platform::from_simgrid_xml(&text, &mut |file| Err(file.to_owned())).unwrap())
}

fn setup(platform: &Arc<Platform>, processes: u32, scheduler: Option<Scheduler>) -> Setup {
    Setup {
        network: NetworkOptions::default(),
        start: TransferStart::Eager,
        placement: placement(platform, &PlacementOptions::default(), processes).unwrap(),
        platform: Arc::clone(platform),
        barrier: Barrier::default(),
        scheduler,
        elasticity: None,
        awaited: None,
        checkpointing: None,
        superstep_limit: u64::MAX,
        traced: false,
        repeats: true,
        resumed: None,
    }
}

fn lattice_boltzmann(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("lattice-boltzmann");
    group.sample_size(10);
    let cases = [
        ("five.xml", 200, 100, None, "none"),
        ("five.xml", 200, 100, Some(Scheduler::default()), "migbsp"),
        ("grid_10_100.xml", 1000, 20, None, "none"),
        ("grid_10_1000.xml", 10_000, 4, None, "none"),
    ];
    for (name, processes, supersteps, scheduler, policy) in cases {
        let platform = platform(name);
        let setup = setup(&platform, processes, scheduler);
        let common = Common {
            processes,
            supersteps: Some(supersteps),
            seed: 1,
        };
        group.throughput(Throughput::Elements(u64::from(processes) * supersteps));
        group.bench_function(BenchmarkId::new(policy, processes), |bencher| {
            bencher.iter(|| {
                let programs = lbm::processes(&lbm::Parameters::default(), common).unwrap();
                let programs = Programs::new(programs);
                simulate(&setup, programs, &mut |_| {}).unwrap().end.seconds
            });
        });
    }
    group.finish();
}

/// A process that does nothing but reduce.
#[derive(Clone, Serialize, Deserialize)]
struct Reducing {
    supersteps: u64,
    reduces: bool,
}

impl Program for Reducing {
    type Message = ();
    type Output = ();

    fn superstep(&mut self, ctx: &mut Superstep<'_, ()>) -> Result<Step<()>, BoxError> {
        ctx.charge(Instructions(1000));
        if self.reduces {
            ctx.reduce("residual", Sum(0.1 * f64::from(ctx.rank().0)));
        }
        Ok(if ctx.index() + 1 == self.supersteps {
            Step::Halt(())
        } else {
            Step::Continue
        })
    }
}

/// What a reduction costs a process: each superstep is simulated. It makes the messages of the barrier longer by its name and its
/// number, which are together longer on the network: "as long" has such messages without a reduction.
fn reductions(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("reductions");
    let (processes, supersteps) = (1000_u32, 100);
    group.sample_size(10);
    group.throughput(Throughput::Elements(u64::from(processes) * supersteps));
    for shape in [Shape::Central, Shape::Hierarchical, Shape::Ideal] {
        let mut setup = Setup {
            repeats: false,
            ..setup(&platform("five.xml"), processes, None)
        };
        setup.barrier.shape = shape;
        let message = setup.barrier.message;
        let longer = message + Bytes(8 + 8);
        for (name, reduces, message) in [
            ("without", false, message),
            ("as long", false, longer),
            ("a sum", true, message),
        ] {
            setup.barrier.message = message;
            let id = BenchmarkId::new(name, format!("{shape:?}"));
            group.bench_function(id, |bencher| {
                bencher.iter(|| {
                    let program = Reducing {
                        supersteps,
                        reduces,
                    };
                    let programs = Programs::new(vec![program; position(processes.into())]);
                    let outcome = simulate(&setup, programs, &mut |_| {}).unwrap();
                    outcome.end.seconds
                });
            });
        }
    }
    group.finish();
}

/// Tasks that cost nothing: what a farm itself takes.
struct Empty;

impl Tasks for Empty {
    type Shared = ();
    type Task = u32;
    type Outcome = u32;

    fn execute((): &(), task: &u32, work: &mut Work) -> Result<u32, BoxError> {
        work.charge(Instructions(1));
        Ok(*task)
    }
}

fn task_farm(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("task-farm");
    group.sample_size(10);
    let setup = setup(&platform("five.xml"), 9, None);
    for (name, dealing) in [
        ("weighted", Dealing::default()),
        ("static", Dealing::Static),
    ] {
        group.throughput(Throughput::Elements(TASKS.into()));
        group.bench_function(BenchmarkId::new(name, TASKS), |bencher| {
            bencher.iter(|| {
                let tasks = (0..TASKS).collect();
                let farm = farm::processes::<Empty>(&(), tasks, 9, dealing.clone()).unwrap();
                let outcome = simulate(&setup, Programs::new(farm), &mut |_| {}).unwrap();
                outcome.end.seconds
            });
        });
    }
    group.throughput(Throughput::Elements(1));
    group.bench_function("dealing to 1000 workers", |bencher| {
        bencher.iter_batched(
            || known_workers(1000),
            |mut dealer| dealer.deal(&[true; 1000]),
            BatchSize::SmallInput,
        );
    });
    group.finish();
}

/// A dealer of many tasks that knows the rates of its workers, which differ.
fn known_workers(workers: u32) -> Dealer {
    let mut dealer = Dealer::new(Dealing::default(), 1_000_000_000, workers);
    let is_present = vec![true; usize::try_from(workers).unwrap()];
    dealer.deal(&is_present);
    for worker in 0..workers {
        let seconds = Seconds::new(1.0 + f64::from(worker % 17)).unwrap();
        dealer.observe(usize::try_from(worker).unwrap(), seconds);
    }
    dealer
}

/// Tasks of a farm.
const TASKS: u32 = 1_000_000;

criterion_group!(benches, lattice_boltzmann, reductions, task_farm);
criterion_main!(benches);
