//! Opens the runs that pages are of.

use std::path::{Path, PathBuf};

use healbench_render::html::RunState;
use healbench_store::{RunDir, RunDirError, RunManifest, VerifiedFiles};

use super::folder::{RunFolder, run_state};
use super::response::ErrorPage;

pub(super) fn run_not_found(name: &str) -> ErrorPage {
    ErrorPage::not_found(&format!("there is no run `{name}` in the folder"))
}

fn find(folder: &RunFolder, name: &str) -> Result<PathBuf, ErrorPage> {
    folder.find(name).ok_or_else(|| run_not_found(name))
}

pub(super) fn open(folder: &RunFolder, name: &str) -> Result<(RunDir, RunManifest), ErrorPage> {
    Ok(RunDir::open_any(&find(folder, name)?)?)
}

/// Opens a run that has frames.
pub(super) fn open_with_frames(folder: &RunFolder, name: &str) -> Result<(RunDir, RunManifest), ErrorPage> {
    let (run, manifest) = open(folder, name)?;
    with_frames(run, manifest)
}

pub(super) fn with_frames(run: RunDir, manifest: RunManifest) -> Result<(RunDir, RunManifest), ErrorPage> {
    let problem = |path: &Path, error: fn(PathBuf) -> RunDirError| Err(error(path.to_owned()).into());
    match run_state(&run, &manifest) {
        RunState::Running(_) => problem(run.path(), RunDirError::Locked),
        RunState::Aborted => problem(run.path(), RunDirError::Incomplete),
        RunState::Ended if !run.has_frames() => problem(run.path(), RunDirError::Incomplete),
        RunState::Ended => match run.verify(&manifest)? {
            VerifiedFiles::Current => Ok((run, manifest)),
            VerifiedFiles::PartlyReplaced => problem(run.path(), RunDirError::Incomplete),
        },
    }
}
