use std::io::Write as _;
use std::process::Stdio;

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::*;

const TOOLS: &str = r#"{"tools": [{
    "name": "users",
    "description": "Manage user accounts",
    "actions": {
        "create": {
            "properties": {"email": {"type": "string", "format": "email"}, "role": {"enum": ["admin", "user"]}},
            "required": ["email", "role"]
        },
        "list": {}
    }
}, {
    "name": "ping",
    "inputSchema": {"type": "object", "properties": {"times": {"type": "integer", "minimum": 1}}},
    "annotations": {"readOnlyHint": true}
}]}"#;

/// The program with these words, and `input` on its standard input.
fn piped(place: &Place, words: &[&str], input: &str) -> Ended {
    let mut command = place.command(words);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    Ended::of(child.wait_with_output().unwrap())
}

fn lines(out: &str) -> Vec<Value> {
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Error kind and failing fields, as `fusion-xml` tells them.
fn told(result: &Value) -> (String, Vec<String>) {
    let text = result["content"][0]["text"].as_str().unwrap();
    let after = |start: &str| text.split(start).nth(1).and_then(|rest| rest.split('"').next()).map(str::to_owned);
    if result["isError"] == json!(false) {
        return ("ok".to_owned(), Vec::new());
    }
    let kind = after("<tool_error code=\"").unwrap_or_else(|| "VALIDATION".to_owned());
    let mut fields: Vec<String> =
        text.split("<field name=\"").skip(1).filter_map(|rest| rest.split('"').next()).map(str::to_owned).collect();
    fields.sort();
    fields.dedup();
    (kind, fields)
}

#[test]
fn the_vectors_of_the_original_agree() {
    let vectors: Value = serde_json::from_str(include_str!("../fixtures/fusion-vectors.json")).unwrap();
    let place = Place::new();
    place.write("vectors.json", &vectors.to_string());
    let vectors = vectors["vectors"].as_array().unwrap();
    let input: String = vectors.iter().map(|vector| format!("{vector}\n")).collect();
    let ended = piped(&place, &["call", "--tools", "vectors.json"], &input);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let answers = lines(&ended.out);
    assert_eq!(answers.len(), vectors.len());
    for (vector, answer) in vectors.iter().zip(&answers) {
        let mut fields: Vec<String> = serde_json::from_value(vector["fields"].clone()).unwrap();
        fields.sort();
        let expected = (vector["kind"].as_str().unwrap().to_owned(), fields);
        assert_eq!(told(answer), expected, "{vector}");
        assert_eq!(answer["isError"], vector["is_error"], "{vector}");
    }
}

#[test]
fn a_line_that_is_no_call_is_an_error_in_its_place() {
    let place = Place::new();
    place.write("tools.json", TOOLS);
    let input = "\u{feff}{\"tool\": \"ping\", \"id\": 7}
{\"tool\": \"ping\", \"arguments\": {\"times\": 0}

[1]
{\"arguments\": {}}
{\"tool\": \"ping\", \"argumnets\": {}}
{\"name\": \"ping\", \"arguments\": {\"times\": 2}}";
    let ended = piped(&place, &["call", "--tools", "tools.json", "--guardrails", "none"], input);
    assert_eq!(ended.code, Some(2));
    let ok = json!({"content": [{"type": "text", "text": "OK"}], "isError": false});
    let error = |line: u64, message: &str| json!({"error": {"line": line, "message": message}});
    assert_eq!(
        lines(&ended.out),
        [
            ok.clone(),
            error(2, "not JSON: EOF while parsing an object at column 42"),
            error(4, "a call is an object with `tool` and `arguments`"),
            error(5, "a call names its tool, as in {\"tool\": \"billing\", \"arguments\": {}}"),
            error(6, "there is no `arguments`"),
            ok,
        ]
    );
    assert!(ended.err.contains("4 lines"), "{}", ended.err);
}

#[test]
fn all_formats_side_by_side() {
    let place = Place::new();
    place.write("tools.json", TOOLS);
    let arguments = r#"{"action": "create", "email": "bad-email", "role": "root", "priority": 1}"#;
    let words = ["call", "--tools", "tools.json", "--format", "all", "users", arguments];
    assert_snapshot!(place.ok(&words).out);
    // As data: the texts that are shown, with the same counts.
    let data = place.ok(&[&words[..], &["--output", "json"]].concat()).out;
    let [all] = lines(&data).try_into().unwrap();
    assert_eq!(all.as_object().unwrap().len(), 8);
    assert_eq!(all["fusion-xml"]["result"]["isError"], json!(true));
    assert!(all.as_object().unwrap().values().all(|format| format["tokens"].as_u64().unwrap() > 0));
}

#[test]
fn calls_act_on_one_world_one_after_the_other() {
    let place = Place::new();
    place.write("mine.yaml", SCENARIO);
    let create = r#"{"tool": "invoices", "arguments": {"action": "create", "customer": "Acme"}}"#;
    let list = r#"{"tool": "invoices", "arguments": {"action": "list"}}"#;
    let ended = piped(&place, &["call", "--scenario", "mine.yaml"], &format!("{list}\n{create}\n{list}\n"));
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let texts: Vec<String> =
        lines(&ended.out).iter().map(|line| line["content"][0]["text"].as_str().unwrap().to_owned()).collect();
    assert_eq!(texts, ["[]", r#"{"id":"INV-1","customer":"Acme"}"#, "[\n{\"id\":\"INV-1\",\"customer\":\"Acme\"}\n]"]);
}

const SCENARIO: &str = "\
id: mine
title: Invoices
task: {prompt: Enter an invoice for Acme., max_calls: 4}
tools:
  invoices:
    description: Manage invoices.
    actions:
      create:
        input: {properties: {customer: {type: string}}, required: [customer]}
        handler: {insert: invoices}
      list:
        input: {properties: {}}
        handler: {select: invoices}
world: {invoices: {key_prefix: INV-, rows: []}}
expect: [{row: {in: invoices, where: {customer: Acme}}}]
script: [{call: {tool: invoices, action: create, arguments: {customer: Acme}}}]
";

#[test]
fn what_cannot_answer_says_why() {
    let place = Place::new();
    place.write("tools.json", TOOLS);
    place.write(
        "broken.json",
        r#"{"tools": [{"name": "a"}, {"name": "b", "inputSchema": {"type": "array"}},
        {"name": "c", "inputschema": {}}, {"name": "d", "actions": {"x": {"properties": {"y": {"type": "strin"}}}}}]}"#,
    );
    place.write("own.jinja", "{% for issue in issues %}{{ isue.path }}{% endfor %}");
    let told = [
        vec!["call", "--tools", "broken.json", "b"],
        vec!["call", "--tools", "missing.json", "b"],
        vec!["call", "--tools", "tools.json", "ping", "{times: 1}"],
        vec!["call", "--tools", "tools.json", "--format", "fusion-yaml", "ping"],
        vec!["call", "--tools", "tools.json", "--format", "template:own.jinja", "ping"],
        vec!["call", "--tools", "tools.json", "--format", "template:none.jinja", "ping"],
        vec!["call", "--scenario", "quickstart", "ping"],
        vec!["call", "ping"],
    ]
    .map(|words| {
        let ended = place.start(&words);
        assert_eq!(ended.code, Some(2), "{words:?}");
        format!("$ healbench {}\n{}", words.join(" "), ended.err)
    });
    assert_snapshot!(told.join("\n"));
}

#[test]
fn a_template_of_ones_own_is_an_error_format_of_a_run() {
    let place = Place::new();
    place.write("mine.yaml", SCENARIO);
    place.write("own.jinja", "{{ code }}: {% for issue in issues %}{{ issue.path }} {% endfor %}");
    let words = ["run", "mine.yaml", "--trials", "1", "--agent", "scripted:perfect", "--guardrails", "all"];
    place.ok(&[&words[..], &["--format", "template:own.jinja", "--out", "own"]].concat());
    // The run has all that it needs, though the file is gone.
    std::fs::remove_file(place.path("own.jinja")).unwrap();
    assert!(place.ok(&["report", "own"]).out.contains("template:own.jinja"));
    let shown = place.ok(&["show", "own", "--format", "template:own.jinja"]).out;
    assert!(shown.contains("all/template:own.jinja"), "{shown}");
    let shown = place.ok(&["show", "own", "--format", "fusion-xml"]).out;
    assert!(shown.contains("all/fusion-xml") && shown.contains("Played now"), "{shown}");
}
