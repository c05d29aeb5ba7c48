use std::process::Stdio;
use std::time::{Duration, Instant};

use super::*;

/// Starts a long run, interrupts it once it has started, and returns the result.
pub(crate) fn interrupt(sandbox: &Sandbox, args: &[&str]) -> CommandResult {
    let mut child = sandbox.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let started = Instant::now();
    while !sandbox.path("run/calls.parquet.part").exists() {
        assert!(started.elapsed() < GENEROUS, "the run does not begin");
        assert_eq!(child.try_wait().unwrap(), None, "the run ended before it could be interrupted");
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(300));
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    CommandResult::new(child.wait_with_output().unwrap())
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_is_readable_and_resumes_to_the_same_rows() {
    let sandbox = Sandbox::new();
    let axes = ["--trials", "60", "--agent", "scripted:typical,scripted:careful"];
    let with = |args: &[&'static str]| [args, &axes].concat();
    let result = interrupt(&sandbox, &with(&["run", "quickstart", "--out", "run"]));
    assert_eq!(result.code, Some(130), "{}", result.err);
    assert!(result.err.contains("continue with: healbench run --resume run"), "{}", result.err);
    assert!(!sandbox.path("run/progress.json").exists());
    let report = sandbox.ok(&["report", "run"]);
    assert!(report.out.contains("The run was interrupted: this is"), "{}", report.out);
    assert!(report.err.contains("continue with: healbench run --resume run"), "{}", report.err);

    let resumed = sandbox.ok(&["run", "--resume", "run"]);
    assert!(!resumed.err.contains("interrupted"), "{}", resumed.err);
    sandbox.ok(&with(&["run", "quickstart", "--out", "straight"]));
    assert!(same_frames(&sandbox.path("run"), &sandbox.path("straight")));
    let again = sandbox.ok(&["run", "--resume", "run"]);
    assert!(again.err.contains("complete already"), "{}", again.err);
}

#[cfg(unix)]
#[test]
fn a_killed_run_is_incomplete_and_starts_over() {
    let sandbox = Sandbox::new();
    let mut child = sandbox
        .command(&["run", "quickstart", "--out", "run", "--trials", "400", "--agent", "scripted:typical"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let started = Instant::now();
    while !sandbox.path("run/calls.parquet.part").exists() {
        assert!(started.elapsed() < GENEROUS, "the run does not begin");
        std::thread::sleep(Duration::from_millis(5));
    }
    // While the run is active, no other process can write it.
    let busy = sandbox.start(&["run", "--resume", "run"]);
    assert_eq!(busy.code, Some(2), "{}", busy.err);
    assert!(busy.err.contains("being written by another process"), "{}", busy.err);
    child.kill().unwrap();
    child.wait().unwrap();
    let shown = sandbox.start(&["report", "run"]);
    assert_eq!(shown.code, Some(2));
    assert!(shown.err.contains("did not finish") && shown.err.contains("--resume run"), "{}", shown.err);
}

#[test]
fn a_run_carries_the_profile_it_was_made_with() {
    let sandbox = Sandbox::new();
    sandbox.write("mine.toml", include_str!("../../../../agents/reader/profiles/careful.toml"));
    sandbox.ok(&["run", "quickstart", "--out", "run", "--trials", "1", "--agent", "scripted:mine.toml"]);
    std::fs::remove_file(sandbox.path("mine.toml")).unwrap();
    assert!(sandbox.ok(&["show", "run", "1"]).out.contains("scripted:mine.toml"));
}

#[test]
fn resuming_takes_no_axes_but_those_of_the_environment_are_no_mistake() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["run", "quickstart", "--out", "run", "--trials", "1", "--agent", "scripted:blind"]);
    for given in [
        &["quickstart"][..],
        &["--agent", "scripted:blind"],
        &["--condition", "fusion"],
        &["--guardrails", "all"],
        &["--format", "serde"],
        &["--vary", "content=diagnosis"],
        &["--opening", "seeded"],
        &["--trials", "3"],
        &["--seed", "2"],
        &["--prices", "prices.toml"],
        &["--shard", "1/2"],
        &["--out", "other"],
        &["--record", "tape"],
        &["--replay", "tape"],
    ] {
        let typed = sandbox.start(&[&["run", "--resume", "run"], given].concat());
        let name = given[0].trim_start_matches("--").replace("quickstart", "scenarios");
        assert_eq!(typed.code, Some(2), "{given:?}: {}", typed.err);
        assert!(typed.err.contains(&format!("`{name}` cannot be combined with it")), "{given:?}: {}", typed.err);
    }
    let mut command = sandbox.command(&["run", "--resume", "run"]);
    let result = CommandResult::new(command.env("HEALBENCH_TRIALS", "3").output().unwrap());
    assert_eq!(result.code, Some(0), "{}", result.err);
}

#[test]
fn a_run_is_only_resumed_with_what_it_was_made_with() {
    let sandbox = Sandbox::new();
    sandbox.ok(&["run", "quickstart", "--out", "run", "--trials", "1", "--agent", "scripted:blind"]);
    let manifest = std::fs::read_to_string(sandbox.path("run/manifest.json")).unwrap();
    let interrupted = sealed(&manifest.replacen("\"status\": \"complete\"", "\"status\": \"interrupted\"", 1));
    let refused = |manifest: &str| {
        sandbox.write("run/manifest.json", manifest);
        let result = sandbox.start(&["run", "--resume", "run"]);
        assert_eq!(result.code, Some(2), "{}", result.err);
        result.err
    };
    for (from, to) in [("\"patience\"", "\"patients\""), ("\"chatter\": 0", "\"chatter\": 7")] {
        let other = refused(&sealed(&interrupted.replacen(from, to, 1)));
        assert!(other.contains("cannot run agent `scripted:blind` of the run"), "{other}");
    }
    sandbox.write("run/manifest.json", &interrupted);
    let scenario = std::fs::read_dir(sandbox.path("run/scenarios")).unwrap().next().unwrap().unwrap().path();
    std::fs::write(&scenario, "id: other\n").unwrap();
    let result = sandbox.start(&["run", "--resume", "run"]);
    assert!(result.code == Some(4) && result.err.contains("is damaged"), "{:?} {}", result.code, result.err);
    accept_files(&sandbox.path("run"));
    let changed = refused(&std::fs::read_to_string(sandbox.path("run/manifest.json")).unwrap());
    assert!(changed.contains("is not the one that was run"), "{changed}");
}
