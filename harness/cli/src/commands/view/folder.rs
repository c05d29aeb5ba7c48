//! The served folder. Names in requests are compared with existing entries and never used as paths.

use std::cmp::Reverse;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use healbench_render::html::{ListedRun, RunState, RunSummary};
use healbench_store::{RunDir, RunDirError, RunManifest, RunStatus};

use super::cache::{KnownOutcomes, outcomes_of};
use crate::error::CliError;

pub(super) enum RunFolder {
    /// A folder whose subfolders may be runs.
    Many(PathBuf),
    /// A single run and its name.
    Single(PathBuf, String),
}

struct Entry {
    name: OsString,
    path: PathBuf,
    is_link: bool,
}

impl RunFolder {
    pub(super) fn open(path: &Path) -> Result<RunFolder, CliError> {
        if !path.is_dir() {
            return Err(CliError::new(format_args!("there is no folder `{}`", path.display()))
                .help("start a run with `healbench run`, or name the folder of your runs"));
        }
        if !path.join("manifest.json").is_file() {
            return Ok(RunFolder::Many(path.to_owned()));
        }
        // Resolve paths such as `.`, which have no name.
        let named = fs::canonicalize(path).ok();
        let name = named.as_deref().and_then(Path::file_name).unwrap_or(path.as_os_str());
        Ok(RunFolder::Single(path.to_owned(), name.to_string_lossy().into_owned()))
    }

    /// Returns the path of the folder.
    pub(super) fn path(&self) -> &Path {
        match self {
            RunFolder::Many(path) | RunFolder::Single(path, _) => path,
        }
    }

    /// Returns the path of the run with exactly this name.
    pub(super) fn find(&self, name: &str) -> Option<PathBuf> {
        let entries = self.entries().ok()?;
        entries.into_iter().find(|entry| entry.name == *name && !entry.is_link).map(|entry| entry.path)
    }

    /// Lists the folder: the newest run first, and entries that cannot be shown last.
    pub(super) fn list(&self, known: &mut KnownOutcomes) -> io::Result<Vec<ListedRun>> {
        let mut runs: Vec<ListedRun> = self.entries()?.iter().map(|entry| entry.listed_run(known)).collect();
        known.retain(|name, _| runs.iter().any(|run| run.name == *name));
        runs.sort_by(|a, b| {
            let key =
                |run: &ListedRun| Reverse(run.summary.as_ref().ok().map(|summary| summary.manifest.started.clone()));
            key(a).cmp(&key(b)).then_with(|| a.name.cmp(&b.name))
        });
        Ok(runs)
    }

    fn entries(&self) -> io::Result<Vec<Entry>> {
        let path = match self {
            RunFolder::Single(path, name) => {
                return Ok(vec![Entry { name: name.into(), path: path.clone(), is_link: false }]);
            }
            RunFolder::Many(path) => path,
        };
        let mut entries = Vec::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            // The type of the entry itself: symbolic links are not followed.
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
    fn listed_run(&self, known: &mut KnownOutcomes) -> ListedRun {
        let summary = match self.name.to_str() {
            None => Err("its name is not Unicode".to_owned()),
            Some(_) if self.is_link => Err("it is a link, which is not followed".to_owned()),
            Some(name) => run_summary(name, &self.path, known).map_err(|error| error.to_string()),
        };
        ListedRun { name: self.name.to_string_lossy().into_owned(), summary }
    }
}

fn run_summary(name: &str, path: &Path, known: &mut KnownOutcomes) -> Result<RunSummary, CliError> {
    let (run, manifest) = RunDir::open_any(path)?;
    let state = run_state(&run, &manifest);
    let outcomes = match state {
        RunState::Ended if run.has_frames() => Some(outcomes_of(name, &run, &manifest, known)?),
        RunState::Ended => return Err(RunDirError::Incomplete(path.to_owned()).into()),
        RunState::Running(_) | RunState::Aborted => None,
    };
    Ok(RunSummary { manifest, state, outcomes })
}

/// Returns the state of a run without taking its lock.
pub(super) fn run_state(run: &RunDir, manifest: &RunManifest) -> RunState {
    match manifest.status {
        RunStatus::Complete => RunState::Ended,
        _ if run.is_locked() => RunState::Running(run.progress()),
        RunStatus::Interrupted => RunState::Ended,
        RunStatus::Running => RunState::Aborted,
    }
}
