//! Files that a command is asked to write.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::error::CliError;

/// Writes a file in one step: a reader sees what was there before, or all of the new.
///
/// # Errors
/// [`CliError::Output`].
pub(crate) fn replace(path: &Path, text: &str) -> Result<(), CliError> {
    put(path, text).map_err(|source| CliError::Output { path: path.to_owned(), source })
}

fn put(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    // Another process may be at it, with a file of its own.
    let mut part = path.as_os_str().to_owned();
    part.push(format!(".{}.part", std::process::id()));
    let part = PathBuf::from(part);
    let write = || -> io::Result<()> {
        let mut file = fs::File::create(&part)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&part, path)
    };
    write().inspect_err(|_| drop(fs::remove_file(&part)))
}
