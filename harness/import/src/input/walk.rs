//! Paths that are files, folders or standard input.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::ImportError;

/// The name of standard input in problems and summaries.
const STDIN: &str = "standard input";
/// The beginnings of the names of the files that `proxy --record` writes: the calls, and what is counted of them.
const CALLS: &str = "calls-";
const EPISODES: &str = "episodes-";
/// The endings of logs and archives, without those of compressed files.
const LOG_ENDINGS: [&str; 5] = [".json", ".jsonl", ".ndjson", ".eval", ".tar"];
/// The endings of compressed files.
const COMPRESSED_ENDINGS: [&str; 2] = [".gz", ".zst"];

/// A file that is to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// `None` is standard input.
    pub(crate) path: Option<PathBuf>,
    /// The name, relative to the path that was given.
    pub(crate) name: String,
    /// The name of the folder of the path that was given, or of that path if it is a folder.
    pub(crate) folder: String,
    /// True if it was named, and not found in a folder.
    pub(crate) is_named: bool,
    /// Its size; `None` for standard input and pipes.
    pub(crate) bytes: Option<u64>,
}

/// The beginning of the names of folders in which runs are prepared.
const STAGING: &str = ".healbench-";

/// The files of paths.
#[derive(Debug, Default)]
pub(crate) struct AllFound {
    pub(crate) files: Vec<Found>,
    /// The folders in folders that cannot be read.
    pub(crate) unreadable: Vec<(String, io::Error)>,
    /// The names of the files that the paths have twice.
    pub(crate) repeated: Vec<String>,
}

/// Returns the files of paths. The files of a folder are sorted by their names.
pub(crate) fn find(paths: &[PathBuf]) -> Result<AllFound, ImportError> {
    let mut all = AllFound::default();
    for path in paths {
        if path.as_os_str() == "-" {
            let (name, folder) = (STDIN.to_owned(), String::new());
            all.files.push(Found { path: None, name, folder, is_named: true, bytes: None });
            continue;
        }
        let shown = path.display().to_string();
        let read_error = |source| ImportError::Read { file: shown.clone(), source };
        let data = fs::metadata(path).map_err(read_error)?;
        if data.is_dir() {
            let before = (all.files.len(), all.unreadable.len());
            search(path, &name_of(path), "", &mut HashSet::new(), &mut all).map_err(read_error)?;
            if (all.files.len(), all.unreadable.len()) == before {
                return Err(ImportError::NoLog { path: shown });
            }
        } else {
            let name = path.file_name().map_or(shown, |name| name.to_string_lossy().into_owned());
            let folder = path.parent().map(name_of).unwrap_or_default();
            let bytes = data.is_file().then_some(data.len());
            all.files.push(Found { path: Some(path.clone()), name, folder, is_named: true, bytes });
        }
    }
    let mut known = HashSet::new();
    let AllFound { files, repeated, .. } = &mut all;
    files.retain(|file| {
        let path = file.path.as_ref().map(|path| path.canonicalize().unwrap_or_else(|_| path.clone()));
        let is_new = known.insert(path);
        if !is_new {
            repeated.push(file.name.clone());
        }
        is_new
    });
    Ok(all)
}

fn name_of(folder: &Path) -> String {
    folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Adds the logs in a folder, and in those that it links to, unless it was searched.
fn search(
    folder: &Path,
    root: &str,
    name: &str,
    searched: &mut HashSet<PathBuf>,
    all: &mut AllFound,
) -> io::Result<()> {
    if !searched.insert(folder.canonicalize()?) {
        return Ok(());
    }
    let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    // The run that is being written may be in the folder.
    entries.retain(|entry| !entry.file_name().to_string_lossy().starts_with(STAGING));
    let starts_with = |entry: &fs::DirEntry, start: &str| entry.file_name().to_string_lossy().starts_with(start);
    if entries.iter().any(|entry| starts_with(entry, CALLS)) {
        entries.retain(|entry| !starts_with(entry, EPISODES));
    }
    for entry in entries {
        let inner = entry.file_name();
        let inner = inner.to_string_lossy();
        let name = if name.is_empty() { inner.into_owned() } else { format!("{name}/{inner}") };
        let path = entry.path();
        if entry.file_type()?.is_dir() || path.is_dir() {
            if let Err(error) = search(&path, root, &name, searched, all) {
                all.unreadable.push((name, error));
            }
        } else if is_log_name(&name) && path.is_file() {
            let bytes = fs::metadata(&path).ok().map(|data| data.len());
            all.files.push(Found { path: Some(path), name, folder: root.to_owned(), is_named: false, bytes });
        }
    }
    Ok(())
}

/// Returns true if a file with this name has a value a line.
pub(crate) fn is_name_of_lines(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let plain = COMPRESSED_ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(&name);
    plain.ends_with(".jsonl") || plain.ends_with(".ndjson")
}

/// Returns true if a file with this name may be a log or an archive of logs.
pub(crate) fn is_log_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let plain = COMPRESSED_ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(&name);
    LOG_ENDINGS.iter().any(|ending| plain.ends_with(ending)) || name.ends_with(".tgz") || name.ends_with(".tzst")
}
