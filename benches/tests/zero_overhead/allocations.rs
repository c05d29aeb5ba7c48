//! (b) Nothing is allocated where there is nothing to tell, by a counting allocator.

use std::hint::black_box;

use allocation_counter::{AllocationInfo, measure};
use healbench_benches::{ERROR, engine, valid_call, world};

use crate::variants::{Parts, Variant, Work};
use crate::{Proof, refuted};

/// An error passes without an allocation.
pub(crate) fn of_enhancer(variant: Variant) -> Proof {
    let (parts, path) = (Parts::new(), black_box(variant.path()));
    let mut error = Some(ERROR.to_owned());
    let counted = measure(|| error = error.take().map(|error| path(&parts, error, black_box("create"))));
    if counted.count_total == 0 { Ok(()) } else { refuted(format!("it allocates: {counted:?}")) }
}

/// A whole call allocates exactly what it does with the guardrail off.
pub(crate) fn of_call(variant: Variant, work: Work) -> Proof {
    let parts = Parts::new();
    let counted = |variant: Variant| -> AllocationInfo {
        // What is set up once is set up now.
        variant.work(work, &parts, 1);
        measure(|| variant.work(work, &parts, 10))
    };
    let (direct, this) = (counted(Variant::Direct), counted(variant));
    if direct.count_total < 10 {
        return refuted(format!("the counter does not count: {direct:?}"));
    }
    if this == direct { Ok(()) } else { refuted(format!("ten calls allocate {this:?}, and without it {direct:?}")) }
}

/// The list of content blocks and its one text: with all guardrails on and a contract that moved, too.
pub(crate) fn valid_call_allocates_its_result() -> Proof {
    let (engine, mut world, call) = (engine(), world(), valid_call());
    let mut answer = || measure(|| drop(black_box(engine.call(&mut world, black_box(&call))))).count_total;
    answer();
    match answer() {
        2 => Ok(()),
        other => refuted(format!("{other} allocations")),
    }
}
