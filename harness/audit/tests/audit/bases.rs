//! Base calls.

use super::*;

#[test]
fn fields_of_a_branch_are_tried_and_numbers_are_small() {
    let branch = |field: &str| json!({"type": "object", "properties": {field: {"type": "string"}}, "required": [field], "additionalProperties": false});
    let either = json!({"type": "object", "anyOf": [branch("content"), branch("link")]});
    let lines = json!({"type": "integer", "exclusiveMinimum": 0, "maximum": 9_007_199_254_740_991_i64});
    let head = json!({"type": "object", "properties": {"lines": lines}, "required": ["lines"]});
    let old = json!({"$schema": "http://json-schema.org/draft-04/schema#", "type": "object", "required": ["n"],
        "properties": {"n": {"type": "integer", "minimum": 0, "exclusiveMinimum": true}}});
    let steps = json!({"type": "object", "required": ["n"],
        "properties": {"n": {"type": "integer", "multipleOf": 5, "minimum": 11, "maximum": 1_000_000_000}}});
    let refuse =
        |field: &str| json!([[[format!("!{field}:string")], format!("!{field}: expected string")], [[], "ok"]]);
    let report = answering(
        &[
            ("attach", either, refuse("content")),
            ("head", head, json!([[[], "ok"]])),
            ("old", old, json!([[[], "ok"]])),
            ("steps", steps, json!([[[], "ok"]])),
        ],
        &options(),
    );
    assert_eq!(answer_to(&report, "missing", "content").0, AnswerKind::IsError);
    let base = |at: usize| report.tools[at].base.clone().unwrap().arguments;
    assert_eq!((base(1), base(2), base(3)), (json!({"lines": 1}), json!({"n": 1}), json!({"n": 15})));
    assert_eq!(answer_to(&report, "out_of_range", "n").1, Some(0.0));
    assert!(findings(&report).contains(&("client-limits", "attach", 1)), "{:?}", report.findings);
}

#[test]
fn base_calls_alone_are_found() {
    let rules = json!([[["!path:string"], "!Path must be absolute"], [[], "ok"]]);
    let only = Options { base_only: true, ..options() };
    let report = answering(&[("read", fields(&[("path!", "string")]), rules)], &only);
    assert_eq!(
        (report.tools[0].probes.len(), report.notes.iter().any(|note| note.contains("does not exist"))),
        (0, false)
    );
    assert_eq!(report.tools[0].base.as_ref().unwrap().state, BaseState::Accepted);
}

/// A thing that a call creates exists when it comes again. That is no refusal of the call, and no fault of mistakes that are accepted like it.
#[test]
fn a_call_that_can_be_made_once_is_accepted() {
    let rules = json!([
        [["!name:string"], "!name: expected string"],
        [["&name"], "!An item named '{name}' already exists"],
        [[], "created {name}"]
    ]);
    let report = answering(&[("create", fields(&[("name!", "string")]), rules)], &options());
    assert_eq!(report.tools[0].base.as_ref().unwrap().state, BaseState::Volatile);
    assert!(!findings(&report).iter().any(|(id, ..)| *id == "base-refused"), "{:?}", report.findings);
    let undeclared = report.tools[0].probes.iter().find(|probe| probe.arguments.get("hb_extra").is_some()).unwrap();
    assert_eq!((undeclared.answer, undeclared.points), (AnswerKind::Environment, None));
    assert_eq!(answer_to(&report, "wrong_type", "name"), (AnswerKind::IsError, Some(100.0)));
}

/// A server that says the same of all that it refuses does not say that a wrong call was read as the right one.
#[test]
fn a_general_refusal_is_not_that_of_a_second_call() {
    let rules =
        json!([[["!name:string"], "!Invalid request"], [["&name"], "!Invalid request"], [[], "created {name}"]]);
    let report = answering(&[("create", fields(&[("name!", "string")]), rules)], &options());
    assert_eq!(report.tools[0].base.as_ref().unwrap().state, BaseState::Volatile);
    for kind in ["missing", "wrong_type"] {
        assert_eq!(answer_to(&report, kind, "name"), (AnswerKind::IsError, Some(25.0)), "{kind}");
    }
}

#[test]
fn a_server_starts_again_only_after_a_tool_that_may_write() {
    let starts = |writers: &[&str], options: &Options| {
        let tools: Vec<Value> = ["a", "b", "c", "d"]
            .iter()
            .map(|name| json!({"name": name, "inputSchema": fields(&[("id!", "string")]), "annotations": {"readOnlyHint": !writers.contains(name)}}))
            .collect();
        let rules: serde_json::Map<String, Value> =
            ["a", "b", "c", "d"].iter().map(|name| ((*name).to_owned(), json!([[[], "ok"]]))).collect();
        let document = json!({"tools": tools, "rules": rules});
        let (report, starts) = try_audit(&format!("answers\n{document}"), options);
        (report.unwrap().tools.len(), starts)
    };
    let all = Options { allow_writes: true, ..options() };
    for (writers, expected) in [(&[][..], 1), (&["b"], 2), (&["a", "b", "c"], 4), (&["d"], 1)] {
        assert_eq!(starts(writers, &all), (4, expected), "{writers:?}");
    }
    let named = |names: &[&str]| Options { tools: names.iter().map(|name| (*name).to_owned()).collect(), ..options() };
    assert_eq!(starts(&["b", "c"], &named(&["a", "c", "d"])), (3, 2));
    assert_eq!(starts(&["b", "c"], &named(&["a", "c"])), (2, 1));
}
