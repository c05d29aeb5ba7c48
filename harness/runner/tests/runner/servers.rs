//! Scenarios on a server that is a process.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use healbench_core::{EnvironmentKind, Outcome, ResponseRecord};
use healbench_mcp::Supervisor;
use healbench_reader::{ScriptedAgent, shipped_profile};
use healbench_runner::server_environments;
use healbench_scenarios::{Scenario, load_file};

use super::*;
use crate::memory_server::agent_factory;

/// Returns the path of the test server, which is built if need be.
pub(crate) fn test_server() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let folder = tests.ancestors().find(|folder| folder.ends_with("deps")).and_then(Path::parent).unwrap();
    let server = folder.join("mcp-test-server");
    if !server.exists() {
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "--package", "healbench-mcp", "--bin", "mcp-test-server", "--target-dir"]);
        assert!(
            build.arg(folder.parent().unwrap()).current_dir(env!("CARGO_MANIFEST_DIR")).status().unwrap().success()
        );
    }
    server
}

const TOOLS: &str = r#"{"tools": [
  {"name": "write", "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}, "text": {"type": "string"}},
    "required": ["path", "text"]}},
  {"name": "read", "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    "annotations": {"readOnlyHint": true}}]}"#;

/// Writes a scenario with a fixture into a folder, and loads it. `server` are more lines of its server.
fn scenario(folder: &Path, mode: &str, server: &str) -> Scenario {
    let program = test_server();
    let text = format!(
        r#"
id: files/note
title: A note
task: {{prompt: "Write done into {{dir}}/notes/a.txt.", max_calls: 4}}
server:
  command: [{}, {mode}]
  tools_file: tools.json
  fixture: fixture
  setup: [[sh, -c, "test -f notes/a.txt && echo begun > {{dir}}/notes/b.txt"]]
{server}
expect:
  - result: {{tool: read, arguments: {{path: "{{dir}}/notes/a.txt"}}, contains: done}}
  - command: [grep, -q, begun, "{{dir}}/notes/b.txt"]
script:
  - call: {{tool: write, arguments: {{path: "{{dir}}/notes/a.txt", text: done}}}}
    mistakes: [{{kind: missing, field: text}}]
"#,
        program.display()
    );
    fs::create_dir_all(folder.join("fixture/notes")).unwrap();
    fs::write(folder.join("fixture/notes/a.txt"), "open").unwrap();
    fs::write(folder.join("tools.json"), TOOLS).unwrap();
    fs::write(folder.join("note.yaml"), text).unwrap();
    load_file(&folder.join("note.yaml")).unwrap_or_else(|error| panic!("{error:?}"))
}

fn plan_of(scenarios: &[Scenario], trials: u32) -> Plan {
    let axes = Axes {
        agents: vec![shipped_profile("perfect").unwrap().spec("perfect")],
        conditions: Condition::of_parts(&[Guardrails::NONE, Guardrails::ALL], &[ErrorFormat::FusionXml]),
        trials,
        seed: Seed(1),
    };
    let environment =
        healbench_core::PlannedEnvironment { kind: EnvironmentKind::Mcp, server: Some("test".to_owned()) };
    Plan { environment, ..build_plan(&axes, scenarios) }
}

fn run(scenario: Scenario, trials: u32) -> Vec<healbench_store::EpisodeResult> {
    let scenarios = [scenario];
    let plan = plan_of(&scenarios, trials);
    let profile = shipped_profile("perfect").unwrap();
    let make_agent =
        agent_factory(move |_, start, script| Box::new(ScriptedAgent::new(&profile, start, script.unwrap())));
    let environments = server_environments(Supervisor::new(test_server(), Arc::default()));
    let job = Job {
        plan: &plan,
        scenarios: &scenarios,
        episodes: (0..plan.len()).into(),
        pools: &[WorkerPool { costly: true, ..WorkerPool::of_all_agents(&plan, 2) }],
        make_agent: &make_agent,
        make_environment: Some(&environments),
    };
    let mut results = Vec::new();
    let end = execute::<Infallible>(&job, None, &AtomicBool::new(false), &mut |event| {
        if let RunEvent::Rows(rows) = event {
            results.extend(rows);
        }
        Ok(())
    });
    assert!(end.unwrap().stopped.is_none());
    results.sort_by_key(|result| result.episode.episode);
    results
}

#[test]
fn every_episode_has_a_process_and_a_folder_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let results = run(scenario(folder.path(), "files", ""), 3);
    assert_eq!(results.len(), 6);
    for result in &results {
        assert_eq!(result.episode.outcome, Outcome::Success, "{:?}", result.recorded_turns);
        // A mistake, and the intended call.
        let errors: Vec<bool> = result.calls.iter().map(|call| call.is_error).collect();
        assert_eq!(errors, [true, false]);
        let turns = &result.recorded_turns.as_ref().unwrap().turns;
        let sent = format!("{turns:?}");
        assert!(sent.contains("/episode/notes/a.txt") && !sent.contains("{dir}"), "{sent}");
    }
    // The fixture is as it was.
    assert_eq!(fs::read_to_string(folder.path().join("fixture/notes/a.txt")).unwrap(), "open");
    assert!(!folder.path().join("fixture/notes/b.txt").exists());
    // The server's own text as it is, and the guardrails' in front of it.
    let texts: Vec<String> = results.iter().flat_map(|result| &result.responses).map(ResponseRecord::text).collect();
    assert!(texts.iter().any(|text| text == "text is required"), "{texts:?}");
    assert!(texts.iter().any(|text| text.starts_with("<validation_error")), "{texts:?}");
}

#[test]
fn agents_see_one_folder_in_all_episodes() {
    let folder = tempfile::tempdir().unwrap();
    let mut scenario = scenario(folder.path(), "files", "");
    let step = r#"{tool: write, arguments: {path: "{dir}/lost/a.txt", text: done}}"#;
    let text =
        scenario.source.text.replace("{tool: write, arguments: {path: \"{dir}/notes/a.txt\", text: done}}", step);
    fs::write(folder.path().join("note.yaml"), text).unwrap();
    scenario = load_file(&folder.path().join("note.yaml")).unwrap();
    let results = run(scenario, 2);
    for result in &results {
        assert_ne!(result.episode.outcome, Outcome::Success);
        let texts: Vec<String> = result.responses.iter().map(ResponseRecord::text).collect();
        assert!(texts.iter().any(|text| text.contains("/episode/lost/a.txt: No such file")), "{texts:?}");
        assert!(texts.iter().all(|text| !text.contains("/tmp/")), "{texts:?}");
    }
    // The texts of two episodes are equal, although their folders are not.
    let hashes: BTreeSet<u64> = results[..2].iter().map(|result| result.calls[1].response_hash).collect();
    assert_eq!(hashes.len(), 1);
}

#[test]
fn what_a_server_does_to_an_episode_is_infrastructure() {
    let reason = |mode: &str, server: &str| {
        let folder = tempfile::tempdir().unwrap();
        let mut results = run(scenario(folder.path(), mode, server), 1);
        assert!(results.iter().all(|result| result.episode.outcome == Outcome::Infra));
        let failed = results.remove(0).recorded_turns.unwrap().failed.unwrap();
        failed.to_string()
    };
    let exits = reason("exit", "");
    assert!(exits.contains("ended (exit status: 3) before it answered `initialize`"), "{exits}");
    assert!(exits.contains("its last words: no configuration found"), "{exits}");
    let other = reason("ok", "");
    assert!(other.contains("the server lists no tool `write`, which is in `tools_file`"), "{other}");
}

#[test]
fn a_setup_that_fails_is_infrastructure() {
    let folder = tempfile::tempdir().unwrap();
    let first = scenario(folder.path(), "files", "");
    let text = first.source.text.replace("test -f notes/a.txt &&", "echo broken >&2; exit 7;");
    fs::write(folder.path().join("note.yaml"), text).unwrap();
    let mut results = run(load_file(&folder.path().join("note.yaml")).unwrap(), 1);
    let failed = results.remove(0).recorded_turns.unwrap().failed.unwrap().to_string();
    assert!(failed.contains("failed (exit status: 7): broken"), "{failed}");
}

/// Agents know an earlier list: a call that follows it is refused by the list as it is, and mended.
#[test]
fn an_earlier_list_of_tools_is_outdated() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("before.json"), TOOLS.replace("\"text\"", "\"content\"")).unwrap();
    let loaded = scenario(folder.path(), "files", "  tools_file_before: before.json");
    let text = loaded.source.text.replace("{kind: missing, field: text}", "stale_contract");
    fs::write(folder.path().join("note.yaml"), text).unwrap();
    let results = run(load_file(&folder.path().join("note.yaml")).unwrap(), 1);
    for result in &results {
        assert_eq!(result.episode.outcome, Outcome::Success, "{result:?}");
        let (first, last) = (result.calls.first().unwrap(), result.calls.last().unwrap());
        let sends_text = |arguments: &str| arguments.contains("\"text\":\"done\"");
        assert!(first.is_error && first.arguments.contains("content") && !sends_text(&first.arguments), "{first:?}");
        assert!(!last.is_error && sends_text(&last.arguments), "{last:?}");
    }
    assert_eq!(results.len(), 2);
}
