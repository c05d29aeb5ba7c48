//! Recordings of models: kept, found again, and never confused.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use healbench_agents::llm::Api;
use healbench_agents::llm::cassette::{Cassette, CassetteError, RecordedResponse, Request, Reservation};
use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::tempdir;

/// A request to a model.
#[derive(Debug, Clone)]
pub(crate) struct RequestFixture {
    pub(crate) api: Api,
    pub(crate) model: &'static str,
    pub(crate) trial: u32,
    pub(crate) body: Value,
}

impl RequestFixture {
    pub(crate) fn request(&self) -> Request<'_> {
        Request { api: self.api, model: self.model, trial: self.trial, body: &self.body }
    }
}

static NEVER: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

pub(crate) fn chat(trial: u32, texts: &[&str]) -> RequestFixture {
    let message = |(index, text): (usize, &&str)| json!({"role": if index % 2 == 0 { "user" } else { "assistant" }, "content": text});
    let messages: Vec<Value> = texts.iter().enumerate().map(message).collect();
    let body = json!({"model": "gpt-x", "messages": messages, "temperature": 0.5, "tools": [{"name": "billing"}]});
    RequestFixture { api: Api::OpenaiChat, model: "gpt-x", trial, body }
}

pub(crate) fn answer(text: &str) -> RecordedResponse {
    let body = json!({"z": text, "a": [1.0, -0.000_779_312_191_018_611_2, 1e300], "n": null, "usage": {"input": 12}});
    RecordedResponse { body, latency_ms: 1234, recorded_on: "2026-11-22".to_owned() }
}

/// Conversations of several trials and two models that grow by two messages a request, each with its answer.
pub(crate) fn conversations() -> Vec<(RequestFixture, RecordedResponse)> {
    let mut all = Vec::new();
    for trial in 0..3 {
        let texts: Vec<String> = (0..7).map(|n| format!("said {n}{}", if n > 2 { trial } else { 0 })).collect();
        for length in [1, 3, 5, 7] {
            let prefix: Vec<&str> = texts[..length].iter().map(String::as_str).collect();
            let fixture = chat(trial, &prefix);
            let other = RequestFixture { api: Api::Anthropic, model: "Maker/Claude:X", ..fixture.clone() };
            all.push((other, answer(&format!("other {trial} {length}"))));
            all.push((fixture, answer(&format!("answer {trial} {length}"))));
        }
    }
    all
}

pub(crate) fn put(cassette: &Cassette, fixture: &RequestFixture, recorded: &RecordedResponse) {
    match cassette.get_or_reserve(&fixture.request(), &NEVER).unwrap() {
        Reservation::Reserved(pending) => pending.put(recorded.clone()).unwrap(),
        Reservation::Recorded(known) => panic!("{fixture:?} is known as {known:?}"),
    }
}

pub(crate) fn record(dir: &Path, all: &[(RequestFixture, RecordedResponse)]) {
    let cassette = Cassette::open_or_create(dir).unwrap();
    all.iter().for_each(|(fixture, recorded)| put(&cassette, fixture, recorded));
    cassette.finish().unwrap();
}

pub(crate) fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let read = |entry: fs::DirEntry| (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap());
    fs::read_dir(dir).unwrap().map(|entry| read(entry.unwrap())).collect()
}

pub(crate) fn names(dir: &Path) -> Vec<String> {
    files(dir).into_keys().collect()
}

#[test]
fn recordings_are_replayed() {
    let dir = tempdir().unwrap();
    let all = conversations();
    record(dir.path(), &all);
    assert_eq!(
        names(dir.path()),
        ["anthropic-maker-claude-x-e3734ccb.jsonl.zst", "openai-chat-gpt-x.jsonl.zst"],
        "no temporary file and no journal are left"
    );

    let cassette = Cassette::open(dir.path()).unwrap();
    assert_eq!(cassette.unused().len(), all.len());
    for (fixture, recorded) in &all {
        assert_eq!(cassette.get(&fixture.request()), Some(recorded.clone()));
        let exchange = cassette.exchange(fixture.request().key()).unwrap();
        assert_eq!((&exchange.request, &exchange.response), (&fixture.body, recorded));
        assert!(
            matches!(cassette.get_or_reserve(&fixture.request(), &NEVER).unwrap(), Reservation::Recorded(known) if known == *recorded)
        );
    }
    assert_eq!(cassette.unused(), []);
    assert_eq!(cassette.get(&chat(9, &["said 00"]).request()), None, "another trial is another request");
}

#[test]
fn equal_recordings_give_equal_files() {
    let all = conversations();
    let first = tempdir().unwrap();
    record(first.path(), &all);
    let expected = files(first.path());

    let backwards = tempdir().unwrap();
    let reversed: Vec<_> = all.iter().rev().cloned().collect();
    for some in reversed.chunks(7) {
        record(backwards.path(), some);
    }
    assert_eq!(files(backwards.path()), expected, "backwards, in several runs");

    let threads = tempdir().unwrap();
    let cassette = Cassette::open_or_create(threads.path()).unwrap();
    thread::scope(|scope| {
        for number in 0..8 {
            let (all, cassette) = (&all, &cassette);
            scope.spawn(move || {
                all.iter().skip(number).step_by(8).for_each(|(fixture, answer)| put(cassette, fixture, answer))
            });
        }
    });
    cassette.finish().unwrap();
    assert_eq!(files(threads.path()), expected, "by eight threads");
}

#[test]
fn one_process_records_at_a_time() {
    let dir = tempdir().unwrap();
    let all = conversations();
    let first = Cassette::open_or_create(dir.path()).unwrap();
    put(&first, &all[0].0, &all[0].1);
    let error = Cassette::open_or_create(dir.path()).unwrap_err();
    assert_eq!(error.to_string(), format!("another process records into `{}`", dir.path().display()));
    assert!(error.help().is_some());
    let replay = Cassette::open(dir.path()).unwrap();
    assert_eq!(
        replay.get(&all[0].0.request()),
        Some(all[0].1.clone()),
        "a replay reads the journal of another process"
    );
    assert!(matches!(replay.retain(&|_| false), Err(CassetteError::Busy(_))));

    first.finish().unwrap();
    let second = Cassette::open_or_create(dir.path()).unwrap();
    assert!(matches!(second.get_or_reserve(&all[0].0.request(), &NEVER), Some(Reservation::Recorded(_))));
    put(&second, &all[1].0, &all[1].1);
    second.finish().unwrap();
    put(&first, &all[2].0, &all[2].1);
    first.finish().unwrap();
    let replay = Cassette::open(dir.path()).unwrap();
    assert!(all[..3].iter().all(|(fixture, recorded)| replay.get(&fixture.request()).as_ref() == Some(recorded)));
}

#[test]
fn nothing_is_written_where_all_is_known() {
    let dir = tempdir().unwrap();
    record(dir.path(), &conversations());
    let before = files(dir.path());
    let cassette = Cassette::open_or_create(dir.path()).unwrap();
    for (fixture, recorded) in conversations() {
        assert!(
            matches!(cassette.get_or_reserve(&fixture.request(), &NEVER).unwrap(), Reservation::Recorded(known) if known == recorded)
        );
    }
    let mut during = files(dir.path());
    assert_eq!(during.remove("journal.jsonl"), Some(b"{\"healbench_cassette\":2}\n".to_vec()));
    assert_eq!(during, before);
    drop(cassette);
    assert_eq!(files(dir.path()), before, "an empty journal is removed");
    Cassette::open_or_create(dir.path()).unwrap().finish().unwrap();
    assert_eq!(files(dir.path()), before);
}

#[test]
fn a_request_of_several_threads_is_sent_once() {
    let dir = tempdir().unwrap();
    let cassette = Cassette::open_or_create(dir.path()).unwrap();
    let (fixture, count) = (chat(0, &["task"]), AtomicUsize::new(0));
    let barrier = Barrier::new(8);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                barrier.wait();
                match cassette.get_or_reserve(&fixture.request(), &NEVER).unwrap() {
                    Reservation::Recorded(known) => assert_eq!(known, answer("the second")),
                    Reservation::Reserved(pending) => {
                        thread::sleep(Duration::from_millis(20));
                        // The first who asks fails, and leaves it to another.
                        if count.fetch_add(1, Ordering::SeqCst) > 0 {
                            pending.put(answer("the second")).unwrap();
                        }
                    }
                }
            });
        }
    });
    assert_eq!(count.into_inner(), 2);
    assert_eq!(cassette.get(&fixture.request()), Some(answer("the second")));
}

pub(crate) fn error(dir: &Path) -> String {
    let error = Cassette::open(dir).unwrap_err();
    assert!(error.help().is_some(), "{error}");
    error.to_string().replace(&dir.display().to_string(), "DIR")
}

#[test]
fn an_empty_folder_and_a_missing_one_are_different_errors() {
    let dir = tempdir().unwrap();
    assert_eq!(error(dir.path()), "there are no recordings in `DIR`");
    let none = dir.path().join("none");
    assert_eq!(error(&none), "there is no folder of recordings at `DIR`");
    fs::write(dir.path().join("README.md"), "ours").unwrap();
    assert_eq!(error(dir.path()), "there are no recordings in `DIR`");
}

#[test]
fn what_a_replay_does_not_use_can_be_dropped() {
    let dir = tempdir().unwrap();
    let all = conversations();
    record(dir.path(), &all);
    let cassette = Cassette::open(dir.path()).unwrap();
    let used: Vec<_> =
        all.iter().filter(|(fixture, _)| fixture.model == "gpt-x" && fixture.trial != 1).cloned().collect();
    used.iter().for_each(|(fixture, _)| assert!(cassette.get(&fixture.request()).is_some()));
    let unused = cassette.unused();
    assert_eq!(cassette.retain(&|entry| !unused.contains(&entry.key)).unwrap(), 16);
    assert_eq!(cassette.unused(), []);
    assert_eq!(cassette.retain(&|_| true).unwrap(), 0);

    let fresh = tempdir().unwrap();
    record(fresh.path(), &used);
    assert_eq!(files(dir.path()), files(fresh.path()), "as if nothing else had ever been recorded");
    let pruned = Cassette::open(dir.path()).unwrap();
    all.iter().for_each(|(fixture, recorded)| {
        let is_kept = fixture.model == "gpt-x" && fixture.trial != 1;
        assert_eq!(pruned.get(&fixture.request()), is_kept.then(|| recorded.clone()));
    });
    assert_eq!(pruned.retain(&|_| false).unwrap(), 8);
    assert_eq!(names(dir.path()), [""; 0]);
}

#[test]
fn a_listing_says_what_is_recorded() {
    let dir = tempdir().unwrap();
    record(dir.path(), &conversations());
    let lists = Cassette::open(dir.path()).unwrap().entries();
    assert_eq!(lists.iter().map(|list| list.api).collect::<Vec<_>>(), [Api::OpenaiChat, Api::Anthropic]);
    let list = &lists[0];
    assert_eq!((list.file.as_str(), list.entries.len()), ("openai-chat-gpt-x.jsonl.zst", 12));
    assert_eq!(list.bytes, Some(fs::metadata(dir.path().join(&list.file)).unwrap().len()));
    assert_eq!((list.trials(), list.dates()), (vec![0, 1, 2], Some(("2026-11-22", "2026-11-22"))));
    let shown: Vec<_> =
        list.entries.iter().map(|entry| (entry.messages, entry.trial, entry.last_message.as_str())).collect();
    assert_eq!(shown[..4], [(1, 0, "said 00"), (1, 1, "said 00"), (1, 2, "said 00"), (3, 0, "said 20")]);

    let unsaved = tempdir().unwrap();
    let killed = Cassette::open_or_create(unsaved.path()).unwrap();
    put(&killed, &chat(0, &["two\nlines\u{1b} and more than there is room for in a line of a listing"]), &answer(""));
    drop(killed);
    let list = Cassette::open(unsaved.path()).unwrap().entries().remove(0);
    assert_eq!(list.bytes, None, "there is no file yet");
    assert_eq!(list.entries[0].last_message, "two lines\\u{1b} and more than there is room for in a line of a li…");
}

#[test]
fn growing_conversations_take_little_room() {
    let words: Vec<String> = (0..2000_u32).map(|n| format!("w{:x}", n.wrapping_mul(2_654_435_761))).collect();
    let mut state = 7_usize;
    let mut text = |count: usize| {
        let mut word = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            words[(state >> 33) % words.len()].as_str()
        };
        (0..count).map(|_| word()).collect::<Vec<_>>().join(" ")
    };
    let (mut all, mut raw) = (Vec::new(), 0);
    for trial in 0..50 {
        let mut messages = vec![json!({"role": "user", "content": format!("Task {}", trial % 10)})];
        for _ in 0..10 {
            let body = json!({"model": "gpt-x", "messages": messages, "tools": [{"description": "x".repeat(3000)}]});
            let message = json!({"role": "assistant", "content": text(10)});
            let recorded = RecordedResponse { body: json!({"choices": [message]}), ..answer("") };
            raw += body.to_string().len() + recorded.body.to_string().len();
            messages.extend([message, json!({"role": "tool", "content": text(40)})]);
            all.push((RequestFixture { api: Api::OpenaiChat, model: "gpt-x", trial, body }, recorded));
        }
    }
    let dir = tempdir().unwrap();
    record(dir.path(), &all);
    let packed = files(dir.path())["openai-chat-gpt-x.jsonl.zst"].len();
    assert!(packed * 30 < raw, "{raw} bytes were packed into {packed}");
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f32>().prop_map(|n| json!(n)),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[a-c\"\\\\ é]{0,2}", inner, 0..4).prop_map(|map| json!(map)),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn recordings_round_trip(
        bodies in proptest::collection::vec(proptest::collection::btree_map("[a-c\"\\\\ ]{0,2}", any_json(), 0..4), 1..8),
        answer in any_json(),
        model in ".{0,12}",
        date in ".{0,12}",
    ) {
        let dir = tempdir().unwrap();
        let cassette = Cassette::open_or_create(dir.path()).unwrap();
        let bodies: Vec<Value> = bodies.into_iter().map(|body| json!(body)).collect();
        let request = |body| Request { api: Api::Gemini, model: &model, trial: 0, body };
        for body in &bodies {
            if let Reservation::Reserved(pending) = cassette.get_or_reserve(&request(body), &NEVER).unwrap() {
                pending.put(RecordedResponse { body: json!([body, answer]), latency_ms: u64::MAX, recorded_on: date.clone() }).unwrap();
            }
        }
        cassette.finish().unwrap();
        let first = files(dir.path());
        for cassette in [cassette, Cassette::open(dir.path()).unwrap()] {
            for body in &bodies {
                let got = cassette.get(&request(body)).unwrap();
                // Through text once: a number's last bit may be another after that, wherever the text was.
                let read = |value: &Value| serde_json::from_str::<Value>(&value.to_string()).unwrap();
                prop_assert_eq!(&got.body, &read(&json!([body, answer])));
                prop_assert_eq!(&got.recorded_on, &date);
                prop_assert_eq!(&cassette.exchange(request(body).key()).unwrap().request, &read(body));
            }
        }
        // Written again by way of another order, the file is the same.
        let again = Cassette::open(dir.path()).unwrap();
        let keys: Vec<_> = again.entries()[0].entries.iter().map(|entry| entry.key).collect();
        let other = tempdir().unwrap();
        let copy = Cassette::open_or_create(other.path()).unwrap();
        for body in bodies.iter().rev() {
            if let Reservation::Reserved(pending) = copy.get_or_reserve(&request(body), &NEVER).unwrap() {
                pending.put(RecordedResponse { body: json!([body, answer]), latency_ms: u64::MAX, recorded_on: date.clone() }).unwrap();
                copy.finish().unwrap();
            }
        }
        prop_assert_eq!(copy.entries()[0].entries.iter().map(|entry| entry.key).collect::<Vec<_>>(), keys);
        prop_assert_eq!(files(other.path()), first);
    }
}
