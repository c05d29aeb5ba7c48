//! Tests of the program as users start it.

#![allow(clippy::unwrap_used)]

#[cfg(unix)]
mod actions;
mod audit;
#[cfg(unix)]
mod audit_action;
mod bad_input;
mod calls;
mod clients;
mod cluster;
mod contracts;
mod corrected_settings;
mod errors;
mod explain;
#[cfg(unix)]
mod foreign_runs;
mod gate;
mod help;
mod integrity;
mod interrupted;
mod killed_runs;
mod leaks;
mod locks;
#[path = "../../../runner/tests/runner/memory_server.rs"]
mod memory_server;
mod metrics;
mod metrics_trace;
mod model_runs;
mod model_server;
mod models;
mod moves;
mod named_conditions;
mod programs;
mod progress;
mod quickstart;
mod report;
mod run_config;
mod run_names;
mod runs_on_servers;
mod sample_sizes;
mod schemas;
mod secrets;
mod serve_http;
mod servers;
mod shards;
#[cfg(target_os = "linux")]
mod signals;
mod stored_run;
mod templates;
mod traces;
mod transcripts;
mod view;
mod view_episodes;
mod view_server;
#[cfg(unix)]
mod workflow;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use tempfile::TempDir;

/// Far more than any command needs, and far less than for ever.
const GENEROUS: Duration = Duration::from_secs(120);

/// A temporary folder to run the program in.
struct Sandbox {
    dir: TempDir,
}

impl Sandbox {
    fn new() -> Sandbox {
        Sandbox { dir: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// Returns the program with these arguments, ready to start, without the environment variables of the test process.
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_healbench"));
        command.args(args).current_dir(self.dir.path()).env("NO_COLOR", "1");
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("HEALBENCH_")) {
            command.env_remove(name);
        }
        command
    }

    fn start(&self, args: &[&str]) -> CommandResult {
        CommandResult::new(self.command(args).output().unwrap())
    }

    /// Returns the contents of all files, those that are compressed without compression.
    fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let (mut files, mut folders) = (Vec::new(), vec![self.dir.path().to_owned()]);
        while let Some(folder) = folders.pop() {
            for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let bytes = std::fs::read(&path).unwrap();
                let is_compressed = path.extension().is_some_and(|end| end == "zst");
                files.push((path, if is_compressed { zstd::decode_all(&bytes[..]).unwrap() } else { bytes }));
            }
        }
        files
    }

    /// Runs the program and asserts that it succeeds.
    fn ok(&self, args: &[&str]) -> CommandResult {
        let result = self.start(args);
        assert_eq!(result.code, Some(0), "{args:?}: {}", result.err);
        result
    }
}

/// Returns a text without its line breaks, which are where the terminal ends.
fn unbroken(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the text of a manifest whose text was changed, with the hash of the new text.
fn sealed(manifest: &str) -> String {
    let text = &manifest[..manifest.rfind("  \"digest\"").unwrap()];
    format!("{text}  \"digest\": \"{}\"\n}}\n", healbench_core::fingerprint(text.as_bytes()))
}

/// Lists the files of a run as they are now, to test what happens behind the hashes.
fn accept_files(run: &Path) {
    let (run, mut manifest) = healbench_store::RunDir::open_any(run).unwrap();
    for (name, digest) in &mut manifest.files {
        (digest.bytes, digest.sha256) = healbench_files::fingerprint_file(&run.path().join(name)).unwrap();
    }
    run.write_manifest(&manifest).unwrap();
}

/// The result of running the program.
struct CommandResult {
    code: Option<i32>,
    out: String,
    err: String,
}

impl CommandResult {
    fn new(output: Output) -> CommandResult {
        CommandResult {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// Returns true if two runs have the same rows.
fn same_frames(a: &Path, b: &Path) -> bool {
    use healbench_store::RunDir;
    let frames = |path: &Path| {
        let (run, _) = RunDir::open(path).unwrap();
        let episodes = healbench_frames::read_episodes(&run).unwrap();
        let calls = healbench_frames::read_calls(&run).unwrap();
        assert!(episodes.height() > 0 && calls.height() > 0);
        (episodes, calls, std::fs::read(run.responses_path()).unwrap())
    };
    let ((episodes_a, calls_a, responses_a), (episodes_b, calls_b, responses_b)) = (frames(a), frames(b));
    episodes_a.equals_missing(&episodes_b) && calls_a.equals_missing(&calls_b) && responses_a == responses_b
}
