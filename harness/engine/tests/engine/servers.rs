//! Tests of `zod-json` and `pydantic` against the answers of real servers. `fixtures/servers/README.md` describes the
//! recording.

use healbench_core::ErrorFormat::{Pydantic, ZodJson};
use healbench_core::ToolResponse;
use healbench_engine::definition::{Severity, ToolFailure};
use proptest::prelude::*;

use super::hostile::hostile;
use super::*;

const CORPUS: &str = include_str!("../fixtures/servers/corpus.json");
const TYPESCRIPT: &str = include_str!("../fixtures/servers/typescript.json");
const TYPESCRIPT_LINES: &str = include_str!("../fixtures/servers/typescript-lines.json");
const PYTHON: &str = include_str!("../fixtures/servers/python.json");

/// Calls for which zod's rules differ from JSON Schema.
const NOT_IN_TYPESCRIPT: [(&str, &str); 1] =
    [("tag with a default, missing where one branch fits", "a union cannot be read without its tag")];

/// Calls for which pydantic's rules differ from JSON Schema; most of them are accepted by pydantic.
const NOT_IN_PYTHON: [(&str, &str); 9] = [
    ("bool for integer", "True is an integer"),
    ("number in a string for integer", "a text that holds a number is one"),
    ("null in a string for integer", "the SDK reads what JSON it finds in a text, so that a null is shown"),
    ("JSON in a string for array", "the same, and it is the array that was meant"),
    ("word for boolean", "`yes` is a boolean"),
    ("date-time without a time", "a day begins at midnight"),
    ("date-time without a time zone", "a time zone is not asked for"),
    ("tag with a default, missing where one branch fits", "a union cannot be read without its tag"),
    ("action with a missing field", "a parameter cannot be required for one action only"),
];

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn corpus_tools(corpus: &Value) -> Vec<Tool> {
    let one = |described: &Value| {
        let handler = || match described["fails"].as_str() {
            Some(message) => Handler::Fail(ToolFailure::new("NOT_FOUND", message)),
            None => Handler::Return(json!("OK")),
        };
        let actions = described["actions"].as_array().unwrap();
        let compiled = |each: &Value| action(each["name"].as_str().unwrap(), each["input"].clone(), handler());
        Tool {
            discriminator: described["discriminator"].as_str().map(str::to_owned),
            ..tool(described["name"].as_str().unwrap(), actions.iter().map(compiled).collect())
        }
    };
    corpus["tools"].as_array().unwrap().iter().map(one).collect()
}

/// Returns the answers of the engine and of the server for every call of the corpus that is not in `except`.
fn answers(format: &ErrorFormat, recorded: &str, except: &[(&str, &str)]) -> Vec<(String, [ToolResponse; 2])> {
    let (corpus, recorded) = (parsed(CORPUS), parsed(recorded));
    let engine = Engine::new(&corpus_tools(&corpus), Guardrails::ALL, format).unwrap();
    let calls = corpus["calls"].as_array().unwrap();
    for (name, _) in except {
        assert!(calls.iter().any(|each| each["name"] == *name), "no call `{name}`");
    }
    let pair = |each: &Value| {
        let name = each["name"].as_str().unwrap();
        let call = call(each["tool"].as_str().unwrap(), each["arguments"].clone());
        let ours = engine.call(&mut world(WorldDef::default()), &call).response;
        let theirs = &recorded["answers"][name];
        let is_error = theirs["isError"].as_bool().unwrap();
        let theirs = ToolResponse { content: vec![theirs["text"].as_str().unwrap().to_owned()], is_error };
        if except.iter().any(|(excepted, _)| *excepted == name) {
            assert_ne!(ours, theirs, "`{name}` is no exception");
            return None;
        }
        Some((name.to_owned(), [ours, theirs]))
    };
    calls.iter().filter_map(pair).collect()
}

fn differences(answers: Vec<(String, [ToolResponse; 2])>) -> Vec<String> {
    let shown = |(name, [ours, theirs]): (String, [ToolResponse; 2])| {
        let text = || format!("# {name}\n--- engine\n{}\n--- server\n{}\n", ours.text(), theirs.text());
        (ours != theirs).then(text)
    };
    answers.into_iter().filter_map(shown).collect()
}

#[test]
fn zod_json_is_what_a_typescript_server_sends() {
    let differences = differences(answers(&ZodJson, TYPESCRIPT, &NOT_IN_TYPESCRIPT));
    assert!(differences.is_empty(), "{} differ\n{}", differences.len(), differences.join("\n"));
}

#[test]
fn pydantic_is_what_a_python_server_sends() {
    let differences = differences(answers(&Pydantic, PYTHON, &NOT_IN_PYTHON));
    assert!(differences.is_empty(), "{} differ\n{}", differences.len(), differences.join("\n"));
}

/// A newer SDK writes the same issues as lines.
#[test]
fn the_issues_match_the_lines_of_a_newer_sdk() {
    let lined = |(name, [ours, theirs]): (String, [ToolResponse; 2])| {
        let text = match ours.text().split_once(": [\n") {
            Some((before, issues)) => format!("{before}: {}", lines(&parsed(&format!("[{issues}")))),
            None => ours.text().into_owned(),
        };
        (name, [ToolResponse { content: vec![text], ..ours }, theirs])
    };
    let answers = answers(&ZodJson, TYPESCRIPT_LINES, &NOT_IN_TYPESCRIPT).into_iter().map(lined).collect();
    let differences = differences(answers);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

fn lines(issues: &Value) -> String {
    let line = |issue: &Value| {
        let mut place = String::new();
        for step in issue["path"].as_array().unwrap() {
            match step.as_str() {
                Some(name) if place.is_empty() => place = name.to_owned(),
                Some(name) => place.push_str(&format!(".{name}")),
                None => place.push_str(&format!("[{step}]")),
            }
        }
        let at = if place.is_empty() { String::new() } else { format!(" at {place}") };
        format!("{}{at}", issue["message"].as_str().unwrap())
    };
    issues.as_array().unwrap().iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Returns the error of a tool without a discriminator, called with `arguments`.
fn error_text(format: &ErrorFormat, properties: Value, arguments: Value) -> String {
    let tools = [Tool { discriminator: None, ..tool("t", vec![ok("t", json!({ "properties": properties }))]) }];
    text(&tools, format.clone(), "t", arguments)
}

fn zod_issues(shown: &str) -> Value {
    parsed(shown.strip_prefix("MCP error -32602: Input validation error: Invalid arguments for tool t: ").unwrap())
}

/// Returns the lines of the errors without the links.
fn pydantic_errors(shown: &str) -> Vec<&str> {
    shown.lines().skip(1).filter(|line| !line.starts_with("    For further information visit ")).collect()
}

#[test]
fn unsupported_keywords_are_reported_as_the_nearest_kind() {
    let of_several_types = json!({"x": {"type": ["boolean", "integer", "null"]}});
    assert_eq!(
        zod_issues(&error_text(&ZodJson, of_several_types.clone(), json!({"x": "a"}))),
        json!([{"code": "invalid_union", "errors": [
            [{"expected": "boolean", "code": "invalid_type", "path": [], "message": "Invalid input: expected boolean, received string"}],
            [{"expected": "number", "code": "invalid_type", "path": [], "message": "Invalid input: expected number, received string"}],
        ], "path": ["x"], "message": "Invalid input"}])
    );
    let sent = "input_value='a', input_type=str]";
    assert_eq!(
        pydantic_errors(&error_text(&Pydantic, of_several_types, json!({"x": "a"}))),
        [
            "x.bool",
            &format!("  Input should be a valid boolean, unable to interpret input [type=bool_parsing, {sent}"),
            "x.int",
            &format!(
                "  Input should be a valid integer, unable to parse string as an integer [type=int_parsing, {sent}"
            ),
        ]
    );
    let cases = [
        (
            json!({"uniqueItems": true}),
            json!([1, 1]),
            json!({"code": "custom", "path": ["x"], "message": "Invalid input"}),
            "Value error, the items are not unique [type=value_error, input_value=[1, 1], input_type=list]",
        ),
        (
            json!({"minProperties": 1}),
            json!({}),
            json!({"origin": "map", "code": "too_small", "minimum": 1, "inclusive": true, "path": ["x"],
                "message": "Too small: expected map to have >=1 entries"}),
            "Dictionary should have at least 1 item after validation, not 0 [type=too_short, input_value={}, input_type=dict]",
        ),
        (
            json!({"type": "object", "maxProperties": 1}),
            json!({"a": 1, "b": 2}),
            json!({"origin": "map", "code": "too_big", "maximum": 1, "inclusive": true, "path": ["x"],
                "message": "Too big: expected map to have <=1 entries"}),
            "Dictionary should have at most 1 item after validation, not more [type=too_long, input_value={'a': 1, 'b': 2}, input_type=dict]",
        ),
        (
            json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
            json!(1),
            json!({"expected": "string", "code": "invalid_type", "path": ["x"],
                "message": "Invalid input: expected string, received number"}),
            "Input should be a valid string [type=string_type, input_value=1, input_type=int]",
        ),
        (
            json!({"format": "hostname"}),
            json!("_"),
            json!({"code": "invalid_format", "format": "hostname", "path": ["x"], "message": "Invalid hostname"}),
            "Value error, invalid hostname [type=value_error, input_value='_', input_type=str]",
        ),
        (
            json!({"type": "object"}),
            json!([1e21, 1e-7]),
            json!({"expected": "object", "code": "invalid_type", "path": ["x"],
                "message": "Invalid input: expected object, received array"}),
            "Input should be a valid dictionary [type=dict_type, input_value=[1e+21, 1e-07], input_type=list]",
        ),
        (
            json!({"maximum": 1e-7}),
            json!(1),
            json!({"origin": "number", "code": "too_big", "maximum": 1e-7, "inclusive": true, "path": ["x"],
                "message": "Too big: expected number to be <=1e-7"}),
            "Input should be less than or equal to 0.0000001 [type=less_than_equal, input_value=1, input_type=int]",
        ),
        (
            json!({"pattern": "^[/]/a$"}),
            json!(""),
            json!({"origin": "string", "code": "invalid_format", "format": "regex", "pattern": "/^[/]\\/a$/", "path": ["x"],
                "message": "Invalid string: must match pattern /^[/]\\/a$/"}),
            "String should match pattern '^[/]/a$' [type=string_pattern_mismatch, input_value='', input_type=str]",
        ),
    ];
    for (schema, sent, issue, error) in cases {
        let properties = json!({ "x": schema });
        let zod = error_text(&ZodJson, properties.clone(), json!({ "x": sent }));
        assert_eq!(zod_issues(&zod), json!([issue]));
        let pydantic = error_text(&Pydantic, properties, json!({ "x": sent }));
        assert_eq!(pydantic_errors(&pydantic), ["x", &format!("  {error}")]);
    }
}

#[test]
fn arguments_that_are_no_object() {
    assert_eq!(
        zod_issues(&error_text(&ZodJson, json!({}), json!("oops"))),
        json!([{"expected": "object", "code": "invalid_type", "path": [], "message": "Invalid input: expected object, received string"}])
    );
    assert_eq!(
        pydantic_errors(&error_text(&Pydantic, json!({}), json!(["oops"]))),
        [
            "  Input should be a valid dictionary or instance of tArguments [type=model_type, input_value=['oops'], input_type=list]"
        ]
    );
}

#[test]
fn paths_with_special_names_are_split_by_the_arguments() {
    let properties = json!({
        "a.b": {"type": "object", "properties": {"0": {"type": "integer"}}},
        "c": {"type": "array", "items": {"type": "array", "items": {"properties": {"d.e": {"type": "integer"}}, "required": ["d.e"]}}},
    });
    let arguments = json!({"a.b": {"0": "x"}, "c": [[], [{"d.e": 1}, {"d.e": null}, {}]]});
    let paths: Vec<Value> = zod_issues(&error_text(&ZodJson, properties.clone(), arguments.clone()))
        .as_array()
        .unwrap()
        .iter()
        .map(|issue| issue["path"].clone())
        .collect();
    assert_eq!(json!(paths), json!([["a.b", "0"], ["c", 1, 1, "d.e"], ["c", 1, 2, "d.e"]]));
    let shown = error_text(&Pydantic, properties, arguments);
    let places: Vec<&str> = pydantic_errors(&shown).into_iter().step_by(2).collect();
    assert_eq!(places, ["`a.b`.0", "c.1.1.`d.e`", "c.1.2.`d.e`"]);
}

#[test]
fn a_handler_error_is_its_message() {
    let failing = |failure: ToolFailure| [tool("t", vec![action("a", json!({}), Handler::Fail(failure))])];
    let failure = ToolFailure {
        recovery: Some("Wait.".to_owned()),
        retry_after: Some(30),
        ..ToolFailure::new("RATE_LIMITED", "Too many requests.")
    };
    let warning = ToolFailure { severity: Some(Severity::Warning), ..failure.clone() };
    for (failure, zod, pydantic) in [
        (failure, "Too many requests.", "Error executing tool t: Too many requests."),
        (warning, "Too many requests.", "Too many requests."),
    ] {
        let tools = failing(failure);
        assert_eq!(text(&tools, ZodJson, "t", json!({"action": "a"})), zod);
        assert_eq!(text(&tools, Pydantic, "t", json!({"action": "a"})), pydantic);
    }
}

proptest! {
    #[test]
    fn zod_json_is_json_and_gives_back_names_and_options(value in hostile(), field in hostile(), option in hostile()) {
        prop_assume!(!["age", "kind"].contains(&field.as_str()) && value != option);
        let properties = json!({"age": {"type": "integer"}, "kind": {"enum": [option]}});
        let arguments = json!({"age": value, "kind": value, field.clone(): value});
        let issues = zod_issues(&error_text(&ZodJson, properties, arguments));
        prop_assert_eq!(&issues[0]["path"], &json!(["age"]));
        prop_assert_eq!(&issues[1]["values"], &json!([option]));
        prop_assert_eq!(&issues[2]["keys"], &json!([field]));
    }

    #[test]
    fn a_value_stays_on_its_line_in_pydantic(value in hostile(), name in hostile()) {
        let properties = json!({"age": {"type": "integer"}, "env": {"type": "object", "properties": {}}});
        let arguments = json!({"age": [value, {name: value}], "env": value, "x": value});
        let shown = error_text(&Pydantic, properties, arguments);
        // Python treats more characters as line breaks than Rust.
        let breaks = |c: char| matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}');
        prop_assert_eq!(shown.split(breaks).count(), 1 + 3 * 3);
        prop_assert!(shown.lines().all(|line| line.chars().count() < 200));
    }

    #[test]
    fn python_shows_a_text_so_that_it_reads_back(value in "\\PC{0,8}|.{0,8}") {
        let shown = error_text(&Pydantic, json!({"age": {"type": "array"}}), json!({"age": value}));
        let (_, after) = shown.split_once("input_value=").unwrap();
        let (repr, _) = after.split_once(", input_type=str]").unwrap();
        // Longer values are shortened in the middle.
        prop_assume!(repr.len() < 46);
        prop_assert_eq!(unescaped(&repr[1..repr.len() - 1]), value);
    }
}

fn unescaped(literal: &str) -> String {
    let mut out = String::new();
    let mut rest = literal.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let width = match rest.next().unwrap() {
            'n' => {
                out.push('\n');
                continue;
            }
            'r' => {
                out.push('\r');
                continue;
            }
            't' => {
                out.push('\t');
                continue;
            }
            'x' => 2,
            'u' => 4,
            'U' => 8,
            other => {
                out.push(other);
                continue;
            }
        };
        let digits: String = rest.by_ref().take(width).collect();
        out.push(char::from_u32(u32::from_str_radix(&digits, 16).unwrap()).unwrap());
    }
    out
}
