use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use healbench_protocol::canonical_json;
use healbench_record::{Outcome, RunDir};
use serde_json::{Value, json};

use super::*;
use crate::model_server::{ModelServer, calls, mender, says};

/// `healbench.toml` for the model of a server.
fn config(server: &ModelServer, more: &str) -> String {
    format!("[model.mini]\napi = \"openai-chat\"\nbase_url = \"{}\"\ntemperature = 0\nretries = 0\n{more}", server.url)
}

const PRICED: &str = "price = {input = 1.0, cache_read = 0.5, output = 10.0}\n";

/// The episode that most tests play: one scenario, whose scheduled mistake is the same in every trial.
const RUN: [&str; 7] =
    ["run", "scenario.yaml", "--agent", "model:mini", "--guardrails", "none,all", "--format=fusion-xml"];

fn place_with(server: &ModelServer, more: &str) -> Place {
    let place = Place::new();
    place.write("healbench.toml", &config(server, more));
    let scenario = include_str!("../../../../scenarios/suites/quickstart/wrong-enum.yaml");
    place.write("scenario.yaml", scenario);
    place
}

fn outcomes(path: &Path) -> Vec<Outcome> {
    let (run, manifest) = RunDir::open(path).unwrap();
    let row = |episode| healbench_reports::episode_rows(&run, episode).unwrap().unwrap().0;
    manifest.completed_episodes().map(|episode| row(episode).outcome).collect()
}

#[test]
fn a_model_sees_the_scheduled_mistake_as_its_own_call_and_mends_it() {
    let server = ModelServer::start(mender);
    let place = place_with(&server, PRICED);
    let ended = place.ok(&[&RUN[..], &["--trials", "2", "--out", "run", "--record", "tape"]].concat());
    assert!(ended.out.contains("model:mini · seeded · native"), "{}", ended.out);
    assert_eq!(outcomes(&place.path("run")), [Outcome::Success; 4]);

    let came = server.came();
    // Two requests an episode. A trial has its own seed and its own mistake, which is the same in both settings.
    assert_eq!(came.len(), 8);
    let mistakes: BTreeSet<(u64, String)> = came
        .iter()
        .map(|came| {
            let call = &came.body["messages"][2]["tool_calls"][0]["function"];
            (came.body["seed"].as_u64().unwrap(), call.to_string())
        })
        .collect();
    assert_eq!(mistakes.len(), 2, "{mistakes:?}");
    for (_, call) in &mistakes {
        assert!(call.contains("issues") && call.contains("WEB-7") && !call.contains("completed"), "{call}");
    }

    let (run, _) = RunDir::open(&place.path("run")).unwrap();
    let (row, calls) = healbench_reports::episode_rows(&run, 0).unwrap().unwrap();
    let model = row.model.unwrap();
    // The goal is reached with the second turn: nothing more is asked.
    assert_eq!((model.opening_calls, model.turns, calls.len()), (1, 2, 3));
    assert!(calls[0].is_error && !calls[1].is_error && !calls[2].is_error);
    // 800 tokens in, 200 of them cached, and 40 out.
    assert_eq!(model.usd.unwrap(), (600.0 * 1.0 + 200.0 * 0.5 + 40.0 * 10.0) / 1e6);
    assert!(!run.journal_path().exists());
    let shown = place.ok(&["show", "run", "3"]);
    assert!(shown.out.contains("call 3") && shown.out.contains("end    success after 3 calls"), "{}", shown.out);

    // From the recording alone, and with the server gone: the same rows.
    drop(server);
    place.write("healbench.toml", &std::fs::read_to_string(place.path("healbench.toml")).unwrap());
    place.ok(&[&RUN[..], &["--trials", "2", "--out", "again", "--replay", "tape"]].concat());
    assert!(same_frames_but_kind(&place.path("run"), &place.path("again")));
    place.ok(&[&RUN[..], &["--trials", "2", "--out", "third", "--replay", "tape", "-j", "1"]].concat());
    assert!(same_frames(&place.path("again"), &place.path("third")));

    let listed = place.ok(&["cassette", "ls", "tape", "--all"]);
    assert!(listed.out.starts_with("openai-chat mini · 8 recordings · 2 trials"), "{}", listed.out);
    let key = listed.out.lines().nth(1).unwrap().split_whitespace().next().unwrap();
    let recording: Value = serde_json::from_str(&place.ok(&["cassette", "show", "tape", key]).out).unwrap();
    assert_eq!(recording["request"]["model"], "mini");
    let pruned = place.ok(&["cassette", "prune", "tape", "again", "--dry-run"]);
    assert_eq!(pruned.out, "0 recordings would be removed\n");
}

fn same_frames_but_kind(a: &Path, b: &Path) -> bool {
    let rows = |path: &Path| {
        let (run, manifest) = RunDir::open(path).unwrap();
        let row = |episode| healbench_reports::episode_rows(&run, episode).unwrap().unwrap();
        manifest.completed_episodes().map(row).collect::<Vec<_>>()
    };
    rows(a) == rows(b)
}

#[test]
fn a_missing_recording_ends_the_run_and_shows_what_differs() {
    let server = ModelServer::start(mender);
    let place = place_with(&server, "");
    place.ok(&[&RUN[..], &["--trials", "1", "--out", "run", "--record", "tape"]].concat());
    let asked = server.came().len();
    place.write("healbench.toml", &config(&server, "top_p = 0.5\n"));
    let ended = place.start(&[&RUN[..], &["--trials", "1", "--out", "again", "--replay", "tape"]].concat());
    assert_eq!(ended.code, Some(4), "{}", ended.err);
    assert!(ended.err.contains("cannot be replayed") && ended.err.contains("top_p"), "{}", ended.err);
    assert_eq!(server.came().len(), asked, "a replay never asks a model");
    // What the run has is whole, and what it has not can be had later.
    assert_eq!(place.start(&["report", "again"]).code, Some(0));
}

#[test]
fn calls_in_the_prompt_are_read_and_answered() {
    let server = ModelServer::start(|_, came| {
        let messages = came.body["messages"].as_array().unwrap();
        assert!(came.body.get("tools").is_none());
        assert!(messages[0]["content"].as_str().unwrap().contains("\"name\":\"issues\""));
        let last = messages.last().unwrap()["content"].as_str().unwrap().to_owned();
        match last.contains("<validation_error") {
            true => says(
                "```json\n{\"name\": \"issues\", \"arguments\": {\"action\": \"update\", \"id\": \"WEB-7\", \"status\": \"completed\", \"priority\": \"low\"}}\n```",
            ),
            false => says("Done."),
        }
    });
    let place = place_with(&server, "tools = \"prompt\"\n");
    let ended =
        place.ok(&[&RUN[..4], &["--guardrails=all", "--format=fusion-xml", "--trials=3", "--out=run"]].concat());
    assert!(ended.out.contains("model:mini · seeded · prompt"), "{}", ended.out);
    assert_eq!(outcomes(&place.path("run")), [Outcome::Success; 3]);
}

#[test]
fn a_natural_opening_begins_with_the_task() {
    let server = ModelServer::start(|_, came| {
        let messages = came.body["messages"].as_array().unwrap();
        if messages.len() == 2 { calls("nobody", &json!({})) } else { says("I cannot.") }
    });
    let place = place_with(&server, "");
    place.ok(&[&RUN[..], &["--trials=1", "--out=run", "--opening=natural,seeded"]].concat());
    let (run, manifest) = RunDir::open(&place.path("run")).unwrap();
    let openings = manifest.plan.agents.iter().map(|agent| agent.opening.unwrap().name());
    assert_eq!(openings.collect::<Vec<_>>(), ["natural", "seeded"]);
    let (row, calls) = healbench_reports::episode_rows(&run, 0).unwrap().unwrap();
    assert_eq!((row.outcome, row.model.unwrap().opening_calls), (Outcome::TaskFail, 0));
    assert_eq!(calls[0].error_class.as_deref(), Some("UNKNOWN_TOOL"));
}

#[test]
fn a_seeded_opening_goes_up_to_the_first_mistake() {
    let server = ModelServer::start(|_, _| says("I am done."));
    let place = place_with(&server, "");
    let scenario = std::fs::read_to_string(place.path("scenario.yaml")).unwrap();
    let look = "script:\n  - call: {tool: issues, action: list, arguments: {status: in_review}}\n";
    place.write("scenario.yaml", &scenario.replace("script:\n", look));
    place.ok(&[&RUN[..], &["--trials=1", "--out=run"]].concat());
    let messages = server.came()[0].body["messages"].as_array().unwrap().clone();
    let roles: Vec<&str> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "assistant", "tool"]);
    let ids = [2, 3, 4, 5].map(|at| {
        let message = &messages[at];
        message.get("tool_call_id").unwrap_or(&message["tool_calls"][0]["id"]).as_str().unwrap().to_owned()
    });
    assert_eq!(ids, ["opening01", "opening01", "opening02", "opening02"]);
    let (run, _) = RunDir::open(&place.path("run")).unwrap();
    let (row, calls) = healbench_reports::episode_rows(&run, 0).unwrap().unwrap();
    assert_eq!((row.model.unwrap().opening_calls, calls.len()), (2, 2));
    assert!(!calls[0].is_error && calls[1].is_error);
}

/// The server gives every call the same id.
#[test]
fn calls_of_one_id_are_told_apart() {
    let server = ModelServer::start(|number, _| match number {
        0..3 => calls("issues", &json!({"action": "list", "status": "in_review"})),
        _ => says("I am done."),
    });
    let place = place_with(&server, "connections = 1\n");
    place.ok(&[&RUN[..4], &["--guardrails=all", "--format=fusion-xml", "--trials=1", "--out=run"]].concat());
    let messages = server.came()[3].body["messages"].as_array().unwrap().clone();
    let sent = messages.iter().filter_map(|message| message["tool_calls"][0]["id"].as_str());
    let answered = messages.iter().filter_map(|message| message["tool_call_id"].as_str());
    let (sent, answered) = (sent.collect::<Vec<_>>(), answered.collect::<Vec<_>>());
    assert_eq!(sent, answered);
    assert_eq!((sent.len(), sent.iter().collect::<BTreeSet<_>>().len()), (4, 4), "{sent:?}");
}

#[test]
fn what_cannot_work_is_told_before_anything_is_written() {
    let server = ModelServer::start(|_, _| panic!("nothing may be asked"));
    let place = place_with(&server, "key_env = \"HEALBENCH_TEST_KEY\"\n");
    let start = |agent: &str, more: &[&str]| {
        let ended = place.start(&[&["run", "scenario.yaml", "--agent", agent, "--out", "run"], more].concat());
        assert!(!place.path("run").exists());
        let err = ended.err.replace(server.url.trim_end_matches("/v1"), "http://SERVER");
        let err = err.replace(place.dir.path().to_str().unwrap(), "FOLDER");
        format!("{:?}\n{err}", ended.code.unwrap())
    };
    let mut all = vec![start("model:mini", &[])];
    place.write("healbench.toml", &config(&server, "model = \"minni\"\n"));
    all.push(start("model:mini", &[]));
    place.write("healbench.toml", "[model.mini]\napi = \"openai-chat\"\nbase_url = \"http://127.0.0.1:9\"\n");
    all.push(start("model:mini", &[]));
    all.push(start("model:mimi", &[]));
    all.push(start("openia:gpt-5", &[]));
    all.push(start("model:mini", &["--budget", "5usd"]));
    all.push(start("model:mini", &["--replay", "nowhere"]));
    place.write("healbench.toml", "[model.mini]\napi = \"openai-chat\"\ntemprature = 0\n");
    all.push(start("model:mini", &[]));
    insta::assert_snapshot!(all.join("\n"));
    assert!(server.came().is_empty(), "nothing may be asked");
}

/// Whatever a server does with a key, nobody else gets to see it.
#[test]
fn a_key_is_nowhere() {
    const KEY: &str = "very-secret-key-0123456789";
    let server = ModelServer::start(|number, came| {
        let echo = came.authorization.clone().unwrap_or_default();
        assert!(echo.contains(KEY), "the key is sent");
        match number % 4 {
            0 | 2 => says(&format!("your header was {echo}")),
            1 => (401, json!({"error": {"message": format!("bad key {echo}")}})),
            _ => (500, json!({"error": {"message": format!("failed for {echo}")}})),
        }
    });
    let place = place_with(&server, "connections = 1\nkey_env = \"MINI_KEY\"\n");
    let mut command = place.command(&[&RUN[..], &["--trials=6", "--out=run", "--record=tape"]].concat());
    let ended = Ended::of(command.env("MINI_KEY", KEY).output().unwrap());
    assert!(server.came().len() >= 12, "{}", ended.err);
    let mut texts = vec![ended.out, ended.err];
    for episode in 0..12 {
        let shown = place.start(&["show", "run", &episode.to_string()]);
        texts.extend([shown.out, shown.err]);
    }
    let cassettes = place.ok(&["cassette", "ls", "tape", "--all"]).out;
    for line in cassettes.lines().skip(1) {
        texts.push(place.ok(&["cassette", "show", "tape", line.split_whitespace().next().unwrap()]).out);
    }
    assert!(texts.iter().any(|text| text.contains("[key]")), "the echoes were there");
    let mut folders = vec![place.path("")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            match entry.is_dir() {
                true => folders.push(entry),
                false => {
                    let bytes = std::fs::read(&entry).unwrap();
                    let plain = if entry.extension().is_some_and(|end| end == "zst") {
                        zstd::decode_all(&bytes[..]).unwrap()
                    } else {
                        bytes
                    };
                    texts.push(String::from_utf8_lossy(&plain).into_owned());
                }
            }
        }
    }
    assert!(texts.iter().all(|text| !text.contains(KEY)), "{:?}", texts.iter().find(|text| text.contains(KEY)));
}

#[test]
fn a_budget_stops_a_run_that_can_go_on() {
    let server = ModelServer::start(mender);
    let place = place_with(&server, &format!("connections = 1\n{PRICED}"));
    let ended = place.start(&[&RUN[..], &["--trials", "10", "--out", "run", "--budget", "3ktokens"]].concat());
    assert_eq!(ended.code, Some(4), "{}", ended.err);
    assert!(ended.err.contains("the budget of 3000tokens is spent"), "{}", ended.err);
    // 840 tokens an episode: the fourth one reaches the limit.
    assert_eq!(outcomes(&place.path("run")).len(), 4);
    let asked = server.came().len();
    place.ok(&["run", "--resume", "run"]);
    assert_eq!(outcomes(&place.path("run")), [Outcome::Success; 20]);
    assert_eq!(server.came().len() - asked, 32);
    let again = place.ok(&["run", "--resume", "run"]);
    assert!(again.err.contains("complete already"), "{}", again.err);
}

#[test]
fn a_budget_that_the_last_episode_reaches_stops_nothing() {
    let server = ModelServer::start(mender);
    let place = place_with(&server, "connections = 1\n");
    place.ok(&[&RUN[..], &["--trials", "2", "--out", "run", "--budget", "3360tokens"]].concat());
    assert_eq!(outcomes(&place.path("run")), [Outcome::Success; 4]);
}

#[test]
fn the_goal_counts_though_more_calls_follow_it_than_are_allowed() {
    let arguments = json!({"action": "update", "id": "WEB-7", "status": "completed", "priority": "low"}).to_string();
    let server = ModelServer::start(move |_, _| {
        let call =
            |id: &str| json!({"id": id, "type": "function", "function": {"name": "issues", "arguments": arguments}});
        let message = json!({"role": "assistant", "content": null, "tool_calls": [call("a"), call("b"), call("c")]});
        (200, json!({"choices": [{"message": message, "finish_reason": "tool_calls"}]}))
    });
    let place = place_with(&server, "");
    let scenario = std::fs::read_to_string(place.path("scenario.yaml")).unwrap();
    place.write("scenario.yaml", &scenario.replace("max_calls: 8", "max_calls: 2"));
    place.ok(&[&RUN[..], &["--trials=1", "--out=run"]].concat());
    assert_eq!(outcomes(&place.path("run")), [Outcome::Success; 2]);
    // The provider did not count, so healbench did, and nobody knows what it cost.
    let (run, _) = RunDir::open(&place.path("run")).unwrap();
    let (row, calls) = healbench_reports::episode_rows(&run, 0).unwrap().unwrap();
    let model = row.model.unwrap();
    assert_eq!((calls.len(), model.usage, model.usd), (2, None, None));
    assert!(model.bpe_input > 0 && model.bpe_output > 0);
}

#[test]
fn what_the_network_lost_is_counted_apart_and_played_again() {
    let broken = Arc::new(AtomicBool::new(true));
    let is_broken = Arc::clone(&broken);
    let server = ModelServer::start(move |number, came| {
        let fails = is_broken.load(Ordering::SeqCst) && number % 4 == 3;
        if fails { (503, json!({"error": {"message": "overloaded"}})) } else { mender(number, came) }
    });
    let place = place_with(&server, "connections = 1\n");
    let ended = place.start(&[&RUN[..], &["--trials", "4", "--out", "run"]].concat());
    assert_eq!(ended.code, Some(4), "{}", ended.err);
    assert!(ended.err.contains("episodes were lost:") && ended.err.contains("overloaded"), "{}", ended.err);
    assert!(ended.err.contains("play them again with: healbench run --resume run"), "{}", ended.err);
    assert!(ended.out.contains("lost to infrastructure"), "{}", ended.out);
    let lost = outcomes(&place.path("run")).iter().filter(|outcome| **outcome == Outcome::Infra).count();
    assert!(lost > 0 && lost < 8);
    broken.store(false, Ordering::SeqCst);
    let asked = server.came().len();
    place.ok(&["run", "--resume", "run"]);
    assert_eq!(outcomes(&place.path("run")), [Outcome::Success; 8]);
    assert_eq!(server.came().len() - asked, 2 * lost);
}

#[test]
fn an_error_that_is_sent_as_an_answer_is_not_recorded() {
    let broken = Arc::new(AtomicBool::new(true));
    let is_broken = Arc::clone(&broken);
    let server = ModelServer::start(move |number, came| match is_broken.load(Ordering::SeqCst) {
        true => (200, json!({"error": {"message": "upstream is away", "code": 502}})),
        false => mender(number, came),
    });
    let place = place_with(&server, "");
    let words = [&RUN[..], &["--trials", "1", "--out", "run", "--record", "tape"]].concat();
    let ended = place.start(&words);
    assert_eq!(ended.code, Some(4), "{}", ended.err);
    assert!(ended.err.contains("upstream is away"), "{}", ended.err);
    broken.store(false, Ordering::SeqCst);
    place.ok(&["run", "--resume", "run"]);
    assert_eq!(outcomes(&place.path("run")), [Outcome::Success; 2]);
    place.ok(&[&RUN[..], &["--trials", "1", "--out", "again", "--replay", "tape"]].concat());
}

#[test]
fn two_servers_are_not_mixed_in_one_recording() {
    let (first, second) = (ModelServer::start(mender), ModelServer::start(mender));
    let place = place_with(&first, "");
    let other = config(&second, "").replace("[model.mini]", "[model.other]\nmodel = \"mini\"");
    place.write("healbench.toml", &format!("{}\n{other}", config(&first, "")));
    let words =
        ["run", "scenario.yaml", "--trials=1", "--out=run", "--record=tape", "--agent", "model:mini,model:other"];
    let ended = place.start(&words);
    assert_eq!(ended.code, Some(2), "{}", ended.err);
    assert!(ended.err.contains("recorded in") && ended.err.contains("different folders"), "{}", ended.err);
    assert!(!place.path("run").exists());
    // Without a recording nothing can be mixed.
    place.ok(&["run", "scenario.yaml", "--trials=1", "--out=run", "--agent", "model:mini,model:other"]);
    assert_eq!(first.came().len(), second.came().len());
}

#[test]
fn a_configuration_that_fails_stops_the_run_and_says_why() {
    let server = ModelServer::start(|_, _| (401, json!({"error": {"message": "the key has expired"}})));
    let place = place_with(&server, "connections = 1\n");
    let ended = place.start(&[&RUN[..], &["--trials", "20", "--out", "run"]].concat());
    assert_eq!(ended.code, Some(4), "{}", ended.err);
    assert!(ended.err.contains("3 episodes of model:mini · seeded · native in a row were lost"), "{}", ended.err);
    assert!(ended.err.contains("the key has expired"), "{}", ended.err);
    assert_eq!(server.came().len(), 3);
}

#[test]
fn a_limit_on_calls_lets_the_last_call_count() {
    let server = ModelServer::start(mender);
    let place = place_with(&server, "episode_calls = 3\n");
    place.ok(&[&RUN[..], &["--trials", "1", "--out", "three"]].concat());
    assert_eq!(outcomes(&place.path("three")), [Outcome::Success; 2]);
    place.write("healbench.toml", &config(&server, "episode_calls = 2\n"));
    place.ok(&[&RUN[..], &["--trials", "1", "--out", "two"]].concat());
    assert_eq!(outcomes(&place.path("two")), [Outcome::Limit; 2]);
}

#[test]
fn shards_with_lost_episodes_are_not_put_together() {
    let broken = Arc::new(AtomicBool::new(true));
    let is_broken = Arc::clone(&broken);
    let server = ModelServer::start(move |number, came| match is_broken.load(Ordering::SeqCst) && number == 0 {
        true => (500, json!({"error": {"message": "away"}})),
        false => mender(number, came),
    });
    let place = place_with(&server, "");
    place.start(&[&RUN[..], &["--trials", "2", "--out", "one", "--shard", "1/2"]].concat());
    place.ok(&[&RUN[..], &["--trials", "2", "--out", "two", "--shard", "2/2"]].concat());
    let refused = place.start(&["merge", "one", "two", "--out", "whole"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("has episodes that were lost"), "{}", refused.err);
    broken.store(false, Ordering::SeqCst);
    place.ok(&["run", "--resume", "one"]);
    place.ok(&["merge", "one", "two", "--out", "whole"]);
    assert_eq!(outcomes(&place.path("whole")), [Outcome::Success; 4]);
    assert!(place.ok(&["show", "whole", "3"]).out.contains("call 3"));
}

/// A limit on the size of files stands in for a full disk.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_loses_no_episode_that_was_kept() {
    let server = ModelServer::start(mender);
    let place = place_with(&server, "connections = 3\n");
    let words = [&RUN[..], &["--trials", "30", "--out", "run"]].concat().join(" ");
    // The second time not even the frames of what was kept have room.
    for (limit, words) in [(24, words.as_str()), (8, "run --resume run")] {
        let program = env!("CARGO_BIN_EXE_healbench");
        let script = format!("trap '' XFSZ; ulimit -f {limit}; exec {program} {words}");
        let output = Command::new("bash").args(["-c", &script]).current_dir(place.dir.path()).output().unwrap();
        let ended = Ended::of(output);
        assert!(ended.err.contains("cannot write"), "{} {}", ended.out, ended.err);
        assert!(ended.err.contains("go on with: healbench run --resume run"), "{}", ended.err);
    }
    let journal = std::fs::read_to_string(place.path("run/journal.jsonl")).unwrap();
    assert!(journal.ends_with('\n'), "a line is torn");
    let kept = journal.lines().count();
    assert!(kept > 0 && kept < 60, "{kept}");
    let asked = server.came().len();
    place.ok(&["run", "--resume", "run"]);
    assert_eq!(outcomes(&place.path("run")), [Outcome::Success; 60]);
    assert_eq!(server.came().len() - asked, 2 * (60 - kept), "what was kept is not asked again");
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_a_slow_request_and_says_how_to_go_on() {
    let server = ModelServer::start(|number, came| {
        if number > 0 {
            std::thread::sleep(Duration::from_secs(20));
        }
        mender(number, came)
    });
    let place = place_with(&server, "connections = 1\n");
    let words = [&RUN[..], &["--trials", "2", "--out", "run"]].concat();
    let child = place.command(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while server.came().len() < 2 {
        std::thread::sleep(Duration::from_millis(5));
    }
    let begun = std::time::Instant::now();
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let ended = Ended::of(child.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(130), "{}", ended.err);
    assert!(ended.err.contains("go on with: healbench run --resume run"), "{}", ended.err);
    assert!(begun.elapsed() < Duration::from_secs(10), "it waits for the model");
}

/// Fifty kills at moments that nobody chose: every planned episode is there once, and none that had finished was asked for again.
#[cfg(unix)]
#[test]
fn killed_fifty_times_a_run_is_whole_and_nothing_is_paid_twice() {
    const TRIALS: usize = 300;
    let server = ModelServer::start(|number, came| {
        std::thread::sleep(Duration::from_millis(15));
        mender(number, came)
    });
    let place = place_with(&server, "connections = 3\n");
    let trials = TRIALS.to_string();
    let begin =
        [&RUN[..4], &["--guardrails=all", "--format=fusion-xml", "--quiet", "--trials", &trials, "--out", "run"]]
            .concat();
    let resume = ["run", "--resume", "run", "--quiet"];
    // A trial is known by its seed, an episode by its trial.
    let seeds =
        |from: usize| server.came()[from..].iter().map(|came| came.body["seed"].as_u64().unwrap()).collect::<Vec<_>>();
    let mut moment = 0x2545_f491_4f6c_dd1d_u64;
    let (mut kills, mut finished) = (0, BTreeMap::new());
    while kills < 50 {
        let words = if place.path("run/manifest.json").exists() { &resume[..] } else { &begin[..] };
        let asked = server.came().len();
        let mut child = place.command(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while server.came().len() == asked && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(2));
        }
        moment ^= moment << 13;
        moment ^= moment >> 7;
        moment ^= moment << 17;
        std::thread::sleep(Duration::from_millis(moment % 60));
        if child.try_wait().unwrap().is_some() {
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
        let paid = seeds(asked);
        assert!(
            paid.iter().all(|seed| !finished.contains_key(seed)),
            "an episode that had finished was asked for again"
        );
        finished = finished_seeds(&place.path("run"));
    }
    assert_eq!(kills, 50, "the run ended too soon: give it more trials");
    assert!(finished.len() > 5 && finished.len() < TRIALS, "{}", finished.len());
    let asked = server.came().len();
    place.ok(&resume);
    assert!(seeds(asked).iter().all(|seed| !finished.contains_key(seed)));
    assert_eq!(outcomes(&place.path("run")), [Outcome::Success; TRIALS]);
    let transcripts = zstd::decode_all(&std::fs::read(place.path("run/transcripts.jsonl.zst")).unwrap()[..]).unwrap();
    assert_eq!(String::from_utf8(transcripts).unwrap().lines().count(), TRIALS);
}

/// The seeds of the episodes whose line in the journal is whole.
fn finished_seeds(run: &Path) -> BTreeMap<u64, u64> {
    let Ok(text) = std::fs::read_to_string(run.join("journal.jsonl")) else { return BTreeMap::new() };
    let (_, manifest) = RunDir::open_any(run).unwrap();
    let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    let mut found = BTreeMap::new();
    for line in whole {
        let line: Value = serde_json::from_str(line).unwrap();
        let episode = line["episode"]["episode"].as_u64().unwrap();
        let cell = manifest.plan.cell(episode).unwrap();
        let key = healbench_protocol::DrawKey::of_trial(manifest.plan.seed, &manifest.plan.scenarios[0].id, cell.trial);
        let seed = key.draws("model", 0).bits() >> 33;
        assert_eq!(found.insert(seed, episode), None, "{} is in the journal twice", canonical_json(&line["episode"]));
    }
    found
}

#[test]
fn a_plan_says_what_models_would_take() {
    let server = ModelServer::start(|_, _| panic!("nothing may be asked"));
    let place = place_with(&server, PRICED);
    let ended = place.ok(&[&["plan"], &RUN[1..], &["--trials=10", "--opening=seeded,natural"]].concat());
    insta::assert_snapshot!(ended.out);
    assert!(server.came().is_empty(), "nothing may be asked");
}
