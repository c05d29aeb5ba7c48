//! Errors for requests that a cassette does not hold.

use healbench_agents::llm::Api;
use healbench_agents::llm::cassette::Cassette;
use serde_json::json;
use tempfile::tempdir;

use crate::llm_cassette::*;

/// Returns the error for a request without a recording, omitting the key of the nearest one.
fn miss(cassette: &Cassette, fixture: &RequestFixture) -> String {
    assert_eq!(cassette.get(&fixture.request()), None);
    let text = cassette.explain_miss(&fixture.request());
    let Some((before, after)) = text.split_once("nearest: ") else { return text };
    format!("{before}nearest: {}", &after[34..])
}

#[test]
fn a_miss_shows_the_message_that_differs() {
    let dir = tempdir().unwrap();
    record(dir.path(), &conversations());
    let cassette = Cassette::open(dir.path()).unwrap();
    assert_eq!(
        miss(&cassette, &chat(1, &["said 00", "said 10", "said 2\u{1b}[2J\u{202e}"])),
        r#"no recording answers a request to openai-chat gpt-x, trial 1
nearest: trial 1, recorded 2026-11-22
message 3 is the first to differ (3 recorded, 3 asked):
  recorded: {"content":"said 20","role":"user"}
  asked:    {"content":"said 2\u001b[2J\u{202e}","role":"user"}"#
    );
    assert_eq!(
        miss(&cassette, &chat(2, &["said 00", "said 10"])),
        r#"no recording answers a request to openai-chat gpt-x, trial 2
nearest: trial 2, recorded 2026-11-22
message 3 is the first to differ (3 recorded, 2 asked):
  recorded: {"content":"said 20","role":"user"}
  asked:    no such message"#
    );
}

#[test]
fn a_miss_shows_long_messages_where_they_differ() {
    let dir = tempdir().unwrap();
    let long = |end: &str| format!("{}{end}", "é".repeat(1000));
    record(dir.path(), &[(chat(0, &[&long("one")]), answer(""))]);
    let text = miss(&Cassette::open(dir.path()).unwrap(), &chat(0, &[&long("two and more")]));
    let lead = "é".repeat(60);
    let end = format!(
        "\n  recorded: …{lead}one\",\"role\":\"user\"}}\n  asked:    …{lead}two and more\",\"role\":\"user\"}}"
    );
    assert!(text.ends_with(&end), "{text}");
    let other = miss(&Cassette::open(dir.path()).unwrap(), &chat(0, &["x"]));
    assert!(other.contains(&format!("{}…\n", "é".repeat(188))), "{other}");
}

#[test]
fn a_miss_shows_what_differs_besides_the_messages() {
    let dir = tempdir().unwrap();
    record(dir.path(), &conversations());
    let cassette = Cassette::open(dir.path()).unwrap();
    let mut fixture = chat(1, &["said 00"]);
    fixture.body["temperature"] = json!(0.7);
    fixture.body["seed"] = json!(1);
    fixture.body.as_object_mut().unwrap().remove("tools");
    assert_eq!(
        miss(&cassette, &fixture),
        r#"no recording answers a request to openai-chat gpt-x, trial 1
nearest: trial 1, recorded 2026-11-22
all messages are equal; what differs:
  seed: recorded not there, asked 1
  temperature: recorded 0.5, asked 0.7
  tools: recorded [{"name":"billing"}], asked not there"#
    );
    assert_eq!(
        miss(&cassette, &chat(7, &["said 00"])),
        "no recording answers a request to openai-chat gpt-x, trial 7\nnearest: trial 0, recorded 2026-11-22\n\
         all messages are equal; what differs:\n  trial: recorded 0, asked 7"
    );
}

#[test]
fn equal_messages_are_nearer_than_a_conversation_that_goes_on() {
    let dir = tempdir().unwrap();
    record(dir.path(), &[(chat(0, &["a"]), answer("")), (chat(1, &["a", "b", "c"]), answer(""))]);
    let text = miss(&Cassette::open(dir.path()).unwrap(), &chat(1, &["a"]));
    assert!(text.ends_with("all messages are equal; what differs:\n  trial: recorded 0, asked 1"), "{text}");
}

#[test]
fn a_miss_of_an_unknown_model_shows_the_known_ones() {
    let dir = tempdir().unwrap();
    record(dir.path(), &conversations());
    let cassette = Cassette::open(dir.path()).unwrap();
    assert_eq!(
        miss(&cassette, &RequestFixture { api: Api::Gemini, ..chat(0, &["said 00"]) }),
        "no recording answers a request to gemini gpt-x, trial 0\n\
         nothing of this model is recorded; there is: openai-chat gpt-x, anthropic Maker/Claude:X"
    );
}
