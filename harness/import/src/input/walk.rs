//! Paths that are files, folders or standard input.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::ImportError;

/// The name of standard input in problems and summaries.
const STDIN: &str = "standard input";
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
    /// True if it was named, and not found in a folder.
    pub(crate) is_named: bool,
    /// Its size; `None` for standard input.
    pub(crate) bytes: Option<u64>,
}

/// Returns the files of paths. The files of a folder are sorted by their names.
pub(crate) fn find(paths: &[PathBuf]) -> Result<Vec<Found>, ImportError> {
    let mut all = Vec::new();
    for path in paths {
        if path.as_os_str() == "-" {
            all.push(Found { path: None, name: STDIN.to_owned(), is_named: true, bytes: None });
            continue;
        }
        let shown = path.display().to_string();
        let read_error = |source| ImportError::Read { file: shown.clone(), source };
        let data = fs::metadata(path).map_err(read_error)?;
        if data.is_dir() {
            let before = all.len();
            search(path, "", &mut all).map_err(read_error)?;
            if all.len() == before {
                return Err(ImportError::NoLog { path: shown });
            }
        } else {
            let name = path.file_name().map_or(shown, |name| name.to_string_lossy().into_owned());
            all.push(Found { path: Some(path.clone()), name, is_named: true, bytes: Some(data.len()) });
        }
    }
    Ok(all)
}

/// Adds the logs in a folder. Links to folders are not followed.
fn search(folder: &Path, name: &str, all: &mut Vec<Found>) -> io::Result<()> {
    let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let inner = entry.file_name();
        let inner = inner.to_string_lossy();
        let name = if name.is_empty() { inner.into_owned() } else { format!("{name}/{inner}") };
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            search(&path, &name, all)?;
        } else if is_log_name(&name) && path.is_file() {
            let bytes = Some(fs::metadata(&path)?.len());
            all.push(Found { path: Some(path), name, is_named: false, bytes });
        }
    }
    Ok(())
}

/// Returns true if a file with this name may be a log or an archive of logs.
pub(crate) fn is_log_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let plain = COMPRESSED_ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(&name);
    LOG_ENDINGS.iter().any(|ending| plain.ends_with(ending)) || name.ends_with(".tgz") || name.ends_with(".tzst")
}
