//! The program as a user starts it.

#![allow(clippy::unwrap_used)]

mod bad_input;
mod calls;
mod contracts;
mod gate;
mod help;
mod interrupted;
mod metrics;
mod model_server;
mod models;
mod progress;
mod quickstart;
mod report;
mod schemas;
mod shards;
mod transcripts;
mod view;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// A folder to work in, and the program in it.
struct Place {
    dir: TempDir,
}

impl Place {
    fn new() -> Place {
        Place { dir: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// The program with these words, ready to start; no setting of the outer environment reaches it.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_healbench"));
        command.args(words).current_dir(self.dir.path()).env("NO_COLOR", "1");
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("HEALBENCH_")) {
            command.env_remove(name);
        }
        command
    }

    fn start(&self, words: &[&str]) -> Ended {
        Ended::of(self.command(words).output().unwrap())
    }

    /// Starts the program, which has to end well.
    fn ok(&self, words: &[&str]) -> Ended {
        let ended = self.start(words);
        assert_eq!(ended.code, Some(0), "{words:?}: {}", ended.err);
        ended
    }
}

/// What a start of the program left behind.
struct Ended {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Ended {
    fn of(output: Output) -> Ended {
        Ended {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// Whether two runs have the same rows.
fn same_frames(a: &Path, b: &Path) -> bool {
    use healbench_record::RunDir;
    let frames = |path: &Path| {
        let (run, _) = RunDir::open(path).unwrap();
        let episodes = healbench_reports::read_episodes(&run).unwrap();
        let calls = healbench_reports::read_calls(&run).unwrap();
        assert!(episodes.height() > 0 && calls.height() > 0);
        (episodes, calls)
    };
    let ((episodes_a, calls_a), (episodes_b, calls_b)) = (frames(a), frames(b));
    episodes_a.equals_missing(&episodes_b) && calls_a.equals_missing(&calls_b)
}
