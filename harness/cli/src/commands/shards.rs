//! The shards of a run as they are found on a disk.

use std::fs;
use std::path::{Path, PathBuf};

use healbench_frames::count_outcomes;
use healbench_store::{Progress, RunDir, RunManifest, RunStatus, ShardState, SurveyedShard};

use crate::clock::since_1970;
use crate::error::CliError;

/// The age in seconds of a progress file up to which the run counts as active. Locks are not seen on other machines of many
/// shared file systems.
pub(super) const ACTIVE_S: u64 = 120;

/// A shard's directory and the progress of the process that writes it.
pub(crate) struct FoundShard {
    pub(crate) run: Option<RunDir>,
    pub(crate) progress: Option<Progress>,
}

/// Returns the name of the directory of a shard, such as `shard-07-of-12`. Names sort like numbers.
pub(crate) fn shard_name(number: u32, count: u32) -> String {
    let width = count.to_string().len();
    format!("shard-{number:0width$}-of-{count}")
}

/// Reads the manifests of runs, and of the runs in folders that are no runs themselves.
pub(crate) fn find_shards(paths: &[PathBuf]) -> Result<Vec<SurveyedShard<FoundShard>>, CliError> {
    let mut found = Vec::new();
    for path in paths {
        // A folder without runs has no shards yet.
        match path.is_dir() && !is_shard(path) {
            true => found.extend(runs_in(path)?.iter().map(|run| read_shard(run))),
            false => found.push(read_shard(path)),
        }
    }
    Ok(found)
}

/// Returns the runs in a folder, sorted by name.
fn runs_in(folder: &Path) -> Result<Vec<PathBuf>, CliError> {
    let failed = |source| CliError::read(folder, &source);
    let mut runs = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() && is_shard(&path) {
            runs.push(path);
        }
    }
    runs.sort();
    Ok(runs)
}

/// Returns true for a run, and for a directory that is named like a shard: one that lost its manifest is not to be overlooked.
fn is_shard(path: &Path) -> bool {
    let is_named = path.file_name().is_some_and(|name| {
        let parts = name.to_str().and_then(|name| name.strip_prefix("shard-")?.split_once("-of-"));
        parts.is_some_and(|(number, count)| number.parse::<u32>().is_ok() && count.parse::<u32>().is_ok())
    });
    is_named || path.join("manifest.json").exists()
}

fn read_shard(path: &Path) -> SurveyedShard<FoundShard> {
    let shard = |run, manifest, state, progress| {
        let run = FoundShard { run, progress };
        SurveyedShard { path: path.to_owned(), manifest, state, run }
    };
    match RunDir::open_any(path) {
        Ok((run, manifest)) => {
            let progress = run.progress();
            let state = state_of(&run, &manifest, progress.as_ref());
            shard(Some(run), Some(manifest), state, progress)
        }
        Err(error) => shard(None, None, ShardState::Damaged(error.to_string()), None),
    }
}

/// Returns true if the progress was written so recently that the run must be active.
pub(crate) fn is_recent(progress: &Progress) -> bool {
    since_1970().as_secs().saturating_sub(progress.updated_unix_s) < ACTIVE_S
}

fn state_of(run: &RunDir, manifest: &RunManifest, progress: Option<&Progress>) -> ShardState {
    let planned = manifest.episodes().len();
    let running = run.is_locked() || progress.is_some_and(is_recent);
    if manifest.status != RunStatus::Complete || !run.has_frames() {
        let done = match manifest.status {
            RunStatus::Running => progress.map(|progress| progress.done),
            _ => Some(manifest.episodes_done),
        };
        return ShardState::Unfinished { done, planned, running };
    }
    // The other files are compared with their hashes before they are merged.
    if let Err(error) = run.verify_episodes(manifest) {
        return ShardState::Damaged(error.to_string());
    }
    let outcomes = match count_outcomes(run) {
        Ok(outcomes) => outcomes,
        Err(error) => return ShardState::Damaged(error.to_string()),
    };
    let found: u64 = outcomes.values().sum();
    if found != planned || manifest.episodes_done != planned {
        let path = run.path().display();
        return ShardState::Damaged(format!("`{path}` holds {found} episodes, not {planned}"));
    }
    if manifest.has_journal() && outcomes.keys().any(|outcome| !outcome.is_scored()) {
        return ShardState::LostEpisodes;
    }
    ShardState::Complete
}
