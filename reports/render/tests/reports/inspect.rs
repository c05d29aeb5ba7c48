//! Logs for Inspect.

use healbench_analysis::{CallStep, SentCall, Transcript, TranscriptStep};
use healbench_core::{AgentId, CallRecord, Outcome};
use healbench_render::{inspect_log, inspect_sample};
use serde_json::json;

use crate::sample::{manifest, plan, records};
use crate::summary::report;

fn call(number: u32, turn: u32, class: Option<&str>, arguments: serde_json::Value) -> TranscriptStep {
    let row = CallRecord {
        call: number,
        turn: Some(turn),
        tool: "billing".into(),
        is_error: class.is_some(),
        error_class: class.map(Into::into),
        ..CallRecord::default()
    };
    let sent = SentCall { arguments, row };
    TranscriptStep::Call(Box::new(CallStep::new(&[], &sent, number == 1, format!("response {number}"))))
}

fn transcript(steps: Vec<TranscriptStep>, outcome: Outcome) -> Transcript {
    let plan = plan(1);
    Transcript {
        episode: Some(0),
        scenario: plan.scenarios[0].id.clone(),
        description: "About invoices.".to_owned(),
        agent: AgentId { name: "m".to_owned(), opening: None, tools: None }.title_parts().concat(),
        condition: (&plan.conditions[0]).into(),
        trial: 3,
        prompt: "Create it.".to_owned(),
        calls: 3,
        steps,
        outcome,
        unmet: vec!["a row in invoices".to_owned()],
    }
}

#[test]
fn a_log_has_the_numbers_of_its_row() {
    let plan = plan(4);
    let report = report(&plan, &records(&plan)).unwrap();
    let (agent, row) = (&report.agents[1], &report.agents[1].rows[2]);
    let log = serde_json::Value::Object(inspect_log(&report, &manifest(&plan), agent, row));
    assert_eq!((&log["version"], &log["status"]), (&json!(2), &json!("success")));
    assert_eq!(log["eval"]["task"], "quickstart: strict+healing fusion-text");
    assert_eq!(log["eval"]["model"], agent.title);
    assert_eq!(log["eval"]["config"], json!({"epochs": 4}));
    assert_eq!(log["eval"]["dataset"]["samples"], 3);
    let score = &log["results"]["scores"][0];
    let successes: u64 = row.scenarios.iter().map(|cell| cell.success.numerator).sum();
    assert_eq!(score["metrics"]["accuracy"]["value"], json!(successes as f64 / row.scored as f64));
    assert_eq!((&score["scored_samples"], &score["unscored_samples"]), (&json!(row.scored), &json!(0)));
}

#[test]
fn a_sample_is_the_conversation() {
    let plan = plan(1);
    let row = &records(&plan).episodes[0];
    let steps = vec![
        TranscriptStep::Message("Two at once.".to_owned()),
        call(1, 1, Some("VALIDATION"), json!({"amount": 1})),
        call(2, 1, None, json!([1, 2])),
        TranscriptStep::Wait { seconds: 30 },
        call(3, 2, None, json!({})),
        TranscriptStep::Done("Done.".to_owned()),
    ];
    let mut row = row.clone();
    row.outcome = Outcome::TaskFail;
    let sample = inspect_sample(&transcript(steps, row.outcome), &row, "runs/it's", "2026-01-02T03:04:05Z");
    assert_eq!((&sample["id"], &sample["epoch"]), (&json!("billing/new-currency"), &json!(4)));
    let roles: Vec<&str> =
        sample["messages"].as_array().unwrap().iter().map(|one| one["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "tool", "assistant", "tool", "assistant"]);
    let message = |index: usize| &sample["messages"][index];
    assert_eq!(message(1)["content"], "Two at once.");
    assert_eq!(message(1)["metadata"], json!({"opening": true}));
    let calls = json!([
        {"id": "call_1", "function": "billing", "arguments": {"amount": 1}, "type": "function"},
        {"id": "call_2", "function": "billing", "arguments": {"arguments": [1, 2]}, "type": "function"},
    ]);
    assert_eq!(message(1)["tool_calls"], calls);
    assert_eq!((&message(2)["content"], &message(2)["tool_call_id"]), (&json!("response 1"), &json!("call_1")));
    assert_eq!(message(2)["error"], json!({"type": "unknown", "message": "response 1"}));
    assert_eq!(message(3)["error"], json!(null));
    assert_eq!(message(4)["content"], "[waits 30 s of simulated time]");
    assert_eq!(sample["scores"]["success"]["value"], "I");
    assert_eq!(sample["scores"]["success"]["explanation"], "a row in invoices");
    assert_eq!(sample["metadata"]["show"], "healbench show 'runs/it'\\''s' 0");
    assert_eq!(sample["output"]["choices"][0]["message"]["content"], "Done.");
    assert_eq!(sample["output"]["choices"][0]["message"]["id"], message(6)["id"]);
    let column = |list: &str, key: &str| -> Vec<String> {
        sample[list].as_array().unwrap().iter().map(|one| one[key].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(column("events", "event"), ["sample_init", "tool", "tool", "tool", "model"]);
    assert_eq!(sample["events"][4]["input"], sample["messages"]);
    assert_eq!(sample["events"][1]["arguments"], json!({"amount": 1}));
    assert_eq!((&sample["events"][2]["result"], &sample["events"][2]["error"]), (&json!("response 2"), &json!(null)));
    for (list, key) in [("messages", "id"), ("events", "uuid")] {
        let ids = column(list, key);
        assert_eq!(ids.iter().collect::<std::collections::BTreeSet<_>>().len(), ids.len(), "{ids:?}");
        assert!(ids[0].starts_with("2026-01-02T03:04:05Z-0-"), "{ids:?}");
    }
}

#[test]
fn a_lost_episode_has_an_error_and_no_score() {
    let plan = plan(1);
    let mut row = records(&plan).episodes[0].clone();
    row.outcome = Outcome::Infra;
    let sample = inspect_sample(
        &transcript(vec![TranscriptStep::Failed("no network".to_owned())], row.outcome),
        &row,
        "run",
        "now",
    );
    assert_eq!((&sample["error"]["message"], &sample["scores"]), (&json!("no network"), &json!(null)));
    assert_eq!(sample["events"][2]["event"], "error");
    assert_eq!(sample["events"][2]["error"], sample["error"]);
}
