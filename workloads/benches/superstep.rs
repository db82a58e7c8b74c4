//! What one superstep of one process of a model costs: the state's own part of a simulation.

use std::hint::black_box;

use bsp::{Inbox, Outbox, Program, Rank, Superstep, units::Bytes};
use criterion::{Criterion, criterion_group, criterion_main};
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
            let mut ctx = Superstep::new(rank, COMMON.processes, index, &mut inbox, &mut outbox);
            index += 1;
            black_box(process.superstep(&mut ctx));
            black_box(&outbox);
        });
    });
}

criterion_group!(benches, superstep);
criterion_main!(benches);
