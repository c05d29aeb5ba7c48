//! Files that are read as one text.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use healbench_agents::external::parse_program_tables;
use healbench_agents::llm::{PriceTable, parse_model_tables, resolve_model};
use healbench_analysis::Baseline;
use healbench_analysis::gate::{Policy, gate_rounds};
use healbench_audit::{AuditReport, CallsFile, badge, changes, junit, markdown, sarif, svg, terminal};
use healbench_core::{ErrorFormat, Guardrails, Seed, ToolCall};
use healbench_engine::contract::{Lockfile, report_text};
use healbench_engine::definition::WorldDef;
use healbench_engine::{Engine, World, WorldBase};
use healbench_files::Document;
use healbench_reader::Profile;
use healbench_scenarios::{Syntax, load_str, load_suite, load_tools_str, render_diagnostics};
use healbench_store::{MIN_ROUNDS, PairRole, PairRounds, PairedRun, ROUNDS_VERSION};
use serde_json::json;

use super::{files, fuzz};
use crate::run_config::read_options;

/// Passes a file to a reader of texts.
fn fuzz_text(loader: &str, seeds: &[Vec<u8>], load: impl Fn(&str)) {
    fuzz(loader, seeds, |bytes| load(&String::from_utf8_lossy(bytes)));
}

#[test]
fn scenarios() {
    let seeds = files("scenarios/suites", &["yaml"]);
    fuzz_text("scenarios", &seeds, |text| {
        for syntax in [Syntax::Yaml, Syntax::Json] {
            match load_str("file", text, syntax) {
                Ok(scenario) => {
                    let world = scenario.world(Seed(1), 0);
                    let _ = scenario.schedule(Seed(1), 0, &world);
                    let engine = Engine::new(&scenario.tools, Guardrails::ALL, &ErrorFormat::FusionXml);
                    if let (Ok(engine), Some(tool)) = (engine, scenario.tools.first()) {
                        let mut world = World::new(Arc::new(WorldBase::new(world)));
                        let _ = engine.call(&mut world, &ToolCall::new(&tool.name, json!({"action": "list"})));
                    }
                }
                Err(problems) => {
                    assert!(!problems.is_empty());
                    render_diagnostics(&problems, &BTreeMap::from([("file".to_owned(), text.to_owned())]), true);
                }
            }
        }
    });
}

const TOOLS: &str = r##"{"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "ping", "description": "d", "annotations": {"readOnlyHint": true},
    "inputSchema": {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "required": ["days"], "$defs": {"d": {"type": "string",
    "pattern": "^a+$", "format": "date"}}, "properties": {"days": {"type": "integer", "minimum": 1, "maximum": 7}, "at": {"$ref": "#/$defs/d"},
    "list": {"type": "array", "items": [{"enum": ["a", "b"]}], "minItems": 1}, "one": {"oneOf": [{"const": 1}, {"type": "null"}]}}},
    "outputSchema": {"type": "object", "properties": {"t": {"type": "number", "exclusiveMaximum": -1}}}}]}}"##;
const ACTIONS: &str =
    r#"[{"name": "a", "actions": {"x": {"properties": {"y": {"type": "string", "maxLength": 3}}}, "z": null}}]"#;
const EVENTS: &str =
    "event: message\ndata: {\"tools\": [{\"name\": \"a\", \"inputSchema\": {\"type\": \"object\"}}]}\n\n";

#[test]
fn lists_of_tools() {
    let mut seeds: Vec<Vec<u8>> = vec![TOOLS.into(), ACTIONS.into(), EVENTS.into()];
    seeds.extend(files("harness/engine/tests/fixtures", &["json"]));
    seeds.retain(|seed| seed.len() < 100_000);
    fuzz_text("tools", &seeds, |text| match load_tools_str("file", text) {
        Ok(list) => {
            let engine = Engine::new(&list.tools, Guardrails::ALL, &ErrorFormat::LlmFriendly);
            let mut world = World::new(Arc::new(WorldBase::new(WorldDef::default())));
            if let Ok(engine) = engine {
                for tool in list.tools.iter().take(3) {
                    let _ = engine.call(&mut world, &ToolCall::new(&tool.name, json!({"unknown": 1})));
                }
            }
            render_diagnostics(&list.problems, &list.sources, false);
        }
        Err(problems) => {
            assert!(!problems.is_empty());
            render_diagnostics(&problems, &BTreeMap::from([("file".to_owned(), text.to_owned())]), false);
        }
    });
}

#[test]
fn long_keys_and_many_problems_are_errors() {
    let key = "k".repeat(1 << 20);
    let values = "1,".repeat(300_000) + "1";
    for text in [
        format!(r#"{{"{key}": [{values}]}}"#),
        format!("[{}{{}}]", r#"{"name": 1},"#.repeat(300_000)),
        format!(r#"{{"tools": {{{}"a": 1}}}}"#, r#""a": 1, "#.repeat(300_000)),
        format!("[{}1]", "[],".repeat(300_000)),
    ] {
        let problems = load_tools_str("file", &text).unwrap_err();
        assert!((1..=1001).contains(&problems.len()), "{} problems", problems.len());
        assert!(problems.iter().all(|problem| problem.message.len() < 5000));
        let sources = BTreeMap::from([("file".to_owned(), text)]);
        assert!(render_diagnostics(&problems, &sources, false).len() < 1 << 20);
    }
    for text in [
        format!("{{\"{key}\": [{values}]}}"),
        format!("? \"{key}\"\n: [{values}]\n"),
        format!("id: a/b\n{}", (0..50_000).map(|n| format!("unknown{n}: 1\n")).collect::<String>()),
    ] {
        for syntax in [Syntax::Yaml, Syntax::Json] {
            let problems = load_str("file", &text, syntax).unwrap_err();
            assert!((1..=1001).contains(&problems.len()), "{} problems", problems.len());
        }
    }
}

const SETTINGS: &str = r#"
[run]
scenarios = ["quickstart"]
agent = ["scripted:typical", "model:local"]
trials = 5
budget = "2.50usd"
format = ["fusion-xml"]

[model.local]
api = "openai-chat"
model = "qwen3-4b"
base_url = "http://127.0.0.1:8080/v1"
tools = "prompt"
temperature = 0
top_p = 0.9
seed = true
max_output_tokens = 512
connections = {start = 20, min = 10, max = 100}
tokens_per_minute = 200000
timeout_s = 120
retries = 6
price = {input = 0.15, output = 0.60, cache_read = 0.075}
extra_body = {top_k = 40}
headers = {"X-Title" = "healbench"}

[condition.mine]
guardrails = "healing+strict"
format = "fusion-xml"
domain_errors = "message"
content = "native"

[agent.acp]
acp = ["/bin/true", "--acp"]
timeout_s = 60
usage = "sum"
env = ["KEY"]
"#;

#[test]
fn settings() {
    let seeds = [SETTINGS.as_bytes().to_vec(), files("agents/e2e", &["toml"]).remove(0)];
    let prices = PriceTable::shipped();
    fuzz_text("settings", &seeds, |text| {
        let path = Path::new("/nowhere/healbench.toml");
        if let Ok(tables) = parse_model_tables(path, text, &|_| Err(std::io::ErrorKind::NotFound.into())) {
            for name in tables.keys() {
                let _ = resolve_model(&format!("model:{name}"), &tables, &prices);
            }
        }
        let _ = parse_program_tables(path, text).map_err(|error| error.to_string());
        if let Ok(document) = Document::parse("healbench.toml", text) {
            let _ = read_options(&document, path).map_err(|error| error.to_string());
        }
    });
}

#[test]
fn profiles() {
    let seeds = files("agents/reader/profiles", &["toml"]);
    fuzz_text("profiles", &seeds, |text| drop(Profile::from_toml("file", text).map_err(|error| error.to_string())));
}

#[test]
fn prices() {
    let seeds = [std::fs::read(super::repository().join("agents/prices.toml")).unwrap()];
    fuzz_text("prices", &seeds, |text| drop(PriceTable::parse("file", text).map_err(|error| error.to_string())));
}

const POLICY: &str = r#"
infra_share = 0.02
may_differ = ["seed"]
generalize = true
[deterministic]
advisory = ["success"]
[[check]]
metric = "success"
margin = "5 points"
tier = "critical"
agent = "scripted:typical"
[[require]]
scenario = "quickstart/missing-field"
condition = "fusion"
[perf]
ratio = 1.05
"#;

#[test]
fn policies() {
    fuzz_text("policies", &[POLICY.into()], |text| {
        drop(Policy::parse("file", text).map_err(|error| error.to_string()))
    });
}

#[test]
fn baselines() {
    let seeds = files("scenarios/baselines", &["toml"]);
    fuzz_text("baselines", &seeds, |text| drop(Baseline::parse(text).map_err(|error| error.to_string())));
}

#[test]
fn lockfiles() {
    let scenarios = load_suite(&["quickstart".into()]).unwrap();
    let lockfile = Lockfile::from_tools(scenarios.iter().take(3).map(|scenario| (&*scenario.id, &*scenario.tools)));
    fuzz_text("lockfiles", &[lockfile.to_text().into_bytes()], |text| {
        if let Ok(locked) = Lockfile::parse(text).map_err(|error| error.to_string()) {
            let _ = report_text(&lockfile.diff(&locked));
        }
    });
}

#[test]
fn calls_of_an_audit() {
    let seed = b"tools:\n  read:\n    right: {path: \"{dir}/a\", \"n\": 1e3}\n    wrong: [{path: /b}, {}]\n".to_vec();
    fuzz_text("calls", &[seed], |text| drop(CallsFile::parse(text).map_err(|error| error.to_string())));
}

#[test]
fn reports_of_an_audit() {
    let seeds = [include_bytes!("../../tests/fixtures/audit.json").to_vec()];
    fuzz_text("audits", &seeds, |text| {
        if let Ok(report) = AuditReport::parse(text) {
            let changes = changes(&report, &report);
            let _ = (junit(&report, Some(&changes)), markdown(&report, None), terminal(&report, Some(&changes)));
            let _ = (sarif(&report, None), badge(&report), svg(&report));
        }
    });
}

#[test]
fn rounds_of_a_measurement() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rounds.json");
    let pair = PairRounds {
        name: "call".to_owned(),
        role: PairRole::Control,
        reference: "a".to_owned(),
        candidate: "b".to_owned(),
        iterations: [10, 10],
        rounds: vec![[1000, 1001, 1002, 1003]; MIN_ROUNDS],
    };
    let run = PairedRun {
        format_version: ROUNDS_VERSION,
        healbench: "0.1.0".to_owned(),
        revision: None,
        cpu: None,
        optimized: true,
        epoch_ns: 10_000,
        pairs: vec![pair],
    };
    let policy = Policy::default();
    let seeds = [serde_json::to_vec(&run).unwrap()];
    fuzz("rounds", &seeds, |bytes| {
        std::fs::write(&file, bytes).unwrap();
        if let Ok(run) = PairedRun::read(&file).map_err(|error| error.to_string()) {
            let _ = gate_rounds(("a", &run), Some(("b", &run)), &policy);
        }
    });
}
