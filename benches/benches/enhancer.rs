//! The contract enhancer: what it costs when there is nothing to tell, beside the same work without it, and with deltas.
//!
//! Each round works on a buffer of its own, which is made outside the measured time.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use healbench_benches::{ERROR, identity, with_deltas};
use healbench_engine::contract::Enhance as _;

fn enhancer(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("enhancer");
    let buffer = || ERROR.to_owned();
    group.bench_function("direct", |bencher| {
        bencher.iter_batched(buffer, black_box, BatchSize::SmallInput);
    });
    let identity = black_box(identity());
    group.bench_function("identity", |bencher| {
        bencher.iter_batched(buffer, |error| black_box(identity.enhance(error, "create")), BatchSize::SmallInput);
    });
    let with_deltas = black_box(with_deltas());
    group.bench_function("with deltas", |bencher| {
        bencher.iter_batched(buffer, |error| black_box(with_deltas.enhance(error, "create")), BatchSize::SmallInput);
    });
    group.finish();
}

criterion_group!(benches, enhancer);
criterion_main!(benches);
