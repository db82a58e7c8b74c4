//! A checkpoint of one process whose state has 72 MiB: what each of its parts takes.

#![expect(clippy::unwrap_used, reason = "a benchmark ends where it cannot go on")]

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::path::Path;

use bsp::units::Instructions;
use bsp::{HostId, Program, Rank};
use checkpoint::{
    Condition, Delta, DiskFiles, Generation, JobDescription, Piece, PieceHead, Store,
};
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use protocol::transport::JobId;
use workloads::heat::Heat;
use workloads::{Common, heat};

/// A plate whose state has 72 MiB when it is encoded: 8 bytes for each number.
fn plate() -> Heat {
    let parameters = heat::Parameters {
        width: 1024,
        height: 9214,
        ..heat::Parameters::default()
    };
    let common = Common {
        processes: 1,
        supersteps: Some(10),
        seed: 0,
    };
    heat::processes(&parameters, common).unwrap().remove(0)
}

fn piece(program: &Heat, superstep: u64, previous: Option<&Piece>) -> Piece {
    let head = PieceHead {
        job: JOB,
        generation: Generation {
            incarnation: 0,
            superstep,
        },
        rank: Rank(0),
        condition: Condition::Running,
        work: Instructions(1),
    };
    let encoded = Piece::encode(head, previous, |content| {
        rmp_serde::encode::write(content, program)
    });
    encoded.unwrap()
}

/// The delta's encoding as one text of bytes.
fn encoded(delta: &Delta) -> bytes::Bytes {
    delta.encode().collect::<Vec<_>>().concat().into()
}

/// The piece with a tenth of its chunks changed.
fn changed(piece: &Piece) -> Piece {
    let mut bytes: Vec<u8> = Vec::new();
    std::io::copy(&mut piece.content.reader(), &mut bytes).unwrap();
    let end = bytes.len() / 10;
    for byte in &mut bytes[..end] {
        *byte ^= 1;
    }
    let mut head = piece.head;
    head.generation.superstep += 1;
    Piece::encode(head, Some(piece), |content| {
        std::io::copy(&mut &bytes[..], content).map(drop)
    })
    .unwrap()
}

fn memory(criterion: &mut Criterion) {
    let program = plate();
    let first = piece(&program, 1, None);
    let second = changed(&first);
    let mut group = criterion.benchmark_group("checkpoint");
    group.sample_size(10);
    group.throughput(Throughput::Bytes(first.len().0));
    group.bench_function("fork", |bencher| {
        bencher.iter_with_large_drop(|| program.fork());
    });
    group.bench_function("encode, all new", |bencher| {
        bencher.iter_with_large_drop(|| piece(&program, 2, None));
    });
    group.bench_function("encode, nothing new", |bencher| {
        bencher.iter_with_large_drop(|| piece(&program, 2, Some(&first)));
    });
    group.bench_function("delta of a tenth", |bencher| {
        bencher.iter_with_large_drop(|| second.delta_from(Some(&first)));
    });
    let delta = encoded(&second.delta_from(Some(&first)));
    group.bench_function("decode and apply it", |bencher| {
        bencher.iter_with_large_drop(|| Delta::decode(&delta).unwrap().apply(Some(&first)));
    });
    group.finish();
}

/// A store in `folder` that has begun.
fn store(folder: &Path) -> Store<DiskFiles> {
    let mut store = Store::new(DiskFiles::new(folder), HostId(0));
    let description = JobDescription {
        job: JOB,
        incarnation: 0,
        workload: "heat".to_owned(),
        processes: 1,
        program: "migbsp".to_owned(),
        version: "0.1.0".to_owned(),
        build: String::new(),
        experiment: String::new(),
        files: None,
    };
    store.begin(&description).unwrap();
    store
}

fn write(store: &mut Store<DiskFiles>, piece: &Piece) {
    let generation = piece.head.generation;
    let written = store.write_pieces(JOB, generation, [piece]).unwrap();
    let files = BTreeMap::from([(HostId(0), written)]);
    store.complete(JOB, generation, 1, &files).unwrap();
    store.prune(generation, std::num::NonZeroU32::MIN).unwrap();
}

fn disk(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let mut store = store(folder.path());
    let mut piece = piece(&plate(), 1, None);
    let mut group = criterion.benchmark_group("checkpoint");
    group.sample_size(10);
    group.throughput(Throughput::Bytes(piece.len().0));
    group.bench_function("store on disk", |bencher| {
        bencher.iter_batched(
            || {
                piece.head.generation.superstep += 1;
                piece.clone()
            },
            |piece| write(&mut store, &piece),
            BatchSize::PerIteration,
        );
    });
    group.bench_function("find on disk", |bencher| {
        bencher.iter_with_large_drop(|| store.latest().unwrap());
    });
    group.finish();
}

const JOB: JobId = JobId(NonZeroU64::MIN);

criterion_group!(benches, memory, disk);
criterion_main!(benches);
