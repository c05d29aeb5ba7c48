//! The names of runs on the command line: a path, the name of a run in `runs`, or `latest`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::builder::{PathBufValueParser, TypedValueParser};
use healbench_store::{RunDir, RunStatus};
use healbench_text::nearest_name;

/// The help where something else than a run was named.
pub(crate) const A_RUN: &str = "a run is a directory that `healbench run` or `healbench import` wrote, as in runs/…";
/// The folder in which `healbench run` creates runs.
pub(crate) const RUNS: &str = "runs";
/// The name of the newest complete run in [`RUNS`].
const LATEST: &str = "latest";

/// Returns the parser of arguments that name a run. What is neither a path nor the name of a run stays as it is, so that the command
/// reports it.
pub(crate) fn run_name() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| resolve(Path::new(RUNS), path))
}

fn resolve(runs: &Path, path: PathBuf) -> Result<PathBuf, String> {
    if path.exists() {
        return Ok(path);
    }
    if path == Path::new(LATEST) {
        return latest(runs).ok_or_else(|| {
            format!(
                "there is no complete run in `{}`; start one with `healbench run`, or name its directory",
                runs.display()
            )
        });
    }
    let is_name = path.file_name() == Some(path.as_os_str()) && path.as_os_str() != OsStr::new("..");
    let named = runs.join(&path);
    Ok(if is_name && named.is_dir() { named } else { path })
}

/// Returns the way out where there is no run at a path: a name that is like it, or what a run is.
pub(crate) fn help_for_missing(path: &Path) -> String {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let entries = std::fs::read_dir(parent.unwrap_or(Path::new(RUNS))).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> = folders.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    if parent.is_none() {
        names.push(LATEST.to_owned());
    }
    names.sort_unstable();
    let missing = path.file_name().unwrap_or_default().to_string_lossy();
    match nearest_name(&missing, names.iter().map(String::as_str)) {
        Some(name) => format!("did you mean `{}`?", path.with_file_name(name).display()),
        None => A_RUN.to_owned(),
    }
}

/// Returns the newest complete run of a folder, by the time at which it was started and then by its name.
fn latest(runs: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(runs).ok()?.flatten().filter(|entry| entry.path().is_dir());
    let complete = entries.filter_map(|entry| {
        let (_, manifest) = RunDir::open_any(&entry.path()).ok()?;
        (manifest.status == RunStatus::Complete).then(|| (manifest.started, entry.path()))
    });
    complete.max().map(|(_, path)| path)
}
