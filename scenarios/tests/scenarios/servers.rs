//! Scenarios with a server instead of the simulator.

use std::fs;
use std::path::{Path, PathBuf};

use healbench_core::Seed;
use healbench_scenarios::{EPISODE_DIR, LoadError, Server, ServerEndpoint, Source, Syntax, load_file, load_stored};

const SCENARIO: &str = r#"
id: files/edit
title: An edit
task: {prompt: "Change {dir}/a.txt.", max_calls: 4}
server:
  command: [files, "{dir}"]
  tools_file: tools.json
  tools: [edit]
  fixture: fixture
  setup: [[git, init, -q, "{dir}"]]
  env: [TOKEN]
expect:
  - result: {tool: edit, arguments: {path: "{dir}/a.txt", mode: check}, contains: "new"}
  - command: [grep, -q, new, "{dir}/a.txt"]
  - called: {tool: edit, arguments: {path: "{dir}/a.txt"}}
script:
  - call: {tool: edit, arguments: {path: "{dir}/a.txt", mode: write}}
    mistakes: [missing]
"#;

const TOOLS: &str = r#"{"tools": [
  {"name": "edit", "description": "Edits.", "inputSchema": {"type": "object", "required": ["path"],
    "properties": {"path": {"type": "string"}, "mode": {"enum": ["write", "check"]}}}},
  {"name": "broken", "inputSchema": {"type": "text"}},
  {"name": "list", "inputSchema": {"type": "object"}}]}"#;

/// A folder with the scenario, its tools, and its fixture.
fn folder(scenario: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("fixture")).unwrap();
    fs::write(folder.path().join("tools.json"), TOOLS).unwrap();
    let file = folder.path().join("edit.yaml");
    fs::write(&file, scenario).unwrap();
    (folder, file)
}

fn command(server: &Server) -> &[String] {
    match &server.endpoint {
        ServerEndpoint::Command(words) => words,
        other => panic!("{other:?}"),
    }
}

fn problems(file: &Path) -> Vec<String> {
    match load_file(file).unwrap_err() {
        LoadError::Invalid { diagnostics, .. } => diagnostics.iter().map(|one| one.message.clone()).collect(),
        other => panic!("{other}"),
    }
}

#[test]
fn a_server_has_the_tools_of_its_file() {
    let (folder, file) = folder(SCENARIO);
    let scenario = load_file(&file).unwrap();
    let server = scenario.server.as_ref().unwrap();
    assert_eq!((server.name(), server.timeout_s, server.env.as_slice()), ("files", 30, &["TOKEN".to_owned()][..]));
    assert_eq!(server.fixture.as_deref(), Some(folder.path().join("fixture").as_path()));
    assert_eq!(command(server), ["files", "{dir}"]);
    let tools: Vec<String> = scenario.advertised().into_iter().map(|tool| tool.name).collect();
    assert_eq!(tools, ["edit"]);
    // Agents see one folder in all episodes.
    assert_eq!(scenario.task.prompt, format!("Change {EPISODE_DIR}/a.txt."));
    let shown: Vec<String> = scenario.server_checks().map(ToString::to_string).collect();
    assert_eq!(shown, [r#"edit returns "new""#, "grep -q new /episode/a.txt exits with status 0"]);
    assert_eq!(scenario.expect.len(), 3);
    assert_eq!(scenario.source.sha256, Source::hash(SCENARIO, Some(TOOLS)));

    let named = |command: &str| {
        let text = SCENARIO.replace("[files, \"{dir}\"]", command);
        load_stored("there/x.yaml", &text, Syntax::Yaml, Some(TOOLS)).unwrap().server.unwrap()
    };
    let local = named(r#"[env, "A=/b", "{here}/bin/files", "{dir}"]"#);
    let words = command(&local);
    assert!(words[2].starts_with('/') && words[2].ends_with("/there/bin/files"), "{words:?}");
    assert_eq!((local.name(), named("[env, A=1]").name()), ("files", "env"));

    // A stored scenario needs neither its files nor its fixture.
    drop(folder);
    let stored = load_stored(&scenario.source.path, SCENARIO, Syntax::Yaml, Some(TOOLS)).unwrap();
    assert_eq!((&stored.source, stored.advertised()), (&scenario.source, scenario.advertised()));
    assert_eq!(load_stored("x.yaml", SCENARIO, Syntax::Yaml, None).unwrap_err().len(), 2);
}

#[test]
fn a_server_may_run_already() {
    let behind = "url: \"https://example.com/mcp?page=1\"\n  token_env: TOKEN";
    let text = SCENARIO.replace("command: [files, \"{dir}\"]", behind);
    let scenario = load_stored("x.yaml", &text, Syntax::Yaml, Some(TOOLS)).unwrap();
    let server = scenario.server.unwrap();
    let url =
        ServerEndpoint::Url { url: "https://example.com/mcp?page=1".to_owned(), token_env: Some("TOKEN".to_owned()) };
    assert_eq!((server.name(), &server.endpoint), ("example.com/mcp", &url));
}

#[test]
fn authors_say_what_a_server_does_not_know() {
    let mistake = "[{kind: unknown_id, field: path, value: \"{dir}/lost.txt\"}]";
    let (_folder, file) = folder(&SCENARIO.replace("[missing]", mistake));
    let scenario = load_file(&file).unwrap();
    let schedule = scenario.schedule(Seed(1), 0, &scenario.world(Seed(1), 0));
    assert_eq!(schedule.script.steps[0].draft.arguments["path"], "/episode/lost.txt");
}

#[test]
fn what_a_server_does_not_have_is_reported() {
    let edits = [
        ("  command: [files, \"{dir}\"]\n", "", "exactly one of `command`, `url` is needed"),
        ("command: [files, \"{dir}\"]", "url: example.com", "this is not a URL of http or https"),
        ("command: [files, \"{dir}\"]", "url: \"http://a:b@c/\"", "a URL in a file may hold no password, key or token"),
        (
            "command: [files, \"{dir}\"]",
            "url: \"http://a/?key=b\"",
            "a URL in a file may hold no password, key or token",
        ),
        ("command: [files, \"{dir}\"]", "command: [files, sk-0123456789abcdef0123]", "a command in a file may hold no"),
        ("  tools_file", "  url: \"http://a/\"\n  tools_file", "exactly one of `command`, `url` is needed"),
        ("  tools_file", "  token_env: A\n  tools_file", "`token_env` is for `url`"),
        ("tools: [edit]", "tools: [edit, lost]", "unknown tool `lost`"),
        ("tools: [edit]", "tools: [edit, broken]", "the tool `broken` cannot be used"),
        ("tools: [edit]", "tools: [list]", "unknown tool `edit`"),
        ("fixture: fixture", "fixture: none", "there is no such folder"),
        (
            "tools_file: tools.json",
            "tools_file: lost.json",
            "cannot read the file: No such file or directory (os error 2)",
        ),
        ("[TOKEN]", "[\"TOKEN=1\"]", "`TOKEN=1` cannot be the name of a variable"),
        ("[[git, init, -q, \"{dir}\"]]", "[[]]", "a command needs a program"),
        ("\nserver:", "\nworld: {}\nserver:", "`world` cannot be combined with `server`"),
        ("\nserver:", "\nfaults: []\nserver:", "`faults` cannot be combined with `server`"),
        ("\nserver:", "\ntools: {}\nserver:", "only one of `tools`, `server` may be given"),
        ("- command: [grep, -q, new, \"{dir}/a.txt\"]", "- unchanged: notes", "`unchanged` is not of a server"),
        ("{tool: edit, arguments: {path: \"{dir}/a.txt\", mode: write}}", "{tool: edit}", "the input schema rejects"),
        ("[missing]", "[unknown_id]", "`unknown_id` cannot happen here: on a server it needs a `field` and a `value`"),
        (
            "[missing]",
            "[{kind: unknown_id, field: file, value: x}]",
            "`unknown_id` cannot happen here: the call has no argument",
        ),
    ];
    for (from, to, expected) in edits {
        assert!(SCENARIO.contains(from), "{from}");
        let (_folder, file) = folder(&SCENARIO.replacen(from, to, 1));
        let found = problems(&file);
        assert!(found.iter().any(|message| message.starts_with(expected)), "{to}: {found:#?}");
    }
}

const BEFORE: &str = r#"{"tools": [
  {"name": "edit", "description": "Edits.", "inputSchema": {"type": "object", "required": ["file"],
    "properties": {"file": {"type": "string"}, "mode": {"enum": ["write", "check", "append"]}}}},
  {"name": "list", "inputSchema": {"type": "object"}}]}"#;

/// The scenario with an earlier list of tools, which is written beside the other one.
fn with_list_before(scenario: &str, list: &str) -> (tempfile::TempDir, PathBuf) {
    let text = scenario.replace("tools.json\n", "tools.json\n  tools_file_before: before.json\n");
    let (folder, file) = folder(&text);
    fs::write(folder.path().join("before.json"), list).unwrap();
    (folder, file)
}

#[test]
fn agents_may_know_an_earlier_list_of_tools() {
    let scenario = SCENARIO.replace("[missing]", "[stale_contract]");
    let (folder, file) = with_list_before(&scenario, BEFORE);
    let scenario = load_file(&file).unwrap();
    let schedule = scenario.schedule(Seed(1), 0, &scenario.world(Seed(1), 0));
    let step = &schedule.script.steps[0];
    assert_eq!(step.draft.arguments.to_string(), r#"{"mode":"write","file":"default"}"#);
    assert_eq!(step.intended.arguments["path"], "/episode/a.txt");
    // Agents are shown the earlier list, and the later one is enforced.
    let schema = |tool: healbench_core::ToolSpec| tool.actions[0].input_schema["properties"].clone();
    assert!(schema(scenario.tools[0].advertised()).get("file").is_some());
    assert!(schema(scenario.tools[0].spec()).get("file").is_none());
    // A run stores both lists, and has the same scenario without its files.
    let server = scenario.server.as_ref().unwrap();
    let (text, lists) = (scenario.source.text.clone(), server.tools_text.clone());
    assert_eq!(scenario.source.sha256, Source::hash(&text, Some(&lists)));
    drop(folder);
    let stored = load_stored(&scenario.source.path, &text, Syntax::Yaml, Some(&lists)).unwrap();
    assert_eq!((&stored.source, &stored.tools, &stored.server), (&scenario.source, &scenario.tools, &scenario.server));
}

#[test]
fn an_earlier_list_has_to_be_another_one() {
    let table = [
        (TOOLS, "no tool of `tools_file` was different in this list"),
        (r#"{"tools": []}"#, "the file has no valid tool"),
        (
            r#"[{"name": "edit", "inputSchema": {"type": "text"}}, {"name": "list", "inputSchema": {"type": "object"}}]"#,
            "the tool `edit` cannot be used",
        ),
    ];
    for (list, message) in table {
        let (_folder, file) = with_list_before(SCENARIO, list);
        assert!(problems(&file)[0].contains(message), "{:?}", problems(&file));
    }
    let (folder, file) = with_list_before(SCENARIO, BEFORE);
    fs::remove_file(folder.path().join("before.json")).unwrap();
    assert!(problems(&file)[0].starts_with("cannot read the file"), "{:?}", problems(&file));
    // Without one there is a way out.
    let (_folder, file) = self::folder(&SCENARIO.replace("[missing]", "[stale_contract]"));
    let LoadError::Invalid { diagnostics, .. } = load_file(&file).unwrap_err() else { panic!() };
    assert!(diagnostics[0].message.ends_with("`edit` has no `previous` contract"), "{diagnostics:?}");
    assert!(diagnostics[0].help.as_ref().unwrap().contains("tools_file_before"), "{diagnostics:?}");
}
