//! The errors of document 001 that a scenario can make.

use healbench_core::{ErrorFormat, Guardrails, ToolCall, ToolResponse};
use serde_json::{Value, json};

use super::*;

/// Returns a scenario with one action `a`, which has `keys` besides its input and returns `done`.
fn yaml(keys: &str, handler: &str) -> String {
    format!(
        r#"
id: lab/errors
title: Errors
task: {{prompt: Do it., max_calls: 5}}
tools:
  t:
    description: Does it.
    actions:
      a:
        read_only: true
        input: {{properties: {{workspace_id: {{type: string}}, amount: {{type: integer}}}}}}
        handler: {handler}
{keys}
      list:
        input: {{}}
        handler: {{return: nothing}}
expect: [{{called: {{tool: t, action: list}}}}]
script: [{{call: {{tool: t, action: list}}}}]
"#
    )
}

fn ask(text: &str, guardrails: Guardrails, format: &ErrorFormat, mut arguments: Value) -> ToolResponse {
    let scenario = scenario(text);
    arguments["action"] = json!("a");
    let engine = Engine::new(&scenario.tools, guardrails, format).unwrap();
    let mut world = World::new(Arc::new(WorldBase::new(scenario.world(Seed(1), 0))));
    engine.call(&mut world, &ToolCall::new("t", arguments)).response
}

fn xml(keys: &str, handler: &str, arguments: Value) -> (String, bool) {
    let response = ask(&yaml(keys, handler), Guardrails::ALL, &ErrorFormat::FusionXml, arguments);
    (response.text().into_owned(), response.is_error)
}

fn problems(text: &str) -> Vec<String> {
    load_str("test.yaml", text, Syntax::Yaml).unwrap_err().iter().map(ToString::to_string).collect()
}

#[test]
fn a_rule_requires_an_argument_that_the_schema_does_not() {
    let rule = "        rules: [{required: {argument: workspace_id}}]";
    let expected = "\
<tool_error code=\"MISSING_REQUIRED_FIELD\">
  <message>Required field \"workspace_id\" is missing.</message>
  <recovery>Provide the \"workspace_id\" parameter and retry.</recovery>
</tool_error>";
    assert_eq!(xml(rule, "{return: done}", json!({})), (expected.to_owned(), true));
    // As in the document, `!input.workspace_id` holds for an empty value too.
    assert_eq!(xml(rule, "{return: done}", json!({"workspace_id": ""})), (expected.to_owned(), true));
    assert_eq!(xml(rule, "{return: done}", json!({"workspace_id": "w"})), ("done".to_owned(), false));
    let unknown = problems(&yaml("        rules: [{required: {argument: workspace}}]", "{return: done}"));
    assert!(unknown[0].contains("declares no argument `workspace`"), "{unknown:?}");
}

#[test]
fn an_error_can_have_a_code_and_no_severity() {
    let handler = "{fail: {code: MISSING_REQUIRED_FIELD, severity: none, message: No.}}";
    let expected = "<tool_error code=\"MISSING_REQUIRED_FIELD\">\n  <message>No.</message>\n</tool_error>";
    assert_eq!(xml("", handler, json!({})), (expected.to_owned(), true));
}

#[test]
fn details_are_any_scalars() {
    let handler =
        "{fail: {code: LIMIT, message: No., details: {text: a, count: 3, rate: 0.5, open: true, next: null}}}";
    let (text, _) = xml("", handler, json!({}));
    let details = "\
  <details>
    <detail key=\"text\">a</detail>
    <detail key=\"count\">3</detail>
    <detail key=\"rate\">0.5</detail>
    <detail key=\"open\">true</detail>
    <detail key=\"next\">null</detail>
  </details>";
    assert!(text.contains(details), "{text}");
    for format in [ErrorFormat::LlmFriendlyJson, ErrorFormat::ProblemJson] {
        let response = ask(&yaml("", handler), Guardrails::ALL, &format, json!({}));
        let body: Value = serde_json::from_str(&response.text()).unwrap();
        let details =
            [&body["details"], &body["error"]["details"]].into_iter().find(|value| value.is_object()).unwrap();
        assert_eq!(details, &json!({"text": "a", "count": 3, "rate": 0.5, "open": true, "next": null}), "{format}");
    }
    let nested = "{fail: {code: LIMIT, message: No., details: {list: [1]}}}";
    assert_eq!(problems(&yaml("", nested)).len(), 1);
}

#[test]
fn a_denial_states_whatever_another_error_states() {
    let rule = "        rules: [{deny: {message: No., code: QUOTA_EXCEEDED, severity: critical, recovery: Stop., \
                details: {left: 0}, available_actions: [t.list]}}]";
    let expected = "\
<tool_error code=\"QUOTA_EXCEEDED\" severity=\"critical\">
  <message>No.</message>
  <recovery>Stop.</recovery>
  <available_actions>
    <action>t.list</action>
  </available_actions>
  <details>
    <detail key=\"left\">0</detail>
  </details>
</tool_error>";
    assert_eq!(xml(rule, "{return: done}", json!({})), (expected.to_owned(), true));
    let plain = "        rules: [{deny: {message: No.}}]";
    assert!(
        xml(plain, "{return: done}", json!({})).0.starts_with("<tool_error code=\"FORBIDDEN\" severity=\"error\">")
    );
    let unknown =
        problems(&yaml("        rules: [{deny: {message: No., available_actions: [t.lst]}}]", "{return: done}"));
    assert!(unknown[0].contains("unknown action `t.lst`"), "{unknown:?}");
}

#[test]
fn a_warning_accompanies_a_result() {
    let keys = "        warning: {code: DEPRECATED, message: Use t.list instead., available_actions: [t.list]}";
    let warning = "\
<tool_error code=\"DEPRECATED\" severity=\"warning\">
  <message>Use t.list instead.</message>
  <available_actions>
    <action>t.list</action>
  </available_actions>
</tool_error>";
    let response = ask(&yaml(keys, "{return: done}"), Guardrails::ALL, &ErrorFormat::FusionXml, json!({}));
    assert_eq!(
        (response.content.as_slice(), response.is_error),
        (["done".to_owned(), warning.to_owned()].as_slice(), false)
    );
    // A failure is told without the warning.
    let (failed, is_error) = xml(keys, "{return: done}", json!({"amount": "x"}));
    assert!(is_error && !failed.contains("DEPRECATED"), "{failed}");
    let bare = ask(&yaml(keys, "{return: done}"), Guardrails::NONE, &ErrorFormat::Bare, json!({}));
    assert_eq!((bare.text().as_ref(), bare.is_error), ("done\n\nWarning: Use t.list instead.", false));
    let error = keys.replace("code: DEPRECATED", "code: DEPRECATED, severity: error");
    assert!(problems(&yaml(&error, "{return: done}"))[0].contains("warning"));
    let unknown = keys.replace("[t.list]", "[t.lst]");
    assert!(problems(&yaml(&unknown, "{return: done}"))[0].contains("unknown action `t.lst`"));
}

#[test]
fn an_intended_call_with_undeclared_fields_is_reported_at_every_depth() {
    let with = |input: &str, arguments: &str| {
        let file = yaml("", "{return: done}").replace("{workspace_id: {type: string}, amount: {type: integer}}", input);
        file.replace(
            "{call: {tool: t, action: list}}",
            &format!("{{call: {{tool: t, action: a, arguments: {arguments}}}}}"),
        )
    };
    let nested = "{f: {type: array, items: {properties: {a: {}}}}}";
    let found = problems(&with(nested, "{f: [{a: 1, b: 2}]}"));
    assert_eq!(found, ["test.yaml:18:61: `t.a` declares no argument `f.0.b`"], "{found:?}");
    let found = problems(&with(nested, "{g: 1}"));
    assert_eq!(found, ["test.yaml:18:50: `t.a` declares no argument `g`"], "{found:?}");
    // The author allows other fields.
    scenario(&with("{f: {}}, additionalProperties: true", "{g: 1}"));
    scenario(&with("{f: {}}, required: [f], anyOf: [{properties: {g: {}}}]", "{f: 1, g: 1}"));
}
