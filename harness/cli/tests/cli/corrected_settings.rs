//! Runs whose settings are corrected before they are resumed, and runs of the same agent at another address.

use healbench_core::Outcome;
use healbench_store::RunDir;
use serde_json::json;

use super::*;
use crate::model_server::{ModelServer, repairing_model};
use crate::models::{RUN, config, outcomes, sandbox_with};

/// A server that refuses requests with a key of the body.
fn refusing(key: &'static str) -> ModelServer {
    ModelServer::start(move |number, request| match request.body.get(key) {
        Some(_) => (400, json!({"error": {"message": format!("{key} is not supported")}})),
        None => repairing_model(number, request),
    })
}

#[test]
fn what_was_lost_is_played_with_the_corrected_settings() {
    for (wrong, corrected, setting) in [
        ("max_output_tokens = 500\n", "", "max_output_tokens"),
        ("extra_body = {max_tokens = 500}\n", "extra_body = {metadata = {user = \"a\"}}\n", "extra_body.max_tokens"),
    ] {
        let server = refusing("max_tokens");
        let sandbox = sandbox_with(&server, wrong);
        let lost = sandbox.start(&[&RUN[..], &["--trials", "1", "--out", "run"]].concat());
        assert_eq!(lost.code, Some(4), "{}", lost.err);
        assert!(lost.err.contains("2 of 2 episodes were lost"), "{}", lost.err);
        sandbox.write("healbench.toml", &config(&server, &format!("{corrected}timeout_s = 77\n")));
        let resumed = sandbox.ok(&["run", "--resume", "run"]);
        assert!(
            resumed.err.contains(&format!("model:mini: `{setting}` was 500 until now, and is not set")),
            "{}",
            resumed.err
        );
        assert!(resumed.err.contains("model:mini: `timeout_s` was 120 until now, and is 77"), "{}", resumed.err);
        assert_eq!(outcomes(&sandbox.path("run")), [Outcome::Success; 2]);
        let (_, manifest) = RunDir::open(&sandbox.path("run")).unwrap();
        let changed: Vec<&str> = manifest.changes.iter().map(|change| change.change.setting.as_str()).collect();
        assert!(changed.contains(&setting) && changed.contains(&"timeout_s"), "{changed:?}");
        assert_eq!(manifest.plan.agents[0].settings["limits"]["timeout_s"], 77);
    }
}

#[test]
fn what_all_episodes_have_in_common_is_not_corrected() {
    let server = refusing("max_tokens");
    let sandbox = sandbox_with(&server, "max_output_tokens = 500\n");
    sandbox.start(&[&RUN[..], &["--trials", "1", "--out", "run"]].concat());
    let right = config(&server, "");
    for (text, setting) in [
        (right.replace("temperature = 0", "temperature = 1"), "temperature"),
        (format!("{right}tools = \"prompt\"\n"), "tools"),
        (format!("{right}model = \"other\"\n"), "model"),
        (format!("{right}extra_body = {{options = {{top_k = 1}}}}\n"), "extra_body.options.top_k"),
    ] {
        sandbox.write("healbench.toml", &text);
        let refused = sandbox.start(&["run", "--resume", "run"]);
        assert_eq!(refused.code, Some(2), "{}", refused.err);
        assert!(refused.err.contains(&format!("model:mini: `{setting}` is")), "{}", refused.err);
        assert!(refused.err.contains("or begin a new run"), "{}", refused.err);
    }
    sandbox.write("elsewhere.toml", &right);
    sandbox.ok(&["run", "--resume", "run", "--config", "elsewhere.toml"]);
    assert_eq!(outcomes(&sandbox.path("run")), [Outcome::Success; 2]);
}

#[test]
fn a_run_without_its_settings_file_keeps_its_settings() {
    let server = ModelServer::start(|number, request| match number {
        0 => (503, json!({"error": {"message": "away"}})),
        _ => repairing_model(number, request),
    });
    let sandbox = sandbox_with(&server, "");
    sandbox.start(&[&RUN[..], &["--trials", "1", "--out", "run"]].concat());
    sandbox.write("healbench.toml", "[model.another]\napi = \"openai-chat\"\n");
    sandbox.ok(&["run", "--resume", "run"]);
    assert_eq!(outcomes(&sandbox.path("run")), [Outcome::Success; 2]);
    assert!(RunDir::open(&sandbox.path("run")).unwrap().1.changes.is_empty());
}

#[test]
fn runs_of_one_agent_at_two_addresses_are_compared_and_merged() {
    let (here, there) = (ModelServer::start(repairing_model), ModelServer::start(repairing_model));
    let sandbox = sandbox_with(&here, "");
    sandbox.ok(&[&RUN[..], &["--trials", "2", "--out", "here"]].concat());
    sandbox.ok(&["bless", "here", "--out", "base.toml"]);
    sandbox.ok(&[&RUN[..], &["--trials", "2", "--out", "one", "--shard", "1/2"]].concat());
    sandbox.write("healbench.toml", &config(&there, "timeout_s = 7\n"));
    sandbox.ok(&[&RUN[..], &["--trials", "2", "--out", "there"]].concat());
    for base in ["here", "base.toml"] {
        let gated = sandbox.start(&["gate", base, "there"]);
        assert!(gated.code != Some(4) && gated.code != Some(2), "{base}: {}", gated.err);
    }
    sandbox.ok(&[&RUN[..], &["--trials", "2", "--out", "two", "--shard", "2/2"]].concat());
    sandbox.ok(&["merge", "one", "two", "--out", "whole"]);
    sandbox.write("healbench.toml", &config(&there, "extra_body = {effort = \"low\"}\n"));
    sandbox.ok(&[&RUN[..], &["--trials", "2", "--out", "low"]].concat());
    assert_eq!(sandbox.start(&["gate", "here", "low"]).code, Some(4));
    let compared = sandbox.start(&["compare", "here", "low"]);
    assert!(unbroken(&compared.out).contains("its settings: base_url, extra_body.effort"), "{}", compared.out);
}
