//! One call through the whole pipeline with all guardrails on, writing `fusion-xml`.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use healbench_benches::{engine, engine_writing, invalid_call, valid_call, world};
use healbench_protocol::ErrorFormat;

fn calls(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("engine");
    let engine = engine();
    for (name, call) in [("valid call", valid_call()), ("invalid call, three fields", invalid_call())] {
        let mut world = world();
        group.bench_function(name, |bencher| bencher.iter(|| engine.call(&mut world, black_box(&call))));
    }
    group.finish();

    let mut group = criterion.benchmark_group("invalid call, three fields, by format");
    let call = invalid_call();
    for format in ErrorFormat::named().map(|entry| entry.format.clone()) {
        let (engine, mut world) = (engine_writing(&format), world());
        group.bench_function(&*format.name(), |bencher| bencher.iter(|| engine.call(&mut world, black_box(&call))));
    }
    group.finish();
}

criterion_group!(benches, calls);
criterion_main!(benches);
