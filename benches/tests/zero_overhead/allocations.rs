//! Proof (b): without changes to show, the contract guardrail allocates nothing, according to a counting allocator.

use std::hint::black_box;

use allocation_counter::{AllocationInfo, measure};
use healbench_benches::{ERROR, engine, invalid_call, unchanged_engine, valid_call, world};
use healbench_core::{ErrorFormat, ToolCall};
use healbench_engine::Engine;

use crate::variants::{EnhancerVariant, Parts, Work};
use crate::{Proof, refuted};

/// Proves that an error passes the enhancer without an allocation.
pub(crate) fn proof_of_enhancer(variant: EnhancerVariant) -> Proof {
    let (parts, path) = (Parts::new(), black_box(variant.path()));
    let mut error = Some(ERROR.to_owned());
    let counted = measure(|| error = error.take().map(|error| path(&parts, error, black_box("create"))));
    if counted.count_total == 0 { Ok(()) } else { refuted(format!("it allocates: {counted:?}")) }
}

/// Proves that a whole call has the same allocations as with the guardrail off.
pub(crate) fn proof_of_call(variant: EnhancerVariant, work: Work) -> Proof {
    let parts = Parts::new();
    let counted = |variant: EnhancerVariant| -> AllocationInfo {
        // Initialize lazily created data before counting.
        variant.work(work, &parts, 1);
        measure(|| variant.work(work, &parts, 10))
    };
    let (direct, this) = (counted(EnhancerVariant::Direct), counted(variant));
    if direct.count_total < 10 {
        return refuted(format!("the counter does not count: {direct:?}"));
    }
    if this == direct { Ok(()) } else { refuted(format!("ten calls allocate {this:?}, and without it {direct:?}")) }
}

/// A valid call allocates only the list of content blocks and its text, also with all guardrails and a changed
/// contract.
pub(crate) fn valid_call_allocates_its_result() -> Proof {
    match allocations(&engine(), &valid_call()) {
        2 => Ok(()),
        other => refuted(format!("{other} allocations")),
    }
}

/// The proofs above compare two engines that share most of their code. This one compares the allocations of a failed
/// call with a constant, so that an additional copy of the text in shared code is detected, too.
pub(crate) fn failed_call_allocates_no_more_than_it_did() -> Proof {
    match allocations(&unchanged_engine(true, &ErrorFormat::FusionXml), &invalid_call()) {
        MAX_ALLOCATIONS_PER_FAILED_CALL => Ok(()),
        fewer if fewer < MAX_ALLOCATIONS_PER_FAILED_CALL => {
            refuted(format!("only {fewer} allocations: lower the constant"))
        }
        more => refuted(format!("{more} allocations")),
    }
}

/// The allocations of a failed call: to find three issues, to format them, and for the response.
const MAX_ALLOCATIONS_PER_FAILED_CALL: u64 = 27;

fn allocations(engine: &Engine, call: &ToolCall) -> u64 {
    let mut world = world();
    let mut answer = || measure(|| drop(black_box(engine.call(&mut world, black_box(call))))).count_total;
    // Initialize lazily created data before counting.
    answer();
    answer()
}
