//! Scenarios on MCP servers, from a list of tools to a report.

use super::*;

/// Returns the path of the test server, which is built if need be.
pub(crate) fn test_server() -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_healbench"));
    let server = program.with_file_name("mcp-test-server");
    if !server.exists() {
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "--package", "healbench-mcp", "--bin", "mcp-test-server", "--target-dir"]);
        let target = program.parent().and_then(Path::parent).unwrap();
        assert!(build.arg(target).current_dir(env!("CARGO_MANIFEST_DIR")).status().unwrap().success());
    }
    server
}

/// The arguments of `new` for the test server.
fn new_scenario(sandbox: &Sandbox, mode: &str) -> CommandResult {
    sandbox.start(&["new", "--from-server", "--out", "mine", "--", &test_server().display().to_string(), mode])
}

#[test]
fn a_server_becomes_a_scenario_that_runs() {
    let sandbox = Sandbox::new();
    let made = new_scenario(&sandbox, "ok");
    assert_eq!((made.code, made.out.as_str()), (Some(0), ""), "{}", made.err);
    assert_eq!(
        made.err,
        "2 tools: mine/tools.json\nscenario: mine/first.yaml\nedit it, then: healbench run mine/first.yaml --agent \
         scripted:typical --trials 3\n"
    );
    let text = std::fs::read_to_string(sandbox.path("mine/first.yaml")).unwrap();
    insta::assert_snapshot!(text.replace(&test_server().display().to_string(), "mcp-test-server"));
    sandbox.ok(&["validate", "mine/first.yaml"]);
    let args = ["run", "mine/first.yaml", "--agent", "scripted:perfect", "--trials", "2", "--out", "run", "--quiet"];
    let run = sandbox.ok(&args);
    assert!(run.out.contains("as-is") && run.out.contains("fusion"), "{}", run.out);
    assert!(run.out.contains("mcp-test-server"), "{}", run.out);
    // Its own text, and that of the guardrails; the transcript is the recorded one.
    let shown = |episode: &str| sandbox.ok(&["show", "run", episode]).out;
    assert!(shown("0").contains("MCP error -32602: Input validation error"), "{}", shown("0"));
    assert!(shown("2").contains("<validation_error"), "{}", shown("2"));
    let plan = sandbox.ok(&["plan", "mine/first.yaml", "--agent", "scripted:perfect"]).out;
    assert!(plan.contains("conditions as-is, fusion"), "{plan}");
    // The texts in the run are enough to show it, and to run the rest of it.
    std::fs::remove_dir_all(sandbox.path("mine")).unwrap();
    assert!(shown("0").contains("MCP error -32602"));
    sandbox.ok(&["run", "--resume", "run"]);
    sandbox.ok(&["report", "run"]);

    // A second time keeps the scenario.
    new_scenario(&sandbox, "ok");
    sandbox.write("mine/first.yaml", "edited");
    let again = new_scenario(&sandbox, "ok");
    assert!(again.err.ends_with("mine/first.yaml exists and is kept\n"), "{}", again.err);
    assert_eq!(std::fs::read_to_string(sandbox.path("mine/first.yaml")).unwrap(), "edited");
}

#[test]
fn a_fixture_is_named_from_the_folder_of_the_scenario() {
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.path("data/notes")).unwrap();
    sandbox.write("data/notes/server.sh", &format!("exec '{}' \"$@\"\n", test_server().display()));
    let server = ["--", "sh", "{dir}/server.sh", "ok"];
    sandbox.ok(&[&["new", "--from-server", "--out", "mine", "--fixture", "data/notes"], server.as_slice()].concat());
    let scenario = std::fs::read_to_string(sandbox.path("mine/first.yaml")).unwrap();
    assert!(scenario.contains("  fixture: \"../data/notes\"\n"), "{scenario}");
    sandbox.ok(&["run", "mine/first.yaml", "--agent", "scripted:perfect", "--trials", "1", "--out", "run", "--quiet"]);
}

#[test]
fn a_server_that_does_not_start_makes_no_scenario() {
    let sandbox = Sandbox::new();
    let result = new_scenario(&sandbox, "exit");
    assert_eq!((result.code, result.out.as_str()), (Some(4), ""));
    assert!(result.err.contains("ended (exit status: 3)") && result.err.contains("no configuration found"));
    assert!(result.err.contains("help: the server gets PATH"), "{}", result.err);
    assert!(!sandbox.path("mine").exists());
    assert_eq!(sandbox.start(&["new", "--", "x"]).code, Some(2));
}

#[test]
fn servers_and_the_simulator_are_not_mixed() {
    let sandbox = Sandbox::new();
    new_scenario(&sandbox, "ok");
    let refused = |args: &[&str]| {
        let result = sandbox.start(args);
        assert_eq!((result.code, result.out.as_str()), (Some(2), ""), "{args:?}");
        result.err
    };
    let file = "mine/first.yaml";
    let errors = [
        refused(&["run", file, "quickstart"]),
        refused(&["run", file, "--condition", "sdk-typescript,fusion"]),
        refused(&["run", "quickstart", "--condition", "as-is"]),
        refused(&["run", file, "--guardrails", "all", "--vary", "content=diagnosis"]),
        refused(&["run", file, "--guardrails", "none", "--vary", "undeclared=strip"]),
        refused(&["call", "--scenario", file, "echo", "{}"]),
    ];
    insta::assert_snapshot!(errors.join("\n"));
}

#[test]
fn a_server_that_ends_loses_its_episodes() {
    let sandbox = Sandbox::new();
    new_scenario(&sandbox, "dies");
    let args = ["run", "mine/first.yaml", "--agent", "scripted:perfect", "--trials", "1", "--out", "run"];
    let run = sandbox.start(&args);
    assert_eq!(run.code, Some(4), "{}", run.err);
    assert!(run.err.contains("2 of 2 episodes were lost:"), "{}", run.err);
    assert!(run.err.contains("ended (exit status: 137) before it answered `tools/call`"), "{}", run.err);
}

#[test]
fn an_outage_is_no_verdict() {
    let sandbox = Sandbox::new();
    new_scenario(&sandbox, "outage");
    let first = std::fs::read_to_string(sandbox.path("mine/first.yaml")).unwrap();
    let first = first.replace("  tools_file", "  env: [TEST_TOKEN]\n  timeout_s: 1\n  tools_file");
    for (name, text) in [("first", "one"), ("second", "two"), ("third", "wait")] {
        let scenario = first.replace("/first", &format!("/{name}")).replace("example", text);
        sandbox.write(&format!("mine/{name}.yaml"), &scenario);
    }
    std::fs::rename(sandbox.path("mine/tools.json"), sandbox.path("tools.json")).unwrap();
    let files = ["mine/first.yaml", "mine/second.yaml", "mine/third.yaml"];
    for file in files {
        let text = std::fs::read_to_string(sandbox.path(file)).unwrap();
        sandbox.write(file, &text.replace("tools_file: ", "tools_file: ../"));
    }
    let run = |state: &str, out: &str| {
        let args = [&["run"], &files[..], &["--agent", "scripted:perfect", "--condition", "as-is", "--trials", "2"]];
        let args = [&args.concat()[..], &["--quiet", "--out", out]].concat();
        CommandResult::new(sandbox.command(&args).env("TEST_TOKEN", state).output().unwrap())
    };
    assert_eq!(run("up", "base").code, Some(0));
    sandbox.ok(&["bless", "base", "--out", "base.toml"]);
    let lost = run("down", "lost");
    assert_eq!(lost.code, Some(4), "{}", lost.err);
    assert!(lost.err.contains("2 of 6 episodes were lost:"), "{}", lost.err);
    assert!(lost.err.contains("a call of `echo` was not answered in time"), "{}", lost.err);
    let gate = sandbox.start(&["gate", "base.toml", "lost"]);
    assert_eq!(gate.code, Some(4), "{}{}", gate.out, gate.err);
    assert!(gate.out.contains("2 of 6 episodes were lost"), "{}", gate.out);
    assert!(!gate.out.contains("FAIL"), "{}", gate.out);
}
