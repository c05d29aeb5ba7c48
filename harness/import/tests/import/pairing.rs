//! Results and the calls that they belong to.

use healbench_import::ProblemKind;
use serde_json::{Value, json};

use super::{outline, read};

fn chat(messages: Value) -> String {
    json!({ "messages": messages }).to_string()
}

fn call(id: &str, name: &str) -> Value {
    json!({"id": id, "function": {"name": name, "arguments": "{}"}})
}

fn result(id: &str, text: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": text})
}

fn turn(calls: &[Value]) -> Value {
    json!({"role": "assistant", "content": null, "tool_calls": calls})
}

const END: &str = "turn end\n";

fn check(messages: &[Value], expected: &str, problems: &[ProblemKind]) {
    let mut messages = messages.to_vec();
    messages.push(json!({"role": "assistant", "content": "end"}));
    let all = read("a.json", &chat(messages.into()), problems);
    assert_eq!(outline(&all[0]), format!("{expected}{END}"));
}

#[test]
fn without_ids_results_come_in_the_order_of_calls() {
    let messages = [turn(&[call("", "a"), call("", "b")]), result("", "A"), result("", "B")];
    check(&messages, "turn \ncall a{} -> A\ncall b{} -> B\n", &[]);
}

#[test]
fn equal_ids_in_a_turn_are_told_and_taken_in_order() {
    let messages =
        [turn(&[call("1", "a"), call("1", "b"), call("2", "c")]), result("2", "C"), result("1", "A"), result("1", "B")];
    check(&messages, "turn \ncall a{} -> A\ncall b{} -> B\ncall c{} -> C\n", &[ProblemKind::DuplicateId]);
}

#[test]
fn ids_may_come_again_in_later_turns() {
    let messages = [turn(&[call("1", "a")]), result("1", "A"), turn(&[call("1", "b")]), result("1", "B")];
    check(&messages, "turn \ncall a{} -> A\nturn \ncall b{} -> B\n", &[]);
}

#[test]
fn a_late_result_finds_its_turn() {
    let messages = [
        turn(&[call("1", "a"), call("2", "b")]),
        result("1", "A"),
        turn(&[call("3", "c")]),
        result("3", "C"),
        result("2", "B"),
    ];
    check(&messages, "turn \ncall a{} -> A\ncall b{} -> B\nturn \ncall c{} -> C\n", &[]);
}

#[test]
fn a_second_result_of_a_call_is_told() {
    let messages = [turn(&[call("1", "a")]), result("1", "A"), result("1", "again")];
    check(&messages, "turn \ncall a{} -> A\n", &[ProblemKind::DuplicateId]);
}

#[test]
fn a_call_without_a_result_is_told() {
    let messages = [turn(&[call("1", "a"), call("2", "b")]), result("2", "B")];
    check(&messages, "turn \ncall a{} -> nothing\ncall b{} -> B\n", &[ProblemKind::NoResult]);
}

#[test]
fn a_result_without_a_call_is_told() {
    check(&[result("9", "nobody asked")], "", &[ProblemKind::NoCall]);
    let messages = [turn(&[call("1", "a")]), result("9", "other"), result("1", "A")];
    check(&messages, "turn \ncall a{} -> A\n", &[ProblemKind::NoCall]);
}

#[test]
fn calls_that_were_sent_before_any_result_are_one_turn() {
    let messages = [turn(&[call("1", "a")]), turn(&[call("2", "b")]), result("1", "A"), result("2", "B")];
    check(&messages, "turn \ncall a{} -> A\ncall b{} -> B\n", &[]);
}

#[test]
fn arguments_that_are_no_object_are_kept_as_text() {
    let odd = |arguments: Value| json!({"id": "1", "function": {"name": "a", "arguments": arguments}});
    for (arguments, expected, problems) in [
        (json!("{\"x\": "), "\"{\\\"x\\\": \"", &[ProblemKind::ArgumentsNoJson][..]),
        (json!("[1]"), "\"[1]\"", &[ProblemKind::ArgumentsNoJson]),
        (json!([1]), "\"[1]\"", &[ProblemKind::ArgumentsNoJson]),
        (json!(""), "{}", &[]),
        (json!(null), "{}", &[]),
        (json!({"x": 1}), "{\"x\":1}", &[]),
    ] {
        let messages = [turn(&[odd(arguments)]), result("1", "A")];
        check(&messages, &format!("turn \ncall a{expected} -> A\n"), problems);
    }
}

#[test]
fn a_conversation_that_ends_with_calls_is_cut_off() {
    let all = read("a.json", &chat(json!([turn(&[call("1", "a")]), result("1", "A")])), &[ProblemKind::CutOff]);
    assert!(all[0].is_cut_off);
}

#[test]
fn an_id_that_tells_nothing_puts_a_turn_in_order() {
    let messages = [turn(&[call("x", "a"), call("", "b")]), result("", "A"), result("x", "B")];
    check(&messages, "turn \ncall a{} -> A\ncall b{} -> B\n", &[]);
    let own = |id: &str, text: &str| json!({"role": "tool", "id": id, "content": text});
    let messages = [turn(&[call("1", "a"), call("2", "b")]), own("m1", "A"), own("m2", "B")];
    check(&messages, "turn \ncall a{} -> A\ncall b{} -> B\n", &[]);
    let messages = [turn(&[call("1", "a"), call("2", "b")]), result("1", "A"), result("1", "B")];
    check(&messages, "turn \ncall a{} -> A\ncall b{} -> B\n", &[]);
    // A result that is missing leaves the others to their calls.
    let messages = [turn(&[call("1", "a"), call("2", "b"), call("", "c")]), result("2", "B"), result("9", "A")];
    check(&messages, "turn \ncall a{} -> A\ncall b{} -> B\ncall c{} -> nothing\n", &[ProblemKind::NoResult]);
}

#[test]
fn a_turn_of_many_calls_takes_no_longer_than_its_calls() {
    let ids: Vec<String> = (0..50_000).map(|n| n.to_string()).collect();
    let calls: Vec<Value> = ids.iter().map(|id| call(id, "a")).collect();
    let mut messages = vec![turn(&calls)];
    messages.extend(ids.iter().rev().map(|id| result(id, id)));
    messages.push(json!({"role": "assistant", "content": "end"}));
    let all = read("a.json", &chat(messages.into()), &[]);
    assert!(outline(&all[0]).starts_with("turn \ncall a{} -> 0\ncall a{} -> 1\n"));
}
