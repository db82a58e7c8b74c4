//! Programs on two threads of this machine.

use std::num::NonZeroUsize;

use bsp::reference::{self, Limit};
use bsp::{BoxError, Program, Step, Superstep, Threads};
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use serde::{Deserialize, Serialize};

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

criterion_group!(benches, empty);
criterion_main!(benches);
