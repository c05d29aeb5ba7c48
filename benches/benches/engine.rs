//! One call through the whole pipeline with all guardrails on, writing `fusion-xml`.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use healbench_benches::{engine, engine_writing, invalid_call, valid_call, world};
use healbench_core::ErrorFormat;
use healbench_engine::validate;
use serde_json::json;

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

/// Finds the issue of a value under 60 levels of a schema that refers to itself in each of its alternatives.
fn recursive_schema(criterion: &mut Criterion) {
    let list = json!({"type": "array", "items": {"$ref": "#/$defs/filter"}});
    let schema = json!({"properties": {"filter": {"$ref": "#/$defs/filter"}}, "$defs": {"filter": {"anyOf": [
        {"type": "object", "properties": {"and": list}},
        {"type": "object", "properties": {"and": list, "or": list}},
    ]}}});
    let filter = (0..60).fold(json!(7), |inner, _| json!({"and": [inner]}));
    let arguments = json!({"filter": filter});
    criterion.bench_function("issues of a value under 60 levels of alternatives", |bencher| {
        bencher.iter(|| validate(black_box(&schema), black_box(&arguments)));
    });
}

criterion_group!(benches, calls, recursive_schema);
criterion_main!(benches);
