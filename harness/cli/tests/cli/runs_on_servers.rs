//! Tests of the commands that read a run whose calls a server answered.

use healbench_core::{AgentKind, ErrorClass};
use healbench_frames::FrameWriter;
use healbench_store::{FORMAT_VERSION, RecordedTurnsWriter, RunDir, RunManifest, RunStatus, StoredScenario};
use serde_json::Value;

use super::*;
use crate::memory_server::{Mode, SCENARIO, run_on_server};

/// Runs the scenario on the server in memory, and writes the run.
pub(crate) fn write_run(sandbox: &Sandbox, name: &str, trials: u32) {
    let (plan, results) = run_on_server(Mode::Works, trials);
    let mut manifest = RunManifest {
        format_version: FORMAT_VERSION,
        healbench: "0.1.0".to_owned(),
        revision: None,
        command: "healbench run".to_owned(),
        started: "2026-01-02T03:04:05Z".to_owned(),
        finished: None,
        tokenizer: healbench_tokens::TOKENIZER.to_owned(),
        reader: None,
        imported: Vec::new(),
        shell_tools: Vec::new(),
        status: RunStatus::Complete,
        episodes_done: plan.len(),
        shards: None,
        cassettes: None,
        prices: None,
        changes: Vec::new(),
        files: Default::default(),
        replacing: Default::default(),
        plan: plan.clone(),
    };
    let stored = StoredScenario { id: "lab/server", extension: "yaml", text: SCENARIO, server_tools: None };
    let run = RunDir::create(&sandbox.path(name), &mut manifest, &[stored], None).unwrap().publish().unwrap().0;
    let mut frames = FrameWriter::create(&run, &plan).unwrap();
    let mut turns = RecordedTurnsWriter::create(&run).unwrap();
    for result in &results {
        frames.write_result(result).unwrap();
        turns.write(result.recorded_turns.as_ref().unwrap()).unwrap();
    }
    frames.finish().unwrap();
    turns.finish().unwrap();
    run.add_result_files(&mut manifest).unwrap();
    run.write_manifest(&manifest).unwrap();
}

/// Returns the first episodes of a simulated reader and of the model that begin with an error of this class.
fn failing_episodes(sandbox: &Sandbox, name: &str, class: &ErrorClass) -> [String; 2] {
    let (run, manifest) = RunDir::open(&sandbox.path(name)).unwrap();
    let rows = healbench_frames::rows_of_episodes(&run, &(0..manifest.plan.len()).collect()).unwrap();
    let find = |kind: AgentKind| {
        (0..manifest.plan.len()).find(|episode| {
            let cell = manifest.plan.cell(*episode).unwrap();
            manifest.plan.agents[cell.agent].kind == kind && rows[episode].1[0].error_class.as_ref() == Some(class)
        })
    };
    [AgentKind::Scripted, AgentKind::Llm].map(|kind| find(kind).unwrap().to_string())
}

#[test]
fn transcripts_are_read_from_the_files_of_the_run() {
    let sandbox = Sandbox::new();
    write_run(&sandbox, "run", 3);
    // Texts of this session of the server, which no other has.
    let [scripted, model] = failing_episodes(&sandbox, "run", &ErrorClass::ServerError);
    let shown = sandbox.ok(&["show", "run", &scripted]).out;
    assert!(shown.contains("(request ") && shown.contains("unmet"), "{shown}");
    let shown = sandbox.ok(&["show", "run", &model]).out;
    assert!(shown.contains("(request ") && shown.contains("Invited Ada") && shown.contains("Done."), "{shown}");
    // Another recorded condition is shown, but not one that the run does not have.
    sandbox.ok(&["show", "run", &model, "--guardrails", "all"]);
    let refused = sandbox.start(&["show", "run", &model, "--guardrails", "all", "--format", "zod-json"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("were executed on mcp lab, which may answer differently"), "{}", refused.err);
    // Without the texts, the numbers and what the agent did are still there.
    std::fs::remove_file(sandbox.path("run/responses.parquet")).unwrap();
    let shown = sandbox.ok(&["show", "run", &scripted]).out;
    assert!(shown.contains("[not stored") && shown.contains("Ada") && !shown.contains("(request "), "{shown}");
    sandbox.ok(&["report", "run"]);
}

#[test]
fn reports_comparisons_and_pages_show_the_server() {
    let sandbox = Sandbox::new();
    write_run(&sandbox, "run", 2);
    let text = sandbox.ok(&["report", "run", "--all"]).out;
    assert!(text.lines().next().unwrap().ends_with("server lab"), "{text}");
    assert!(text.contains("openai:stub") && text.contains("perfect"), "{text}");
    let report: Value = serde_json::from_str(&sandbox.ok(&["report", "run", "--output=json"]).out).unwrap();
    assert_eq!(report["server"], "lab");
    // The server counts no undeclared fields, so their number is unknown.
    assert!(report["agents"][0]["rows"][0]["leaked_fields"]["rate"].is_null(), "{report:#}");
    sandbox.ok(&["report", "run", "--output", "html=report.html"]);
    let page = std::fs::read_to_string(sandbox.path("report.html")).unwrap();
    assert!(page.contains("(request ") && !page.contains("<b>name</b> is needed"), "texts of the server are escaped");
    sandbox.ok(&["compare", "run", "--by", "guardrails"]);
}

#[test]
fn a_gate_compares_runs_on_servers_statistically() {
    let sandbox = Sandbox::new();
    write_run(&sandbox, "base", 6);
    write_run(&sandbox, "again", 6);
    let gate = sandbox.start(&["gate", "base", "again"]);
    // Exact comparisons would fail: no two sessions answer alike.
    assert!(matches!(gate.code, Some(0 | 3)), "{:?}: {} {}", gate.code, gate.out, gate.err);
    assert!(!gate.out.contains("rows differ"), "{}", gate.out);
    sandbox.ok(&["run", "quickstart", "--trials", "6", "--out", "simulated"]);
    assert_eq!(sandbox.start(&["gate", "base", "simulated"]).code, Some(4));
    sandbox.ok(&["bless", "base", "--out", "base.toml"]);
}
