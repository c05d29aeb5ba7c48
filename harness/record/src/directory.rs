use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::{FORMAT_VERSION, RunManifest, RunStatus};

/// The directory of one run.
#[derive(Debug, Clone)]
pub struct RunDir {
    path: PathBuf,
}

/// An exclusive lock for writing a run, released when it is dropped or the process ends in any way.
#[derive(Debug)]
pub struct RunLock {
    _file: fs::File,
}

/// The maximum number of attempts to acquire the lock.
const MAX_LOCK_ATTEMPTS: u32 = 10;

/// The reason why a run directory cannot be created, read or written.
#[derive(Debug, thiserror::Error)]
pub enum RunDirError {
    /// The path already exists.
    #[error("`{}` exists already", .0.display())]
    Exists(PathBuf),
    /// The folder does not exist.
    #[error("there is no run at `{}`", .0.display())]
    Missing(PathBuf),
    /// The folder has no `manifest.json`.
    #[error("`{}` is not a run: it has no manifest.json", .0.display())]
    NoManifest(PathBuf),
    /// The manifest was not written by healbench, or is damaged.
    #[error("`{}` is not a manifest of healbench: {reason}", path.display())]
    Invalid {
        /// The manifest's path.
        path: PathBuf,
        /// The problem.
        reason: String,
    },
    /// The run was written by a newer or an older program.
    #[error("`{}` has run format {found}; this program reads {FORMAT_VERSION}", path.display())]
    UnsupportedVersion {
        /// The run's path.
        path: PathBuf,
        /// The version in the manifest.
        found: u32,
    },
    /// The run was interrupted before its frames were complete.
    #[error("the run at `{}` did not finish: its frames are missing", .0.display())]
    Incomplete(PathBuf),
    /// Another process is writing the run.
    #[error("the run at `{}` is being written by another process", .0.display())]
    Locked(PathBuf),
    /// A file system operation failed.
    #[error("cannot {operation} `{}`: {source}", path.display())]
    Io {
        /// `read`, `write`, `create` or `remove`.
        operation: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// The maximum number of cells in a plan. Reports keep data for each of them in memory.
pub const MAX_CELLS: u64 = 2_000_000;

impl RunDir {
    /// Creates a new run directory with its manifest and the texts of its scenarios.
    ///
    /// # Errors
    /// [`RunDirError::Exists`] if the path exists, even as an empty folder; [`RunDirError::Io`].
    pub fn create(
        path: &Path,
        manifest: &RunManifest,
        scenarios: &[StoredScenario<'_>],
    ) -> Result<RunDir, RunDirError> {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(io_error("create", parent))?;
        }
        match fs::create_dir(path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(RunDirError::Exists(path.into())),
            Err(error) => return Err(io_error("create", path)(error)),
        }
        let run = RunDir { path: path.into() };
        let folder = path.join("scenarios");
        fs::create_dir(&folder).map_err(io_error("create", &folder))?;
        for (index, scenario) in scenarios.iter().enumerate() {
            let file = |extension| folder.join(scenario_file(index, scenario.id, extension));
            let texts = [(scenario.extension, Some(scenario.text)), (SERVER_TOOLS, scenario.server_tools)];
            for (extension, text) in texts {
                let Some(text) = text else { continue };
                fs::write(file(extension), text).map_err(io_error("write", &file(extension)))?;
            }
        }
        run.write_manifest(manifest)?;
        Ok(run)
    }

    /// Opens a run with any status and reads its manifest.
    ///
    /// # Errors
    /// Every variant of [`RunDirError`] except `Exists` and `Incomplete`.
    pub fn open_any(path: &Path) -> Result<(RunDir, RunManifest), RunDirError> {
        if !path.is_dir() {
            return Err(RunDirError::Missing(path.into()));
        }
        let file = path.join("manifest.json");
        // What is no file is no manifest.
        if fs::metadata(&file).is_ok_and(|found| !found.is_file()) {
            return Err(RunDirError::NoManifest(path.into()));
        }
        let text = match healbench_protocol::read_file(&file, healbench_protocol::MAX_GENERATED_BYTES) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(RunDirError::NoManifest(path.into())),
            Err(error) => return Err(io_error("read", &file)(error)),
        };
        let invalid = |reason: String| RunDirError::Invalid { path: file.clone(), reason };
        // Check the version first: a newer manifest may have another shape.
        let value: serde_json::Value = serde_json::from_slice(&text).map_err(|error| invalid(error.to_string()))?;
        let version = value.get("format_version").and_then(serde_json::Value::as_u64);
        match version {
            None => return Err(invalid("it has no `format_version`".to_owned())),
            Some(found) if found == u64::from(FORMAT_VERSION) => {}
            Some(found) => {
                let found = u32::try_from(found).unwrap_or(u32::MAX);
                return Err(RunDirError::UnsupportedVersion { path: path.into(), found });
            }
        }
        let manifest: RunManifest = serde_json::from_value(value).map_err(|error| invalid(error.to_string()))?;
        if manifest.plan.cells() > MAX_CELLS {
            return Err(invalid(format!("its plan has more than {MAX_CELLS} cells")));
        }
        if manifest.shard.is_some_and(|shard| !shard.is_valid()) {
            return Err(invalid("its `shard` is none".to_owned()));
        }
        Ok((RunDir { path: path.into() }, manifest))
    }

    /// Opens a run with readable frames: a complete or an interrupted one.
    ///
    /// # Errors
    /// As [`RunDir::open_any`], and [`RunDirError::Incomplete`] or [`RunDirError::Locked`].
    pub fn open(path: &Path) -> Result<(RunDir, RunManifest), RunDirError> {
        let (run, manifest) = RunDir::open_any(path)?;
        if manifest.status == RunStatus::Running {
            // The run may be in progress.
            if let Err(locked @ RunDirError::Locked(_)) = run.lock() {
                return Err(locked);
            }
        }
        if manifest.status == RunStatus::Running || !run.has_frames() {
            return Err(RunDirError::Incomplete(path.into()));
        }
        Ok((run, manifest))
    }

    /// Replaces the manifest atomically.
    ///
    /// # Errors
    /// [`RunDirError::Io`].
    pub fn write_manifest(&self, manifest: &RunManifest) -> Result<(), RunDirError> {
        let file = self.path.join("manifest.json");
        let partial = self.path.join("manifest.json.part");
        let text = serde_json::to_string_pretty(manifest)
            .map_err(|error| RunDirError::Invalid { path: file.clone(), reason: error.to_string() })?;
        let write = || -> io::Result<()> {
            let mut out = fs::File::create(&partial)?;
            out.write_all(text.as_bytes())?;
            out.write_all(b"\n")?;
            out.sync_all()?;
            fs::rename(&partial, &file)
        };
        write().map_err(io_error("write", &file))
    }

    /// Locks the run for writing.
    ///
    /// # Errors
    /// [`RunDirError::Locked`] if another process holds the lock; [`RunDirError::Io`].
    pub fn lock(&self) -> Result<RunLock, RunDirError> {
        let path = self.path.join(".lock");
        let file = fs::File::create(&path).map_err(io_error("create", &path))?;
        let mut attempts = 0;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(RunLock { _file: file }),
                // A process that only checks the lock releases it immediately.
                Err(fs::TryLockError::WouldBlock) if attempts < MAX_LOCK_ATTEMPTS => attempts += 1,
                Err(fs::TryLockError::WouldBlock) => return Err(RunDirError::Locked(self.path.clone())),
                Err(fs::TryLockError::Error(error)) => return Err(io_error("create", &path)(error)),
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Returns true if another process holds the lock. Does not change the lock file; returns false if it cannot be
    /// read.
    pub fn is_locked(&self) -> bool {
        let would_block = |file: fs::File| matches!(file.try_lock_shared(), Err(fs::TryLockError::WouldBlock));
        healbench_protocol::open_regular_file(&self.path.join(".lock")).is_ok_and(would_block)
    }

    #[cfg(test)]
    pub(crate) fn at(path: &Path) -> RunDir {
        RunDir { path: path.into() }
    }

    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of the frame of calls.
    pub fn calls_path(&self) -> PathBuf {
        self.path.join("calls.parquet")
    }

    /// Returns the path of the frame of episodes.
    pub fn episodes_path(&self) -> PathBuf {
        self.path.join("episodes.parquet")
    }

    /// Returns the path of the frame of distinct responses. Only their texts need it, so a run without it is complete.
    pub fn responses_path(&self) -> PathBuf {
        self.path.join("responses.parquet")
    }

    /// Returns the path of the journal. It exists while a run with models is in progress or has episodes lost to
    /// infrastructure failures.
    pub fn journal_path(&self) -> PathBuf {
        self.path.join("journal.jsonl")
    }

    /// Removes the journal of a complete run, whose frames and recorded turns contain all of its data.
    ///
    /// # Errors
    /// [`RunDirError::Io`] if it exists and cannot be removed.
    pub fn remove_journal(&self) -> Result<(), RunDirError> {
        let path = self.journal_path();
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io_error("remove", &path)(error)),
            _ => Ok(()),
        }
    }

    /// Returns the path of the recorded turns of agents that cannot be run again.
    pub fn transcripts_path(&self) -> PathBuf {
        self.path.join("transcripts.jsonl.zst")
    }

    /// Returns the path of the lockfile that contracts were compared with, if the plan has one.
    pub fn lockfile_path(&self) -> PathBuf {
        self.path.join("contracts.lock")
    }

    /// Returns true if the frames of episodes and calls exist.
    pub fn has_frames(&self) -> bool {
        self.calls_path().is_file() && self.episodes_path().is_file()
    }

    /// Returns the text of the plan's `index`-th scenario as of the start of the run, and its file extension.
    ///
    /// # Errors
    /// [`RunDirError::Io`] if it does not exist or cannot be read.
    pub fn scenario_text(&self, index: usize, id: &str) -> Result<(String, &'static str), RunDirError> {
        let folder = self.path.join("scenarios");
        let file = |extension| folder.join(scenario_file(index, id, extension));
        let extension = if file("json").is_file() { "json" } else { "yaml" };
        let file = file(extension);
        let text = healbench_protocol::read_text_file(&file, healbench_protocol::MAX_GENERATED_BYTES)
            .map_err(io_error("read", &file))?;
        Ok((text, extension))
    }

    /// Returns the text of the tools of a scenario's server; `None` for a scenario of the simulator.
    ///
    /// # Errors
    /// [`RunDirError::Io`].
    pub fn server_tools(&self, index: usize, id: &str) -> Result<Option<String>, RunDirError> {
        let file = self.path.join("scenarios").join(scenario_file(index, id, SERVER_TOOLS));
        match healbench_protocol::read_text_file(&file, healbench_protocol::MAX_GENERATED_BYTES) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(io_error("read", &file)(error)),
        }
    }
}

/// The texts of a scenario that a run directory stores.
#[derive(Debug, Clone, Copy)]
pub struct StoredScenario<'a> {
    /// The id.
    pub id: &'a str,
    /// The extension of the file.
    pub extension: &'a str,
    /// The text of the file.
    pub text: &'a str,
    /// The text of the tools of its server; `None` for the simulator.
    pub server_tools: Option<&'a str>,
}

/// The extension of the files with the tools of servers.
const SERVER_TOOLS: &str = "tools.json";

/// The index distinguishes ids that differ only in characters not allowed in file names.
fn scenario_file(index: usize, id: &str, extension: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' };
    let stem: String = id.chars().take(80).map(safe).collect();
    format!("{index:03}-{stem}.{extension}")
}

pub(crate) fn io_error(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> RunDirError + use<> {
    let path = path.to_path_buf();
    move |source| RunDirError::Io { operation, path, source }
}
