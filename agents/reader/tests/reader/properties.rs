//! Properties that must hold for any text.

use healbench_core::Script;
use healbench_reader::reading::{Vocabulary, read_statements};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::episode::*;

/// Generates texts from the fragments that the extractor looks for, in any order, truncated anywhere.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("<field name=\"amount\">".to_owned()),
        Just("</field>".to_owned()),
        Just("{\"path\": [\"lines\", 0], \"options\": [\"a\"".to_owned()),
        Just("{ amount: number, currency?: string }".to_owned()),
        Just("{\"example\": {\"amount\": 1}}".to_owned()),
        Just("\n  • currency — Required".to_owned()),
        Just("must be one of 'a', \"b\"".to_owned()),
        Just("&lt;&#x10FFFF;&#xD800;&amp;".to_owned()),
        Just("Call billing.list first".to_owned()),
        Just("retry after 99999999999999999999 s".to_owned()),
        Just("truncated ".to_owned()),
        Just("[[[[{{{{<<<<((((''''``\"\"".to_owned()),
        Just("between -1 and".to_owned()),
        Just("pattern ^[(".to_owned()),
        ".{0,12}",
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_text_makes_an_agent_panic(texts in proptest::collection::vec((pieces(), any::<bool>()), 1..6), trial in 0_u32..100) {
        let arguments = json!({"action": "create", "amount": 1, "currency": "USD", "lines": [{"qty": 1}]});
        let draft = json!({"action": "create", "amount": "x", "lines": [{}]});
        let get = json!({"action": "get", "invoice_id": "x"});
        for name in ["careless", "perfect", "blind"] {
            let steps = vec![
                step("billing", arguments.clone(), draft.clone()),
                with_query(step("billing", get.clone(), get.clone()), "invoice_id", "amount", json!({"path": "x"})),
            ];
            let turns = run_episode(&profile(name), steps, trial, 200, |_, n| {
                let (text, is_error) = &texts[n % texts.len()];
                if *is_error { error(text) } else { ok(text) }
            });
            prop_assert!(turns.len() < 200, "an episode has to end: {turns:?}");
        }
    }

    #[test]
    fn arbitrary_text_is_read_alike_twice(text in "\\PC{0,300}") {
        let (tools, script) = (tools(), Script::default());
        let vocabulary = Vocabulary::new(&tools, &script);
        prop_assert_eq!(read_statements(&text, &vocabulary, &Value::Null), read_statements(&text, &vocabulary, &Value::Null));
    }
}

/// Texts that would take quadratic time if anything looked ahead without a limit. Eight times the text takes about eight times as
/// long, and would take 64 times as long.
#[test]
fn long_hostile_texts_are_read_in_linear_time() {
    let (tools, script) = (tools(), Script::default());
    let vocabulary = Vocabulary::new(&tools, &script);
    for piece in [
        "<",
        "<a ",
        "{",
        "{\"a\":",
        "[{",
        "'a ",
        "\"",
        "`x",
        "&",
        "{ a: ",
        "required ",
        "a\n ",
        "<a>",
        "<a>x",
        "missing 'b' ",
    ] {
        let fastest = |bytes: usize| {
            let text = piece.repeat(bytes / piece.len());
            let time = |_| {
                let started = std::time::Instant::now();
                read_statements(&text, &vocabulary, &Value::Null);
                started.elapsed()
            };
            (0..3).map(time).min().unwrap()
        };
        // On a busy machine one attempt may be disturbed, but not all of them.
        let ratio = || fastest(200_000).as_secs_f64() / fastest(25_000).as_secs_f64();
        assert!((0..5).any(|_| ratio() < 32.0), "eight times as much of `{piece}` takes more than 32 times as long");
    }
}
