use proptest::prelude::*;

use super::*;

/// Returns the template of a text for a call with these arguments, which has arguments of these names.
fn template(text: &str, arguments: &str, names: &[&str]) -> String {
    let message = message(text);
    finish(&mask(&message, &sent_values(arguments, &message)), |word| names.contains(&word))
}

/// Texts with arguments, and their templates. `title`, `items`, `name`, `field_0` are names of arguments.
const TEXTS: &[(&str, &str, &str)] = &[
    // Validators.
    (
        "2 validation errors for CreateIssue\ntitle\n  Field required [type=missing, input_value={'body': 'x, y'}, input_type=dict]\n    For further information visit https://errors.pydantic.dev/2.5/v/missing\nitems.0.name\n  Field required [type=missing, input_value={}, input_type=dict]\n    For further information visit https://errors.pydantic.dev/2.5/v/missing",
        "{}",
        "… validation errors for CreateIssue; title; Field required [type=missing, input_type=dict]; items.….name",
    ),
    (
        "1 validation error for call[add]\na\n  Input should be a valid integer [type=int_type, input_value='seven']",
        r#"{"a":"seven"}"#,
        "… validation error for call[add]; a; Input should be a valid integer [type=int_type]",
    ),
    (
        "MCP error -32602: Invalid arguments for tool x: [\n  {\n    \"code\": \"invalid_type\",\n    \"path\": [\"title\"],\n    \"message\": \"Required\"\n  },\n  {\n    \"code\": \"invalid_type\",\n    \"path\": [\"name\"],\n    \"message\": \"Required\"\n  }\n]",
        "{}",
        "MCP error …: Invalid arguments for tool x: Required",
    ),
    (
        "Input validation error: 'title' is a required property",
        "{}",
        "Input validation error: 'title' is a required property",
    ),
    (
        "Input validation error: 'qwerty' is not of type 'array'",
        r#"{"title":"qwerty"}"#,
        "Input validation error: … is not of type …",
    ),
    (
        "Error: `items[2].name` must not be empty; `items[3].name` must not be empty",
        "{}",
        "Error: `items[…].name` must not be empty",
    ),
    ("/items/0/name: expected string, got 17", "{}", "/items/…/name: expected string, got …"),
    ("field_0 is wrong, and so is user_15", "{}", "field_0 is wrong, and so is …"),
    // FastMCP and MCP.
    (
        "Error executing tool search: Connection timeout to host https://example.org/search?q=a,b&n=5.",
        "{}",
        "Error executing tool search: Connection timeout to host ….",
    ),
    (
        r#"{"content":[{"type":"text","text":"{\"error\":\"No such id: 4711\"}"}],"isError":true}"#,
        "{}",
        r"No such id: …",
    ),
    // APIs.
    (
        r#"{"message":"Validation Failed","errors":[{"resource":"Issue","field":"title"}],"documentation_url":"https://docs.github.com/rest"}"#,
        "{}",
        "Validation Failed",
    ),
    (
        r#"{"error":{"code":404,"message":"Channel general not found"}}"#,
        r#"{"channel":"general"}"#,
        "Channel … not found",
    ),
    (r#"{"detail":[{"loc":["body","title"],"msg":"field required"}]}"#, "{}", "field required"),
    (r#"{"status":"error","message":"","error":"Out of range"}"#, "{}", "Out of range"),
    (
        r#"Request failed with status code 422: {"message":"body failed validation"}"#,
        "{}",
        "Request failed with status code …: body failed validation",
    ),
    (r#"{"a":1,"b":[true,{"c":"deep"}]}"#, "{}", "deep"),
    (r#"{"error":{"type":"routing","code":"GONE","summary":"It is gone."}}"#, "{}", "It is gone."),
    ("<error><field>title</field> is </b/c> 5</error>", "{}", "<error><field>title</field> is </b/c> …</error>"),
    (r#"{"code":"GONE","path":"x"}"#, "{}", "GONE"),
    ("Expected 'red' | 'dark green'|'blue' at title", "{}", "Expected … at title"),
    // Stack traces and excerpts.
    (
        "Tool failed: Traceback (most recent call last):\n  File \"/app/x.py\", line 12, in run\n    return table[key]\n           ~~~~~^^^^^\nKeyError: 'abc def'\n\nDuring handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n  File \"/app/y.py\", line 3, in call\n    run()\nValueError: no row for 'abc def'",
        "{}",
        "Tool failed: ValueError: no row for …",
    ),
    ("Error: boom\n    at run (/app/index.js:10:3)\n    at async main (node:internal/x:5:6)", "{}", "Error: boom"),
    (
        "java.io.IOException: closed\n\tat com.acme.Reader.read(Reader.java:12)\n\t... 12 more",
        "{}",
        "java.io.IOException: closed",
    ),
    (
        "relation \"users\" does not exist\nLINE 1: SELECT * FROM users\n                      ^",
        "{}",
        "relation … does not exist",
    ),
    (
        "(sqlite3.OperationalError) no such table: project\n[SQL: SELECT project.id FROM project]\n(Background on this error at: https://sqlalche.me/e/20/e3q8)",
        "{}",
        "(sqlite3.OperationalError) no such table: project",
    ),
    // Values.
    ("User alice.smith@example.org has no access to /srv/alice/notes.txt", "{}", "User … has no access to …"),
    (
        "No flight from Rome to Oslo on 2024-05-01T10:00:00Z",
        r#"{"from":"Rome","legs":[{"to":"Oslo"}]}"#,
        "No flight from … to … on …",
    ),
    ("Romeo is in Rome", r#"{"x":"Rome"}"#, "Romeo is in …"),
    ("an ox", r#"{"x":"ox"}"#, "an ox"),
    ("title has to be set", r#"{"title":"title"}"#, "title has to be set"),
    (
        "Cannot parse 3f2504e0-4f89-11d3-9a0c-0305e82c3301 as utf8: it's the users' text",
        "{}",
        "Cannot parse … as utf8: it's the users' text",
    ),
    ("Valid: ['red', 'dark green', \"blue\"], 1,000 or more", "{}", "Valid: […], … or more"),
    ("a is bad. b is bad. a is bad.", "{}", "a is bad. b is bad."),
    ("- row 1 failed\n- row 2 failed\n- row 17 failed\n", "{}", "row … failed"),
    ("und “so weiter” und »so«", "{}", "und … und »so«"),
    ("", "{}", ""),
    ("  \n ", "{}", ""),
    ("{}", "{}", "{}"),
    ("[1, 2]", "not JSON", "[…]"),
];

const NAMES: [&str; 4] = ["title", "items", "name", "field_0"];

#[test]
fn texts_of_one_kind_have_one_template() {
    for (text, arguments, expected) in TEXTS {
        assert_eq!(template(text, arguments, &NAMES), *expected, "{text}");
    }
}

#[test]
fn templates_are_their_own_templates() {
    for (text, arguments, _) in TEXTS {
        let once = template(text, arguments, &NAMES);
        assert_eq!(template(&once, arguments, &NAMES), once, "{text}");
    }
}

#[test]
fn a_template_has_at_most_200_characters() {
    let long = (0..100).map(|n| format!("wörter{} ", "x".repeat(n % 7))).collect::<String>();
    let short = template(&long, "{}", &[]);
    assert!(short.chars().count() <= MAX_CHARS && short.chars().count() > 150 && short.ends_with(MASK), "{short}");
    let unbroken = template(&"ä".repeat(300), "{}", &[]);
    assert_eq!(unbroken.chars().count(), MAX_CHARS);
    // A long text is masked as far as it is read.
    assert!(template(&"é".repeat(9_000), "{}", &[]).ends_with(MASK));
    let exact = "x".repeat(MAX_CHARS);
    assert_eq!(template(&exact, "{}", &[]), exact);
}

#[test]
fn a_word_in_quotes_stays_if_it_names_an_argument() {
    let text = "'reason' is required";
    assert_eq!(template(text, "{}", &["reason"]), text);
    assert_eq!(template(text, "{}", &[]), "… is required");
    // A value that was sent is none, although another call may have such an argument.
    assert_eq!(template("'reason' is taken", r#"{"x":"reason"}"#, &["reason"]), "… is taken");
}

#[test]
fn only_values_in_the_message_are_kept_for_its_masks() {
    let arguments = r#"{"a":"Rome","b":["Oslo","it",true,12345],"c":{"a":"Rome in May"}}"#;
    assert_eq!(sent_values(arguments, "Rome in May, Rome, 12345 and true"), ["Rome in May", "Rome"]);
    assert_eq!(sent_values(arguments, "Romeo, it"), [""; 0]);
    assert_eq!(template("Rome in May", arguments, &[]), "…");
}

proptest! {
    #[test]
    fn any_text_has_a_short_template_of_its_own(
        parts in prop::collection::vec(prop_oneof![
            Just("'title'"), Just("\"a b\""), Just("user_15"), Just("/a/b/c"), Just("https://x.y/z"), Just("can't"), Just("Rome"),
            Just("12,000"), Just("{\"error\": \"x. y\"}"), Just("[{\"msg\": \"no\"}]"), Just("\n"), Just("; "), Just(". "), Just("- "), Just("…"),
            Just(" "), Just("LINE 3: x"), Just("input_value=3]"), Just("plain words"), Just("`"), Just("'"), Just("\u{e000}"), Just("é:"),
        ], 0..60),
    ) {
        let text: String = parts.concat();
        let once = template(&text, r#"{"to":"Rome"}"#, &NAMES);
        prop_assert!(once.chars().count() <= MAX_CHARS, "{}", once);
        prop_assert!(!once.contains('\n') && !once.contains(MARKS), "{}", once);
    }

    #[test]
    fn a_template_of_whole_words_is_its_own_template(
        words in prop::collection::vec(prop_oneof![
            Just("'title' is"), Just("\"a b\""), Just("user_15"), Just("a/b/c"), Just("https://x.y/z"), Just("can't."), Just("to Rome"),
            Just("12,000"), Just("plain words;"), Just("plain words"), Just("…"), Just("items[3]"), Just("field_0:"), Just("\n"),
        ], 0..18),
    ) {
        let once = template(&words.join(" "), r#"{"to":"Rome"}"#, &NAMES);
        prop_assert_eq!(template(&once, "{}", &NAMES), once);
    }

    #[test]
    fn masks_of_arbitrary_text_do_not_panic(text in "\\PC{0,80}", value in "\\PC{3,6}") {
        let arguments = serde_json::json!({ "a": value, "b": text }).to_string();
        template(&text, &arguments, &["a"]);
        template(&format!("{text} '{value}' {value}"), &arguments, &[]);
    }
}
