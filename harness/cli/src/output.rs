//! Files that a command is asked to write.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::error::CliError;

/// Writes a file in one step: a reader sees what was there before, or all of the new. What is there and is no file, as a pipe or a
/// device, is written to as it is.
///
/// # Errors
/// [`CliError::Output`].
pub(crate) fn replace(path: &Path, text: &str) -> Result<(), CliError> {
    put(path, text).map_err(|source| CliError::Output { path: path.to_owned(), source })
}

fn put(path: &Path, text: &str) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(found) if !found.is_file() => {
            return fs::OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes());
        }
        // A link stays one.
        Ok(_) => return swap(&fs::canonicalize(path)?, text),
        Err(_) => {}
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    swap(path, text)
}

fn swap(path: &Path, text: &str) -> io::Result<()> {
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
