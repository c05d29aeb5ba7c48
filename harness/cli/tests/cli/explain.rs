//! The output of `explain`, and the files that `new --template` copies.

use super::*;

#[test]
fn an_example_is_copied_and_explained() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["new", "--template", "gift-timeout"]);
    let shown = sandbox.ok(&["explain", "gift-timeout.yaml", "--condition", "bare,fusion"]).out;
    let parts = [
        "charity/gift-timeout · bare",
        "1: gifts {\"action\":\"give\"",
        "· isError · fault timeout_after",
        "Call gifts.list to see whether the gift was made.",
        "The calls of the script do the task.",
    ];
    for part in parts {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    // A mistake stands before the call that is meant, in the text of each condition.
    sandbox.ok(&["new", "--template", "recipe-version"]);
    let shown = sandbox.ok(&["explain", "recipe-version.yaml", "--condition", "fusion"]).out;
    let (mistake, meant) = (shown.find(" mistake: ").unwrap(), shown.rfind(": ").unwrap());
    assert!(mistake < meant && shown[mistake..].contains("<tool_error"), "{shown}");
}

#[test]
fn what_nobody_can_solve_is_explained_and_reported() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["new", "--template", "gift-timeout"]);
    let text = std::fs::read_to_string(sandbox.path("gift-timeout.yaml")).unwrap();
    sandbox.write("wrong.yaml", &text.replace("euros: 60", "euros: 61"));
    let result = sandbox.start(&["explain", "wrong.yaml"]);
    assert_eq!(result.code, Some(2));
    assert!(result.out.contains("The calls of the script do not do the task: a row in funds"), "{}", result.out);
    assert!(result.err.contains("the calls of the script do not lead to"), "{}", result.err);
}

/// A name can be misspelt in many ways, and the answers are alike.
#[test]
fn mistakes_that_differ_only_in_what_is_sent_are_shown_once() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["new", "--template", "market-mistakes"]);
    let heads = |variant: &str| {
        let file = format!("market-mistakes.yaml#{variant}");
        let shown = sandbox.ok(&["explain", &file, "--condition", "fusion", "--trials", "20"]).out;
        let heads = shown.lines().filter(|line| line.contains(" mistake"));
        heads.map(|line| line.split_once(':').unwrap().0.to_owned()).collect::<Vec<_>>()
    };
    let [misspelt] = &heads("misspelled-field")[..] else { panic!("{:?}", heads("misspelled-field")) };
    assert!(misspelt.starts_with("3 mistake (one of ") && misspelt.ends_with(" alike)"), "{misspelt}");
    assert_eq!(heads("missing"), ["3 mistake"]);
    // Two kinds of mistakes in one argument.
    sandbox.ok(&["new", "--template", "warehouse-mistakes"]);
    let shown = sandbox.ok(&["explain", "warehouse-mistakes.yaml", "--condition", "fusion", "--trials", "20"]).out;
    assert_eq!(shown.matches(" mistake").count(), 2, "{shown}");
}

#[test]
fn suites_profiles_and_templates_are_copied_once() {
    let sandbox = Sandbox::new();
    for (name, file) in [
        ("quickstart", "quickstart/rate-limit.yaml"),
        ("transient/state-lock-of-a-plan", "transient/state-lock-of-a-plan.yaml"),
        ("scripted:typical", "typical.toml"),
        ("teaching", "teaching.jinja"),
    ] {
        sandbox.ok(&["new", "--template", name]);
        assert!(sandbox.path(file).is_file(), "{file}");
        let again = sandbox.start(&["new", "--template", name]);
        assert!(again.code == Some(2) && again.err.contains("exists already"), "{}", again.err);
    }
    sandbox.ok(&["validate", "quickstart"]);
    let unknown = sandbox.start(&["new", "--template", "library-stat"]);
    assert!(unknown.code == Some(2) && unknown.err.contains("did you mean `library-state`?"), "{}", unknown.err);
}

#[test]
fn a_list_of_tools_becomes_a_scenario_that_the_simulator_runs() {
    let sandbox = Sandbox::new();
    let person = r##"{"type": "array", "items": {"$ref": "#/$defs/Person"}}"##;
    sandbox.write(
        "tools.json",
        &format!(
            r#"{{"jsonrpc": "2.0", "id": 1, "result": {{"tools": [
                {{"name": "list_events", "description": "List # events: all.", "inputSchema": {{"type": "object"}},
                  "annotations": {{"readOnlyHint": true}}}},
                {{"name": "create_event", "inputSchema": {{"type": "object", "required": ["title"], "properties":
                  {{"title": {{"type": "string", "minLength": 1}}, "people": {person}}}, "$defs": {{"Person": {{"type": "object"}}}}}}}}]}}}}"#
        ),
    );
    // Characters that JSON may hold, and YAML may not.
    sandbox.write("odd.json", "[{\"name\": \"beep\", \"description\": \"A \u{7f}, a \u{85} and a \u{2028}.\", \"inputSchema\": {\"required\": [\"hz\"], \"properties\": {\"hz\": {\"type\": \"integer\", \"nullable\": true}}}}]");
    sandbox.write("shop.yaml", "openapi: 3.1.0\npaths:\n  /orders:\n    post:\n      operationId: addOrder\n      requestBody:\n        required: true\n        content: {application/json: {schema: {$ref: \"#/components/schemas/Order\"}}}\ncomponents: {schemas: {Order: {type: object, required: [fruit], properties: {fruit: {type: string}}}}}\n");
    // Actions behind a discriminator.
    sandbox.write("notes.json", r#"[{"name": "notes", "description": "Notes.", "actions": {"add": {"required": ["text"], "properties": {"text": {"type": "string"}}}}}]"#);
    let lists = [
        ("tools.json", "create_event"),
        ("odd.json", "\\u007f, a \\u0085 and a \\u2028"),
        ("shop.yaml", r#"{"tool":"addOrder","arguments":{"fruit":"#),
        ("notes.json", r#""action":"add""#),
    ];
    for (list, call) in lists {
        let made = sandbox.ok(&["new", "--tools", list, "--out", "mine"]);
        assert!(made.err.contains("scenario: mine/first.yaml"), "{}", made.err);
        let text = std::fs::read_to_string(sandbox.path("mine/first.yaml")).unwrap();
        assert!(text.contains(call), "{text}");
        sandbox.ok(&["validate", "mine/first.yaml"]);
        let args = [
            "run",
            "mine/first.yaml",
            "--agent",
            "scripted:perfect",
            "--condition",
            "bare,fusion",
            "--trials",
            "1",
            "--quiet",
        ];
        let run = sandbox.ok(&args).out;
        assert!(run.contains("100"), "{run}");
        let again = sandbox.start(&["new", "--tools", list, "--out", "mine"]);
        assert_eq!(again.code, Some(2));
        assert!(again.err.contains("exists already"), "{}", again.err);
        std::fs::remove_dir_all(sandbox.path("mine")).unwrap();
    }
    sandbox.write("empty.json", "{}");
    let empty = sandbox.start(&["new", "--tools", "empty.json"]);
    assert!(empty.code == Some(2) && empty.err.contains("empty.json:1:1"), "{}", empty.err);
    assert_eq!(sandbox.start(&["new", "--tools", "tools.json", "--", "server"]).code, Some(2));
}
