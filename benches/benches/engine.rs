//! One call through the whole pipeline with all guardrails on, writing `fusion-xml`.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use healbench_benches::{engine, invalid_call, valid_call, world};

fn calls(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("engine");
    let engine = engine();
    for (name, call) in [("valid call", valid_call()), ("invalid call, three fields", invalid_call())] {
        let mut world = world();
        group.bench_function(name, |bencher| bencher.iter(|| engine.call(&mut world, black_box(&call))));
    }
    group.finish();
}

criterion_group!(benches, calls);
criterion_main!(benches);
