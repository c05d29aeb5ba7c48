use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use healbench_store::{Progress, RunDir};

use super::*;
use crate::model_server::{ModelServer, repairing_model};

fn quickstart(sandbox: &Sandbox) {
    sandbox.write("scenario.yaml", include_str!("../../../../scenarios/suites/quickstart/wrong-enum.yaml"));
}

/// Waits until the progress of a run satisfies `wanted`, and returns it.
fn wait_for(run: &RunDir, wanted: impl Fn(&Progress) -> bool) -> Progress {
    let started = Instant::now();
    loop {
        match run.progress().filter(&wanted) {
            Some(progress) => return progress,
            None => std::thread::sleep(Duration::from_millis(10)),
        }
        assert!(started.elapsed() < GENEROUS, "{:?}", run.progress());
    }
}

#[test]
fn progress_can_be_read_during_a_run() {
    let blocked = Arc::new(AtomicBool::new(true));
    let is_blocked = Arc::clone(&blocked);
    // Two requests per episode: the third episode waits.
    let server = ModelServer::start(move |number, request| {
        while number >= 4 && is_blocked.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(5));
        }
        repairing_model(number, request)
    });
    let sandbox = Sandbox::new();
    quickstart(&sandbox);
    sandbox.write(
        "healbench.toml",
        &format!(
            "[model.mini]\napi = \"openai-chat\"\nbase_url = \"{}\"\nconnections = 1\n\
             price = {{input = 1.0, cache_read = 0.5, output = 10.0}}\n",
            server.url
        ),
    );
    let args = ["run", "scenario.yaml", "--agent=model:mini", "--guardrails=all", "--format=fusion-xml"];
    let mut command = sandbox.command(&[&args[..], &["--trials=5", "--out=run"]].concat());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let started = Instant::now();
    while !sandbox.path("run/manifest.json").exists() {
        assert!(started.elapsed() < GENEROUS, "the run does not begin");
        std::thread::sleep(Duration::from_millis(10));
    }
    let (run, _) = RunDir::open_any(&sandbox.path("run")).unwrap();
    let progress = wait_for(&run, |progress| progress.done == 2);
    assert_eq!((progress.total, progress.usd_at_least, progress.failures.len()), (5, None, 0));
    // 600 input tokens, 200 from a cache, 40 output tokens, twice.
    assert!((progress.usd.unwrap() - 2.0 * 0.0011).abs() < 1e-12, "{progress:?}");
    assert!(progress.per_second.unwrap() > 0.0 && progress.eta_s.unwrap() > 0.0);
    assert!(run.is_locked());
    blocked.store(false, Ordering::SeqCst);
    let result = CommandResult::new(child.wait_with_output().unwrap());
    assert_eq!(result.code, Some(0), "{}", result.err);
    assert_eq!(run.progress(), None);
    assert!(!sandbox.path("run/progress.json").exists() && !run.is_locked());
}
