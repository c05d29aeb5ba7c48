//! Runs with models that are stopped, fail or are killed, and then resumed.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use healbench_core::Outcome;
use healbench_store::RunDir;
use serde_json::json;

use super::*;
use crate::model_server::{ModelServer, repairing_model};
use crate::models::{PRICE, RUN, config, outcomes, sandbox_with};

#[test]
fn a_budget_stops_a_run_that_can_go_on() {
    let server = ModelServer::start(repairing_model);
    let sandbox = sandbox_with(&server, &format!("connections = 1\n{PRICE}"));
    let result = sandbox.start(&[&RUN[..], &["--trials", "10", "--out", "run", "--budget", "3ktokens"]].concat());
    assert_eq!(result.code, Some(4), "{}", result.err);
    assert!(result.err.contains("the budget of 3000tokens is spent"), "{}", result.err);
    // 840 tokens per episode: the fourth one reaches the limit.
    assert_eq!(outcomes(&sandbox.path("run")).len(), 4);
    let asked = server.requests().len();
    sandbox.ok(&["run", "--resume", "run"]);
    assert_eq!(outcomes(&sandbox.path("run")), [Outcome::Success; 20]);
    assert_eq!(server.requests().len() - asked, 32);
    let again = sandbox.ok(&["run", "--resume", "run"]);
    assert!(again.err.contains("complete already"), "{}", again.err);
}

#[test]
fn a_budget_that_the_last_episode_reaches_stops_nothing() {
    let server = ModelServer::start(repairing_model);
    let sandbox = sandbox_with(&server, "connections = 1\n");
    sandbox.ok(&[&RUN[..], &["--trials", "2", "--out", "run", "--budget", "3360tokens"]].concat());
    assert_eq!(outcomes(&sandbox.path("run")), [Outcome::Success; 4]);
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
    let sandbox = sandbox_with(&server, "");
    let scenario = std::fs::read_to_string(sandbox.path("scenario.yaml")).unwrap();
    sandbox.write("scenario.yaml", &scenario.replace("max_calls: 8", "max_calls: 2"));
    sandbox.ok(&[&RUN[..], &["--trials=1", "--out=run"]].concat());
    assert_eq!(outcomes(&sandbox.path("run")), [Outcome::Success; 2]);
    // The provider did not count tokens, so healbench did, and the cost is unknown.
    let (run, _) = RunDir::open(&sandbox.path("run")).unwrap();
    let (row, calls) = healbench_frames::episode_rows(&run, 0).unwrap().unwrap();
    let model = row.model.unwrap();
    assert_eq!((calls.len(), model.usage, model.usd), (2, None, None));
    assert!(row.billed.is_some_and(|billed| billed.input > 0 && billed.output > 0));
}

#[test]
fn what_the_network_lost_is_counted_apart_and_played_again() {
    let broken = Arc::new(AtomicBool::new(true));
    let is_broken = Arc::clone(&broken);
    let server = ModelServer::start(move |number, request| {
        let fails = is_broken.load(Ordering::SeqCst) && number % 4 == 3;
        if fails { (503, json!({"error": {"message": "overloaded"}})) } else { repairing_model(number, request) }
    });
    let sandbox = sandbox_with(&server, "connections = 1\n");
    let result = sandbox.start(&[&RUN[..], &["--trials", "4", "--out", "run"]].concat());
    assert_eq!(result.code, Some(4), "{}", result.err);
    assert!(result.err.contains("episodes were lost:") && result.err.contains("overloaded"), "{}", result.err);
    assert!(result.err.contains("run them again with: healbench run --resume run"), "{}", result.err);
    assert!(unbroken(&result.out).contains("lost to infrastructure"), "{}", result.out);
    let lost = outcomes(&sandbox.path("run")).iter().filter(|outcome| **outcome == Outcome::Infra).count();
    assert!(lost > 0 && lost < 8);
    broken.store(false, Ordering::SeqCst);
    let asked = server.requests().len();
    sandbox.ok(&["run", "--resume", "run"]);
    assert_eq!(outcomes(&sandbox.path("run")), [Outcome::Success; 8]);
    // The first request of each lost episode was answered, and is not paid for again.
    assert_eq!(server.requests().len() - asked, lost);
}

#[test]
fn an_error_that_is_sent_as_an_answer_is_not_recorded() {
    let broken = Arc::new(AtomicBool::new(true));
    let is_broken = Arc::clone(&broken);
    let server = ModelServer::start(move |number, request| match is_broken.load(Ordering::SeqCst) {
        true => (200, json!({"error": {"message": "upstream is away", "code": 502}})),
        false => repairing_model(number, request),
    });
    let sandbox = sandbox_with(&server, "");
    let args = [&RUN[..], &["--trials", "1", "--out", "run", "--record", "tape"]].concat();
    let result = sandbox.start(&args);
    assert_eq!(result.code, Some(4), "{}", result.err);
    assert!(result.err.contains("upstream is away"), "{}", result.err);
    broken.store(false, Ordering::SeqCst);
    sandbox.ok(&["run", "--resume", "run"]);
    assert_eq!(outcomes(&sandbox.path("run")), [Outcome::Success; 2]);
    sandbox.ok(&[&RUN[..], &["--trials", "1", "--out", "again", "--replay", "tape"]].concat());
}

#[test]
fn two_servers_are_not_mixed_in_one_recording() {
    let (first, second) = (ModelServer::start(repairing_model), ModelServer::start(repairing_model));
    let sandbox = sandbox_with(&first, "");
    let other = config(&second, "").replace("[model.mini]", "[model.other]\nmodel = \"mini\"");
    sandbox.write("healbench.toml", &format!("{}\n{other}", config(&first, "")));
    let args =
        ["run", "scenario.yaml", "--trials=1", "--out=run", "--record=tape", "--agent", "model:mini,model:other"];
    let result = sandbox.start(&args);
    assert_eq!(result.code, Some(2), "{}", result.err);
    assert!(result.err.contains("recorded in") && result.err.contains("different folders"), "{}", result.err);
    assert!(!sandbox.path("run").exists());
    // Without a recording, models can be combined freely.
    sandbox.ok(&["run", "scenario.yaml", "--trials=1", "--out=run", "--agent", "model:mini,model:other"]);
    assert_eq!(first.requests().len(), second.requests().len());
}

#[test]
fn a_configuration_that_fails_stops_the_run_and_says_why() {
    let server = ModelServer::start(|_, _| (401, json!({"error": {"message": "the key has expired"}})));
    let sandbox = sandbox_with(&server, "connections = 1\n");
    let result = sandbox.start(&[&RUN[..], &["--trials", "20", "--out", "run"]].concat());
    assert_eq!(result.code, Some(4), "{}", result.err);
    assert!(result.err.contains("3 episodes of model:mini · seeded · native in a row were lost"), "{}", result.err);
    assert!(result.err.contains("the key has expired"), "{}", result.err);
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn a_limit_on_calls_lets_the_last_call_count() {
    let server = ModelServer::start(repairing_model);
    let sandbox = sandbox_with(&server, "episode_calls = 3\n");
    sandbox.ok(&[&RUN[..], &["--trials", "1", "--out", "three"]].concat());
    assert_eq!(outcomes(&sandbox.path("three")), [Outcome::Success; 2]);
    sandbox.write("healbench.toml", &config(&server, "episode_calls = 2\n"));
    sandbox.ok(&[&RUN[..], &["--trials", "1", "--out", "two"]].concat());
    assert_eq!(outcomes(&sandbox.path("two")), [Outcome::Limit; 2]);
}

#[test]
fn shards_with_lost_episodes_are_not_put_together() {
    let broken = Arc::new(AtomicBool::new(true));
    let is_broken = Arc::clone(&broken);
    let server = ModelServer::start(move |number, request| match is_broken.load(Ordering::SeqCst) && number == 0 {
        true => (500, json!({"error": {"message": "away"}})),
        false => repairing_model(number, request),
    });
    let sandbox = sandbox_with(&server, "");
    sandbox.start(&[&RUN[..], &["--trials", "2", "--out", "one", "--shard", "1/2"]].concat());
    sandbox.ok(&[&RUN[..], &["--trials", "2", "--out", "two", "--shard", "2/2"]].concat());
    let refused = sandbox.start(&["merge", "one", "two", "--out", "whole"]);
    assert_eq!(refused.code, Some(4));
    assert!(refused.err.contains("has episodes that were lost"), "{}", refused.err);
    broken.store(false, Ordering::SeqCst);
    sandbox.ok(&["run", "--resume", "one"]);
    sandbox.ok(&["merge", "one", "two", "--out", "whole"]);
    assert_eq!(outcomes(&sandbox.path("whole")), [Outcome::Success; 4]);
    assert!(sandbox.ok(&["show", "whole", "3"]).out.contains("call 3"));
}

/// A limit on file size simulates a full disk.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_loses_no_episode_that_was_kept() {
    let server = ModelServer::start(repairing_model);
    let sandbox = sandbox_with(&server, "connections = 3\n");
    let args = [&RUN[..], &["--trials", "30", "--out", "run"]].concat().join(" ");
    // The second time, even the frames of the saved episodes do not fit.
    for (limit, args) in [(24, args.as_str()), (8, "run --resume run")] {
        let program = env!("CARGO_BIN_EXE_healbench");
        let script = format!("trap '' XFSZ; ulimit -f {limit}; exec {program} {args}");
        let output = Command::new("bash").args(["-c", &script]).current_dir(sandbox.dir.path()).output().unwrap();
        let result = CommandResult::new(output);
        assert!(result.err.contains("cannot write"), "{} {}", result.out, result.err);
        assert!(result.err.contains("continue with: healbench run --resume run"), "{}", result.err);
    }
    let journal = std::fs::read_to_string(sandbox.path("run/journal.jsonl")).unwrap();
    assert!(journal.ends_with('\n'), "a line is torn");
    let kept = journal.lines().count();
    assert!(kept > 0 && kept < 60, "{kept}");
    let asked = server.requests().len();
    sandbox.ok(&["run", "--resume", "run"]);
    assert_eq!(outcomes(&sandbox.path("run")), [Outcome::Success; 60]);
    // Some of the others have their first answer.
    assert!(server.requests().len() - asked <= 2 * (60 - kept), "what was kept is not asked again");
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_a_slow_request_and_says_how_to_go_on() {
    let server = ModelServer::start(|number, request| {
        if number > 0 {
            std::thread::sleep(GENEROUS);
        }
        repairing_model(number, request)
    });
    let sandbox = sandbox_with(&server, "connections = 1\n");
    let args = [&RUN[..], &["--trials", "2", "--out", "run"]].concat();
    let child = sandbox.command(&args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    while server.requests().len() < 2 {
        std::thread::sleep(Duration::from_millis(5));
    }
    let started = std::time::Instant::now();
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let result = CommandResult::new(child.wait_with_output().unwrap());
    assert_eq!(result.code, Some(130), "{}", result.err);
    assert!(result.err.contains("continue with: healbench run --resume run"), "{}", result.err);
    assert!(started.elapsed() < GENEROUS, "it waits for the model");
}

/// A replay is free and deterministic, so its frames must be equal byte for byte however often it was killed.
#[cfg(unix)]
#[test]
fn a_replay_killed_50_times_has_the_frames_of_an_undisturbed_one() {
    const KILLS: u32 = 50;
    let server = ModelServer::start(repairing_model);
    let sandbox = sandbox_with(&server, "connections = 8\n");
    let agents = "--agent=model:mini,scripted:typical";
    let axes = ["--guardrails=none,all", "--format=fusion-xml", "--trials=60", "--quiet"];
    let run = |more: &[&'static str]| [&["run", "scenario.yaml", agents], &axes[..], more].concat();
    sandbox.ok(&run(&["--out=recorded", "--record=tape"]));
    sandbox.ok(&run(&["--out=straight", "--replay=tape", "-j1"]));
    let begin = run(&["--out=run", "--replay=tape"]);
    let resume = ["run", "--resume", "run", "--quiet"];
    let (mut kills, mut delay) = (0, 0x2545_f491_4f6c_dd1d_u64);
    while kills < KILLS {
        let args = if sandbox.path("run/manifest.json").exists() { &resume[..] } else { &begin[..] };
        let mut child = sandbox.command(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        delay ^= delay << 13;
        delay ^= delay >> 7;
        delay ^= delay << 17;
        std::thread::sleep(Duration::from_millis(delay % 120));
        if child.try_wait().unwrap().is_some() {
            // It was complete before it could be killed, so kill another one.
            assert!(same_frames(&sandbox.path("run"), &sandbox.path("straight")));
            std::fs::remove_dir_all(sandbox.path("run")).unwrap();
            continue;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
        if sandbox.path("run").exists() && !sandbox.path("run/manifest.json").exists() {
            // It was killed before it had written its plan.
            std::fs::remove_dir_all(sandbox.path("run")).unwrap();
        }
    }
    let args = if sandbox.path("run").exists() { &resume[..] } else { &begin[..] };
    sandbox.ok(args);
    assert!(same_frames(&sandbox.path("run"), &sandbox.path("straight")));
    let transcripts = |run: &str| std::fs::read(sandbox.path(run).join("transcripts.jsonl.zst")).unwrap();
    assert_eq!(transcripts("run"), transcripts("straight"));
    // So are those of shards.
    sandbox.ok(&run(&["--out=one", "--replay=tape", "--shard=1/2"]));
    sandbox.ok(&run(&["--out=two", "--replay=tape", "--shard=2/2", "-j3"]));
    sandbox.ok(&["merge", "one", "two", "--out", "merged"]);
    assert!(same_frames(&sandbox.path("merged"), &sandbox.path("straight")));
    assert_eq!(transcripts("merged"), transcripts("straight"));
}

#[test]
fn frames_replace_a_journal_that_was_deleted() {
    let broken = Arc::new(AtomicBool::new(true));
    let is_broken = Arc::clone(&broken);
    let server = ModelServer::start(move |number, request| match is_broken.load(Ordering::SeqCst) && number % 4 == 3 {
        true => (503, json!({"error": {"message": "overloaded"}})),
        false => repairing_model(number, request),
    });
    let sandbox = sandbox_with(&server, "connections = 1\n");
    sandbox.start(&[&RUN[..], &["--trials", "4", "--out", "run"]].concat());
    let lost = outcomes(&sandbox.path("run")).iter().filter(|outcome| **outcome == Outcome::Infra).count();
    std::fs::remove_file(sandbox.path("run/journal.jsonl")).unwrap();
    broken.store(false, Ordering::SeqCst);
    let asked = server.requests().len();
    sandbox.ok(&["run", "--resume", "run"]);
    assert_eq!(outcomes(&sandbox.path("run")), [Outcome::Success; 8]);
    assert_eq!(server.requests().len() - asked, lost);
    for episode in ["0", "7"] {
        assert!(sandbox.ok(&["show", "run", episode]).out.contains("success after 3 calls"));
    }
}

/// Long answers would fill the memory if the results of all episodes were kept in it.
#[cfg(target_os = "linux")]
#[test]
fn memory_does_not_grow_with_episodes() {
    let answer = "A long answer. ".repeat(4_500);
    let server = ModelServer::start(move |_, _| crate::model_server::text_reply(&answer));
    let sandbox = sandbox_with(&server, "connections = 2\n");
    let peak_kib = |trials: &str, out: &str| {
        let args = [&RUN[..4], &["--guardrails=all", "--format=fusion-xml", "--trials", trials, "--out", out]].concat();
        let mut child = sandbox.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let status = format!("/proc/{}/status", child.id());
        let mut peak = 0;
        while child.try_wait().unwrap().is_none() {
            let text = std::fs::read_to_string(&status).unwrap_or_default();
            let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            peak = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok()).unwrap_or(peak);
            std::thread::sleep(Duration::from_millis(2));
        }
        assert_eq!(outcomes(&sandbox.path(out)).len().to_string(), trials);
        peak
    };
    let (few, many) = (peak_kib("100", "few"), peak_kib("700", "many"));
    // The answers of 600 episodes have 40 MB.
    assert!(few > 0 && many < few + 15_000, "{few} KiB, {many} KiB");
}
