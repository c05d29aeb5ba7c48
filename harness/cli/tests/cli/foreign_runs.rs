//! Run directories from elsewhere, whose files are made to hang, to exhaust memory or to lead to other files.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use healbench_core::ErrorFormat;
use healbench_store::{RunDir, RunManifest};

use super::*;

/// Creates the run `r` with a template, and returns its directory.
fn run_with_template(sandbox: &Sandbox) -> RunDir {
    sandbox.write("t.jinja", "{{ message }}");
    sandbox.write("scenario.yaml", include_str!("../../../../scenarios/suites/quickstart/wrong-enum.yaml"));
    let args = ["run", "scenario.yaml", "--agent", "scripted:blind", "--trials", "1", "--format", "template:t.jinja"];
    sandbox.ok(&[&args[..], &["--out", "r"]].concat());
    RunDir::open_any(&sandbox.path("r")).unwrap().0
}

fn change(run: &RunDir, change: impl FnOnce(&mut RunManifest)) {
    let (_, mut manifest) = RunDir::open_any(run.path()).unwrap();
    change(&mut manifest);
    run.write_manifest(&manifest).unwrap();
}

fn set_template(run: &RunDir, text: &str) {
    change(run, |manifest| {
        for condition in &mut manifest.plan.conditions {
            if let ErrorFormat::Template(source) = &mut condition.values.errors {
                source.text = text.to_owned();
            }
        }
    });
}

/// Asserts that the program ends by itself in time, and returns how.
fn ends(sandbox: &Sandbox, args: &[&str]) -> CommandResult {
    let mut command = sandbox.command(args);
    let mut child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let started = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if started.elapsed() > GENEROUS {
            child.kill().unwrap();
            panic!("{args:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    CommandResult::new(child.wait_with_output().unwrap())
}

/// Asserts that the program fails with one error, and returns it.
fn one_error(sandbox: &Sandbox, args: &[&str]) -> String {
    let ended = ends(sandbox, args);
    let lines: Vec<&str> = ended.err.lines().filter(|line| !line.starts_with("help: ")).collect();
    assert!(ended.code.is_some_and(|code| code > 0), "{args:?}: {:?} {}", ended.code, ended.err);
    assert!(lines.len() == 1 && lines[0].starts_with("error: "), "{args:?}: {}", ended.err);
    lines[0].to_owned()
}

#[cfg(target_os = "linux")]
#[test]
fn a_template_that_asks_for_endless_memory_is_one_error() {
    let sandbox = Sandbox::new();
    let run = run_with_template(&sandbox);
    for (template, reason) in [
        (r#"{{ "a\nb"|indent(10000000000) }}"#.to_owned(), "more than 256 MiB of memory"),
        (r#"{{ "%10000000000d"|format(1) }}"#.to_owned(), "error: "),
        ("{{ [1]|batch(10000000000, 0)|list }}".to_owned(), "error: "),
        (
            "{% set x = message ~ 'x' %}".to_owned() + &"{% set x = x ~ x %}".repeat(40) + "{{ x|length }}",
            "more than 256 MiB of memory",
        ),
        ("{{ ".to_owned() + &"1 ~ ".repeat(1_000_000) + "1 }}", "nested too deeply"),
    ] {
        set_template(&run, &template);
        let error = one_error(&sandbox, &["show", "r", "0"]);
        assert!(error.contains(reason), "{}: {error}", &template[..40.min(template.len())]);
    }
    // A page has everything else.
    set_template(&run, r#"{{ "a\nb"|indent(10000000000) }}"#);
    assert!(sandbox.ok(&["report", "r", "--output", "html"]).out.trim_end().ends_with("</html>"));
}

/// Every file that a run directory may have.
const FILES: [&str; 9] = [
    "manifest.json",
    "calls.parquet",
    "episodes.parquet",
    "responses.parquet",
    "transcripts.jsonl.zst",
    "contracts.lock",
    "journal.jsonl",
    "progress.json",
    ".lock",
];

#[test]
fn a_pipe_or_device_in_the_place_of_a_file_hangs_no_command() {
    let sandbox = Sandbox::new();
    let run = run_with_template(&sandbox);
    sandbox.ok(&["bless", "r", "--out", "base.toml"]);
    let scenario = fs::read_dir(run.path().join("scenarios")).unwrap().map(|file| file.unwrap().path()).min().unwrap();
    let scenario = scenario.strip_prefix(run.path()).unwrap().to_str().unwrap().to_owned();
    let tools = scenario.replace(".yaml", ".tools.json");
    for file in FILES.into_iter().chain([scenario.as_str(), tools.as_str()]) {
        // A device is refused where a pipe is; the first file shows that it is.
        for device in [false, true].into_iter().take(if file == FILES[0] { 2 } else { 1 }) {
            let path = run.path().join(file);
            let kept = sandbox.path("kept");
            let existed = fs::rename(&path, &kept).is_ok();
            if device {
                symlink("/dev/zero", &path).unwrap();
            } else {
                assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
            }
            for args in [
                &["show", "r", "0"][..],
                &["report", "r", "--output", "html=page.html"],
                &["compare", "r", "r"],
                &["gate", "base.toml", "r"],
                &["merge", "r", "--out", "merged"],
                &["run", "--resume", "r"],
            ] {
                let ended = ends(&sandbox, args);
                assert!(ended.code.is_some() && !ended.err.contains("panicked"), "{file} {args:?}: {}", ended.err);
            }
            if fs::symlink_metadata(&path).is_ok() {
                fs::remove_file(&path).unwrap();
            }
            if existed {
                fs::rename(&kept, &path).unwrap();
            }
            let _ = fs::remove_dir_all(sandbox.path("merged"));
        }
    }
}

#[test]
fn writing_to_a_run_changes_no_file_that_it_links_to() {
    let sandbox = Sandbox::new();
    let run = run_with_template(&sandbox);
    sandbox.write("precious", "mine, without a line end");
    fs::remove_file(run.calls_path()).unwrap();
    let links =
        [".lock", "manifest.json.part", "calls.parquet.part", "episodes.parquet.part", "responses.parquet.part"];
    for name in links.into_iter().chain(["progress.json.part", "transcripts.jsonl.zst.part"]) {
        let _ = fs::remove_file(run.path().join(name));
        symlink(sandbox.path("precious"), run.path().join(name)).unwrap();
    }
    sandbox.ok(&["run", "--resume", "r"]);
    sandbox.ok(&["report", "r"]);
    symlink(sandbox.path("precious"), run.journal_path()).unwrap();
    let _ = ends(&sandbox, &["run", "--resume", "r"]);
    assert_eq!(fs::read_to_string(sandbox.path("precious")).unwrap(), "mine, without a line end");
}

#[test]
fn deeply_nested_and_expanding_scenarios_are_errors() {
    let sandbox = Sandbox::new();
    let aliases: String =
        (1..30).map(|level| format!("a{level}: &a{level} [*a{0}, *a{0}, *a{0}]\n", level - 1)).collect();
    sandbox.write("aliases.yaml", &format!("a0: &a0 [x, x]\n{aliases}"));
    sandbox.write("flow.yaml", &format!("id: {}", "[".repeat(1 << 20)));
    sandbox.write("nested.json", &format!("{{\"id\": {}", "[".repeat(1 << 20)));
    sandbox.write("keys.yaml", &"- ".repeat(1 << 16));
    for file in ["aliases.yaml", "flow.yaml", "nested.json", "keys.yaml"] {
        let ended = ends(&sandbox, &["validate", file]);
        assert!(ended.code == Some(2) && ended.err.contains("error: "), "{file}: {:?} {}", ended.code, ended.err);
    }
}
