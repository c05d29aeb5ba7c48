use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use healbench_record::{Progress, RunDir};

use super::*;
use crate::model_server::{ModelServer, mender};

const AXES: [&str; 3] = ["--trials=4", "--agent=scripted:blind,scripted:typical", "--format=fusion-xml"];

fn quickstart(place: &Place) {
    place.write("scenario.yaml", include_str!("../../../../scenarios/suites/quickstart/wrong-enum.yaml"));
}

#[test]
fn cells_are_told_of_as_they_finish() {
    let place = Place::new();
    quickstart(&place);
    let run = |out: &str, more: &[&str]| {
        place.ok(&[&["run", "scenario.yaml", "--live", "--out", out], &AXES[..], more].concat())
    };
    let ended = run("run", &[]);
    insta::assert_snapshot!(ended.err);
    assert!(!ended.out.contains("tokens/ep."), "{}", ended.out);
    assert_eq!(run("one", &["-j1"]).err, ended.err.replace("run: run", "run: one").replace(" run", " one"));
}

#[test]
fn a_table_is_not_asked_for_and_kept_quiet() {
    let place = Place::new();
    let refused = place.start(&["run", "--live", "--quiet"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("'--live' cannot be used with '--quiet'"), "{}", refused.err);
    assert!(!place.path("runs").exists());
}

/// One thread hands over several cells at once.
#[test]
fn no_cell_is_left_out() {
    let place = Place::new();
    let words = ["run", "--live", "--trials=1", "--agent=scripted:blind", "--format=fusion-xml", "-j1", "--out=run"];
    let ended = place.ok(&words);
    let (_, manifest) = RunDir::open(&place.path("run")).unwrap();
    let plan = manifest.plan;
    let told: Vec<&str> = ended.err.lines().skip(1).take(plan.cells() as usize).collect();
    assert_eq!(told.len(), 30);
    for (episode, line) in told.iter().enumerate() {
        let cell = plan.cell(episode as u64).unwrap();
        assert!(line.starts_with(&plan.scenarios[cell.scenario].id), "{line}");
        assert!(line.contains(&format!("  {} ", plan.conditions[cell.condition].guardrails)), "{line}");
    }
}

/// How far a run says it is, once it says what is wanted.
fn wait_for(run: &RunDir, wanted: impl Fn(&Progress) -> bool) -> Progress {
    let begun = Instant::now();
    loop {
        match run.progress().filter(&wanted) {
            Some(progress) => return progress,
            None => std::thread::sleep(Duration::from_millis(10)),
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", run.progress());
    }
}

#[test]
fn how_far_a_run_is_can_be_read_while_it_is_under_way() {
    let held = Arc::new(AtomicBool::new(true));
    let is_held = Arc::clone(&held);
    // Two requests an episode: the third episode waits.
    let server = ModelServer::start(move |number, came| {
        while number >= 4 && is_held.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(5));
        }
        mender(number, came)
    });
    let place = Place::new();
    quickstart(&place);
    place.write(
        "healbench.toml",
        &format!(
            "[model.mini]\napi = \"openai-chat\"\nbase_url = \"{}\"\nconnections = 1\n\
             price = {{input = 1.0, cache_read = 0.5, output = 10.0}}\n",
            server.url
        ),
    );
    let words = ["run", "scenario.yaml", "--agent=model:mini", "--guardrails=all", "--format=fusion-xml"];
    let mut command = place.command(&[&words[..], &["--trials=5", "--out=run", "--live"]].concat());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while !place.path("run/manifest.json").exists() {
        assert!(begun.elapsed() < Duration::from_secs(30), "the run does not begin");
        std::thread::sleep(Duration::from_millis(10));
    }
    let (run, _) = RunDir::open_any(&place.path("run")).unwrap();
    let progress = wait_for(&run, |progress| progress.done == 2);
    assert_eq!((progress.total, progress.usd_at_least, progress.failures.len()), (5, None, 0));
    // 600 tokens in, 200 from a cache, 40 out, twice.
    assert!((progress.usd.unwrap() - 2.0 * 0.0011).abs() < 1e-12, "{progress:?}");
    assert!(progress.per_second.unwrap() > 0.0 && progress.eta_s.unwrap() > 0.0);
    assert!(run.is_locked());
    held.store(false, Ordering::SeqCst);
    let ended = Ended::of(child.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(ended.err.contains("5/5") && ended.err.contains("0.0011"), "{}", ended.err);
    assert_eq!(run.progress(), None);
    assert!(!place.path("run/progress.json").exists() && !run.is_locked());
}
