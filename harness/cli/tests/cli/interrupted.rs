use std::process::Stdio;
use std::time::{Duration, Instant};

use super::*;

/// Starts a run that takes a while, interrupts it once it has begun, and gives what it left behind.
pub(crate) fn interrupt(place: &Place, words: &[&str]) -> Ended {
    let mut child = place.command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while !place.path("run/calls.parquet.part").exists() {
        assert!(begun.elapsed() < Duration::from_secs(60), "the run does not begin");
        assert_eq!(child.try_wait().unwrap(), None, "the run ended before it could be interrupted");
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(300));
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    Ended::of(child.wait_with_output().unwrap())
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_is_readable_and_goes_on_to_the_same_rows() {
    let place = Place::new();
    let axes = ["--trials", "120", "--agent", "scripted:typical,scripted:careful"];
    let with = |words: &[&'static str]| [words, &axes].concat();
    let ended = interrupt(&place, &with(&["run", "--out", "run"]));
    assert_eq!(ended.code, Some(130), "{}", ended.err);
    assert!(ended.err.contains("go on with: healbench run --resume run"), "{}", ended.err);
    assert!(!place.path("run/progress.json").exists());
    let report = place.ok(&["report", "run"]);
    assert!(report.out.contains("The run was interrupted: this is"), "{}", report.out);
    assert!(report.err.contains("go on with: healbench run --resume run"), "{}", report.err);

    let resumed = place.ok(&["run", "--resume", "run"]);
    assert!(!resumed.err.contains("interrupted"), "{}", resumed.err);
    place.ok(&with(&["run", "--out", "straight"]));
    assert!(same_frames(&place.path("run"), &place.path("straight")));
    let again = place.ok(&["run", "--resume", "run"]);
    assert!(again.err.contains("complete already"), "{}", again.err);
}

#[cfg(unix)]
#[test]
fn a_killed_run_does_not_look_whole_and_is_played_anew() {
    let place = Place::new();
    let mut child = place
        .command(&["run", "--out", "run", "--trials", "400", "--agent", "scripted:typical"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while !place.path("run/calls.parquet.part").exists() {
        assert!(begun.elapsed() < Duration::from_secs(60), "the run does not begin");
        std::thread::sleep(Duration::from_millis(5));
    }
    // While it is written, nobody else may write it.
    let busy = place.start(&["run", "--resume", "run"]);
    assert_eq!(busy.code, Some(2), "{}", busy.err);
    assert!(busy.err.contains("being written by another process"), "{}", busy.err);
    child.kill().unwrap();
    child.wait().unwrap();
    let shown = place.start(&["report", "run"]);
    assert_eq!(shown.code, Some(2));
    assert!(shown.err.contains("did not finish") && shown.err.contains("--resume run"), "{}", shown.err);
}

#[test]
fn a_run_carries_the_profile_it_was_made_with() {
    let place = Place::new();
    place.write("mine.toml", include_str!("../../../../agents/profiles/careful.toml"));
    place.ok(&["run", "--out", "run", "--trials", "1", "--agent", "scripted:mine.toml"]);
    std::fs::remove_file(place.path("mine.toml")).unwrap();
    assert!(place.ok(&["show", "run", "1"]).out.contains("scripted:mine.toml"));
}

#[test]
fn resuming_takes_no_axes_but_those_of_the_environment_are_no_mistake() {
    let place = Place::new();
    place.ok(&["run", "--out", "run", "--trials", "1", "--agent", "scripted:blind"]);
    let typed = place.start(&["run", "--resume", "run", "--trials", "3"]);
    assert_eq!(typed.code, Some(2));
    assert!(typed.err.contains("`trials` cannot be given beside it"), "{}", typed.err);
    let mut command = place.command(&["run", "--resume", "run"]);
    let ended = Ended::of(command.env("HEALBENCH_TRIALS", "3").output().unwrap());
    assert_eq!(ended.code, Some(0), "{}", ended.err);
}

#[test]
fn a_run_is_only_resumed_with_what_it_was_made_with() {
    let place = Place::new();
    place.ok(&["run", "--out", "run", "--trials", "1", "--agent", "scripted:blind"]);
    let manifest = std::fs::read_to_string(place.path("run/manifest.json")).unwrap();
    let interrupted = manifest.replacen("\"status\": \"complete\"", "\"status\": \"interrupted\"", 1);
    let refused = |manifest: &str| {
        place.write("run/manifest.json", manifest);
        let ended = place.start(&["run", "--resume", "run"]);
        assert_eq!(ended.code, Some(2), "{}", ended.err);
        ended.err
    };
    for (from, to) in [("\"patience\"", "\"patients\""), ("\"chatter\": 0", "\"chatter\": 7")] {
        let other = refused(&interrupted.replacen(from, to, 1));
        assert!(other.contains("agent `scripted:blind` of the run cannot be played"), "{other}");
    }
    place.write("run/manifest.json", &interrupted);
    let scenario = std::fs::read_dir(place.path("run/scenarios")).unwrap().next().unwrap().unwrap().path();
    std::fs::write(&scenario, "id: other\n").unwrap();
    let changed = refused(&interrupted);
    assert!(changed.contains("is not the one that was played"), "{changed}");
}
