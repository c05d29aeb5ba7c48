//! Statements in the formats of other servers.

use healbench_core::Script;
use healbench_reader::reading::{Vocabulary, read_statements};
use serde_json::json;

use crate::reading::{LLM_FRIENDLY, assert_statements, assert_statements_include, describe, statements_of, tools};

#[test]
fn llm_friendly_markdown() {
    assert_statements(
        LLM_FRIENDLY,
        &[
            "bound username AtLeast 3",
            "type username string",
            "bound username AtMost 20",
            "format username Pattern(\"^[a-zA-Z0-9_]+$\")",
            "format email Named(\"email\")",
            "type email string",
            "bound age AtLeast 18",
            "type age integer",
            "bound age AtMost 120",
            "missing username",
            "missing email",
            "missing age",
            "missing role",
            "type role string",
            "options role admin|moderator|user|guest",
            "type tags array",
            "bound tags AtLeast 1",
            "bound tags AtMost 5",
            r#"example {"username":"example","age":69}"#,
        ],
    );
    assert_statements(
        "1. **temperature**: Expected number, received string\n   - Received: \"hot\"\n   - Expected: number\n   - Fix: Provide a \
         number > -273.15 and <= 1000.",
        &["type temperature number", "bound temperature Above -273.15", "bound temperature AtMost 1000"],
    );
    assert_statements(
        "1. **role**: Invalid enum value\n   - Received: \"superadmin\"\n   - Expected: 'admin' | 'user'\n   - Fix: Use one of \
         these values: \"admin\", \"user\"",
        &["options role admin|user"],
    );
}

#[test]
fn llm_friendly_json() {
    assert_statements(
        r#"{"error": {"type": "validation", "summary": "Tool XYZ received invalid arguments. 1 validation error(s) found.",
            "issues": [{"field": "age", "problem": "Number must be at least 18", "received": 15, "expected": "minimum 18",
                "fix": "Provide a integer >= 18 and <= 120."}],
            "schema": {"properties": {"tags": {"type": "array", "constraints": ["Min items: 1"]}}, "required": ["email"]},
            "suggestions": ["Add missing required fields: email, username"],
            "validExample": {"age": 25}}}"#,
        &[
            "bound age AtLeast 18",
            "type age integer",
            "bound age AtMost 120",
            "type tags array",
            "bound tags AtLeast 1",
            "missing email",
            "missing username",
            r#"example {"age":25}"#,
        ],
    );
}

#[test]
fn zod_issues() {
    assert_statements(
        "MCP error -32602: Invalid arguments for tool users: [\n  {\n    \"code\": \"invalid_type\",\n    \"expected\": \
         \"string\",\n    \"received\": \"undefined\",\n    \"path\": [\n      \"name\"\n    ],\n    \"message\": \
         \"Required\"\n  },\n  {\"code\": \"too_small\", \"minimum\": 18, \"type\": \"number\", \"inclusive\": true, \"path\": \
         [\"lines\", 0, \"qty\"], \"message\": \"Number must be greater than or equal to 18\"},\n  {\"received\": \
         \"superadmin\", \"code\": \"invalid_enum_value\", \"options\": [\"admin\", \"user\"], \"path\": [\"role\"], \"message\": \
         \"Invalid enum value. Expected 'admin' | 'user', received 'superadmin'\"},\n  {\"validation\": \"email\", \"code\": \
         \"invalid_string\", \"message\": \"Invalid email\", \"path\": [\"email\"]},\n  {\"code\": \"unrecognized_keys\", \
         \"keys\": [\"foo\"], \"path\": [], \"message\": \"Unrecognized key(s) in object: 'foo'\"}\n]",
        &[
            "type name string",
            "missing name",
            "bound lines.0.qty AtLeast 18",
            "type lines.0.qty number",
            "options role admin|user",
            "format email Named(\"email\")",
            "unrecognised foo",
        ],
    );
}

#[test]
fn pydantic() {
    assert_statements(
        "4 validation errors for call[create_user]\nrole\n  Input should be 'admin' or 'user' [type=literal_error, \
         input_value='superadmin', input_type=str]\n    For further information visit \
         https://errors.pydantic.dev/2.10/v/literal_error\nname\n  Field required [type=missing, input_value={'budget': 'x'}, \
         input_type=dict]\naddress.city\n  Input should be a valid string [type=string_type, input_value=3, input_type=int]\nage\n  \
         Input should be greater than or equal to 18 [type=greater_than_equal, input_value=3, input_type=int]\nfoo\n  Extra \
         inputs are not permitted [type=extra_forbidden, input_value='x', input_type=str]",
        &[
            "options role admin|user",
            "missing name",
            "type address.city string",
            "bound age AtLeast 18",
            "unrecognised foo",
        ],
    );
}

/// The tag of a union is a field of the object that the text is about.
#[test]
fn tags_of_unions() {
    let error = |text: &str| {
        format!(
            "1 validation error for call[create_user]\naddress\n  {text}, input_value={{'city': 'Gratz', 'zip': '1'}}, \
             input_type=dict]"
        )
    };
    assert_statements(
        &error(
            "Input tag 'Gratz' found using 'city' does not match any of the expected tags: 'Graz', 'Wien' \
             [type=union_tag_invalid",
        ),
        &["options address.city Graz|Wien"],
    );
    assert_statements(
        &error("Unable to extract tag using discriminator 'city' [type=union_tag_not_found"),
        &["missing address.city"],
    );
    assert_statements("address: 'city' should be one of 'Graz', 'Wien'.", &["options address.city Graz|Wien"]);
    // A quoted value is no field of the object.
    assert_statements("address: 'role' should be one of 'Graz', 'Wien'.", &["options address Graz|Wien"]);
}

#[test]
fn serde() {
    assert_statements("missing field `amount`", &["missing amount"]);
    assert_statements("unknown field `foo`, expected one of `amount`, `currency`", &["unrecognised foo"]);
    let (tools, script) = (tools(), Script::default());
    let vocabulary = Vocabulary::new(&tools, &script);
    let sent = json!({"role": "superadmin", "budget": "ten"});
    let after = |text| describe(&read_statements(text, &vocabulary, &sent));
    assert_eq!(after("unknown variant `superadmin`, expected `admin` or `user`"), ["options role admin|user"]);
    assert_eq!(after("invalid type: string \"ten\", expected i64"), ["type budget integer"]);
    assert_eq!(statements_of("unknown variant `superadmin`, expected `admin` or `user`"), Vec::<String>::new());
}

/// A repeated value identifies the only argument that contained it, at any depth.
#[test]
fn values_that_were_sent_name_their_field() {
    let (tools, script) = (tools(), Script::default());
    let vocabulary = Vocabulary::new(&tools, &script);
    let sent = json!({
        "age": -14, "status": "", "email": "next Friday", "budget": true, "tags": ["one"],
        "address": {"city": 7, "zip": "8010"}, "lines": [{"sku": "abc", "pieces": 1}, {"sku": "own"}],
    });
    for (text, expected) in [
        ("invalid value: integer `-14`, expected u32", &["bound age AtLeast 0", "type age integer"][..]),
        ("invalid value: integer `-14`, expected a number >= 1", &["type age number", "bound age AtLeast 1"]),
        ("invalid value: string \"\", expected `open` or `paid`", &["options status open|paid"]),
        ("invalid value: string \"next Friday\", expected a valid email", &["format email Named(\"email\")"]),
        ("invalid type: boolean `true`, expected a string", &["type budget string"]),
        ("invalid type: integer `7`, expected a string", &["type address.city string"]),
        ("unknown variant `own`, expected `b` or `c`", &["options lines.1.sku b|c"]),
        ("invalid length 1, expected >= 2 elements", &["bound tags AtLeast 2"]),
        ("missing field `pieces`", &["missing lines.1.pieces"]),
        ("invalid type: integer `1`, expected a string", &["type lines.0.pieces string"]),
        // No argument has the value.
        ("invalid type: integer `2`, expected a string", &[]),
        ("invalid length 2, expected >= 3 elements", &["bound lines AtLeast 3"]),
    ] {
        assert_eq!(describe(&read_statements(text, &vocabulary, &sent)), expected, "{text}");
    }
    // Two arguments have the value.
    let twice = json!({"age": 7, "lines": [{"pieces": 7}]});
    assert!(read_statements("invalid type: integer `7`, expected a string", &vocabulary, &twice).is_empty());
}

#[test]
fn problem_json() {
    assert_statements(
        r##"{"type": "about:blank", "title": "Validation failed", "status": 422, "detail": "The arguments are invalid.", "errors":
            [{"pointer": "#/role", "detail": "must be one of admin, user"}, {"pointer": "/address/city", "detail": "is required"}],
            "retry_after": 30}"##,
        &["options role admin|user", "missing address.city", "delay 30"],
    );
}

/// The issues of zod as today's SDKs write them: a line each, or all in one.
#[test]
fn messages_with_their_places() {
    let expected = [
        "type age number",
        "missing age",
        "format email Named(\"email\")",
        "options role admin|user",
        "type lines.0.qty number",
        "bound lines.0.qty AtLeast 1",
        "unrecognised colour",
    ];
    let lines = "MCP error -32602: Input validation error: Invalid arguments for tool users: Invalid input: expected number, \
                 received undefined at age\nInvalid email address at email\nInvalid option: expected one of \"admin\"|\"user\" at \
                 role\nToo small: expected number to be >=1 at lines[0].qty\nUnrecognized key: \"colour\"";
    assert_statements(lines, &expected);
    let inline = "Input validation error: Invalid arguments for tool users: age: Invalid input: expected number, received \
                  undefined, email: Invalid email address, role: Invalid option: expected one of \"admin\"|\"user\", lines.0.qty: \
                  Too small: expected number to be >=1, Unrecognized key: \"colour\"";
    assert_statements(inline, &expected);
}

/// A client shows the result of a tool as JSON in a sentence; the line breaks of the text are escapes there.
#[test]
fn a_text_in_the_json_of_a_client() {
    let text = "MCP tool 'users' reported tool error for function call: {\"name\":\"users\",\"args\":{}} with response: \
         [{\"functionResponse\":{\"name\":\"users\",\"response\":{\"error\":{\"content\":[{\"type\":\"text\",\"text\":\"1 validation error \
         for users\\nname\\n  Field required [type=missing, input_value={'a': 1}, input_type=dict]\\n    For further information visit \
         https://errors.pydantic.dev\"}],\"isError\":true}}}}]";
    assert_statements_include(text, &["missing name"]);
    // Places in code are none of arguments.
    assert_statements_include("role must be one of a, b\n    at Role.check (/app/role.js:4:2)", &["options role a|b"]);
    assert_statements_include("Invalid input\n  at role: must be one of a, b", &["options role a|b"]);
}
