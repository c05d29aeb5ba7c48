//! The pairs that `cargo bench --bench paired` and the proofs measure. All of them are whole calls: an enhancer alone
//! takes a nanosecond, and the address of its code changes that by a tenth.

use std::hint::black_box;

use healbench_core::{ErrorFormat, ToolCall};
use healbench_engine::Engine;
use healbench_engine::contract::{Enhance, Identity};
use healbench_store::PairRole;

use crate::reference_workload::{input, reference_workload_1};
use crate::rounds::{Pair, Variant, Workload};
use crate::{Direct, invalid_call, unchanged_engine, unchanged_engine_with, valid_call, world};

/// The control: the same failed call twice.
pub const CONTROL: &str = "invalid call over itself";
/// A valid call with the contract guardrail and no changes to show, compared with an engine without an enhancer.
pub const VALID: &str = "valid call, identity over no enhancer";
/// A failed call with the contract guardrail and no changes to show.
pub const INVALID: &str = "invalid call, identity over no enhancer";
/// A failed call with the identity selected at compile time.
pub const STATIC: &str = "invalid call, static identity over no enhancer";

/// Returns all pairs.
pub fn pairs() -> Vec<Pair> {
    let mut pairs = vec![control(), valid(), invalid(), invalid_static()];
    let xml = ErrorFormat::FusionXml;
    pairs.push(over_reference_workload("valid call over reference workload", "valid call", &xml, valid_call));
    pairs.push(over_reference_workload(
        "invalid call over reference workload",
        "invalid call, fusion-xml",
        &xml,
        invalid_call,
    ));
    for format in [ErrorFormat::LlmFriendly, ErrorFormat::ProblemJson] {
        let of_format = format!("invalid call, {}", format.name());
        pairs.push(over_reference_workload(
            &format!("{of_format} over reference workload"),
            &of_format,
            &format,
            invalid_call,
        ));
    }
    pairs
}

/// Returns the pair of [`CONTROL`].
pub fn control() -> Pair {
    let variant = || without("invalid call, no enhancer", invalid_call);
    Pair { name: CONTROL.to_owned(), role: PairRole::Control, reference: variant(), candidate: variant() }
}

/// Returns the pair of [`VALID`].
pub fn valid() -> Pair {
    let reference = without("valid call, no enhancer", valid_call);
    let candidate = unchanged("valid call, identity", valid_call);
    Pair { name: VALID.to_owned(), role: PairRole::Equal, reference, candidate }
}

/// Returns the pair of [`INVALID`].
pub fn invalid() -> Pair {
    let reference = without("invalid call, no enhancer", invalid_call);
    let candidate = unchanged("invalid call, identity", invalid_call);
    Pair { name: INVALID.to_owned(), role: PairRole::Equal, reference, candidate }
}

/// Returns the pair of [`STATIC`].
pub fn invalid_static() -> Pair {
    let reference = without("invalid call, no enhancer", invalid_call);
    let engine = || calls(unchanged_engine_with(|| Identity), invalid_call());
    let candidate = Variant::new("invalid call, static identity", engine);
    Pair { name: STATIC.to_owned(), role: PairRole::Equal, reference, candidate }
}

fn over_reference_workload(name: &str, candidate: &str, format: &ErrorFormat, call: fn() -> ToolCall) -> Pair {
    let format = format.clone();
    Pair {
        name: name.to_owned(),
        role: PairRole::ReferenceWorkload,
        reference: Variant::new("reference workload 1", || {
            let input = input();
            Box::new(move |iterations| run_reference_workload(&input, iterations))
        }),
        candidate: Variant::new(candidate, move || calls(unchanged_engine(true, &format), call())),
    }
}

fn without(name: &str, call: fn() -> ToolCall) -> Variant {
    Variant::new(name, move || calls(unchanged_engine_with(|| Direct), call()))
}

fn unchanged(name: &str, call: fn() -> ToolCall) -> Variant {
    Variant::new(name, move || calls(unchanged_engine(true, &ErrorFormat::FusionXml), call()))
}

fn calls<E: Enhance + 'static>(engine: Engine<E>, call: ToolCall) -> Workload {
    let mut world = world();
    Box::new(move |iterations| {
        for _ in 0..iterations {
            drop(black_box(engine.call(&mut world, black_box(&call))));
        }
    })
}

fn run_reference_workload(input: &serde_json::Value, iterations: u32) {
    for _ in 0..iterations {
        drop(black_box(reference_workload_1(black_box(input))));
    }
}
