//! Programs on two threads of this machine, beside the same computations with `rayon`.

#[path = "threads/plain.rs"]
mod plain;

use std::hint::black_box;
use std::num::NonZeroUsize;

use bsp::reference::{self, Limit};
use bsp::{BoxError, Program, Step, Superstep, Threads};
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rayon::{ThreadPool, ThreadPoolBuilder};
use serde::{Deserialize, Serialize};
use workloads::{Common, heat, lbm};

/// Computes nothing.
#[derive(Clone, Serialize, Deserialize)]
struct Idle;

/// Supersteps of [`Idle`].
const SUPERSTEPS: u64 = 1000;

impl Program for Idle {
    type Message = ();
    type Output = ();

    fn superstep(&mut self, ctx: &mut Superstep<'_, ()>) -> Result<Step<()>, BoxError> {
        Ok(if ctx.index() + 1 == SUPERSTEPS {
            Step::Halt(())
        } else {
            Step::Continue
        })
    }
}

/// A thousand supersteps in which nothing is computed.
fn empty(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("empty");
    group.throughput(Throughput::Elements(SUPERSTEPS));
    for count in [2, 1000] {
        let processes = || vec![Idle; count];
        let id = BenchmarkId::new("reference", count);
        group.bench_function(id, |bencher| {
            let run = |processes| reference::run(processes, Limit::default());
            bencher.iter_batched(processes, run, BatchSize::LargeInput);
        });
        for threads in [1, 2].map(|count| NonZeroUsize::new(count).expect("above zero")) {
            let id = BenchmarkId::new(format!("{threads} threads"), count);
            group.bench_function(id, |bencher| {
                let run = |processes| Threads::new(threads).run(processes, Limit::default());
                bencher.iter_batched(processes, run, BatchSize::LargeInput);
            });
        }
    }
    group.finish();
}

const THREADS: usize = 2;

/// Strips of a plate and of a lattice: four for each thread.
const COMMON: Common = Common {
    processes: 8,
    supersteps: Some(50),
    seed: 0,
};

/// Sides of the plates and lattices: of what fits caches, and of what does not.
const SIDES: [u32; 2] = [256, 1024];

fn threads() -> Threads {
    Threads::new(NonZeroUsize::new(THREADS).expect("above zero"))
}

fn pool() -> ThreadPool {
    let pool = ThreadPoolBuilder::new().num_threads(THREADS).build();
    pool.expect("threads can be started")
}

/// Fifty time steps of a plate.
fn plates(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("heat");
    group.sample_size(20);
    let pool = pool();
    for side in SIDES {
        let parameters = heat::Parameters {
            width: side,
            height: side,
            ..heat::Parameters::default()
        };
        let strips = heat::processes(&parameters, COMMON).expect("the defaults are good");
        // The plate after one step.
        let common = Common {
            supersteps: Some(1),
            ..COMMON
        };
        let first = heat::processes(&parameters, common).expect("the defaults are good");
        let plate = reference::run(first, Limit::default()).expect("it halts");
        let plate = plate.outputs.concat();
        let steps = COMMON.supersteps.expect("given");
        let run = |strips| threads().run(strips, Limit::default()).expect("it halts");
        let plain = |steps| pool.install(|| plain::heat(&parameters, &plate, steps));
        assert_eq!(run(strips.clone()).outputs.concat(), plain(steps - 1));
        group.throughput(Throughput::Elements(
            steps * u64::from(side) * u64::from(side),
        ));
        group.bench_function(BenchmarkId::new("threads", side), |bencher| {
            bencher.iter_batched(|| strips.clone(), run, BatchSize::PerIteration);
        });
        group.bench_function(BenchmarkId::new("rayon", side), |bencher| {
            bencher.iter(|| black_box(plain(steps)));
        });
    }
    group.finish();
}

/// Fifty time steps of the flow in a cavity.
fn cavities(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("lbm-kernel");
    group.sample_size(20);
    let pool = pool();
    for side in SIDES {
        let parameters = lbm::kernel::Parameters {
            width: side,
            height: side,
            ..lbm::kernel::Parameters::default()
        };
        let strips = lbm::kernel::processes(&parameters, COMMON).expect("the defaults are good");
        let steps = COMMON.supersteps.expect("given");
        let run = |strips| {
            threads()
                .run(strips, Limit::default())
                .expect("a stable flow")
        };
        let plain = || pool.install(|| plain::cavity(&parameters, steps));
        let flow = lbm::kernel::Fields::assemble(run(strips.clone()).outputs);
        for (index, (density, velocity)) in plain().into_iter().enumerate() {
            let (x, y) = (index / flow.height(), index % flow.height());
            assert_eq!(
                (flow.density(x, y), flow.velocity(x, y)),
                (density, velocity)
            );
        }
        group.throughput(Throughput::Elements(
            steps * u64::from(side) * u64::from(side),
        ));
        group.bench_function(BenchmarkId::new("threads", side), |bencher| {
            bencher.iter_batched(|| strips.clone(), run, BatchSize::PerIteration);
        });
        group.bench_function(BenchmarkId::new("rayon", side), |bencher| {
            bencher.iter(|| black_box(plain()));
        });
    }
    group.finish();
}

criterion_group!(benches, empty, plates, cavities);
criterion_main!(benches);
