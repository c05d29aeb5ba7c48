use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::seal::{is_sealed, seal_manifest};
use crate::{FORMAT_VERSION, FileDigest, RunManifest, RunStatus, VerifiedFiles};

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
    /// The manifest was not written by healbench.
    #[error("`{}` is not a manifest of healbench: {reason}", path.display())]
    Invalid { path: PathBuf, reason: String },
    /// A file of the run is not as it was written.
    #[error("`{}` is damaged: {reason}", path.display())]
    Damaged { path: PathBuf, reason: String },
    /// The run was written by a newer or an older program.
    #[error("`{}` has run format {found}; this program reads {FORMAT_VERSION}", path.display())]
    UnsupportedVersion {
        path: PathBuf,
        /// The version in the manifest.
        found: u32,
    },
    /// The run was interrupted before its frames were complete, or while they were replaced.
    #[error("the run at `{}` did not finish: its frames are missing or incomplete", .0.display())]
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
        source: io::Error,
    },
}

impl RunDirError {
    /// Names the path that the user knows instead of a temporary one.
    fn at(self, path: PathBuf) -> RunDirError {
        match self {
            RunDirError::Io { operation, source, .. } => RunDirError::Io { operation, path, source },
            other => other,
        }
    }
}

fn unsupported_version(path: &Path, found: u64) -> RunDirError {
    RunDirError::UnsupportedVersion { path: path.into(), found: u32::try_from(found).unwrap_or(u32::MAX) }
}

/// The maximum number of cells in a plan. Reports keep data for each of them in memory.
pub const MAX_CELLS: u64 = 2_000_000;
/// The size up to which manifests are read, in bytes. The names of runs are looked up in them by processes without limits.
const MAX_MANIFEST_BYTES: u64 = 128 << 20;

impl RunDir {
    /// Creates a run directory with its manifest, the texts of its scenarios and its lockfile under a temporary name
    /// beside `path`, and locks it. Adds the hashes of these files to the manifest.
    ///
    /// # Errors
    /// [`RunDirError::Exists`] if the path exists, even as an empty folder; [`RunDirError::Io`].
    pub fn create(
        path: &Path,
        manifest: &mut RunManifest,
        scenarios: &[StoredScenario<'_>],
        lockfile: Option<&str>,
    ) -> Result<NewRunDir, RunDirError> {
        if fs::symlink_metadata(path).is_ok() {
            return Err(RunDirError::Exists(path.into()));
        }
        let parent = path.parent().unwrap_or(Path::new(""));
        fs::create_dir_all(parent).map_err(io_error("create", parent))?;
        let run = RunDir { path: create_temporary(parent).map_err(io_error("create", path))? };
        // From here on, the folder is removed if anything fails.
        let mut new = NewRunDir { lock: None, path: path.into(), run };
        let folder = new.run.path.join(SCENARIOS);
        fs::create_dir(&folder).map_err(io_error("create", &path.join(SCENARIOS)))?;
        let mut files = Vec::new();
        for (index, scenario) in scenarios.iter().enumerate() {
            let texts = [(scenario.extension, Some(scenario.text)), (SERVER_TOOLS, scenario.server_tools)];
            for (extension, text) in texts {
                let name = format!("{SCENARIOS}/{}", scenario_file(index, scenario.id, extension));
                files.extend(text.map(|text| (name, text)));
            }
        }
        files.extend(lockfile.map(|text| (LOCKFILE.to_owned(), text)));
        for (name, text) in files {
            fs::write(new.run.path.join(&name), text).map_err(io_error("write", &path.join(&name)))?;
            let sha256 = healbench_core::fingerprint(text.as_bytes());
            manifest.files.insert(name, FileDigest { bytes: text.len() as u64, sha256 });
        }
        new.run.write_manifest(manifest).map_err(|error| error.at(path.join(MANIFEST)))?;
        new.lock = Some(new.run.lock().map_err(|error| error.at(path.join(LOCK)))?);
        Ok(new)
    }

    /// Opens a run with any status and reads its manifest.
    ///
    /// # Errors
    /// Every variant of [`RunDirError`] except `Exists` and `Incomplete`.
    pub fn open_any(path: &Path) -> Result<(RunDir, RunManifest), RunDirError> {
        if !path.is_dir() {
            return Err(RunDirError::Missing(path.into()));
        }
        let file = path.join(MANIFEST);
        // What is no file is no manifest.
        if fs::metadata(&file).is_ok_and(|found| !found.is_file()) {
            return Err(RunDirError::NoManifest(path.into()));
        }
        let text = match healbench_files::read_file(&file, MAX_MANIFEST_BYTES) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(RunDirError::NoManifest(path.into())),
            Err(error) => return Err(io_error("read", &file)(error)),
        };
        let invalid = |reason: String| RunDirError::Invalid { path: file.clone(), reason };
        let damaged = |reason: String| RunDirError::Damaged { path: file.clone(), reason };
        let value: serde_json::Value = serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
        let version = value.get("format_version").and_then(serde_json::Value::as_u64);
        // A text with a hash is damaged if that is wrong, whatever it says about its version. Formats before 9 have none.
        if !is_sealed(&text) {
            return Err(match version {
                _ if value.get("digest").is_some() => damaged("its text does not match its `digest`".to_owned()),
                None => invalid("it has no `format_version`".to_owned()),
                Some(found) if found == u64::from(FORMAT_VERSION) => damaged("it has no `digest`".to_owned()),
                Some(found) => unsupported_version(path, found),
            });
        }
        // Check the version first: a newer manifest may have another shape.
        match version {
            None => return Err(invalid("it has no `format_version`".to_owned())),
            Some(found) if found == u64::from(FORMAT_VERSION) => {}
            Some(found) => return Err(unsupported_version(path, found)),
        }
        let manifest: RunManifest = serde_json::from_value(value).map_err(|error| invalid(error.to_string()))?;
        if manifest.plan.cells() > MAX_CELLS {
            return Err(invalid(format!("its plan has more than {MAX_CELLS} cells")));
        }
        if let Some(name) = manifest.foreign_file() {
            return Err(invalid(format!("it lists `{name}`, which no run has")));
        }
        if manifest.shards.as_ref().is_some_and(|shards| !shards.is_valid()) {
            return Err(invalid("its `shards` are none".to_owned()));
        }
        Ok((RunDir { path: path.into() }, manifest))
    }

    /// Opens a run with readable frames, a complete or an interrupted one, and compares its files with their hashes.
    ///
    /// # Errors
    /// As [`RunDir::open_any`], and [`RunDirError::Damaged`], [`RunDirError::Incomplete`] or [`RunDirError::Locked`].
    pub fn open(path: &Path) -> Result<(RunDir, RunManifest), RunDirError> {
        let mut opened = RunDir::open_any(path)?;
        loop {
            let (run, manifest) = opened;
            let readable = run.check_readable(&manifest);
            // Another process may have replaced the files after the manifest was read.
            if let Err(RunDirError::Damaged { .. }) = readable {
                let (run, now) = RunDir::open_any(path)?;
                if now != manifest {
                    opened = (run, now);
                    continue;
                }
            }
            return readable.map(|()| (run, manifest));
        }
    }

    fn check_readable(&self, manifest: &RunManifest) -> Result<(), RunDirError> {
        let incomplete = || match self.is_locked() {
            true => Err(RunDirError::Locked(self.path.clone())),
            false => Err(RunDirError::Incomplete(self.path.clone())),
        };
        if manifest.status == RunStatus::Running || !self.has_frames() {
            return incomplete();
        }
        match self.verify(manifest)? {
            VerifiedFiles::Current => Ok(()),
            VerifiedFiles::PartlyReplaced => incomplete(),
        }
    }

    /// Replaces the manifest atomically.
    ///
    /// # Errors
    /// [`RunDirError::Io`].
    pub fn write_manifest(&self, manifest: &RunManifest) -> Result<(), RunDirError> {
        let file = self.path.join(MANIFEST);
        let partial = self.path.join("manifest.json.part");
        let json = serde_json::to_string_pretty(manifest)
            .map_err(|error| RunDirError::Invalid { path: file.clone(), reason: error.to_string() })?;
        let text = seal_manifest(&json);
        let write = || -> io::Result<()> {
            let mut out = healbench_files::create_own_file(&partial)?;
            out.write_all(text.as_bytes())?;
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
        let path = self.path.join(LOCK);
        let file = open_lock(&path).map_err(io_error("create", &path))?;
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
        healbench_files::open_regular_file(&self.path.join(LOCK)).is_ok_and(would_block)
    }

    /// Returns the directory at a path, which is not read.
    pub fn at(path: &Path) -> RunDir {
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

    /// Returns the path of the log of requests to models. It exists as long as the journal.
    pub fn requests_path(&self) -> PathBuf {
        self.path.join("requests.jsonl")
    }

    /// Removes the journal and the log of requests of a complete run, whose frames and recorded turns contain all of its
    /// data.
    ///
    /// # Errors
    /// [`RunDirError::Io`] if a file exists and cannot be removed.
    pub fn remove_journal(&self) -> Result<(), RunDirError> {
        for path in [self.requests_path(), self.journal_path()] {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io_error("remove", &path)(error)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the path of the recorded turns of agents that cannot be run again.
    pub fn transcripts_path(&self) -> PathBuf {
        self.path.join("transcripts.jsonl.zst")
    }

    /// Returns the path of the lockfile that contracts were compared with, if the plan has one.
    pub fn lockfile_path(&self) -> PathBuf {
        self.path.join(LOCKFILE)
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
        let folder = self.path.join(SCENARIOS);
        let file = |extension| folder.join(scenario_file(index, id, extension));
        let extension = if file("json").is_file() { "json" } else { "yaml" };
        let file = file(extension);
        let text = healbench_files::read_stored_text(&file, healbench_files::MAX_WRITTEN_BYTES)
            .map_err(io_error("read", &file))?;
        Ok((text, extension))
    }

    /// Returns the text of the tools of a scenario's server; `None` for a scenario of the simulator.
    ///
    /// # Errors
    /// [`RunDirError::Io`].
    pub fn server_tools(&self, index: usize, id: &str) -> Result<Option<String>, RunDirError> {
        let file = self.path.join(SCENARIOS).join(scenario_file(index, id, SERVER_TOOLS));
        match healbench_files::read_stored_text(&file, healbench_files::MAX_LIST_BYTES) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(io_error("read", &file)(error)),
        }
    }
}

/// A run directory under a temporary name, which only this process knows. Unless it is published, it is removed when this
/// is dropped.
#[derive(Debug)]
#[must_use = "the run is there only after `publish`"]
pub struct NewRunDir {
    run: RunDir,
    /// `None` until all files are written, and after publishing.
    lock: Option<RunLock>,
    path: PathBuf,
}

impl NewRunDir {
    /// Returns the directory under its temporary name.
    pub fn run(&self) -> &RunDir {
        &self.run
    }

    /// Renames the directory to its path, and returns it with its lock.
    ///
    /// # Errors
    /// [`RunDirError::Exists`] if the path exists by now; [`RunDirError::Io`].
    pub fn publish(mut self) -> Result<(RunDir, RunLock), RunDirError> {
        // Renaming would replace an empty folder.
        if fs::symlink_metadata(&self.path).is_ok() {
            return Err(RunDirError::Exists(self.path.clone()));
        }
        fs::rename(&self.run.path, &self.path).map_err(|error| match fs::symlink_metadata(&self.path) {
            Ok(_) => RunDirError::Exists(self.path.clone()),
            Err(_) => io_error("create", &self.path)(error),
        })?;
        let run = RunDir { path: self.path.clone() };
        match self.lock.take() {
            Some(lock) => Ok((run, lock)),
            None => run.lock().map(|lock| (run, lock)),
        }
    }
}

impl Drop for NewRunDir {
    fn drop(&mut self) {
        // After publishing, there is no such folder. Return the error of creating, not of removing.
        let _ = fs::remove_dir_all(&self.run.path);
    }
}

/// The maximum number of attempts to find an unused temporary name.
const MAX_TEMPORARY_NAMES: u32 = 1000;

/// Creates a folder with an unused name, which begins with a dot, so that it is not listed as a run.
fn create_temporary(parent: &Path) -> io::Result<PathBuf> {
    let mut number = 0;
    loop {
        let path = parent.join(format!(".healbench-{}-{number}.part", std::process::id()));
        match fs::create_dir(&path) {
            // It belongs to another thread, or to a process that was killed.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < MAX_TEMPORARY_NAMES => number += 1,
            created => return created.map(|()| path),
        }
    }
}

/// Opens a lock file, which may exist. It is not truncated: the file of a directory from elsewhere may be a link.
fn open_lock(path: &Path) -> io::Result<fs::File> {
    match fs::OpenOptions::new().write(true).create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => healbench_files::open_regular_file(path),
        created => created,
    }
}

/// The texts of a scenario that a run directory stores.
#[derive(Debug, Clone, Copy)]
pub struct StoredScenario<'a> {
    pub id: &'a str,
    /// The extension of the file.
    pub extension: &'a str,
    /// The text of the file.
    pub text: &'a str,
    /// The text of the tools of its server; `None` for the simulator.
    pub server_tools: Option<&'a str>,
}

const MANIFEST: &str = "manifest.json";
const LOCK: &str = ".lock";
pub(crate) const LOCKFILE: &str = "contracts.lock";
const SCENARIOS: &str = "scenarios";

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
