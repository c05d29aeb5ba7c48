//! What is allocated where nothing should be.

use std::hint::black_box;

use allocation_counter::measure;
use healbench_benches::{ERROR, engine, identity, invalid_call, valid_call, world};

#[test]
fn a_valid_call_allocates_its_result_and_nothing_else() {
    let (engine, mut world, call) = (engine(), world(), valid_call());
    let mut answer = || measure(|| drop(black_box(engine.call(&mut world, black_box(&call))))).count_total;
    // What is set up once is set up now.
    answer();
    // The list of content blocks, and its one text.
    assert_eq!(answer(), 2);
    // The counter counts.
    let mut world = healbench_benches::world();
    assert!(measure(|| drop(engine.call(&mut world, &invalid_call()))).count_total > 2);
}

#[test]
fn the_identity_allocates_nothing() {
    let identity = identity();
    let mut error = Some(ERROR.to_owned());
    let counted = measure(|| error = error.take().map(|error| black_box(identity.enhance(error, "create"))));
    assert_eq!(counted.count_total, 0);
    assert_eq!(error.as_deref(), Some(ERROR));
}
