use std::collections::BTreeSet;

use healbench_core::{ErrorClass, Outcome};
use healbench_store::RunDir;
use serde_json::{Value, json};

use super::*;
use crate::model_server::{ModelServer, call_reply, repairing_model, text_reply};

/// Returns a `healbench.toml` for the server's model.
pub(crate) fn config(server: &ModelServer, more: &str) -> String {
    format!("[model.mini]\napi = \"openai-chat\"\nbase_url = \"{}\"\ntemperature = 0\nretries = 0\n{more}", server.url)
}

pub(crate) const PRICE: &str = "price = {input = 1.0, cache_read = 0.5, output = 10.0}\n";

/// The run of most tests: one scenario, whose scheduled mistake is the same in every trial.
pub(crate) const RUN: [&str; 7] =
    ["run", "scenario.yaml", "--agent", "model:mini", "--guardrails", "none,all", "--format=fusion-xml"];

pub(crate) fn sandbox_with(server: &ModelServer, more: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("healbench.toml", &config(server, more));
    let scenario = include_str!("../../../../scenarios/suites/quickstart/wrong-enum.yaml");
    sandbox.write("scenario.yaml", scenario);
    sandbox
}

pub(crate) fn outcomes(path: &Path) -> Vec<Outcome> {
    let (run, manifest) = RunDir::open(path).unwrap();
    let row = |episode| Some(healbench_frames::episode_rows(&run, episode).unwrap()?.0);
    manifest.episodes().iter().filter_map(row).map(|row| row.outcome).collect()
}

#[test]
fn a_model_sees_the_scheduled_mistake_as_its_own_call_and_repairs_it() {
    let server = ModelServer::start(repairing_model);
    let sandbox = sandbox_with(&server, PRICE);
    let result = sandbox.ok(&[&RUN[..], &["--trials", "2", "--out", "run", "--record", "tape"]].concat());
    assert!(result.out.contains("model:mini · seeded · native"), "{}", result.out);
    assert_eq!(outcomes(&sandbox.path("run")), [Outcome::Success; 4]);

    let requests = server.requests();
    // Two requests per episode. Each trial has its own seed and its own mistake, which are the same in both conditions.
    assert_eq!(requests.len(), 8);
    let mistakes: BTreeSet<(u64, String)> = requests
        .iter()
        .map(|request| {
            let call = &request.body["messages"][2]["tool_calls"][0]["function"];
            (request.body["seed"].as_u64().unwrap(), call.to_string())
        })
        .collect();
    assert_eq!(mistakes.len(), 2, "{mistakes:?}");
    for (_, call) in &mistakes {
        assert!(call.contains("issues") && call.contains("WEB-7") && !call.contains("completed"), "{call}");
    }

    let (run, _) = RunDir::open(&sandbox.path("run")).unwrap();
    let (row, calls) = healbench_frames::episode_rows(&run, 0).unwrap().unwrap();
    let model = row.model.unwrap();
    // The second turn reaches the goal, so no further request is sent.
    assert_eq!((model.opening_calls, model.turns, calls.len()), (1, Some(2), 3));
    assert!(calls[0].is_error && !calls[1].is_error && !calls[2].is_error);
    // 800 input tokens, 200 of them cached, and 40 output tokens.
    assert_eq!(model.usd.unwrap(), (600.0 * 1.0 + 200.0 * 0.5 + 40.0 * 10.0) / 1e6);
    assert!(!run.journal_path().exists());
    let shown = sandbox.ok(&["show", "run", "3"]);
    assert!(shown.out.contains("call 3") && shown.out.contains("end    success after 3 calls"), "{}", shown.out);

    // Replaying the recording without the server gives the same rows.
    drop(server);
    sandbox.write("healbench.toml", &std::fs::read_to_string(sandbox.path("healbench.toml")).unwrap());
    sandbox.ok(&[&RUN[..], &["--trials", "2", "--out", "again", "--replay", "tape"]].concat());
    assert!(same_frames_but_kind(&sandbox.path("run"), &sandbox.path("again")));
    sandbox.ok(&[&RUN[..], &["--trials", "2", "--out", "third", "--replay", "tape", "-j", "1"]].concat());
    assert!(same_frames(&sandbox.path("again"), &sandbox.path("third")));

    let listed = sandbox.ok(&["cassette", "ls", "tape", "--all"]);
    assert!(listed.out.starts_with("openai-chat mini · 8 recordings · 2 trials"), "{}", listed.out);
    let key = listed.out.lines().nth(1).unwrap().split_whitespace().next().unwrap();
    let recording: Value = serde_json::from_str(&sandbox.ok(&["cassette", "show", "tape", key]).out).unwrap();
    assert_eq!(recording["request"]["model"], "mini");
    let pruned = sandbox.ok(&["cassette", "prune", "tape", "again", "--dry-run"]);
    assert_eq!(pruned.out, "0 recordings would be removed\n");
}

fn same_frames_but_kind(a: &Path, b: &Path) -> bool {
    let rows = |path: &Path| {
        let (run, manifest) = RunDir::open(path).unwrap();
        let row = |episode| healbench_frames::episode_rows(&run, episode).unwrap().unwrap();
        manifest.completed_episodes().iter().map(row).collect::<Vec<_>>()
    };
    rows(a) == rows(b)
}

#[test]
fn a_missing_recording_ends_the_run_and_shows_what_differs() {
    let server = ModelServer::start(repairing_model);
    let sandbox = sandbox_with(&server, "");
    sandbox.ok(&[&RUN[..], &["--trials", "1", "--out", "run", "--record", "tape"]].concat());
    let requests_before = server.requests().len();
    sandbox.write("healbench.toml", &config(&server, "top_p = 0.5\n"));
    let result = sandbox.start(&[&RUN[..], &["--trials", "1", "--out", "again", "--replay", "tape"]].concat());
    assert_eq!(result.code, Some(4), "{}", result.err);
    assert!(result.err.contains("cannot be replayed") && result.err.contains("top_p"), "{}", result.err);
    assert_eq!(server.requests().len(), requests_before, "a replay never asks a model");
    // The frames of the finished episodes are complete, and the others can be run later.
    assert_eq!(sandbox.start(&["report", "again"]).code, Some(0));
}

#[test]
fn calls_in_the_prompt_are_read_and_answered() {
    let server = ModelServer::start(|_, request| {
        let messages = request.body["messages"].as_array().unwrap();
        assert!(request.body.get("tools").is_none());
        assert!(messages[0]["content"].as_str().unwrap().contains("\"name\":\"issues\""));
        let last = messages.last().unwrap()["content"].as_str().unwrap().to_owned();
        match last.contains("<validation_error") {
            true => text_reply(
                "```json\n{\"name\": \"issues\", \"arguments\": {\"action\": \"update\", \"id\": \"WEB-7\", \"status\": \"completed\", \"priority\": \"low\"}}\n```",
            ),
            false => text_reply("Done."),
        }
    });
    let sandbox = sandbox_with(&server, "tools = \"prompt\"\n");
    let result =
        sandbox.ok(&[&RUN[..4], &["--guardrails=all", "--format=fusion-xml", "--trials=3", "--out=run"]].concat());
    assert!(result.out.contains("model:mini · seeded · prompt"), "{}", result.out);
    assert_eq!(outcomes(&sandbox.path("run")), [Outcome::Success; 3]);
}

#[test]
fn a_natural_opening_begins_with_the_task() {
    let server = ModelServer::start(|_, request| {
        let messages = request.body["messages"].as_array().unwrap();
        if messages.len() == 2 { call_reply("nobody", &json!({})) } else { text_reply("I cannot.") }
    });
    let sandbox = sandbox_with(&server, "");
    sandbox.ok(&[&RUN[..], &["--trials=1", "--out=run", "--opening=natural,seeded"]].concat());
    let (run, manifest) = RunDir::open(&sandbox.path("run")).unwrap();
    let openings = manifest.plan.agents.iter().map(|agent| agent.opening.unwrap().name());
    assert_eq!(openings.collect::<Vec<_>>(), ["natural", "seeded"]);
    let (row, calls) = healbench_frames::episode_rows(&run, 0).unwrap().unwrap();
    assert_eq!((row.outcome, row.model.unwrap().opening_calls), (Outcome::TaskFail, 0));
    assert_eq!(calls[0].error_class, Some(ErrorClass::UnknownTool));
}

#[test]
fn a_seeded_opening_goes_up_to_the_first_mistake() {
    let server = ModelServer::start(|_, _| text_reply("I am done."));
    let sandbox = sandbox_with(&server, "");
    let scenario = std::fs::read_to_string(sandbox.path("scenario.yaml")).unwrap();
    let look = "script:\n  - call: {tool: issues, action: list, arguments: {status: in_review}}\n";
    sandbox.write("scenario.yaml", &scenario.replace("script:\n", look));
    sandbox.ok(&[&RUN[..], &["--trials=1", "--out=run"]].concat());
    let messages = server.requests()[0].body["messages"].as_array().unwrap().clone();
    let roles: Vec<&str> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "assistant", "tool"]);
    let ids = [2, 3, 4, 5].map(|at| {
        let message = &messages[at];
        message.get("tool_call_id").unwrap_or(&message["tool_calls"][0]["id"]).as_str().unwrap().to_owned()
    });
    assert_eq!(ids, ["opening01", "opening01", "opening02", "opening02"]);
    let (run, _) = RunDir::open(&sandbox.path("run")).unwrap();
    let (row, calls) = healbench_frames::episode_rows(&run, 0).unwrap().unwrap();
    assert_eq!((row.model.unwrap().opening_calls, calls.len()), (2, 2));
    assert!(!calls[0].is_error && calls[1].is_error);
}

#[test]
fn a_call_that_is_made_twice_is_one_turn_of_the_opening() {
    let server = ModelServer::start(|_, _| text_reply("I am done."));
    for tools in ["", "tools = \"prompt\"\n"] {
        let sandbox = sandbox_with(&server, tools);
        let scenario = std::fs::read_to_string(sandbox.path("scenario.yaml")).unwrap();
        let lines: Vec<&str> = scenario.lines().take_while(|line| !line.starts_with("script:")).collect();
        let call = "{tool: issues, action: update, arguments: {id: WEB-7, status: completed, priority: high}}";
        // The priority is not the one of the task, so that the goal is not reached and the model is asked.
        let script = format!("script:\n  - call: {call}\n    mistakes: [double_submission]\n");
        sandbox.write("scenario.yaml", &format!("{}\n{script}", lines.join("\n")));
        let asked = server.requests().len();
        sandbox.ok(&[&RUN[..4], &["--guardrails=all", "--format=fusion-xml", "--trials=1", "--out=run"]].concat());
        let messages = server.requests()[asked].body["messages"].as_array().unwrap().clone();
        let roles: Vec<&str> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
        if tools.is_empty() {
            assert_eq!(roles, ["system", "user", "assistant", "tool", "tool"]);
            let sent = [0, 1].map(|at| messages[2]["tool_calls"][at]["id"].clone());
            assert_eq!(sent, ["opening01", "opening02"]);
            assert_eq!([3, 4].map(|at| messages[at]["tool_call_id"].clone()), sent);
        } else {
            assert_eq!(roles, ["system", "user", "assistant", "user"]);
            let written = messages[2]["content"].as_str().unwrap();
            let distinct: BTreeSet<&str> = written.lines().collect();
            assert_eq!((written.lines().count(), distinct.len()), (2, 1), "{written}");
            assert_eq!(messages[3]["content"].as_str().unwrap().matches("<tool_response>").count(), 2);
        }
        let (run, _) = RunDir::open(&sandbox.path("run")).unwrap();
        let (row, calls) = healbench_frames::episode_rows(&run, 0).unwrap().unwrap();
        assert_eq!((row.model.unwrap().opening_calls, calls.len()), (2, 2));
        assert!(calls.iter().all(|call| call.turn == Some(1)));
    }
}

/// The server gives every call the same id.
#[test]
fn calls_with_equal_ids_are_kept_apart() {
    let server = ModelServer::start(|number, _| match number {
        0..3 => call_reply("issues", &json!({"action": "list", "status": "in_review"})),
        _ => text_reply("I am done."),
    });
    let sandbox = sandbox_with(&server, "connections = 1\n");
    sandbox.ok(&[&RUN[..4], &["--guardrails=all", "--format=fusion-xml", "--trials=1", "--out=run"]].concat());
    let messages = server.requests()[3].body["messages"].as_array().unwrap().clone();
    let sent = messages.iter().filter_map(|message| message["tool_calls"][0]["id"].as_str());
    let answered = messages.iter().filter_map(|message| message["tool_call_id"].as_str());
    let (sent, answered) = (sent.collect::<Vec<_>>(), answered.collect::<Vec<_>>());
    assert_eq!(sent, answered);
    assert_eq!((sent.len(), sent.iter().collect::<BTreeSet<_>>().len()), (4, 4), "{sent:?}");
}

#[test]
fn setup_errors_are_reported_before_anything_is_written() {
    let server = ModelServer::start(|_, _| panic!("nothing may be asked"));
    let sandbox = sandbox_with(&server, "key_env = \"HEALBENCH_TEST_KEY\"\n");
    let start = |agent: &str, more: &[&str]| {
        let result = sandbox.start(&[&["run", "scenario.yaml", "--agent", agent, "--out", "run"], more].concat());
        assert!(!sandbox.path("run").exists());
        let err = result.err.replace(server.url.trim_end_matches("/v1"), "http://SERVER");
        let err = err.replace(sandbox.dir.path().to_str().unwrap(), "FOLDER");
        format!("{:?}\n{err}", result.code.unwrap())
    };
    let mut all = vec![start("model:mini", &[])];
    sandbox.write("healbench.toml", &config(&server, "model = \"minni\"\n"));
    all.push(start("model:mini", &[]));
    sandbox.write("healbench.toml", "[model.mini]\napi = \"openai-chat\"\nbase_url = \"http://127.0.0.1:9\"\n");
    all.push(start("model:mini", &[]));
    all.push(start("model:mimi", &[]));
    all.push(start("openia:gpt-5", &[]));
    all.push(start("model:mini", &["--budget", "5usd"]));
    all.push(start("model:mini", &["--replay", "nowhere"]));
    sandbox.write("healbench.toml", "[model.mini]\napi = \"openai-chat\"\ntemprature = 0\n");
    all.push(start("model:mini", &[]));
    insta::assert_snapshot!(all.join("\n"));
    assert!(server.requests().is_empty(), "nothing may be asked");
}

/// A key that the server repeats in its responses must not be stored or shown.
#[test]
fn a_key_is_never_printed_or_stored() {
    const KEY: &str = "very-secret-key-0123456789";
    let server = ModelServer::start(|number, request| {
        let echo = request.authorization.clone().unwrap_or_default();
        assert!(echo.contains(KEY), "the key is sent");
        match number % 4 {
            0 | 2 => text_reply(&format!("your header was {echo}")),
            1 => (401, json!({"error": {"message": format!("bad key {echo}")}})),
            _ => (500, json!({"error": {"message": format!("failed for {echo}")}})),
        }
    });
    let sandbox = sandbox_with(&server, "connections = 1\nkey_env = \"MINI_KEY\"\n");
    let mut command = sandbox.command(&[&RUN[..], &["--trials=6", "--out=run", "--record=tape"]].concat());
    let result = CommandResult::new(command.env("MINI_KEY", KEY).output().unwrap());
    assert!(server.requests().len() >= 12, "{}", result.err);
    let mut texts = vec![result.out, result.err];
    for episode in 0..12 {
        let shown = sandbox.start(&["show", "run", &episode.to_string()]);
        texts.extend([shown.out, shown.err]);
    }
    let cassettes = sandbox.ok(&["cassette", "ls", "tape", "--all"]).out;
    for line in cassettes.lines().skip(1) {
        texts.push(sandbox.ok(&["cassette", "show", "tape", line.split_whitespace().next().unwrap()]).out);
    }
    assert!(texts.iter().any(|text| text.contains("[key]")), "the echoes were there");
    texts.extend(sandbox.files().into_iter().map(|(_, bytes)| String::from_utf8_lossy(&bytes).into_owned()));
    assert!(texts.iter().all(|text| !text.contains(KEY)), "{:?}", texts.iter().find(|text| text.contains(KEY)));
}

#[test]
fn a_plan_estimates_what_models_cost() {
    let server = ModelServer::start(|_, _| panic!("nothing may be asked"));
    let sandbox = sandbox_with(&server, PRICE);
    let result = sandbox.ok(&[&["plan"], &RUN[1..], &["--trials=10", "--opening=seeded,natural"]].concat());
    insta::assert_snapshot!(result.out);
    assert!(server.requests().is_empty(), "nothing may be asked");
}

#[test]
fn a_server_that_ignores_tools_is_named_in_every_form() {
    let diagnostics = |server: &ModelServer, settings: &str| {
        let sandbox = sandbox_with(server, settings);
        sandbox.ok(&[&RUN[..], &["--trials=2", "--out=run"]].concat());
        let report: Value = serde_json::from_str(&sandbox.ok(&["report", "run", "--output=json"]).out).unwrap();
        (report["agents"][0]["diagnostics"].clone(), sandbox)
    };
    let server = ModelServer::start(|_, _| text_reply("The issue would be completed now."));
    let (found, sandbox) = diagnostics(&server, "");
    assert_eq!(found, json!([{"word": "no_calls", "answers": 4}]), "the call of the opening is not the model's");
    for form in ["terminal", "markdown", "html"] {
        let text = unbroken(&sandbox.ok(&["report", "run", "--output", form]).out);
        assert!(text.contains("none of 4 answers has a tool call: does the chat template"), "{form}: {text}");
    }
    assert_eq!(diagnostics(&server, "tools = \"prompt\"\n").0, json!([]));

    // A server with tools, and a model that calls one of them once.
    let server = ModelServer::start(|number, request| match number {
        0 => repairing_model(number, request),
        _ => text_reply("The issue would be completed now."),
    });
    assert_eq!(diagnostics(&server, "connections = 1\n").0, json!([]));
}
