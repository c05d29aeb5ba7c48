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

/// Runs the program with these arguments and `input` on its standard input.
fn piped(sandbox: &Sandbox, args: &[&str], input: &str) -> CommandResult {
    let mut command = sandbox.command(args);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    CommandResult::new(child.wait_with_output().unwrap())
}

fn lines(out: &str) -> Vec<Value> {
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns the error kind and the failing fields of a `fusion-xml` response.
fn error_summary(result: &Value) -> (String, Vec<String>) {
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
fn the_reference_vectors_agree() {
    let vectors: Value = serde_json::from_str(include_str!("../fixtures/fusion-vectors.json")).unwrap();
    let sandbox = Sandbox::new();
    sandbox.write("vectors.json", &vectors.to_string());
    let vectors = vectors["vectors"].as_array().unwrap();
    let input: String = vectors.iter().map(|vector| format!("{vector}\n")).collect();
    let result = piped(&sandbox, &["call", "--tools", "vectors.json"], &input);
    assert_eq!(result.code, Some(0), "{}", result.err);
    let answers = lines(&result.out);
    assert_eq!(answers.len(), vectors.len());
    for (vector, answer) in vectors.iter().zip(&answers) {
        let mut fields: Vec<String> = serde_json::from_value(vector["fields"].clone()).unwrap();
        fields.sort();
        let expected = (vector["kind"].as_str().unwrap().to_owned(), fields);
        assert_eq!(error_summary(answer), expected, "{vector}");
        assert_eq!(answer["isError"], vector["is_error"], "{vector}");
    }
}

#[test]
fn an_invalid_line_is_answered_with_an_error() {
    let sandbox = Sandbox::new();
    sandbox.write("tools.json", TOOLS);
    let input = "\u{feff}{\"tool\": \"ping\", \"id\": 7}
{\"tool\": \"ping\", \"arguments\": {\"times\": 0}

[1]
{\"arguments\": {}}
{\"tool\": \"ping\", \"argumnets\": {}}
{\"name\": \"ping\", \"arguments\": {\"times\": 2}}";
    let result = piped(&sandbox, &["call", "--tools", "tools.json", "--guardrails", "none"], input);
    assert_eq!(result.code, Some(2));
    let ok = json!({"content": [{"type": "text", "text": "OK"}], "isError": false});
    let error = |line: u64, message: &str| json!({"error": {"line": line, "message": message}});
    assert_eq!(
        lines(&result.out),
        [
            ok.clone(),
            error(2, "not JSON: EOF while parsing an object at column 42"),
            error(4, "a call is an object with `tool` and `arguments`"),
            error(5, "a call names its tool, as in {\"tool\": \"billing\", \"arguments\": {}}"),
            error(6, "there is no `arguments`"),
            ok,
        ]
    );
    assert!(result.err.contains("4 lines"), "{}", result.err);
}

#[test]
fn all_formats_side_by_side() {
    let sandbox = Sandbox::new();
    sandbox.write("tools.json", TOOLS);
    let arguments = r#"{"action": "create", "email": "bad-email", "role": "root", "priority": 1}"#;
    let args = ["call", "--tools", "tools.json", "--format", "all", "users", arguments];
    assert_snapshot!(sandbox.ok(&args).out);
    // The JSON output has the same texts and counts.
    let data = sandbox.ok(&[&args[..], &["--output", "json"]].concat()).out;
    let [all] = lines(&data).try_into().unwrap();
    assert_eq!(all.as_object().unwrap().len(), 13);
    assert_eq!(all["fusion-xml"]["result"]["isError"], json!(true));
    assert!(all.as_object().unwrap().values().all(|format| format["tokens"].as_u64().unwrap() > 0));
}

#[test]
fn numbers_are_shown_as_they_were_sent() {
    let sandbox = Sandbox::new();
    let properties =
        r#"{"n": {"type": "integer", "maximum": 9}, "l": {"type": "array", "maxItems": 1}, "s": {"type": "string"}}"#;
    let tools = format!(r#"[{{"name": "t", "inputSchema": {{"type": "object", "properties": {properties}}}}}]"#);
    sandbox.write("tools.json", &tools);
    let arguments = r#"{"n": 1e2, "l": [1.50, {"a/b": -0}, "x"], "s": 123456789012345678901234567890}"#;
    let sent = ["You sent: 1e2.", r#"You sent: [1.50,{"a/b":-0},"x"]."#, "You sent: 123456789012345678901234567890."];
    for format in ["fusion-xml", "fusion-text"] {
        let args = ["call", "--tools", "tools.json", "--format", format, "--output", "text"];
        let one = sandbox.ok(&[&args[..], &["t", arguments]].concat()).out;
        let line = format!(r#"{{"tool": "t", "arguments": {arguments}}}"#);
        let piped = piped(&sandbox, &args, &line).out;
        for shown in [one, piped] {
            assert!(sent.iter().all(|sent| shown.contains(sent)), "{shown}");
        }
    }
}

#[test]
fn calls_act_on_one_world_one_after_the_other() {
    let sandbox = Sandbox::new();
    sandbox.write("mine.yaml", SCENARIO);
    let create = r#"{"tool": "invoices", "arguments": {"action": "create", "customer": "Acme"}}"#;
    let list = r#"{"tool": "invoices", "arguments": {"action": "list"}}"#;
    let result = piped(&sandbox, &["call", "--scenario", "mine.yaml"], &format!("{list}\n{create}\n{list}\n"));
    assert_eq!(result.code, Some(0), "{}", result.err);
    let texts: Vec<String> =
        lines(&result.out).iter().map(|line| line["content"][0]["text"].as_str().unwrap().to_owned()).collect();
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
fn answers_are_written_to_a_file() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["new", "--template", "library-state"]);
    let call = ["call", "--scenario", "library-state.yaml", "books", r#"{"action": "get", "book": "B-9"}"#, "--output"];
    for form in ["json", "text"] {
        let printed = sandbox.ok(&[&call[..], &[form]].concat()).out;
        let file = format!("{form}=answer");
        assert_eq!(sandbox.ok(&[&call[..], &[&file]].concat()).out, "");
        assert_eq!(std::fs::read_to_string(sandbox.path("answer")).unwrap(), printed);
        assert!(!printed.is_empty());
    }
    let text = std::fs::read_to_string(sandbox.path("library-state.yaml")).unwrap();
    let refused = sandbox.start(&[&call[..], &["json=library-state.yaml"]].concat());
    assert_eq!(refused.code, Some(2), "{}", refused.err);
    assert_eq!(std::fs::read_to_string(sandbox.path("library-state.yaml")).unwrap(), text);
    assert_eq!(sandbox.start(&[&call[..], &["jsno"]].concat()).code, Some(2));
}

#[test]
fn errors_before_the_first_call_are_explained() {
    let sandbox = Sandbox::new();
    sandbox.write("tools.json", TOOLS);
    sandbox.write(
        "broken.json",
        r#"{"tools": [{"name": "a"}, {"name": "b", "inputSchema": {"type": "array"}},
        {"name": "c", "inputschema": {}}, {"name": "d", "actions": {"x": {"properties": {"y": {"type": "strin"}}}}}]}"#,
    );
    sandbox.write("own.jinja", "{% for issue in issues %}{{ isue.path }}{% endfor %}");
    let errors = [
        vec!["call", "--tools", "broken.json", "b"],
        vec!["call", "--tools", "missing.json", "b"],
        vec!["call", "--tools", "tools.json", "ping", "{times: 1}"],
        vec!["call", "--tools", "tools.json", "--format", "fusion-yaml", "ping"],
        vec!["call", "--tools", "tools.json", "--format", "template:own.jinja", "ping"],
        vec!["call", "--tools", "tools.json", "--format", "template:none.jinja", "ping"],
        vec!["call", "--scenario", "quickstart", "ping"],
        vec!["call", "ping"],
    ]
    .map(|args| {
        let result = sandbox.start(&args);
        assert_eq!(result.code, Some(2), "{args:?}");
        format!("$ healbench {}\n{}", args.join(" "), result.err)
    });
    assert_snapshot!(errors.join("\n"));
}

#[test]
fn a_bad_tool_of_a_list_is_reported_and_the_others_answer() {
    let sandbox = Sandbox::new();
    // Real answers are one long line.
    let padding = "x".repeat(5_000);
    let list = format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{{"name":"ping","description":"{padding}","inputSchema":{{"type":"object"}}}},{{"name":"bad","inputSchema":{{"type":"array"}}}},{{"name":"pair","inputSchema":{{"$schema":"http://json-schema.org/draft-07/schema#","properties":{{"at":{{"type":"array","items":[{{"type":"number"}}]}}}}}}}}]}}}}"#
    );
    sandbox.write("list.json", &list);
    let result = sandbox.ok(&["call", "--tools", "list.json", "ping"]);
    assert!(result.out.contains("OK"), "{}", result.out);
    assert!(result.err.lines().all(|line| line.chars().count() < 300), "{}", result.err);
    assert_snapshot!(result.err);
    let refused = |args: &[&str]| sandbox.ok(args).out.contains("\"isError\":true");
    assert!(refused(&["call", "--tools", "list.json", "bad"]));
    assert!(refused(&["call", "--tools", "list.json", "pair", r#"{"at": ["x"]}"#]));
    assert!(!refused(&["call", "--tools", "list.json", "pair", r#"{"at": [1]}"#]));
}

#[test]
fn a_custom_template_is_an_error_format_of_a_run() {
    let sandbox = Sandbox::new();
    sandbox.write("mine.yaml", SCENARIO);
    sandbox.write("own.jinja", "{{ code }}: {% for issue in issues %}{{ issue.path }} {% endfor %}");
    let args = ["run", "mine.yaml", "--trials", "1", "--agent", "scripted:perfect", "--guardrails", "all"];
    sandbox.ok(&[&args[..], &["--format", "template:own.jinja", "--out", "own"]].concat());
    // The run contains a copy of the template.
    std::fs::remove_file(sandbox.path("own.jinja")).unwrap();
    assert!(sandbox.ok(&["report", "own"]).out.contains("template:own.jinja"));
    let shown = sandbox.ok(&["show", "own", "--format", "template:own.jinja"]).out;
    assert!(shown.contains("all/template:own.jinja"), "{shown}");
    let shown = sandbox.ok(&["show", "own", "--format", "fusion-xml"]).out;
    assert!(shown.contains("all/fusion-xml") && shown.contains("Run now"), "{shown}");
}

#[test]
fn a_success_carries_content_that_fits_the_output_schema() {
    let schema = json!({"type": "object", "additionalProperties": false, "required": ["temperature", "at"], "properties": {
        "temperature": {"type": "number", "maximum": -1},
        "at": {"type": "string", "format": "date-time"},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 2, "uniqueItems": true},
    }});
    let tool =
        |name: &str, output: Value| json!({"name": name, "inputSchema": {"type": "object"}, "outputSchema": output});
    let never = json!({"type": "object", "required": ["a"], "properties": {"a": false}});
    let sandbox = Sandbox::new();
    sandbox.write("tools.json", &json!([tool("weather", schema.clone()), tool("never", never)]).to_string());
    let input = r#"{"tool": "weather", "arguments": {}}
{"tool": "weather", "arguments": {"x": 1}}
{"tool": "never", "arguments": {}}
"#;
    let result = piped(&sandbox, &["call", "--tools", "tools.json"], input);
    let answers = lines(&result.out);
    let structured = &answers[0]["structuredContent"];
    assert!(jsonschema::is_valid(&schema, structured), "{structured}");
    let text = answers[0]["content"][0]["text"].as_str().unwrap();
    assert_eq!(&serde_json::from_str::<Value>(text).unwrap(), structured);
    assert_eq!(answers[0]["isError"], json!(false));
    // Clients validate the structured content of errors too, so errors have none.
    for answer in &answers[1..] {
        assert_eq!((&answer["isError"], answer.get("structuredContent")), (&json!(true), None), "{answer}");
    }
    let all = piped(&sandbox, &["call", "--tools", "tools.json", "--format", "all", "--output", "json"], input);
    assert_eq!(&lines(&all.out)[0]["serde"]["result"]["structuredContent"], structured);
}
