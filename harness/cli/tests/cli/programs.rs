//! Agent programs: the toy agent does by turns what no agent program should, while runs are killed and resumed.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::process::Stdio;
use std::time::{Duration, Instant};

use healbench_core::{Outcome, Turn};
use healbench_store::{RunDir, read_recorded_turns};
use serde_json::{Value, json};

use super::view_server::{Server, visible_html};
use super::*;

/// The value of the variable that is handed on, which must reach no file.
const KEY: &str = "canary-7d1f4c2be09a5e36";

const SCENARIO: &str = r#"
id: toy/enter-a-color
title: A color that is one of two
description: Played by a toy agent program.
task:
  prompt: Enter green as the color of the hall.
  max_calls: 6
tools:
  paint:
    description: The colors of rooms.
    actions:
      set:
        description: Enter the color of a room.
        input:
          required: [room, color]
          properties:
            room: {type: string}
            color: {enum: [red, green]}
        handler: {insert: rooms}
      list:
        description: List the rooms.
        read_only: true
        input: {properties: {room: {type: string}}}
        handler: {select: rooms}
world:
  rooms:
    singular: room
    rows:
      - {id: 1, room: attic, color: red}
expect:
  - row: {in: rooms, where: {room: hall, color: green}}
script:
  - call: {tool: paint, action: set, arguments: {room: hall, color: green}}
"#;

/// Returns the path of the toy agent, which is built if need be.
fn toy_agent() -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_healbench"));
    let toy = program.with_file_name("toy-agent");
    if !toy.exists() {
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "--package", "healbench-agents", "--bin", "toy-agent", "--target-dir"]);
        let target = program.parent().and_then(Path::parent).unwrap();
        assert!(build.arg(target).current_dir(env!("CARGO_MANIFEST_DIR")).status().unwrap().success());
    }
    toy
}

/// Returns a folder with the scenario and with two agents for each mode, or for a folder of modes.
fn sandbox(modes: &[&str]) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("toy.yaml", SCENARIO);
    for folder in ["home", "t", "modes"] {
        fs::create_dir(sandbox.path(folder)).unwrap();
    }
    let call =
        |color: &str| format!(r#"{{"name":"paint","arguments":{{"action":"set","room":"hall","color":"{color}"}}}}"#);
    sandbox.write("home/calls.json", &format!("[{},{}]", call("blue"), call("green")));
    sandbox.write("home/mcp.json", r#"{"mcpServers": {"tools": {mcp_config}}, "task": "{prompt}"}"#);
    let toy = toy_agent().display().to_string();
    let mut config = String::new();
    for (index, mode) in modes.iter().enumerate() {
        let rest = "home = \"home\"\nenv = [\"TOY_KEY\"]\ntimeout_s = 60\n";
        config.push_str(&format!("[agent.acp{index}]\nacp = [{toy:?}, \"--acp\", {mode:?}]\n{rest}"));
        config.push_str(&format!("[agent.exec{index}]\ncommand = [{toy:?}, \"--exec\", {mode:?}]\n{rest}"));
    }
    sandbox.write("healbench.toml", &config);
    sandbox
}

/// Returns healbench with the key and with a folder for temporary files of its own.
fn with_key(sandbox: &Sandbox, args: &[&str]) -> Command {
    let mut command = sandbox.command(args);
    command.env("TOY_KEY", KEY).env("TMPDIR", sandbox.path("t"));
    command
}

/// Returns the command lines of the processes with the folder for temporary files in their environments.
pub(crate) fn processes_of(sandbox: &Sandbox) -> Vec<String> {
    let folder = sandbox.path("t").display().to_string();
    let of_ours = |entry: fs::DirEntry| {
        let environment = fs::read(entry.path().join("environ")).ok()?;
        let name = fs::read(entry.path().join("cmdline")).ok()?;
        let is_ours = String::from_utf8_lossy(&environment).contains(&folder) && !name.is_empty();
        is_ours.then(|| String::from_utf8_lossy(&name).replace('\0', " "))
    };
    fs::read_dir("/proc").unwrap().filter_map(|entry| of_ours(entry.ok()?)).collect()
}

/// Waits until no such process is left, and returns those that are.
pub(crate) fn processes_left(sandbox: &Sandbox) -> Vec<String> {
    let started = Instant::now();
    loop {
        let left = processes_of(sandbox);
        if left.is_empty() || started.elapsed() > GENEROUS {
            return left;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Returns the files with the key, below a folder; compressed ones are read as what they contain.
fn files_with_the_key(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_with_the_key(&path));
        } else if let Ok(bytes) = fs::read(&path) {
            let mut content = Vec::new();
            let is_compressed = path.extension().is_some_and(|extension| extension == "zst");
            if !is_compressed || zstd::Decoder::new(bytes.as_slice()).unwrap().read_to_end(&mut content).is_err() {
                content = bytes;
            }
            if content.windows(KEY.len()).any(|window| window == KEY.as_bytes()) {
                found.push(path);
            }
        }
    }
    found
}

/// Reads a run as text: all rows, responses and transcripts.
fn everything(sandbox: &Sandbox, run: &Path) -> String {
    let (directory, manifest) = RunDir::open(run).unwrap();
    let rows = healbench_frames::rows_of_episodes(&directory, &manifest.episodes().iter().collect()).unwrap();
    let hashes = rows.values().flat_map(|(_, calls)| calls).map(|call| call.response_hash).collect();
    let responses = healbench_frames::read_responses(&directory, &hashes).unwrap();
    let numbers: Vec<String> = manifest.episodes().iter().map(|episode| episode.to_string()).collect();
    let mut args = vec!["show", "--full", "run"];
    args.extend(numbers.iter().map(String::as_str));
    format!("{rows:?}{responses:?}{}", with_key(sandbox, &args).output().map(CommandResult::new).unwrap().out)
}

#[test]
fn what_a_program_does_is_counted_as_what_it_is() {
    use Outcome::{Infra, Success, TaskFail};
    let modes = [
        ("good", Success, 2..=2, "1 session with the tools"),
        ("never-calls", TaskFail, 0..=0, "no session with the tools"),
        ("other-tools", Success, 3..=3, "1 session with the tools"),
        ("two-connections", Success, 2..=2, "2 sessions with the tools"),
        ("dies", Infra, 1..=1, "ended with the exit code 3"),
        ("floods", Success, 2..=2, "1 session with the tools"),
        ("ignores-its-end", Success, 2..=2, "1 session with the tools"),
        ("leaves-a-server", Success, 2..=3, "2 sessions with the tools"),
        ("asks", Success, 2..=2, ""),
        ("cancels", Success, 2..=3, "1 session with the tools"),
        ("prints-its-key", Success, 3..=3, "[key]"),
    ];
    let sandbox = sandbox(&modes.each_ref().map(|mode| mode.0));
    let agents: Vec<String> =
        (0..modes.len()).flat_map(|index| [format!("agent:acp{index}"), format!("agent:exec{index}")]).collect();
    let args = ["run", "toy.yaml", "--out", "run", "--condition", "fusion", "--trials", "1", "--agent"];
    let result =
        with_key(&sandbox, &[&args[..], &[&agents.join(",")]].concat()).output().map(CommandResult::new).unwrap();
    // Two of 22 episodes are lost.
    assert_eq!(result.code, Some(4), "{}", result.err);
    let (run, _) = RunDir::open(&sandbox.path("run")).unwrap();
    let rows = healbench_frames::rows_of_episodes(&run, &(0..2 * modes.len() as u64).collect()).unwrap();
    for (episode, (row, calls)) in &rows {
        let (mode, outcome, count, told) = &modes[*episode as usize / 2];
        let shown = unbroken(&sandbox.ok(&["show", "run", &episode.to_string(), "--full"]).out);
        assert_eq!(row.outcome, *outcome, "{mode}: {shown}");
        assert!(count.contains(&row.calls) && shown.contains(told), "{mode}, {} calls: {shown}", row.calls);
        // What the program does not tell is null.
        assert_eq!((row.turns, row.prose_tokens, row.billed, row.scheduled), (None, None, None, false), "{mode}");
        let model = row.model.as_deref().unwrap();
        assert_eq!((model.turns, model.usage, model.usd, model.latency_ms), (None, None, None, None), "{mode}");
        assert!(calls.iter().all(|call| call.turn.is_none() && call.context_tokens.is_none()), "{mode}");
        if *mode == "other-tools" {
            let class = calls[0].error_class.as_ref().map(healbench_core::ErrorClass::name);
            assert_eq!((&*calls[0].tool, class), ("bash", Some("UNKNOWN_TOOL")), "{shown}");
        }
        if *mode == "asks" && episode % 2 == 0 {
            assert!(shown.contains("1 permission granted, 1 permission refused"), "{shown}");
        }
    }
    assert_eq!(processes_left(&sandbox), [""; 0]);
    assert_eq!(files_with_the_key(sandbox.dir.path()), [""; 0].map(PathBuf::from));
    assert!(!everything(&sandbox, &sandbox.path("run")).contains(KEY));
    assert_eq!(fs::read_dir(sandbox.path("t")).unwrap().count(), 0);
}

/// The toy agent reports no tokens, and nobody knows its turns.
#[test]
fn unknown_numbers_of_programs_are_never_zero() {
    let sandbox = sandbox(&["good"]);
    for out in ["base", "candidate"] {
        let args = ["run", "toy.yaml", "--out", out, "--condition", "sdk-typescript,fusion", "--trials", "2"];
        let run = [&args[..], &["--agent", "agent:acp0,agent:exec0"]].concat();
        let result = CommandResult::new(with_key(&sandbox, &run).output().unwrap());
        assert_eq!(result.code, Some(0), "{}", result.err);
    }
    let table = sandbox.ok(&["report", "base", "--output=csv"]).out;
    let mut lines = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let columns = lines.next().unwrap();
    let cells: Vec<Vec<&str>> = lines.collect();
    assert_eq!(cells.len(), 4, "{table}");
    for cell in &cells {
        let value = |name: &str| cell[columns.iter().position(|column| *column == name).unwrap()];
        for unknown in [
            "billed_tokens_per_episode",
            "billed_tokens_per_success",
            "tokens_per_episode",
            "tokens_per_success",
            "median_billed_tokens_per_episode",
            "billed_tokens_vs_reference",
            "prose_tokens",
            "turns_per_episode",
            "input_tokens_per_episode",
            "output_tokens_per_episode",
            "wasted_tokens",
            "cost_per_success_usd",
            "cost_usd",
            "latency_ms_per_turn",
            "episode_recovery",
        ] {
            assert_eq!(value(unknown), "", "{unknown}");
        }
        assert_eq!((value("success"), value("calls_per_episode"), value("leaked_fields")), ("1", "2", "0"));
        assert!(value("guardrail_tokens").parse::<u32>().unwrap() > 20);
    }
    let null_rates = |value: &Value| {
        let mut rates = 0;
        each_object(value, &mut |object| {
            if object.get("denominator") == Some(&json!(0)) {
                assert_eq!(object["rate"], Value::Null, "{object:?}");
                rates += 1;
            }
            if object.get("metric") == Some(&json!("tokens")) || object.get("metric") == Some(&json!("billed_tokens")) {
                assert_eq!((&object["base"], &object["candidate"]), (&Value::Null, &Value::Null), "{object:?}");
                assert_eq!(object["difference"], Value::Null, "{object:?}");
                rates += 1;
            }
        });
        assert!(rates > 0, "{value}");
    };
    for args in [
        &["report", "base", "--output=json"][..],
        &["compare", "base", "--by", "condition", "--output=json"],
        &["compare", "base", "candidate", "--output=json"],
    ] {
        null_rates(&serde_json::from_str(&sandbox.ok(args).out).unwrap());
    }
    let page = sandbox.ok(&["report", "base", "--output", "html"]).out;
    let server = Server::start(&sandbox, &["base"]);
    for page in [visible_html(&page), server.ok("/")] {
        assert!(!page.contains("NaN") && !page.contains("US $ 0"), "{page}");
    }
    sandbox.ok(&["bless", "base"]);
    // By default tokens do not decide.
    let gate = sandbox.start(&["gate", "baseline.toml", "candidate"]);
    assert_eq!(gate.code, Some(3), "{}", gate.out);
    let printed = unbroken(&gate.out);
    assert!(
        printed.contains("MISSING (advisory) agent:acp0 \u{b7} natural \u{b7} fusion \u{b7} tokens"),
        "{}",
        gate.out
    );
    assert!(printed.contains("the number is unknown: 2") && !printed.contains("was lost"), "{}", gate.out);
    // Where a policy asks for them, the gate cannot pass.
    sandbox.write("policy.toml", "[[check]]\nmetric = \"tokens\"\nmargin = \"10%\"\n");
    let gate = sandbox.start(&["gate", "baseline.toml", "candidate", "--policy", "policy.toml"]);
    assert_eq!(gate.code, Some(4), "{}", gate.out);
    assert!(unbroken(&gate.out).contains("the number is unknown: 2"), "{}", gate.out);
}

fn each_object(value: &Value, then: &mut dyn FnMut(&serde_json::Map<String, Value>)) {
    match value {
        Value::Object(object) => {
            then(object);
            object.values().for_each(|member| each_object(member, then));
        }
        Value::Array(items) => items.iter().for_each(|item| each_object(item, then)),
        _ => {}
    }
}

#[test]
fn a_program_that_hangs_or_talks_all_the_time_is_ended_and_lost() {
    let sandbox = sandbox(&["hangs", "talks"]);
    let config = fs::read_to_string(sandbox.path("healbench.toml")).unwrap().replace("timeout_s = 60", "timeout_s = 2");
    sandbox.write("healbench.toml", &config);
    let args = ["run", "toy.yaml", "--out", "run", "--condition", "fusion", "--trials", "1", "--agent"];
    let run = [&args[..], &["agent:acp0,agent:exec0,agent:acp1,agent:exec1"]].concat();
    let result = CommandResult::new(with_key(&sandbox, &run).output().unwrap());
    assert_eq!(result.code, Some(4), "{}", result.err);
    assert!(result.err.contains("it did not end within 2 s"), "{}", result.err);
    let (directory, _) = RunDir::open(&sandbox.path("run")).unwrap();
    let rows = healbench_frames::rows_of_episodes(&directory, &(0..4).collect()).unwrap();
    assert!(rows.values().all(|(row, _)| row.outcome == Outcome::Infra), "{rows:?}");
    assert_eq!(processes_left(&sandbox), [""; 0]);
    assert_eq!(fs::read_dir(sandbox.path("t")).unwrap().count(), 0);
}

#[test]
fn the_end_of_what_a_program_says_is_kept() {
    let sandbox = sandbox(&["says-much"]);
    let args = ["run", "toy.yaml", "--out", "run", "--condition", "fusion", "--trials", "1", "--agent"];
    let run = [&args[..], &["agent:acp0,agent:exec0"]].concat();
    let result = CommandResult::new(with_key(&sandbox, &run).output().unwrap());
    assert_eq!(result.code, Some(0), "{}", result.err);
    let (run, _) = RunDir::open(&sandbox.path("run")).unwrap();
    for (episode, line_breaks) in [(0, 0), (1, 64)] {
        let turns = read_recorded_turns(&run, episode).unwrap().unwrap();
        let Some(Turn::Answer { text }) = turns.turns.last().map(|recorded| &recorded.turn) else {
            panic!("{:?}", turns.turns.len())
        };
        assert!(text.len() <= 64 << 10 && text.ends_with("The task is done."), "{} bytes", text.len());
        let said = (4 << 20) + line_breaks + "The task is done.".len() as u64;
        assert_eq!(turns.program.unwrap().dropped_text_bytes + text.len() as u64, said);
        let shown = unbroken(&sandbox.ok(&["show", "run", &episode.to_string()]).out);
        assert!(shown.contains("bytes of its text not kept"), "{} bytes", shown.len());
    }
}

/// Plays 24 episodes that are killed twice. `TOY_TRIALS=50 TOY_KILLS=20` plays 200 that are killed 20 times.
#[test]
fn killed_runs_lose_no_episode_and_leave_no_process() {
    let number = |name: &str, default: u64| std::env::var(name).map_or(default, |text| text.parse().unwrap());
    let (trials, kills) = (number("TOY_TRIALS", 6), number("TOY_KILLS", 2));
    let mut sandbox = sandbox(&["modes"]);
    let modes = sandbox.path("modes").display().to_string();
    let config =
        fs::read_to_string(sandbox.path("healbench.toml")).unwrap().replace("\"modes\"", &format!("{modes:?}"));
    sandbox.write("healbench.toml", &config);
    let sandbox = &mut sandbox;
    let trials_text = trials.to_string();
    let start = [
        "run",
        "toy.yaml",
        "--out",
        "run",
        "--condition",
        "sdk-typescript,fusion",
        "--trials",
        &trials_text,
        "--agent",
        "agent:acp0,agent:exec0",
    ];
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    for kill in 0..kills {
        let args: &[&str] = if kill == 0 { &start } else { &["run", "--resume", "run"] };
        let mut child = with_key(sandbox, args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let begun = Instant::now();
        while !sandbox.path("run/manifest.json").exists() && begun.elapsed() < GENEROUS {
            std::thread::sleep(Duration::from_millis(5));
        }
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_millis(300 + (random >> 33) % 2500));
        // SIGKILL: nothing of healbench is left to end the programs.
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(processes_left(sandbox), [""; 0], "after {} kills", kill + 1);
    }
    // Lost episodes are run again.
    let mut results: Vec<(Option<i32>, String)> = Vec::new();
    while results.last().is_none_or(|(_, text)| !text.contains("complete already")) && results.len() < 12 {
        let args: &[&str] = if kills == 0 && results.is_empty() { &start } else { &["run", "--resume", "run"] };
        let result = CommandResult::new(with_key(sandbox, args).output().unwrap());
        results.push((result.code, result.err));
    }
    let path = sandbox.path("run");
    let (run, manifest) = RunDir::open(&path).unwrap();
    assert_eq!(manifest.plan.len(), 4 * trials);
    let mut outcomes: BTreeMap<u64, Vec<Outcome>> = BTreeMap::new();
    healbench_frames::for_each_episode(&run, &manifest.plan, &mut |_, row| {
        outcomes.entry(row.episode).or_default().push(row.outcome);
        Ok(())
    })
    .unwrap();
    assert!(outcomes.keys().copied().eq(0..4 * trials), "{results:?}");
    assert!(outcomes.values().all(|outcomes| outcomes.len() == 1 && outcomes[0].is_scored()), "{results:?}");
    assert_eq!(processes_left(sandbox), [""; 0]);
    assert_eq!(files_with_the_key(sandbox.dir.path()), [""; 0].map(PathBuf::from));
    assert!(!everything(sandbox, &path).contains(KEY));
    assert_eq!(fs::read_dir(sandbox.path("t")).unwrap().count(), 0, "{results:?}");
}

#[test]
fn a_program_that_cannot_play_is_refused_before_the_run() {
    let sandbox = sandbox(&["good"]);
    let refused = |config: &str, args: &[&str], message: &str, help: &str| {
        sandbox.write("healbench.toml", config);
        let run = [&["run", "toy.yaml", "--out", "run", "--agent", "agent:x"], args].concat();
        let result = CommandResult::new(with_key(&sandbox, &run).output().unwrap());
        assert_eq!(result.code, Some(2), "{}", result.err);
        assert!(result.err.contains(message) && result.err.contains(help), "{}", result.err);
        assert!(!sandbox.path("run").exists());
    };
    let command = "[agent.x]\ncommand = [\"sh\", \"{prompt}\", \"{mcp_config}\"]\n";
    for (config, args, message, help) in [
        ("[agent.y]\nacp = [\"sh\"]\n", &[][..], "there is no table `[agent.x]`", "y"),
        (
            "[agent.x]\ncommand = [\"sh\", \"{prompt}\"]\n",
            &[],
            "neither `command` nor a file of `home` has `{mcp_config}`",
            "home",
        ),
        ("[agent.x]\ncommand = [\"sh\", \"{mcp_config}\"]\n", &[], "does not tell the program its task", "`{prompt}`"),
        ("[agent.x]\nacp = [\"sh\"]\ncommand = [\"sh\"]\n", &[], "cannot be combined with `acp`", "remove one"),
        ("[agent.x]\nhome = \"home\"\n", &[], "has no command", "`acp`"),
        ("[agent.x]\nacp = [\"no-such-program\"]\n", &[], "the program `no-such-program` is not found", "PATH"),
        ("[agent.x]\nacp = [\"sh\"]\nenv = [\"NOT_SET_HERE\"]\n", &[], "NOT_SET_HERE is not set", "export"),
        ("[agent.x]\nacp = [\"sh\", \"{model_url}\"]\n", &[], "has no `model_url`", "add it"),
        ("[agent.x]\nacp = [\"sh\"]\nhome = \"no-folder\"\n", &[], "which cannot be used", "home template"),
        (command, &["--budget", "2usd"], "a budget in money cannot limit", "limit tokens"),
        (command, &["--replay", "home"], "cannot be replayed", "--replay"),
    ] {
        refused(config, args, message, help);
    }
    fs::write(sandbox.path("home/key.txt"), "key = sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD").unwrap();
    refused(
        "[agent.x]\nacp = [\"sh\"]\nhome = \"home\"\n",
        &[],
        "looks like a secret, which is not shown",
        "environment",
    );
    // A socket's path has at most 107 bytes.
    let long = sandbox.path(&"long".repeat(25));
    fs::create_dir(&long).unwrap();
    sandbox.write("healbench.toml", command);
    let mut run = with_key(&sandbox, &["run", "toy.yaml", "--out", "run", "--agent", "agent:x"]);
    let result = CommandResult::new(run.env("TMPDIR", &long).output().unwrap());
    assert_eq!(result.code, Some(2), "{}", result.err);
    assert!(result.err.contains("bytes, and may have 107") && result.err.contains("set TMPDIR"), "{}", result.err);
}
