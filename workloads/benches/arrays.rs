//! What it takes to encode and decode the numbers of a state or a message, as a `Vec` and as an `Array`.

use std::hint::black_box;

use bsp::Array;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use serde::Serialize;
use serde::de::DeserializeOwned;

fn arrays(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("arrays");
    group.sample_size(10);
    for megabytes in [1, 10, 100_u32] {
        let numbers: Vec<f64> = (0..megabytes * 125_000)
            .map(|i| f64::from(i) / 3.0)
            .collect();
        let array: Array<f64> = numbers.clone().into();
        group.throughput(Throughput::Bytes(u64::from(megabytes) * 1_000_000));
        let mut bench = |name: &str, action: &mut dyn FnMut()| {
            group.bench_function(BenchmarkId::new(name, megabytes), |bencher| {
                bencher.iter(&mut *action);
            });
        };
        bench("encode vec", &mut || drop(black_box(encoded(&numbers))));
        bench("encode array", &mut || drop(black_box(encoded(&array))));
        let bytes = encoded(&numbers);
        bench("decode vec", &mut || {
            drop(black_box(decoded::<Vec<f64>>(&bytes)));
        });
        let bytes = encoded(&array);
        bench("decode array", &mut || {
            drop(black_box(decoded::<Array<f64>>(&bytes)));
        });
    }
    group.finish();
}

fn encoded(value: &impl Serialize) -> Vec<u8> {
    rmp_serde::to_vec(value).expect("numbers encode")
}

fn decoded<T: DeserializeOwned>(bytes: &[u8]) -> T {
    rmp_serde::from_slice(bytes).expect("it was encoded")
}

criterion_group!(benches, arrays);
criterion_main!(benches);
