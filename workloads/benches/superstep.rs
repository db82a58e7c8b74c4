//! What one superstep of one process of a model costs, the state's own part of a simulation, and what
//! the cells of a kernel cost.

use std::hint::black_box;

use bsp::reference::{self, Limit};
use bsp::units::Bytes;
use bsp::{Conditions, Inbox, Outbox, Program, Rank, Superstep};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use workloads::{Common, lbm, synthetic};

const COMMON: Common = Common {
    processes: 1_000,
    supersteps: Some(u64::MAX),
    seed: 1,
};

fn superstep(criterion: &mut Criterion) {
    let strips =
        lbm::processes(&lbm::Parameters::default(), COMMON).expect("the defaults are good");
    bench(criterion, "lbm", strips);
    for kind in ["steady", "noise", "drift", "jump", "hotspot"] {
        let text = format!("[dynamics]\nkind = '{kind}'\n");
        let parameters = toml::from_str(&text).expect("a kind that exists");
        let processes = synthetic::processes(&parameters, COMMON).expect("the defaults are good");
        bench(criterion, &format!("synthetic {kind}"), processes);
    }
}

fn bench<P: Program<Message = ()>>(criterion: &mut Criterion, name: &str, processes: Vec<P>) {
    // A rank that is in the share of every kind, and has both neighbours.
    let rank = Rank(1);
    let mut process = processes
        .into_iter()
        .nth(rank.index())
        .expect("there is such a rank");
    let mut inbox = Inbox::default();
    inbox.sized.push((Rank(0), Bytes(100_000)));
    let mut outbox = Outbox::default();
    let mut index = 0;
    criterion.bench_function(name, |bencher| {
        bencher.iter(|| {
            outbox.sends.clear();
            let mut ctx = Superstep::new(
                (rank, COMMON.processes),
                Conditions {
                    index,
                    ..Conditions::default()
                },
                &mut inbox,
                &mut outbox,
            );
            index += 1;
            black_box(process.superstep(&mut ctx).expect("a model does not fail"));
            black_box(&outbox);
        });
    });
}

/// Ten time steps of 128 × 128 cells.
fn cells(criterion: &mut Criterion) {
    let common = Common {
        processes: 4,
        supersteps: Some(10),
        ..COMMON
    };
    let parameters = lbm::kernel::Parameters::default();
    let mut group = criterion.benchmark_group("cells");
    group.throughput(Throughput::Elements(10 * 128 * 128));
    group.bench_function("lbm-kernel", |bencher| {
        bencher.iter_batched(
            || lbm::kernel::processes(&parameters, common).expect("the defaults are good"),
            |strips| reference::run(strips, Limit::default()).expect("a stable flow"),
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

criterion_group!(benches, superstep, cells);
criterion_main!(benches);
