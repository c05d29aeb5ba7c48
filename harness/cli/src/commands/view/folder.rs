//! The folder that is looked at. A name in a request is only ever compared with the names that are there: no path is made of it.

use std::cmp::Reverse;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use healbench_record::{RunDir, RunDirError, RunManifest, RunStatus};
use healbench_reports::render::html::{ListedRun, RunState, RunSummary};

use super::shelf::Counts;
use crate::error::CliError;

/// A folder of runs, or one run.
pub(super) enum Folder {
    /// Every folder in it may be a run.
    Of(PathBuf),
    /// A run, and its name.
    One(PathBuf, String),
}

/// Something in the folder.
struct Entry {
    name: OsString,
    path: PathBuf,
    is_link: bool,
}

impl Folder {
    pub(super) fn open(path: &Path) -> Result<Folder, CliError> {
        if !path.is_dir() {
            return Err(CliError::NoFolder(path.to_owned()));
        }
        if !path.join("manifest.json").is_file() {
            return Ok(Folder::Of(path.to_owned()));
        }
        // `.` is a run as well, and has a name.
        let named = fs::canonicalize(path).ok();
        let name = named.as_deref().and_then(Path::file_name).unwrap_or(path.as_os_str());
        Ok(Folder::One(path.to_owned(), name.to_string_lossy().into_owned()))
    }

    /// The folder's own path.
    pub(super) fn path(&self) -> &Path {
        match self {
            Folder::Of(path) | Folder::One(path, _) => path,
        }
    }

    /// The run of exactly this name.
    pub(super) fn find(&self, name: &str) -> Option<PathBuf> {
        let entries = self.entries().ok()?;
        entries.into_iter().find(|entry| entry.name == *name && !entry.is_link).map(|entry| entry.path)
    }

    /// What is in the folder: the newest run first, and at the end what cannot be shown.
    pub(super) fn list(&self, counts: &Counts) -> io::Result<Vec<ListedRun>> {
        let mut runs: Vec<ListedRun> = self.entries()?.iter().map(|entry| entry.look(counts)).collect();
        counts.keep(|name| runs.iter().any(|run| run.name == name));
        runs.sort_by(|a, b| {
            let key = |run: &ListedRun| Reverse(run.summary.as_ref().ok().map(|found| found.manifest.started.clone()));
            key(a).cmp(&key(b)).then_with(|| a.name.cmp(&b.name))
        });
        Ok(runs)
    }

    fn entries(&self) -> io::Result<Vec<Entry>> {
        let path = match self {
            Folder::One(path, name) => {
                return Ok(vec![Entry { name: name.into(), path: path.clone(), is_link: false }]);
            }
            Folder::Of(path) => path,
        };
        let mut entries = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            // Of the entry itself, not of what it may lead to.
            let kind = entry.file_type()?;
            let (name, path) = (entry.file_name(), entry.path());
            let is_folder = kind.is_dir() || kind.is_symlink() && path.is_dir();
            if is_folder && !name.as_encoded_bytes().starts_with(b".") {
                entries.push(Entry { name, path, is_link: kind.is_symlink() });
            }
        }
        Ok(entries)
    }
}

impl Entry {
    fn look(&self, counts: &Counts) -> ListedRun {
        let found = match self.name.to_str() {
            None => Err("its name is not Unicode".to_owned()),
            Some(_) if self.is_link => Err("it is a link, which is not followed".to_owned()),
            Some(name) => found(name, &self.path, counts).map_err(|error| error.to_string()),
        };
        ListedRun { name: self.name.to_string_lossy().into_owned(), summary: found }
    }
}

fn found(name: &str, path: &Path, counts: &Counts) -> Result<RunSummary, CliError> {
    let (run, manifest) = RunDir::open_any(path)?;
    let state = state(&run, &manifest);
    let outcomes = match state {
        RunState::Ended if run.has_frames() => Some(counts.get(name, &run)?),
        RunState::Ended => return Err(RunDirError::Incomplete(path.to_owned()).into()),
        RunState::Running(_) | RunState::Aborted => None,
    };
    Ok(RunSummary { manifest, state, outcomes })
}

/// What becomes of a run, without touching it.
pub(super) fn state(run: &RunDir, manifest: &RunManifest) -> RunState {
    match manifest.status {
        RunStatus::Complete => RunState::Ended,
        _ if run.is_locked() => RunState::Running(run.progress()),
        RunStatus::Interrupted => RunState::Ended,
        RunStatus::Running => RunState::Aborted,
    }
}
