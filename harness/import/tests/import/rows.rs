//! The rows of conversations.

use healbench_core::{ErrorKind, Outcome, ResponseRecord};
use healbench_import::Rows;
use healbench_store::EpisodeResult;
use serde_json::json;

use super::*;

/// A session in which a call fails twice, another tool is asked, and the user helps.
fn session() -> Conversation {
    let call = |id: &str, tool: &str, arguments: &str| {
        json!({"role": "assistant", "content": null,
               "tool_calls": [{"id": id, "function": {"name": tool, "arguments": arguments}}]})
    };
    let result = |id: &str, text: &str| json!({"role": "tool", "tool_call_id": id, "content": text});
    let messages = json!([
        {"role": "user", "content": "Cancel order A-17."},
        call("1", "cancel", r#"{"order":"A17"}"#),
        result("1", "Error: order must match ^A-[0-9]+$"),
        call("2", "list", "{}"),
        result("2", "A-17, A-18"),
        call("3", "cancel", r#"{"order":"A-17"}"#),
        result("3", "Error: A-17 is already shipped"),
        {"role": "assistant", "content": "It was shipped."},
        {"role": "user", "content": "Then A-18."},
        call("4", "cancel", r#"{"order":"A-18"}"#),
        result("4", "cancelled"),
    ]);
    read("log.json", &json!({"messages": messages, "model": "m"}).to_string(), &[ProblemKind::CutOff]).remove(0)
}

fn rows_of(redacts: bool) -> (Rows, EpisodeResult) {
    let mut rows = Rows::new(redacts);
    let result = rows.add(&session());
    (rows, result)
}

#[test]
fn errors_have_a_reading_and_what_followed() {
    let (rows, result) = rows_of(false);
    let plan = rows.plan();
    assert_eq!((plan.len(), plan.trials, plan.scenarios[0].id.as_str()), (1, 1, "openai-chat/log"));
    assert_eq!((plan.agents[0].to_string().as_str(), result.episode.outcome), ("m", Outcome::Unknown));
    let moves: Vec<_> = result.calls.iter().map(|call| call.aftermath.map(|after| after.next_move.name())).collect();
    assert_eq!(moves, [Some("other_tool"), None, Some("stopped"), None]);
    let after = result.calls[0].aftermath.unwrap();
    assert!(after.came_back && after.next_attempt == Some(3) && !after.user_replied);
    // The user asked for something else: nothing is tried again beyond that.
    let after = result.calls[2].aftermath.unwrap();
    assert!(after.user_replied && after.next_attempt.is_none());
    let of: Vec<_> = result.calls.iter().map(|call| (call.attempt_of, call.chain)).collect();
    assert_eq!(of, [(None, Some(1)), (None, None), (Some(1), Some(1)), (None, None)]);
    assert_eq!(result.calls[2].changed_fields.as_deref(), Some(&["order".to_owned()][..]));
    let reading = result.calls[0].reading.unwrap();
    assert!(reading.kind == ErrorKind::Value && reading.names_field && reading.states_remedy, "{reading:?}");
    assert_eq!(result.episode.counts.errors, 2);
    assert_eq!(result.recorded_turns.unwrap().prompt.as_deref(), Some("Cancel order A-17."));
}

#[test]
fn a_conversation_of_the_same_task_and_model_is_another_trial() {
    let mut rows = Rows::new(false);
    for _ in 0..2 {
        rows.add(&session());
    }
    let other = Conversation { model: None, ..session() };
    rows.add(&other);
    let cells: Vec<_> = (0..3).filter_map(|episode| rows.plan().cell(episode)).collect();
    let places: Vec<_> = cells.iter().map(|cell| (cell.scenario, cell.agent, cell.trial)).collect();
    assert_eq!(places, [(0, 0, 0), (0, 0, 1), (0, 1, 0)]);
    assert_eq!(rows.plan().agents[1].name, "unknown model");
}

#[test]
fn redaction_masks_values_and_changes_no_move() {
    let (_, plain) = rows_of(false);
    let (_, redacted) = rows_of(true);
    assert_eq!(plain.episode, redacted.episode);
    for (before, after) in plain.calls.iter().zip(&redacted.calls) {
        assert_eq!((before.aftermath, before.reading), (after.aftermath, after.reading));
    }
    let text = serde_json::to_string(&redacted).unwrap();
    for secret in ["A17", "A-17", "A-18", "Cancel", "shipped."] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    let is_error = |response: &&ResponseRecord| response.is_error;
    let errors: Vec<&String> = redacted.responses.iter().filter(is_error).flat_map(|error| &error.content).collect();
    assert_eq!(errors[1], "Error: [value 2] is already shipped");
}

#[test]
fn what_inspect_finds_wrong_is_read_without_its_head() {
    let error = "Found 2 validation errors parsing tool input arguments:\n- 'order_id' is a required property\n- Additional properties are not allowed ('id' was unexpected)";
    let messages = json!([
        {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "find", "arguments": "{\"id\":\"1\"}"}}]},
        {"role": "tool", "tool_call_id": "1", "content": error},
        {"role": "assistant", "content": "end"},
    ]);
    let all = read("log.json", &json!({ "messages": messages }).to_string(), &[]);
    let expected =
        "-> text 'order_id' is a required property\nAdditional properties are not allowed ('id' was unexpected)\n";
    assert!(outline(&all[0]).contains(expected), "{}", outline(&all[0]));
    let reading = Rows::new(false).add(&all[0]).calls[0].reading.unwrap();
    assert!(reading.kind == ErrorKind::Missing && reading.names_field, "{reading:?}");
}

#[test]
fn a_call_that_the_user_refused_is_no_error_and_ends_a_chain() {
    let turn = |id: &str| json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "save", "input": {"id": id}}]});
    let result = |id: &str, text: &str| json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "is_error": true, "content": text}]});
    for refusal in [
        "The user doesn't want to proceed with this tool use. Wait.",
        "[Request interrupted by user for tool use]",
        "Error: exec command rejected by user",
        "The user rejected permission to use this specific tool call.",
    ] {
        let messages = json!([turn("1"), result("1", "no room"), turn("2"), result("2", refusal)]);
        let log = json!({ "messages": messages }).to_string();
        let (all, summary) = import_files(&[("a.json", log.as_bytes())], &Options::default()).unwrap();
        let counts = &summary.sources["anthropic"];
        assert_eq!((counts.flag_errors, counts.text_errors, counts.refused), (1, 0, 1), "{refusal}");
        let calls = Rows::new(false).add(&all[0]).calls;
        let after = calls[0].aftermath.unwrap();
        assert_eq!((after.next_move.name(), after.next_attempt), ("cut_off", None), "{refusal}");
        assert!(!calls[1].is_error, "{refusal}");
    }
}
