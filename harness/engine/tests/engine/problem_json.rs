//! Tests of `problem-json`: RFC 9457 for the document, RFC 6901 for the pointers.

use healbench_core::ErrorFormat::{FusionText, ProblemJson};
use healbench_engine::definition::{Code, Severity, ToolFailure};
use proptest::prelude::*;

use super::*;

fn problem(tools: &[Tool], tool: &str, arguments: Value) -> Value {
    let shown = text(tools, ProblemJson, tool, arguments);
    assert!(shown.ends_with("\n}"), "{shown}");
    serde_json::from_str(&shown).unwrap()
}

/// Returns the tool error of an action that fails with `failure`.
fn tool_error(failure: ToolFailure) -> String {
    text(&[tool("t", vec![action("a", json!({}), Handler::Fail(failure))])], ProblemJson, "t", json!({"action": "a"}))
}

/// Returns the only error for one value of a property `x`.
fn error(property: Value, sent: Value) -> Value {
    let schema = json!({"properties": {"x": property}});
    let problem = problem(&[tool("t", vec![ok("a", schema)])], "t", json!({"action": "a", "x": sent}));
    assert_eq!((&problem["status"], &problem["errors"].as_array().unwrap().len()), (&json!(422), &1));
    problem["errors"][0].clone()
}

/// Resolves a URI fragment.
fn resolve<'a>(document: &'a Value, fragment: &str) -> Option<&'a Value> {
    let encoded = fragment.strip_prefix('#').unwrap();
    assert!(encoded.is_ascii());
    let mut bytes = Vec::new();
    let mut rest = encoded.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first == b'%' {
            bytes.push(u8::from_str_radix(std::str::from_utf8(&tail[..2]).unwrap(), 16).unwrap());
            rest = &tail[2..];
        } else {
            assert!(first.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@?/".contains(first));
            bytes.push(*first);
        }
    }
    document.pointer(&String::from_utf8(bytes).unwrap())
}

#[test]
fn a_validation_failure() {
    let create = json!({
        "properties": {"email": {"type": "string", "format": "email"}, "age": {"type": "integer", "minimum": 18}},
        "required": ["email", "age"],
    });
    let tools = [tool("users", vec![ok("create", create)])];
    let arguments = json!({"action": "create", "nick name": "x", "age": 15});
    insta::assert_snapshot!(text(&tools, ProblemJson, "users", arguments), @r##"
    {
      "type": "about:blank",
      "title": "Unprocessable Content",
      "status": 422,
      "detail": "The arguments of users/create are not valid.",
      "code": "VALIDATION",
      "errors": [
        {
          "detail": "Required.",
          "pointer": "#/email",
          "expected": [
            "string"
          ]
        },
        {
          "detail": "Number must be greater than or equal to 18.",
          "pointer": "#/age",
          "measure": "number",
          "relation": ">=",
          "limit": 18,
          "received": 15
        },
        {
          "detail": "Unrecognized key(s) in object: 'nick name'. Remove or correct unrecognized fields: 'nick name'. Check for typos.",
          "pointer": "#/nick%20name",
          "received": "x"
        }
      ],
      "recovery": "Fix the fields above and call the tool again. Do not explain the error."
    }
    "##);
}

#[test]
fn routing_failures() {
    let tools = [tool("billing", vec![ok("list", json!({})), ok("create", json!({}))])];
    insta::assert_snapshot!(text(&tools, ProblemJson, "billing", json!({})), @r##"
    {
      "type": "about:blank",
      "title": "Bad Request",
      "status": 400,
      "detail": "The required field \"action\" is missing.",
      "code": "MISSING_DISCRIMINATOR",
      "available_actions": [
        "list",
        "create"
      ],
      "recovery": "Add the \"action\" field and call the tool again."
    }
    "##);
    insta::assert_snapshot!(text(&tools, ProblemJson, "billing", json!({"action": "creat"})), @r##"
    {
      "type": "about:blank",
      "title": "Bad Request",
      "status": 400,
      "detail": "The action \"creat\" does not exist.",
      "code": "UNKNOWN_ACTION",
      "available_actions": [
        "list",
        "create"
      ],
      "recovery": "Choose a valid action from available_actions and call the tool again."
    }
    "##);
    insta::assert_snapshot!(text(&tools, ProblemJson, "biling", json!({})), @r##"
    {
      "type": "about:blank",
      "title": "Not Found",
      "status": 404,
      "detail": "The tool \"biling\" does not exist.",
      "code": "UNKNOWN_TOOL",
      "available_tools": [
        "billing"
      ],
      "recovery": "Choose a valid tool from available_tools and call it."
    }
    "##);
}

#[test]
fn tool_errors() {
    let full = ToolFailure {
        recovery: Some("Wait, then retry.".to_owned()),
        available_actions: vec!["billing.list".to_owned()],
        details: vec![("limit".to_owned(), "100/min".into())],
        retry_after: Some(30),
        severity: Some(Severity::Critical),
        ..ToolFailure::new("RATE_LIMITED", "Too many requests.")
    };
    insta::assert_snapshot!(tool_error(full), @r##"
    {
      "type": "about:blank",
      "title": "Too Many Requests",
      "status": 429,
      "detail": "Too many requests.",
      "code": "RATE_LIMITED",
      "severity": "critical",
      "available_actions": [
        "billing.list"
      ],
      "recovery": "Wait, then retry.",
      "details": {
        "limit": "100/min"
      },
      "retry_after": 30
    }
    "##);
    insta::assert_snapshot!(tool_error(ToolFailure::error("Project not found")), @r##"
    {
      "type": "about:blank",
      "title": "Unprocessable Content",
      "status": 422,
      "detail": "Project not found"
    }
    "##);
}

#[test]
fn each_code_has_its_status() {
    let status = |code: &str| {
        let problem: Value = serde_json::from_str(&tool_error(ToolFailure::new(code, "No."))).unwrap();
        assert_eq!(problem["code"], code);
        (problem["status"].as_u64().unwrap(), problem["title"].as_str().unwrap().to_owned())
    };
    let all: Vec<String> = Code::ALL.iter().map(|code| format!("{} {:?}", code.name(), status(code.name()))).collect();
    insta::assert_snapshot!(all.join("\n"), @r##"
    NOT_FOUND (404, "Not Found")
    VALIDATION_ERROR (422, "Unprocessable Content")
    UNAUTHORIZED (401, "Unauthorized")
    FORBIDDEN (403, "Forbidden")
    CONFLICT (409, "Conflict")
    RATE_LIMITED (429, "Too Many Requests")
    TIMEOUT (504, "Gateway Timeout")
    INTERNAL_ERROR (500, "Internal Server Error")
    DEPRECATED (410, "Gone")
    SERVER_BUSY (503, "Service Unavailable")
    "##);
    assert_eq!(status("CreditHold"), (422, "Unprocessable Content".to_owned()));
}

#[test]
fn a_warning_says_so_and_is_no_error() {
    let warning = ToolFailure { severity: Some(Severity::Warning), ..ToolFailure::new("DEPRECATED", "Use v2.") };
    let tools = [tool("t", vec![action("a", json!({}), Handler::Fail(warning))])];
    let answer = answer(&tools, "all", ProblemJson, "t", json!({"action": "a"}));
    assert!(!answer.response.is_error);
    assert!(answer.response.text().contains("\"severity\": \"warning\""));
}

#[test]
fn each_issue_kind_has_its_members() {
    let detailed = [
        (json!({"type": "integer"}), json!("5"), json!({"expected": ["integer"]})),
        (json!({"enum": ["a", "b"]}), json!("c"), json!({"options": ["a", "b"]})),
        (json!({"type": "string", "enum": ["a"]}), json!(1), json!({"options": ["a"]})),
        (json!({"minimum": 2}), json!(1), json!({"measure": "number", "relation": ">=", "limit": 2})),
        (json!({"exclusiveMaximum": 2}), json!(2), json!({"measure": "number", "relation": "<", "limit": 2})),
        (json!({"maxLength": 1}), json!("ab"), json!({"measure": "characters", "relation": "<=", "limit": 1})),
        (json!({"minItems": 1}), json!([]), json!({"measure": "items", "relation": ">=", "limit": 1})),
        (json!({"minProperties": 1}), json!({}), json!({"measure": "properties", "relation": ">=", "limit": 1})),
        (json!({"format": "date"}), json!("x"), json!({"format": "date"})),
        (json!({"pattern": "^a"}), json!("x"), json!({"pattern": "^a"})),
        (json!({"multipleOf": 5}), json!(7), json!({"multiple_of": 5})),
        (json!({"uniqueItems": true}), json!([1, 1]), json!({})),
        (json!({"not": {}}), json!(1), json!({})),
    ];
    for (property, sent, known) in detailed {
        let mut error = object(error(property.clone(), sent.clone()));
        assert!(error.shift_remove("detail").unwrap().as_str().unwrap().len() > 5);
        assert_eq!(error.shift_remove("pointer").unwrap(), "#/x");
        assert_eq!(error.shift_remove("received").unwrap(), sent, "{property}");
        assert_eq!(Value::Object(error), known, "{property}");
    }
    let root = problem(&[tool("t", vec![ok("a", json!({}))])], "t", json!(["oops"]));
    assert_eq!(root["errors"][0]["pointer"], "#");
    assert_eq!(root["errors"][0]["received"], json!(["oops"]));
}

#[test]
fn every_fact_of_the_fusion_text_is_there() {
    let schema = json!({
        "properties": {
            "email": {"type": "string", "format": "email"}, "role": {"enum": ["admin", "user"]},
            "age": {"type": "integer", "minimum": 18}, "code": {"type": "string", "pattern": "^PRJ"},
        },
        "required": ["email", "role", "age", "code"],
    });
    let tools = [tool("users", vec![ok("create", schema)])];
    let arguments =
        json!({"action": "create", "email": "bad-email", "role": "root", "age": 7, "code": "x", "extra": 1});
    let facts =
        ["user@example.com", "admin", "user", "18", "^PRJ", "bad-email", "root", "7", "extra", "call the tool again"];
    for format in [FusionText, ProblemJson] {
        let shown = text(&tools, format, "users", arguments.clone());
        assert!(facts.iter().all(|fact| shown.contains(fact)), "{shown}");
    }
}

#[test]
fn pointers_lead_through_lists_and_names_with_dots() {
    let line = json!({"type": "object", "properties": {"a.b/c~d": {"type": "integer"}}, "required": ["q"]});
    let schema = json!({
        "properties": {"lines": {"type": "array", "items": line}, "lines.0": {"type": "object"}},
        "required": ["lines.0.q"],
    });
    let arguments = json!({"action": "a", "lines.0": {}, "lines": [{"a.b/c~d": "x"}]});
    let problem = problem(&[tool("t", vec![ok("a", schema)])], "t", arguments);
    let pointers: Vec<&str> =
        problem["errors"].as_array().unwrap().iter().map(|error| error["pointer"].as_str().unwrap()).collect();
    assert!(pointers.contains(&"#/lines/0/a.b~1c~0d"), "{pointers:?}");
    assert!(pointers.contains(&"#/lines/0/q"), "{pointers:?}");
}

#[test]
fn contract_changes_are_a_member() {
    let now = json!({"properties": {"a": {"type": "integer"}}, "required": ["a"]});
    let before = tool("t", vec![ok("a", json!({"properties": {}}))]);
    let tools = [Tool { previous: Some(Box::new(before)), ..tool("t", vec![ok("a", now)]) }];
    let problem = problem(&tools, "t", json!({"action": "a"}));
    assert_eq!(problem["contract_changes"]["severity"], "BREAKING");
    assert_eq!(object(problem).keys().next_back().unwrap(), "contract_changes");
}

fn hostile() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[a./~%\"]{0,6}",
        Just("\"\n}\n".to_owned()),
        Just("\u{0}\u{1b}[31m\r\n\u{2028}\u{202e}".to_owned()),
    ]
}

proptest! {
    #[test]
    fn what_was_sent_comes_back_and_pointers_lead_to_it(
        value in hostile(), field in hostile(), extra in hostile(), inner in hostile(), action_name in hostile(),
    ) {
        prop_assume!(field != "action" && extra != "action" && field != extra);
        let nested = json!({
            "type": "object", "properties": {inner.clone(): {"type": "integer"}}, "additionalProperties": false,
        });
        let declared = json!({"properties": {field.clone(): {"type": "array", "items": nested}}, "required": [field]});
        let tools = [tool(&action_name, vec![ok(&action_name, declared)])];
        let arguments = json!({"action": action_name, field.clone(): [{}, {inner: value}], extra: value});
        let shown = problem(&tools, &action_name, arguments.clone());
        prop_assert_eq!(shown["detail"].as_str().unwrap(), format!("The arguments of {action_name}/{action_name} are not valid."));
        let errors = shown["errors"].as_array().unwrap();
        prop_assert_eq!(errors.len(), 2);
        for error in errors {
            prop_assert_eq!(&error["received"], &json!(value));
            prop_assert_eq!(resolve(&arguments, error["pointer"].as_str().unwrap()), Some(&error["received"]));
        }
    }

    #[test]
    fn a_missing_field_is_pointed_to_where_it_belongs(field in hostile(), outer in hostile()) {
        prop_assume!(outer != "action" && outer != "\"\"" && field != "\"\"");
        let nested = json!({"type": "object", "required": [field]});
        let tools = [tool("t", vec![ok("a", json!({"properties": {outer.clone(): nested}}))])];
        let mut arguments = json!({"action": "a", outer.clone(): {}});
        let shown = problem(&tools, "t", arguments.clone());
        let pointer = shown["errors"][0]["pointer"].as_str().unwrap();
        prop_assert_eq!(resolve(&arguments, pointer), None);
        arguments[&outer][&field] = json!("here");
        prop_assert_eq!(resolve(&arguments, pointer), Some(&json!("here")));
    }

    #[test]
    fn tool_errors_give_back_their_texts(text_in in hostile(), code in hostile(), key in hostile()) {
        let failure = ToolFailure {
            recovery: Some(text_in.clone()),
            available_actions: vec![text_in.clone()],
            details: vec![(key.clone(), text_in.clone().into())],
            ..ToolFailure::new(code.clone(), text_in.clone())
        };
        let shown = tool_error(failure.clone());
        prop_assert_eq!(&shown, &tool_error(failure));
        let parsed: Value = serde_json::from_str(&shown).unwrap();
        prop_assert_eq!(&parsed["detail"], &json!(text_in));
        prop_assert_eq!(&parsed["recovery"], &json!(text_in));
        prop_assert_eq!(&parsed["available_actions"], &json!([text_in]));
        prop_assert_eq!(&parsed["details"][&key], &json!(text_in));
        prop_assert_eq!(&parsed["code"], &json!(code));
    }
}
