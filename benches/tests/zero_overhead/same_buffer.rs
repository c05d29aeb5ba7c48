//! Proof (a): the returned error is the one passed in, with the same pointer, length and capacity.

use std::collections::BTreeMap;

use healbench_benches::{current, previous};
use healbench_engine::contract::{
    BlockStyle, ContractDiff, Delta, Enhance as _, Enhancer, SelfHealingConfig, Severity, ToolContract, diff_contracts,
    tool_enhancer,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};

use crate::variants::{EnhancerVariant, Parts};
use crate::{Proof, refuted};

/// Proves for any error, spare capacity and action that the variant returns the same buffer.
pub(crate) fn proof(variant: EnhancerVariant) -> Proof {
    let (parts, path) = (Parts::new(), variant.path());
    prove(&arguments(), |(error, action)| check_same_buffer(error, |error| path(&parts, error, &action)))
}

/// Proves the same for enhancers created from contracts without a change to show.
pub(crate) fn proof_of_built_enhancers() -> Proof {
    prove(&(silent_enhancer(), arguments()), |(enhancer, (error, action))| {
        check_same_buffer(error, |error| enhancer.enhance(error, &action))
    })
}

fn prove<S: Strategy>(strategy: &S, test: impl Fn(S::Value) -> Result<(), TestCaseError>) -> Proof {
    // The cases are the same in every run, because this program has fixed hash keys (`instructions.rs`), so there are
    // many of them.
    let config = Config { cases: 4096, failure_persistence: None, ..Config::default() };
    match TestRunner::new(config).run(strategy, test) {
        Ok(()) => Ok(()),
        Err(TestError::Fail(reason, example)) => refuted(format!("{reason}: {example:?}")),
        Err(TestError::Abort(reason)) => refuted(format!("no cases: {reason}")),
    }
}

fn check_same_buffer(error: String, enhance: impl FnOnce(String) -> String) -> Result<(), TestCaseError> {
    let buffer = |text: &String| (text.as_ptr(), text.len(), text.capacity());
    let (before, copy) = (buffer(&error), error.clone());
    let enhanced = enhance(error);
    prop_assert_eq!(buffer(&enhanced), before);
    prop_assert_eq!(enhanced, copy);
    Ok(())
}

fn arguments() -> impl Strategy<Value = (String, String)> {
    let text = prop_oneof![
        any::<String>(),
        any::<String>().prop_map(|text| format!("<validation_error>{text}</validation_error>")),
    ];
    let error = (text, 0..4096_usize).prop_map(|(text, spare)| {
        let mut error = String::with_capacity(text.len() + spare);
        error.push_str(&text);
        error
    });
    (error, prop_oneof![Just(String::new()), Just("create".to_owned()), any::<String>()])
}

fn silent_enhancer() -> impl Strategy<Value = Enhancer> {
    let config = prop_oneof![
        // Changes that are not shown.
        diff(&[Severity::Cosmetic, Severity::Safe]).prop_map(|diff| [("invoices", diff)]),
        // An equal contract.
        Just([(
            "invoices",
            diff_contracts(&ToolContract::from_tool(&current()), &ToolContract::from_tool(&current()))
        )]),
        // Changes of another tool, including significant ones.
        prop_oneof![
            diff(&[Severity::Cosmetic, Severity::Safe, Severity::Risky, Severity::Breaking]),
            Just(diff_contracts(&ToolContract::from_tool(&previous()), &ToolContract::from_tool(&current()))),
        ]
        .prop_map(|diff| [("customers", diff)]),
    ];
    let styles =
        [BlockStyle::Xml, BlockStyle::Text, BlockStyle::Markdown, BlockStyle::ZodIssue, BlockStyle::ProblemMember];
    (config, 0..10_usize, select(styles.to_vec())).prop_map(|(deltas, most, style)| {
        let active = deltas.map(|(tool, diff)| (tool.to_owned(), diff));
        let config = SelfHealingConfig { max_deltas_per_error: most, ..SelfHealingConfig::new(BTreeMap::from(active)) };
        tool_enhancer("invoices", ["create"], &config, style)
    })
}

fn diff(severities: &[Severity]) -> impl Strategy<Value = ContractDiff> + use<> {
    let field =
        select(vec!["description", "tags.beta", "actions.create", "actions.create.inputSchema", "actions.list"]);
    let delta =
        (field, select(severities.to_vec()), option::of(any::<String>()), option::of(any::<String>())).prop_map(
            |(field, severity, previous, current)| Delta { field: field.to_owned(), severity, previous, current },
        );
    vec(delta, 0..4).prop_map(|deltas| ContractDiff { digest_changed: !deltas.is_empty(), deltas })
}
